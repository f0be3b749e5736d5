"""Files that only their user can read, whole or not there at all."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO


def write_private(path: Path, content: bytes) -> None:
    """Make it, or put it in the place of the one before."""
    with written(path, content) as file:
        Path(file.name).rename(path)


@contextlib.contextmanager
def written(path: Path, content: bytes) -> Iterator[IO[bytes]]:
    """A file that is safe on the disk, beside the path and not there yet."""
    scratch = path.with_name(f"{path.name}.new")
    scratch.unlink(missing_ok=True)
    # By its name it can be moved; opened by its number it would have none.
    with open(scratch, "xb", opener=_privately) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
        yield file


def _privately(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
