"""How an operator's wish reaches the server, or is carried out where none runs."""

import contextlib
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import aclosing
from typing import IO, Final

import msgspec
import uvloop

from qirsh.cli.errors import Stopped, another_user
from qirsh.service import opened
from qirsh.settings import Settings
from qirsh.store.interface import DatabaseInUse
from qirsh.web.http.streams import Chunks
from qirsh.web.operator.control import OperatorReply, OperatorRequest, perform, scratch_path
from qirsh.web.operator.peer import own_user

_ANSWER_S_MAX: Final = 60  # A wish may wait for password checks and a slow disk, not for ever.
_CHECK_S_MAX: Final = 3600  # A full check reads every row there is; a file of the bank may have many lines.
_SOCKET_PATH_BYTES: Final = 104 if sys.platform == "darwin" else 108
_STARTING_S_MAX: Final = 3  # Between taking the lock and opening the socket a server needs a moment.


def send(settings: Settings, request: OperatorRequest, sink: IO[bytes] | None = None) -> OperatorReply:
    """Carried out by the running server, or here when none runs, under the same lock.

    Where the socket is shared, only by the server: who asks need not be able to open the data. What follows an answer
    goes to the sink.
    """
    if settings.shared_socket is not None:
        return _sent_to_server(settings, request, sink)
    give_up_at = time.monotonic() + _STARTING_S_MAX
    while True:
        with contextlib.suppress(FileNotFoundError, ConnectionRefusedError):
            return _sent(settings, request, sink)
        try:
            return uvloop.run(_performed(settings, request, sink))
        except DatabaseInUse:
            if time.monotonic() > give_up_at:
                raise
            time.sleep(0.1)


def _sent_to_server(settings: Settings, request: OperatorRequest, sink: IO[bytes] | None) -> OperatorReply:
    try:
        return _sent(settings, request, sink)
    except (FileNotFoundError, ConnectionRefusedError):
        message = (
            f"no server listens on {settings.control_socket}: is QIRSH_CONTROL_SOCKET right, and does the service run?"
        )
        raise Stopped(message) from None


async def _performed(settings: Settings, request: OperatorRequest, sink: IO[bytes] | None) -> OperatorReply:
    following: list[Chunks] = []
    async with opened(settings) as context:
        reply = await perform(context, request, own_user(), following.append)
        for chunks in following:
            async with aclosing(chunks):
                async for piece in chunks:
                    if sink is not None:
                        sink.write(piece)
        return reply


def _sent(settings: Settings, request: OperatorRequest, sink: IO[bytes] | None) -> OperatorReply:
    with _connected(settings) as connection:
        if request.act.startswith(("audit ", "bank ")):
            connection.settimeout(_CHECK_S_MAX)
        with connection.makefile("rb") as lines:
            try:
                connection.sendall(msgspec.json.encode(request) + b"\n")
                reply = msgspec.json.decode(lines.readline(), type=OperatorReply)
            except (OSError, msgspec.MsgspecError):
                message = (
                    "the server went away before it answered: it may have been done or not; look before you try again"
                )
                raise Stopped(message) from None
            if sink is not None and reply.done is not None:
                for piece in _following(lines):
                    sink.write(piece)
            return reply


def _following(lines: IO[bytes]) -> Iterator[bytes]:
    """Pieces behind their lengths, until the zero that ends them."""
    try:
        while (length := lines.readline().strip()) != b"0":
            if not length.isdigit():
                raise ConnectionError
            yield lines.read(int(length))
    except OSError:
        message = "the server ended before it had sent all of it: what has arrived is a part"
        raise Stopped(message) from None


def check_socket_path(settings: Settings) -> None:
    """The kernel keeps it in a field of fixed size."""
    path = settings.control_socket
    if max(len(os.fsencode(one)) for one in (path, scratch_path(path))) >= _SOCKET_PATH_BYTES:
        message = (
            f"QIRSH_DATA_DIR: {settings.data_dir} is too long for the control socket inside it: use a shorter path"
            if settings.shared_socket is None
            else f"QIRSH_CONTROL_SOCKET: {path} is too long for a socket: use a shorter path"
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
        if settings.shared_socket is None:
            raise another_user(settings.control_socket) from None
        message = (
            f"you may not use {settings.control_socket}: it is for the service's own user and the members of the group"
            " that the service has as QIRSH_OPERATORS_GROUP"
        )
        raise Stopped(message) from None
    except OSError:
        connection.close()
        raise
    return connection
