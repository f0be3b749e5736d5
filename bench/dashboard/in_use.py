"""Whether a connection to the database of SQLite is reading: seen from outside, by the locks that it holds."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

# Of the shared memory beside a database: a reader holds one of these bytes for as long as its snapshot.
_FIRST_READER: Final = 123
_LAST_READER: Final = 127


def readers_of(shared_memory: Path) -> Callable[[], bool]:
    """Says each time whether there is one."""
    inode = str(shared_memory.stat().st_ino)

    def is_read() -> bool:
        for line in Path("/proc/locks").read_text().splitlines():
            words = line.split()
            if "->" in words:
                continue  # Somebody who waits.
            place, first = words[5].rpartition(":")[2], int(words[6])
            if place == inode and words[3] == "READ" and _FIRST_READER <= first <= _LAST_READER:
                return True
        return False

    return is_read
