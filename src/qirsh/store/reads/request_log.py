"""What keys were used for, as SQL that both engines speak: newest first, page by page, each along an index."""

# Every part of every query is a constant of this file or of the domain.
# ruff: noqa: S608

from typing import Final

import msgspec

from qirsh.domain.request_log import KeyUse, LoggedRequest
from qirsh.store.interface import Query, Store

_REQUEST: Final = ", ".join(LoggedRequest.__struct_fields__)
_BEFORE: Final = "(at, id) < ({}, {}) ORDER BY at DESC, id DESC LIMIT {}"
_OF_ACCOUNT: Final = Query(
    f"SELECT {_REQUEST} FROM request_log WHERE account = $1 AND {_BEFORE.format('$2', '$3', '$4')}"
)
# A range of one class, so that the order is that of the index with the classes, and of no other.
_OF_CLASS: Final = (
    "status / 100 >= $2 AND (status / 100, at, id) < ($2, $3, $4) ORDER BY status / 100 DESC, at DESC, id DESC LIMIT $5"
)
_OF_ACCOUNT_CLASS: Final = Query(f"SELECT {_REQUEST} FROM request_log WHERE account = $1 AND {_OF_CLASS}")
_OF_KEY: Final = Query(f"SELECT {_REQUEST} FROM request_log WHERE key = $1 AND {_BEFORE.format('$2', '$3', '$4')}")
_OF_KEY_CLASS: Final = Query(f"SELECT {_REQUEST} FROM request_log WHERE key = $1 AND {_OF_CLASS}")
_OF_PAYMENT: Final = Query(
    f"SELECT {_REQUEST} FROM request_log WHERE payment = $1 AND account = $2 AND {_BEFORE.format('$3', '$4', '$5')}"
)
OLD_REQUESTS: Final = Query("SELECT id FROM request_log WHERE at + 0 < $1 ORDER BY at + 0 LIMIT $2")
_USES: Final = Query(
    f"SELECT {', '.join(f'u.{name}' for name in KeyUse.__struct_fields__)} FROM api_key k"
    " JOIN api_key_use u ON u.key = k.id WHERE k.account = $1 LIMIT $2"
)
_USES_MAX: Final = 10_000  # More than anybody can have keys.


class RequestCursor(msgspec.Struct, frozen=True):
    """After which request a page goes on."""

    at: int
    id: str


NEWEST: Final = RequestCursor(2**62, "")


async def requests_of(
    store: Store, account: int, *, key: str = "", status_class: int = 0, after: RequestCursor = NEWEST, limit: int
) -> list[LoggedRequest]:
    """Those of an account, or of one of its keys; of one class of statuses, such as 4, or of all."""
    whose: int | str = key or account
    if status_class:
        query = _OF_KEY_CLASS if key else _OF_ACCOUNT_CLASS
        rows = await store.search(query, whose, status_class, after.at, after.id, limit)
    else:
        rows = await store.search(_OF_KEY if key else _OF_ACCOUNT, whose, after.at, after.id, limit)
    return [LoggedRequest(*row) for row in rows]


async def requests_of_payment(
    store: Store, account: int, payment: int, *, after: RequestCursor = NEWEST, limit: int
) -> list[LoggedRequest]:
    """Those of an account that named one of its payments."""
    rows = await store.search(_OF_PAYMENT, payment, account, after.at, after.id, limit)
    return [LoggedRequest(*row) for row in rows]


async def uses_of(store: Store, account: int) -> dict[str, KeyUse]:
    """The last use of each key of an account that was used, by the key."""
    return {row[0]: KeyUse(*row) for row in await store.select(_USES, account, _USES_MAX)}
