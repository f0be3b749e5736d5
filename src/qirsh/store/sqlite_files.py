"""What lies on the disk under a SQLite store: the database, and the write-ahead log beside it."""

from pathlib import Path

from qirsh.store.interface import StoreBroken


def log_of(path: Path) -> Path:
    """Where SQLite keeps what it has not yet copied into the database."""
    return path.with_name(f"{path.name}-wal")


class OpenFiles:
    """The files that SQLite has open, and whether their names still lead to them.

    As long as a connection is open SQLite itself neither deletes the log nor makes another, only shortens it.
    """

    def __init__(self, path: Path) -> None:
        self._known = [(file, _identity(file)) for file in (path, log_of(path))]

    def check(self) -> None:
        """Raises `StoreBroken` if somebody took one away: what is written into it now, no later start will find."""
        # Only asked of the folder: opening and closing the database would drop SQLite's locks on it.
        for file, identity in self._known:
            found = _identity(file)
            if found is None or found != identity:
                message = (
                    f"{file} was deleted or replaced while the service ran: what was written since then may be lost"
                )
                raise StoreBroken(message)


def _identity(file: Path) -> tuple[int, int] | None:
    try:
        found = file.stat()
    except OSError:  # Whatever keeps us from looking would keep the next start from it.
        return None
    return found.st_dev, found.st_ino
