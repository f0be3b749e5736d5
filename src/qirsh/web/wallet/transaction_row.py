"""Movements as pages and statements tell them."""

from collections.abc import Iterable

import msgspec

from qirsh.domain.ledger import BY_ORDER, Kind
from qirsh.store.reads.account_entries import NamedEntry
from qirsh.web.http.context import Context


class Row(msgspec.Struct, frozen=True):
    """One line of a list."""

    kind: Kind
    change: int
    balance: int
    currency: str
    other: str  # With whom; empty where it is the bank.
    other_account: str
    note: str  # What the shop wrote, or the bank's reference.
    payment_id: str
    at: int


def row_of(context: Context, movement: NamedEntry) -> Row:
    """Seen from the account's owner."""
    is_cash = movement.kind in BY_ORDER
    return Row(
        kind=movement.kind,
        change=movement.change,
        balance=movement.balance,
        currency=movement.currency,
        other="" if is_cash else movement.other_name,
        other_account="" if is_cash else str(movement.other),
        note=movement.reference if is_cash else movement.note.strip(),
        payment_id="" if movement.payment is None else context.identifiers.payment_id(movement.payment),
        at=movement.created_at,
    )


def rows_of(context: Context, movements: Iterable[NamedEntry]) -> list[Row]:
    """In the same order."""
    return [row_of(context, movement) for movement in movements]
