"""Tries what a restricted service may and may not do, and prints what came of it as JSON. Needs nothing but Python."""

import ctypes
import errno
import json
import mmap
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

_libc: Final = ctypes.CDLL(None, use_errno=True)
_NEW_USERS: Final = 0x10000000


def _tried(act: Callable[[], object]) -> str:
    try:
        act()
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return "done"


def _called(name: str, *arguments: object) -> Callable[[], None]:
    def call() -> None:
        if getattr(_libc, name)(*arguments) < 0:
            number = ctypes.get_errno()
            raise OSError(number, name)

    return call


def _writes(folder: str) -> Callable[[], None]:
    def write() -> None:
        file = Path(folder, f"probe-{os.getpid()}")
        file.write_text("probe")
        file.unlink()

    return write


def _new_file(name: str) -> Path:
    file = Path("/tmp", name)  # noqa: S108 - the unit's own
    file.touch()
    return file


def main(folders: list[str]) -> None:
    state = dict(line.split(":\t") for line in Path("/proc/self/status").read_text().splitlines() if ":\t" in line)
    told: dict[str, object] = {f"write {folder}": _tried(_writes(folder)) for folder in folders}
    acts: dict[str, Callable[[], object]] = {
        "list /home": lambda: list(Path("/home").iterdir()),
        "open /dev/kmsg": lambda: os.open("/dev/kmsg", os.O_RDONLY),
        "netlink": lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW),
        "packet": lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW),
        "inet": lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM),
        "writable code": lambda: mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC),
        "suid": lambda: _new_file("suid").chmod(0o4755),
        "nice": lambda: os.setpriority(os.PRIO_PROCESS, 0, 19),
        "personality": _called("personality", 8),
        "memory of the machine": lambda: Path("/proc/meminfo").read_text(),
        "first process": lambda: list(Path("/proc/1").iterdir()),
        "own file": lambda: os.chown(_new_file("own"), -1, os.getgid()),
        # The last, since whoever may do it is somebody else afterwards.
        "namespace": _called("unshare", _NEW_USERS),
    }
    told |= {name: _tried(act) for name, act in acts.items()}
    told |= {name: state[name] for name in ("CapBnd", "NoNewPrivs", "Seccomp")}
    told["read-only /sys"] = bool(os.statvfs("/sys").f_flag & os.ST_RDONLY)
    told["devices"] = sorted(path.name for path in Path("/dev").iterdir())
    print(json.dumps(told))  # noqa: T201 - what it is for


if __name__ == "__main__":
    main(sys.argv[1:])
