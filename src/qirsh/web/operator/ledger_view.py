"""The ledger, as operators see it at the console and at the command line."""

from typing import Final

import msgspec

from qirsh.domain.ledger_check import LedgerCheck, LedgerSum
from qirsh.domain.money import CURRENCIES
from qirsh.language.check_texts import CHECK_TEXTS
from qirsh.store.integrity import audited, hash_chain
from qirsh.store.reads.ledger import (
    FullCheck,
    Head,
    ShownStop,
    head_of_chain,
    kept_checks,
    kept_sums,
    last_full_check,
    last_stops,
)
from qirsh.web.http.context import Context

STOPS_SHOWN_MAX: Final = 20
_KINDS: Final = ("personal", "commercial", "house")


class CurrencySums(msgspec.Struct, frozen=True):
    """One currency in one mode."""

    currency: str
    amounts: dict[str, int]  # By kind of account.
    held: int

    @property
    def total(self) -> int:
        """Zero, or money was made of nothing."""
        return sum(self.amounts.values())


class ShownCheck(msgspec.Struct, frozen=True):
    """A rule that the auditor asks, and what became of it."""

    name: str
    stops_money: bool
    kept: LedgerCheck | None  # None: it was not asked yet.

    @property
    def text(self) -> str:
        """What pages call it, to be translated."""
        return CHECK_TEXTS.get(self.name, self.name)


class LedgerView(msgspec.Struct, frozen=True):
    """All of the page."""

    summed_at: int | None  # None: the auditor has not come to it yet.
    live: list[CurrencySums]
    test: list[CurrencySums]
    checks: list[ShownCheck]
    stops: list[ShownStop]
    full_check: FullCheck | None

    @property
    def open_stop(self) -> ShownStop | None:
        """Money stands still since then."""
        return next((stop for stop in self.stops if stop.lifted_at is None), None)

    @property
    def broken(self) -> list[ShownCheck]:
        """Rules that do not hold."""
        return [check for check in self.checks if check.kept is not None and check.kept.finding]


class ChainView(msgspec.Struct, frozen=True):
    """The end of the chain of seals, and what the auditor last said of the whole of it."""

    head: Head | None
    checks: list[ShownCheck]

    @property
    def holds(self) -> bool | None:
        """None: not all of it was looked at yet."""
        if any(check.kept is not None and check.kept.finding for check in self.checks):
            return False
        return True if all(check.kept is not None and check.kept.held_at for check in self.checks) else None

    @property
    def held_at(self) -> int | None:
        """When all of it last held."""
        times = [check.kept.held_at if check.kept is not None else None for check in self.checks]
        known = [at for at in times if at is not None]
        return min(known) if len(known) == len(times) else None


async def ledger_view(context: Context) -> LedgerView:
    """As it was when the auditor last wrote it down; stops as they are."""
    store = context.store
    sums, kept = await kept_sums(store), await kept_checks(store)
    return LedgerView(
        summed_at=max((one.at for one in sums), default=None),
        live=_by_currency(sums, "live"),
        test=_by_currency(sums, "test"),
        checks=[
            *(ShownCheck(name, stops_money=True, kept=kept.get(name)) for name in audited.OF_MONEY),
            *(ShownCheck(name, stops_money=False, kept=kept.get(name)) for name in audited.TOLD),
        ],
        stops=await last_stops(store, STOPS_SHOWN_MAX),
        full_check=await last_full_check(store),
    )


async def chain_view(context: Context) -> ChainView:
    """Of the log and all else that is sealed."""
    kept = await kept_checks(context.store)
    names = (hash_chain.CHAIN.name, hash_chain.ROWS.name)
    checks = [ShownCheck(name, stops_money=False, kept=kept.get(name)) for name in names]
    return ChainView(await head_of_chain(context.store), checks)


def _by_currency(sums: list[LedgerSum], mode: str) -> list[CurrencySums]:
    found = []
    for currency in CURRENCIES:
        own = {one.kind: one for one in sums if (one.mode, one.currency) == (mode, currency)}
        if own:
            amounts = {kind: own[kind].amount if kind in own else 0 for kind in _KINDS}
            found.append(CurrencySums(currency, amounts, sum(one.held for one in own.values())))
    return found
