"""Bank orders and house accounts as operators see them, in SQL that both engines speak."""

# Every part of every query is a constant of this file or of the domain.
# ruff: noqa: S608

from typing import Final

import msgspec

from qirsh.domain.bank_order import BankOrder
from qirsh.domain.limits import LIST_ITEMS_MAX
from qirsh.store.interface import Query, Store

_ORDER: Final = ", ".join(f"o.{name}" for name in BankOrder.__struct_fields__)
_IS_HOUSE: Final = "a.kind = 'house' AND a.mode = 'live'"
_HOUSES: Final = Query(
    f"SELECT a.number, a.name, a.created_at FROM account a WHERE {_IS_HOUSE} ORDER BY a.name LIMIT $1"
)
_HOUSE_BALANCES: Final = Query("SELECT currency, amount FROM balance WHERE account = $1 ORDER BY currency")
# Along the index by time: the newest before a place.
_LAST_ORDERS: Final = Query(
    f"SELECT {_ORDER}, h.name, a.name, (SELECT r.reference FROM bank_order r"
    " WHERE r.house = o.house AND r.reverses = o.reference) FROM bank_order o"
    " JOIN account h ON h.number = o.house JOIN account a ON a.number = o.account"
    " WHERE (o.booked_at, o.house, o.reference) < ($1, $2, $3)"
    " ORDER BY o.booked_at DESC, o.house DESC, o.reference DESC LIMIT $4"
)
_TRANSFER_OF: Final = Query("SELECT id FROM transfer WHERE bank_order = $1 AND debit = $2 AND credit = $3")
_REVERSAL_OF: Final = Query("SELECT reference FROM bank_order WHERE house = $1 AND reverses = $2")
_KINDS_OF_REFERENCE: Final = Query("SELECT kind FROM bank_order WHERE reference = $1 AND reverses IS NULL LIMIT $2")

OrderPlace = tuple[int, int, str]  # When it was booked, its house, its reference.
NEWEST_ORDER: Final[OrderPlace] = (2**62, 0, "")


class House(msgspec.Struct, frozen=True):
    """An account of the house, and what it holds: as much below zero as there is at the bank."""

    number: int
    name: str
    created_at: int
    balances: dict[str, int]


class ListedOrder(msgspec.Struct, frozen=True):
    """An order with the names that belong to it."""

    order: BankOrder
    house_name: str
    account_name: str
    reversed_by: str | None  # The reference of the order that has taken it back.

    @property
    def place(self) -> OrderPlace:
        """Where a list goes on after it."""
        return self.order.booked_at, self.order.house, self.order.reference


async def houses(store: Store) -> list[House]:
    """By their names."""
    found = await store.select(_HOUSES, LIST_ITEMS_MAX)
    return [
        House(number, name, created_at, dict(await store.select(_HOUSE_BALANCES, number)))
        for number, name, created_at in found
    ]


async def last_orders(store: Store, before: OrderPlace, limit: int) -> list[ListedOrder]:
    """The newest first."""
    rows = await store.search(_LAST_ORDERS, *before, limit)
    return [ListedOrder(BankOrder(*row[:-3]), *row[-3:]) for row in rows]


async def transfer_of(store: Store, order: BankOrder) -> int:
    """The id of the transfer that it made."""
    sides = (order.house, order.account) if order.kind == "deposit" else (order.account, order.house)
    [(transfer,)] = await store.select(_TRANSFER_OF, order.reference, *sides)
    number: int = transfer
    return number


async def reversal_of(store: Store, order: BankOrder) -> str | None:
    """The reference of the order that has taken it back."""
    rows = await store.select(_REVERSAL_OF, order.house, order.reference)
    return rows[0][0] if rows else None


async def kinds_booked(store: Store, reference: str) -> set[str]:
    """What was booked under a reference, through any house."""
    return {kind for (kind,) in await store.select(_KINDS_OF_REFERENCE, reference, LIST_ITEMS_MAX)}
