"""The ledger as operators see it: sums by kind of account, what became of each check, stops, and the chain's end."""

# Every part of every query is a constant of this file or of the domain.
# ruff: noqa: S608

from typing import Any, Final

import msgspec

from qirsh.domain.ledger_check import SUM_KEYS, LedgerCheck, LedgerSum
from qirsh.store.interface import Query, Store

_HALF: Final = 1_000_000_000
_SUM_MAX: Final = 2**63 - 1  # As far as a column reaches. Balances that were typed by hand may add up to more.


def _halves(amount: str) -> str:
    """A sum in two halves, neither of which exceeds 64 bits."""
    return f"sum({amount} / {_HALF}), sum({amount} % {_HALF})"


# All balances at one moment. It takes a fifth of a second for some hundred thousand: pages read what is kept of it.
SUMS_BY_KIND: Final = Query(
    f"SELECT a.mode, a.kind, b.currency, {_halves('b.amount')}, {_halves('b.held')}, count(*)"
    " FROM balance b JOIN account a ON a.number = b.account GROUP BY a.mode, a.kind, b.currency"
)
_KEPT_SUMS: Final = Query(f"SELECT {', '.join(LedgerSum.__struct_fields__)} FROM ledger_sum WHERE balances > 0")
_KEPT_CHECKS: Final = Query(f"SELECT {', '.join(LedgerCheck.__struct_fields__)} FROM ledger_check")
# As the index of the audit log has it.
_NOTED: Final = (
    "(SELECT a.{} FROM audit a WHERE a.subject = 'stop ' || CAST(s.id AS TEXT)"
    " AND a.action IN ('money.stopped', 'money.resumed') AND a.action = 'money.{}' ORDER BY a.id LIMIT 1)"
)
_STOPS: Final = Query(
    f"SELECT s.id, s.at, s.reason, {_NOTED.format('actor', 'stopped')}, s.lifted_at, s.lifted_by,"
    f" {_NOTED.format('detail', 'resumed')} FROM stop s ORDER BY s.id DESC LIMIT $1"
)
_LAST_CHECK: Final = Query(
    "SELECT at, actor, detail FROM audit WHERE action = 'ledger.checked' ORDER BY at DESC, id DESC LIMIT 1"
)
_HEAD: Final = Query("SELECT number, at, hash FROM seal ORDER BY number DESC LIMIT 1")


class ShownStop(msgspec.Struct, frozen=True):
    """A time in which no money moved, with who began and ended it."""

    id: int
    at: int
    reason: str
    stopped_by: str | None
    lifted_at: int | None
    lifted_by: str | None
    lifted_why: str | None  # As the audit log has it: the proposal, and its reason.


class FullCheck(msgspec.Struct, frozen=True):
    """When an operator last had every rule checked, and what came of it."""

    at: int
    actor: str
    result: str


class Head(msgspec.Struct, frozen=True):
    """The last seal of the chain."""

    number: int
    at: int
    hash: bytes


async def sum_balances(store: Store) -> tuple[LedgerSum, ...]:
    """Of each kind of account and currency, also where there is none; without a time."""
    found = {tuple(row[:3]): row[3:] for row in await store.search(SUMS_BY_KIND)}
    return tuple(_summed(key, found.get(key, (0, 0, 0, 0, 0))) for key in SUM_KEYS)


def _summed(key: tuple[str, str, str], row: Any) -> LedgerSum:  # noqa: ANN401 - a row
    amount, rest, held, held_rest, balances = map(int, row)
    return LedgerSum(*key, _bounded(amount * _HALF + rest), max(0, _bounded(held * _HALF + held_rest)), balances, 0)


def _bounded(total: int) -> int:
    return max(-_SUM_MAX, min(_SUM_MAX, total))


async def kept_sums(store: Store) -> list[LedgerSum]:
    """As they were when the auditor last wrote them down."""
    return [LedgerSum(*row) for row in await store.select(_KEPT_SUMS)]


async def kept_checks(store: Store) -> dict[str, LedgerCheck]:
    """By their names."""
    return {row[0]: LedgerCheck(*row) for row in await store.select(_KEPT_CHECKS)}


async def last_stops(store: Store, limit: int) -> list[ShownStop]:
    """The newest first."""
    return [ShownStop(*row) for row in await store.select(_STOPS, limit)]


async def last_full_check(store: Store) -> FullCheck | None:
    """By an operator; those that `qirsh verify` makes beside the service leave nothing behind."""
    return next((FullCheck(*row) for row in await store.select(_LAST_CHECK)), None)


async def head_of_chain(store: Store) -> Head | None:
    """None before the first seal."""
    rows = await store.select(_HEAD)
    return next((Head(number, at, bytes(made)) for number, at, made in rows), None)
