"""Whether the chain covers all that there is."""

from tests.chain import check
from tests.live import Live


def is_sealed(world: Live) -> bool:
    """Who was killed before it could seal leaves that to the next, once the lease of the dead has run out."""
    with world.books() as books:
        covered = check(books.select)
        stored = {table: books.select(f"SELECT id FROM {table} ORDER BY id") for table in covered}  # noqa: S608 - ours
    return all(sorted(covered[table]) == [row for (row,) in stored[table]] for table in covered)
