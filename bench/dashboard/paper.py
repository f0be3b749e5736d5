"""What else a shop has after a while: entries of the audit log, calls of its key, payouts that came to nothing."""

import random
from typing import Final, NamedTuple

from bench.dashboard.history import DAY_MS, DAYS, Shop
from bench.seed import CURRENCY
from qirsh.domain.audit_log import AuditEntry
from qirsh.domain.payout import Payout
from qirsh.domain.request_log import LoggedRequest

_CALLS_DAYS: Final = 6  # They are kept for a week.
_draw: Final = random.Random(2)


class Amount(NamedTuple):
    """How much of each a shop has: nobody without payments has a long history of calls."""

    entries: int
    calls: int
    payouts: int


def amount_for(payments: int) -> Amount:
    """As many as payments, and no more than there are after a while."""
    return Amount(min(payments, 5000), min(payments, 100_000), min(payments, 200))


def audit_entries(shop: Shop, now: int, count: int) -> list[AuditEntry]:
    """Exports, mostly."""
    return [
        AuditEntry(
            now - DAYS * DAY_MS + DAYS * DAY_MS * index // count,
            f"person {shop.owner}",
            "export.taken",
            f"account {shop.account}",
            f"payments of all currencies, number {index}, as csv",
        )
        for index in range(count)
    ]


def logged_requests(shop: Shop, key: str, payments: list[int], now: int, count: int) -> list[LoggedRequest]:
    """One in twenty was refused, and each names a payment."""
    return [
        LoggedRequest(
            id=f"req_{_draw.getrandbits(96):024x}",
            at=now - _CALLS_DAYS * DAY_MS + _CALLS_DAYS * DAY_MS * index // count,
            key=key,
            account=shop.account,
            method="GET",
            path="/api/v1/remote-payments/{id}",
            status=200 if index % 20 else 404,
            code="" if index % 20 else "not_found",
            payment=payments[index % len(payments)],
            took_ms=2,
            address="192.0.2.7",
            skipped=0,
        )
        for index in range(count)
    ]


def payouts(shop: Shop, now: int, count: int) -> list[Payout]:
    """All of them cancelled: no money moved, and none is held."""
    times = [now - DAYS * DAY_MS + DAYS * DAY_MS * index // count for index in range(count)]
    return [
        Payout(f"po_{_draw.getrandbits(96):024x}", shop.account, CURRENCY, 100_000, b"", "cancelled", None, "", at, at)
        for at in times
    ]
