"""What stops a command although nobody has made a mistake in the program, in a sentence."""

import apsw
import asyncpg

from qirsh.backup.lines import UnusableBackup
from qirsh.store.interface import CannotTell, StoreUnavailable, UnusableDatabase


def in_words(error: Exception) -> str | None:
    """None is for what nobody has foreseen."""
    match error:
        case UnusableBackup() | UnusableDatabase() | StoreUnavailable() | CannotTell():
            return str(error)
        case apsw.Error() | asyncpg.PostgresError():
            return f"the database cannot be used: {error}"
        case OSError():
            words = error.strerror or str(error)
            return f"{error.filename}: {words}" if error.filename else words
        case _:
            return None
