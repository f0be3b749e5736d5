"""Lists as a client reads them: page by page, each page held to its shape."""

from typing import Any, Final
from urllib.parse import urlencode

from tests.live import PAYMENTS, Call, World, post

EVENTS: Final = "/api/v1/events"
TRANSFERS: Final = "/api/v1/transfers"
BALANCE: Final = "/api/v1/balance"
TEST: Final = "/api/v1/test/remote-payments"
PAGES_MAX: Final = 1000


def asking(key: str, path: str, query: object = ()) -> Call:
    """A call with a query: names and values, or text as it is."""
    text = query if isinstance(query, str) else urlencode(query)  # type: ignore[arg-type]  # names and values
    return Call("GET", f"{path}?{text}" if text else path, key)


def cancel(key: str, payment_id: str) -> Call:
    return Call("POST", f"{PAYMENTS}/{payment_id}/cancel", key)


def refund(key: str, payment_id: str, **fields: object) -> Call:
    return post(f"{PAYMENTS}/{payment_id}/refunds", key, fields)


def try_out(key: str, payment_id: str, what: str = "pay") -> Call:
    """What a test key can let happen to a payment."""
    return Call("POST", f"{TEST}/{payment_id}/{what}", key)


def page_of(told: dict[str, Any], limit: int) -> list[dict[str, Any]]:
    """Its items, after a look at its shape."""
    assert list(told) == ["items", "nextCursor", "hasMore"]
    assert told["hasMore"] == (told["nextCursor"] is not None)
    assert len(told["items"]) <= limit
    items: list[dict[str, Any]] = told["items"]
    return items


async def walked(world: World, key: str, path: str = PAYMENTS, **query: object) -> list[dict[str, Any]]:
    """All items, by following the cursor to the end. `limit` is the size of a page."""
    found: list[dict[str, Any]] = []
    cursor: dict[str, str] = {}
    for _ in range(PAGES_MAX):
        answer = await world.sent(asking(key, path, {**query, **cursor}))
        assert answer.status_code == 200, answer.text
        told = answer.json()["data"]
        found += page_of(told, int(str(query.get("limit", 20))))
        if not told["hasMore"]:
            return found
        cursor = {"cursor": told["nextCursor"]}
    raise AssertionError("the list has no end")


def walk(world: World, key: str, path: str = PAYMENTS, **query: object) -> list[dict[str, Any]]:
    """The same, waited for."""
    return world.run(walked(world, key, path, **query))


def ids(items: list[dict[str, Any]]) -> list[str]:
    return [item.get("_id") or item["id"] for item in items]
