"""Look a database over, whichever engine has it."""

from collections.abc import Callable
from pathlib import Path

from qirsh.store.integrity.hash_chain import Head
from qirsh.store.integrity.invariant import Invariant, Violation
from qirsh.store.postgres import verify as postgres_verify
from qirsh.store.sqlite import verify as sqlite_verify


def verify(
    database: Path | str,
    progress: Callable[[Invariant], None],
    head: Head | None = None,
    tell_host: Callable[[str], None] = lambda _: None,
) -> list[Violation]:
    """Every invariant, on one snapshot, while others may write. A path is SQLite's, an address PostgreSQL's.

    A head of the chain that was kept elsewhere must still be in it. Of several hosts it is told which is looked at.
    """
    if isinstance(database, Path):
        return sqlite_verify.verify(database, progress, head)
    return postgres_verify.verify(database, progress, head, tell_host)
