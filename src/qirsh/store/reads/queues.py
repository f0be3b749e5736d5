"""What waits for operators: questions to the state, along partial indexes. Nothing is kept beside it."""

# Every part of the query is a constant of this file or of `bank_statements`.
# ruff: noqa: S608

from typing import Final

import msgspec

from qirsh.domain.operator_role import OperatorRight
from qirsh.store.interface import Query, Store
from qirsh.store.reads.bank_statements import COUNTS

# By their names: who decides on it, and how it is counted.
QUEUES: Final[dict[str, OperatorRight]] = {
    "identities": OperatorRight.DECIDE,
    "businesses": OperatorRight.DECIDE,
    "brands": OperatorRight.DECIDE,
    "payouts": OperatorRight.ASK_MONEY,
    "proposals": OperatorRight.LOOK,
    "messages": OperatorRight.WRITE_TO_SHOPS,
    "bank_lines": OperatorRight.MATCH_BANK,
}
_WAITING: Final = Query(
    "SELECT 'identities', count(*), min(submitted_at) FROM identity WHERE state = 'submitted'"
    " UNION ALL SELECT 'businesses', count(*), min(created_at) FROM account"
    " WHERE state = 'requested' AND kind = 'commercial'"
    " UNION ALL SELECT 'brands', count(*), min(asked_at) FROM brand_change WHERE state = 'waiting'"
    " UNION ALL SELECT 'payouts', count(*), min(created_at) FROM payout WHERE state = 'asked'"
    " UNION ALL SELECT 'proposals', count(*), min(asked_at) FROM proposal WHERE state = 'open'"
    " UNION ALL SELECT 'messages', count(*), min(at) FROM shop_message WHERE author = 'owner' AND read_at IS NULL"
    " UNION ALL SELECT 'bank_lines', count(*), min(l.added_at) FROM bank_line l WHERE l.matched IS NULL"
    f" AND {COUNTS}"
)


class Queue(msgspec.Struct, frozen=True):
    """How many wait, and since when the oldest does."""

    name: str
    count: int
    oldest_at: int | None


async def waiting(store: Store) -> list[Queue]:
    """All of them."""
    return [Queue(*row) for row in await store.select(_WAITING)]
