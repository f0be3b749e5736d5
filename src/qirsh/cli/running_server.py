"""Whether a server runs on this data, and what it says of itself."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from qirsh.cli.errors import Stopped, another_user
from qirsh.cli.private_file import written
from qirsh.settings import Settings


class Server(msgspec.Struct, frozen=True):
    """What a running server says of itself."""

    pid: int
    address: str  # Where it listens.
    base_url: str  # How it is reached from outside.
    processes: int = 1  # That serve. With several, the one that is told of is their parent.


@contextlib.contextmanager
def announced(settings: Settings, server: Server) -> Iterator[None]:
    """Leave word for `found`, under a lock that ends with us, however we end."""
    path = _word(settings)
    with written(path, msgspec.json.encode(server)) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        scratch = Path(file.name)
        scratch.rename(path)
        try:
            yield
        finally:
            with contextlib.suppress(FileNotFoundError):  # By now it may be the word of another.
                if os.path.samestat(path.stat(), os.fstat(file.fileno())):
                    path.unlink()


def found(settings: Settings) -> Server | None:
    """The server that runs on this data. Word left behind by a killed one counts for nothing."""
    try:
        with _word(settings).open("rb") as file:
            word = file.read()
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return msgspec.json.decode(word, type=Server)
    except PermissionError:
        raise another_user(_word(settings)) from None
    except (OSError, msgspec.MsgspecError):
        return None
    return None


def check_nobody_serves(settings: Settings) -> None:
    """Two in one directory would take the control socket from each other. SQLite's lock says the same earlier."""
    server = found(settings)
    if server is not None:
        message = f"process {server.pid} serves from {settings.data_dir}: set QIRSH_DATA_DIR to a directory of its own"
        raise Stopped(message)


def _word(settings: Settings) -> Path:
    return settings.data_dir / "serving.json"
