"""Small questions that the overview of a business asks, each answered along an index."""

# Every part of every query is a constant of this file or of the domain.
# ruff: noqa: S608

from typing import Final

from qirsh.domain.money import CURRENCIES
from qirsh.store.interface import Query, Store

_WAITING: Final = Query(
    "SELECT count(*) FROM ("
    + " UNION ALL ".join(
        "SELECT * FROM (SELECT 1 AS one FROM payment WHERE merchant = $1 AND status = 'pending'"
        f" AND currency = '{currency}' LIMIT $2) AS {currency.lower()}_waiting"
        for currency in CURRENCIES
    )
    + ") AS waiting"
)
_KEY: Final = Query("SELECT 1 FROM api_key WHERE account = $1 AND revoked_at IS NULL LIMIT 1")


async def waiting_count(store: Store, account: int, most: int) -> int:
    """How many payments can still be paid, or about so; not more than asked for."""
    [(count,)] = await store.search(_WAITING, account, most)
    return min(int(count), most)


async def has_key(store: Store, account: int) -> bool:
    """Whether an API key of the account works."""
    return bool(await store.select(_KEY, account))
