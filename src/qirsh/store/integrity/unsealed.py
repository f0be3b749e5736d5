"""What the chain does not cover yet."""

# Every part of every query is a constant of the chain.
# ruff: noqa: S608

from typing import Final

from qirsh.domain import seal
from qirsh.store.integrity.hash_chain import SEALED, TOPS
from qirsh.store.interface import Query, Store
from qirsh.store.reads.system import Waiting

_NEWEST: Final = Query(f"SELECT t.*, (SELECT content FROM seal ORDER BY number DESC LIMIT 1) FROM ({TOPS}) AS t")
# When the first row of each table after what the last seal covers was made.
_FIRST_BEHIND: Final = Query(
    "SELECT "
    + ", ".join(
        f"(SELECT {sealed.at} FROM {table} WHERE id > ${place} ORDER BY id LIMIT 1)"
        for place, (table, sealed) in enumerate(SEALED.items(), 1)
    )
)


async def unsealed(store: Store) -> Waiting:
    """How many entries and transfers the sealer has before it, and since when."""
    [(*tops, content)] = await store.select(_NEWEST)
    link = None if content is None else seal.read(content)
    covered = {} if link is None else {cover.table: cover.last for cover in link.covers}
    lasts = [covered.get(table, 0) for table in SEALED]
    count = sum(max(0, top - last) for top, last in zip(tops, lasts, strict=True))
    if not count:
        return Waiting("sealer", 0, None)
    [moments] = await store.select(_FIRST_BEHIND, *lasts)
    return Waiting("sealer", count, min((at for at in moments if at is not None), default=None))
