"""Who is at the other end of the control socket, as the operating system knows them."""

import asyncio
import os
import pwd
import socket
import struct
from typing import Final, Protocol

_UCRED: Final = struct.Struct("iII")  # Process, user and group.


class _Socket(Protocol):
    def getsockopt(self, level: int, optname: int, buflen: int, /) -> bytes: ...


def peer_user(connection: _Socket) -> int | None:
    """The user id of who has connected; None where the system does not tell."""
    option: int | None = getattr(socket, "SO_PEERCRED", None)  # Linux has it.
    if option is None:
        return None
    _, user, _ = _UCRED.unpack(connection.getsockopt(socket.SOL_SOCKET, option, _UCRED.size))
    return int(user)


async def user_name(user: int | None) -> str:
    """As audit entries name them: `os user alice`, or by the number of one who has no name here."""
    if user is None:
        return ""
    try:
        # The system may have to ask another machine.
        known = await asyncio.to_thread(pwd.getpwuid, user)
    except KeyError:
        return f"os user {user}"
    return f"os user {known.pw_name}"


def own_user() -> int:
    """Of an act that is carried out without a server."""
    return os.getuid()
