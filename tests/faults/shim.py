"""`qirsh serve` on a disk that can be told to stand still, be full or broken, or to kill the server at a given step.

Run by `served.py` as a program. It puts itself between SQLite and the file system, looks only at the write-ahead log,
and keeps a journal: which keys were written, when the log was synced, and when each answer left. It is patient, see
`patience.py`.
"""

import asyncio
import json
import os
import re
import signal
import sys
from pathlib import Path
from typing import Any, Final, NamedTuple

import apsw

from qirsh import service
from qirsh.cli.main import main
from qirsh.web.server.connection import Connection
from tests.faults.patience import be_patient
from tests.waiting import wait_until

_REAL: Final = "unix"
_PAGE_BYTES: Final = 4096
_FRAME_HEADER_BYTES: Final = 24
_KEY: Final = re.compile(rb"key-[0-9a-f]{12}")
_ANSWER: Final = re.compile(rb"HTTP/1\.1 (\d+) .*?\r\nx-request-id: (\S+)\r\n", re.DOTALL | re.IGNORECASE)


class Plan(NamedTuple):
    """How the disk behaves. The order is a file that tests write and remove while the server runs.

    An order says what to do, and from which step on: `fail sync 0`, `full write 5`, `tear write 3`, `kill synced 0`,
    `hold sync 0` (until the order changes). Steps are `write` (to the log), `sync` (about to) and `synced` (just done),
    counted since the order came.
    """

    journal: str
    order: str
    has_workers: bool  # Without them nothing is written but what a call asks for.


class _Disk:
    def __init__(self, plan: Plan) -> None:
        self._journal = os.open(plan.journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._order_file = Path(plan.order)
        self._order = ""
        self._steps = 0

    def note(self, line: str) -> None:
        """One line of the journal. The order of lines is the order of things, over all threads."""
        os.write(self._journal, f"{line}\n".encode())

    def step(self, step: str) -> str:
        """What is to be done at this step: nothing, most of the time."""
        order = self._ordered()
        if order != self._order:
            self._order, self._steps = order, 0
        if not order:
            return ""
        action, at, first = order.split()
        if step != at:
            return ""
        self._steps += 1
        if self._steps <= int(first):
            return ""
        if action == "hold":
            wait_until(lambda: self._ordered() != order)
        if action == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if action == "fail":
            raise apsw.IOError(f"ordered to fail: {order}")
        if action == "full":
            raise apsw.FullError(f"ordered to be full: {order}")
        return action

    def _ordered(self) -> str:
        try:
            return self._order_file.read_text()
        except FileNotFoundError:
            return ""


class _Files(apsw.VFS):
    def __init__(self, disk: _Disk) -> None:
        super().__init__("shim", _REAL, makedefault=True)
        self._disk = disk

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 - SQLite's name
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        if path is not None and path.endswith("-wal"):
            return _Log(self._disk, name, flags)
        return apsw.VFSFile(_REAL, name, flags)


class _Log(apsw.VFSFile):
    """A frame is written as its header, which says whether it ends a transaction, and its page."""

    def __init__(self, disk: _Disk, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        super().__init__(_REAL, name, flags)
        self._disk = disk
        self._is_last_frame = False

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: ANN401, N802 - SQLite's buffer, and its name
        if self._disk.step("write") == "tear":
            super().xWrite(bytes(data)[: len(data) // 2], offset)
            raise apsw.IOError("ordered to tear a write")
        super().xWrite(data, offset)
        if len(data) == _FRAME_HEADER_BYTES:
            self._is_last_frame = bytes(data[4:8]) != bytes(4)
        elif len(data) == _PAGE_BYTES:
            keys = b" ".join(sorted(set(_KEY.findall(data)))).decode()
            self._disk.note(f"{'commit' if self._is_last_frame else 'frame'} {keys}")

    def xSync(self, flags: int) -> None:  # noqa: N802 - SQLite's name
        self._disk.step("sync")
        self._disk.note("sync")
        super().xSync(flags)
        self._disk.note("synced")
        self._disk.step("synced")


class _Transport:
    """Notes what leaves, and passes everything on."""

    def __init__(self, transport: asyncio.BaseTransport, disk: _Disk) -> None:
        self._transport = transport
        self._disk = disk

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever a transport has
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        found = _ANSWER.match(data)
        assert found is not None, data
        self._disk.note(f"answer {found[2].decode()} {found[1].decode()}")
        self._transport.write(data)  # type: ignore[attr-defined]


def _noted(disk: _Disk) -> type[Connection]:
    class Noted(Connection):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            super().connection_made(_Transport(transport, disk))  # type: ignore[arg-type]

    return Noted


def _serve() -> None:
    plan = Plan(**json.loads(sys.argv.pop()))
    be_patient()
    if not plan.has_workers:
        service.start_roles = lambda *_: []  # type: ignore[attr-defined]
    disk = _Disk(plan)
    files = _Files(disk)
    service.Connection = _noted(disk)  # type: ignore[attr-defined]
    sys.argv = ["qirsh", "serve"]
    main()
    files.unregister()


if __name__ == "__main__":
    _serve()
