"""Whether the chain covers all that there is."""

from tests.chain import check
from tests.live import Live
from tests.waiting import wait_until


def wait_until_sealed(world: Live) -> None:
    """Who was killed before it could seal leaves that to the next, once the lease of the dead has run out."""
    seals = _seals(world)
    while not _is_sealed(world):  # It reads all rows: once for each seal is enough.
        wait_until(lambda seals=seals: _seals(world) > seals)  # type: ignore[misc]
        seals = _seals(world)


def _seals(world: Live) -> int:
    with world.books() as books:
        return int(books.select("SELECT count(*) FROM seal")[0][0])


def _is_sealed(world: Live) -> bool:
    with world.books() as books:
        covered = check(books.select)
        stored = {table: books.select(f"SELECT id FROM {table} ORDER BY id") for table in covered}  # noqa: S608 - ours
    return all(sorted(covered[table]) == [row for (row,) in stored[table]] for table in covered)
