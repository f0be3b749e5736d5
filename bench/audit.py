"""Whether the books still balance after the load: what `qirsh verify` says of a database of the bench."""

from pathlib import Path

from bench.failure import BenchFailed
from qirsh.store.interface import CannotTell
from qirsh.store.verify import verify


def require_clean(database: Path | str) -> None:
    """Raises with the first violations."""
    try:
        violations = verify(database, lambda _invariant: None)
    except CannotTell as error:
        raise BenchFailed(str(error)) from error
    if violations:
        sentences = [f"{violation.name}: {violation.sentence}" for violation in violations[:20]]
        raise BenchFailed("the books do not balance after the load:\n" + "\n".join(sentences))
