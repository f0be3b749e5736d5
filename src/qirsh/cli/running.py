"""Whether a server runs on this data, what it says of itself, and how an operator's wish reaches it."""

import contextlib
import os
import socket
import sys
import time
from pathlib import Path
from typing import Final

import msgspec
import uvloop

from qirsh.cli.ending import Stopped
from qirsh.service import opened
from qirsh.settings import Settings
from qirsh.store.interface import DatabaseInUse
from qirsh.web.operator.control import Reply, Wish, perform

_ANSWER_S_MAX: Final = 60  # A wish may wait for password checks and a slow disk, not for ever.
_SOCKET_PATH_BYTES: Final = 104 if sys.platform == "darwin" else 108
_STARTING_S_MAX: Final = 3  # Between taking the lock and opening the socket a server needs a moment.


class Server(msgspec.Struct, frozen=True):
    """What a running server says of itself."""

    pid: int
    address: str  # Where it listens.
    base_url: str  # How it is reached from outside.


def tell(settings: Settings, server: Server) -> None:
    """Leave word for `found`."""
    write_private(_word(settings), msgspec.json.encode(server))


def forget(settings: Settings) -> None:
    """The server ends."""
    _word(settings).unlink(missing_ok=True)


def found(settings: Settings) -> Server | None:
    """The server that runs on this data. Word left behind by a killed one counts for nothing."""
    try:
        _connected(settings).close()
        return msgspec.json.decode(_word(settings).read_bytes(), type=Server)
    except (OSError, msgspec.MsgspecError):
        return None


def send(settings: Settings, wish: Wish) -> Reply:
    """Carried out by the running server, or here when none runs, under the same lock."""
    give_up_at = time.monotonic() + _STARTING_S_MAX
    while True:
        with contextlib.suppress(FileNotFoundError, ConnectionRefusedError):
            return _sent(settings, wish)
        try:
            return uvloop.run(_performed(settings, wish))
        except DatabaseInUse:
            if time.monotonic() > give_up_at:
                raise
            time.sleep(0.1)


async def _performed(settings: Settings, wish: Wish) -> Reply:
    async with opened(settings) as parts:
        return await perform(parts, wish)


def _sent(settings: Settings, wish: Wish) -> Reply:
    with _connected(settings) as connection:
        try:
            connection.sendall(msgspec.json.encode(wish) + b"\n")
            with connection.makefile("rb") as lines:
                return msgspec.json.decode(lines.readline(), type=Reply)
        except (OSError, msgspec.MsgspecError):
            message = "the server went away before it answered: it may have been done or not; look before you try again"
            raise Stopped(message) from None


def check_socket_path(settings: Settings) -> None:
    """The kernel keeps it in a field of fixed size."""
    if len(os.fsencode(settings.control_socket)) >= _SOCKET_PATH_BYTES:
        message = (
            f"QIRSH_DATA_DIR: {settings.data_dir} is too long for the control socket inside it: use a shorter path"
        )
        raise Stopped(message)


def _connected(settings: Settings) -> socket.socket:
    check_socket_path(settings)
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(_ANSWER_S_MAX)
        connection.connect(str(settings.control_socket))
    except PermissionError:
        connection.close()
        message = f"{settings.control_socket} belongs to another user: run this as the user who serves"
        raise Stopped(message) from None
    except OSError:
        connection.close()
        raise
    return connection


def _word(settings: Settings) -> Path:
    return settings.data_dir / "serving.json"


def write_private(path: Path, content: bytes) -> None:
    """A file that only its user can read, whole or not at all."""
    scratch = path.with_name(f"{path.name}.new")
    scratch.unlink(missing_ok=True)
    descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    scratch.rename(path)
