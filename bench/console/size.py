"""How much there is of everything in a database that the console is measured on."""

from typing import Final

import msgspec


class Size(msgspec.Struct, frozen=True):
    """Of a service after some years; what waits is what a large office has not come to yet."""

    payments: int
    people: int
    shops: int
    entries: int  # Of the audit log.
    bank_lines: int  # Of one file, each of a deposit that was booked.
    identities: int  # That wait, as the following do.
    businesses: int
    brands: int
    payouts: int
    proposals: int
    messages: int
    unmatched: int  # Lines of the bank that show nothing.

    def divided(self, by: int) -> "Size":
        """So many times less, and some of everything."""
        values = {name: max(_LEAST, value // by) for name, value in msgspec.structs.asdict(self).items()}
        return msgspec.structs.replace(Size(**values), shops=max(4 * _LEAST, self.shops // by))


_LEAST: Final = 5
FULL: Final = Size(
    payments=1_000_000,
    people=100_000,
    shops=10_000,
    entries=1_000_000,
    bank_lines=20_000,
    identities=2000,
    businesses=500,
    brands=500,
    payouts=500,
    proposals=500,
    messages=500,
    unmatched=1000,
)
TIMES: Final = 100  # How many times less the reference has, and a quick run.
