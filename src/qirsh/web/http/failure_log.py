"""Failed sign-ins and refused requests, as logs tell of them: with their source, and few entries for however many."""

from collections import Counter
from ipaddress import IPv4Address, IPv6Address
from typing import Final

from qirsh.domain.limits import FAILURES_NOTED_PER_HOUR, RATE_BUCKETS_MAX

_HOUR_MS: Final = 3_600_000
_IPV4_BYTES: Final = 4


class FailureLog:
    """Of a process and an hour: the first of an address at a person, the tenth, the hundredth and so on."""

    def __init__(self) -> None:
        self._hour = 0
        self._counts: Counter[tuple[bytes, str]] = Counter()
        self._noted: Counter[bytes] = Counter()

    def note(self, now: int, address: bytes, subject: str) -> str | None:
        """What is to be written down of one more; None where it only counts."""
        if now // _HOUR_MS != self._hour:
            self._hour = now // _HOUR_MS
            self._counts.clear()
            self._noted.clear()
        if len(self._counts) >= RATE_BUCKETS_MAX:
            return None  # A crowd: what there is of it is written down already.
        self._counts[address, subject] += 1
        count = self._counts[address, subject]
        if not _is_power_of_ten(count) or self._noted[address] >= FAILURES_NOTED_PER_HOUR:
            return None
        self._noted[address] += 1
        where = f"from {shown_address(address)}"
        if self._noted[address] == FAILURES_NOTED_PER_HOUR:
            return f"{where}, {count} in this hour; more of it in this hour is not written down"
        return where if count == 1 else f"{where}, {count} in this hour"


def _is_power_of_ten(count: int) -> bool:
    return str(count).strip("0") == "1"


def shown_address(address: bytes) -> str:
    """As `client_address` has it."""
    if not address:
        return "an unknown address"
    if len(address) == _IPV4_BYTES:
        return str(IPv4Address(address))
    return f"{IPv6Address(address.ljust(16, bytes(1)))}/64"
