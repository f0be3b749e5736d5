"""What the chain does not cover yet."""

from qirsh.domain import seal
from qirsh.store.integrity import hash_chain
from qirsh.store.interface import Store
from qirsh.store.reads.system import Waiting, first_behind, last_seal


async def unsealed(store: Store) -> Waiting:
    """How many entries and transfers the sealer has before it, and since when."""
    [tops] = await store.select(hash_chain.TOPS)
    found = await last_seal(store)
    link = None if found is None else seal.read(found[2])
    covered = {} if link is None else {cover.table: cover.last for cover in link.covers}
    count, oldest = 0, []
    for (table, sealed), top in zip(hash_chain.SEALED.items(), tops, strict=True):
        last = covered.get(table, 0)
        if top > last:
            count += top - last
            oldest.append(await first_behind(store, table, sealed.at, last))
    return Waiting("sealer", count, min((at for at in oldest if at is not None), default=None))
