"""Whether the books still balance after the load: every invariant of the service, on every database of the bench."""

from collections.abc import Callable
from pathlib import Path

import apsw

from bench.failure import BenchFailed
from qirsh.store import invariants


def require_clean(data_dir: Path, progress: Callable[[str], None]) -> None:
    """Raises with the first violations. The service must be stopped."""
    connection = apsw.Connection(str(data_dir / "qirsh.db"))
    try:
        progress("foreign keys")
        broken = [f"foreign key: {row}" for row in connection.execute("PRAGMA foreign_key_check")]
        violations = invariants.check(connection.execute, lambda invariant: progress(invariant.name))
    finally:
        connection.close()
    sentences = broken + [f"{violation.name}: {violation.sentence}" for violation in violations]
    if sentences:
        raise BenchFailed("the books do not balance after the load:\n" + "\n".join(sentences[:20]))
