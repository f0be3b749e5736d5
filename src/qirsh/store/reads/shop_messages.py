"""Messages between operators and owners of businesses, as SQL that both engines speak."""

# Every part of every query is a constant of this file or of the domain.
# ruff: noqa: S608

from typing import Final

from qirsh.domain.limits import MESSAGES_SHOWN_MAX
from qirsh.domain.shop_message import ShopMessage
from qirsh.store.interface import Query, Store

_COLUMNS: Final = ", ".join(ShopMessage.__struct_fields__)
_OF_ACCOUNT: Final = Query(f"SELECT {_COLUMNS} FROM shop_message WHERE account = $1 ORDER BY at DESC, id DESC LIMIT $2")
_TO_OWNER: Final = Query(
    f"SELECT {_COLUMNS} FROM shop_message WHERE account = $1 AND author = 'operator' AND read_at IS NULL"
    " ORDER BY at, id LIMIT $2"
)
# The oldest first: it has waited longest.
_TO_OPERATORS: Final = Query(
    f"SELECT {_COLUMNS} FROM shop_message WHERE author = 'owner' AND read_at IS NULL ORDER BY at, id LIMIT $1"
)


async def messages_of(store: Store, account: int) -> list[ShopMessage]:
    """The latest of a business, oldest first."""
    rows = await store.select(_OF_ACCOUNT, account, MESSAGES_SHOWN_MAX)
    return [ShopMessage(*row) for row in reversed(rows)]


async def unread_by_owner(store: Store, account: int) -> list[ShopMessage]:
    """What operators wrote that the owner has not seen."""
    return [ShopMessage(*row) for row in await store.select(_TO_OWNER, account, MESSAGES_SHOWN_MAX)]


async def unread_by_operators(store: Store, limit: int) -> list[ShopMessage]:
    """What owners wrote that no operator has seen."""
    return [ShopMessage(*row) for row in await store.select(_TO_OPERATORS, limit)]
