"""Starts a program as systemd would start that of a unit, for root, where no systemd runs.

`python -m tests.deploy.restrictions UNIT USER GROUPS -- PROGRAM...`: namespaces and mounts, capabilities, system call
filters, the user. What a unit says and this does not apply stands in `NOT_APPLIED`; a key that nobody knows is refused.
"""

import ctypes
import errno
import os
import socket
import stat
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.deploy.seccomp import filters_of
from tests.deploy.unit_file import Unit, read_unit

# What this file and `seccomp.py` apply.
APPLIED: Final = frozenset(
    {
        *("NoNewPrivileges", "CapabilityBoundingSet", "AmbientCapabilities", "UMask", "User", "Group", "Nice"),
        *(
            "ProtectSystem",
            "ProtectHome",
            "PrivateTmp",
            "PrivateDevices",
            "PrivateIPC",
            "PrivateMounts",
            "PrivateUsers",
        ),
        *("ProtectHostname", "ProtectClock", "ProtectKernelTunables", "ProtectKernelModules", "ProtectKernelLogs"),
        *("ProtectControlGroups", "ProtectProc", "ProcSubset", "ReadWritePaths", "StateDirectory", "RuntimeDirectory"),
        *("RestrictAddressFamilies", "RestrictNamespaces", "RestrictRealtime", "RestrictSUIDSGID", "LockPersonality"),
        *("MemoryDenyWriteExecute", "SystemCallArchitectures", "SystemCallErrorNumber", "SystemCallFilter"),
    }
)
# What only systemd itself can do.
NOT_APPLIED: Final = frozenset({"DevicePolicy", "RemoveIPC", "KeyringMode", "IOSchedulingClass"})
# Of when and how it is started and ended, and not of what it may do.
NO_RESTRICTION: Final = frozenset(
    {
        *("Type", "ExecStart", "ExecReload", "EnvironmentFile", "Environment", "LoadCredential", "StateDirectoryMode"),
        *("RuntimeDirectoryMode", "Restart", "RestartSec", "TimeoutStartSec", "TimeoutStopSec", "KillMode"),
        "WatchdogSec",
    }
)

_NEW_MOUNTS, _NEW_HOST, _NEW_IPC, _NEW_USER = 0x00020000, 0x04000000, 0x08000000, 0x10000000
_MOUNT_SETATTR: Final = 442  # On every architecture.
_RECURSIVE: Final = 0x8000
_READ_ONLY: Final = 1
_PR_CAPBSET_READ, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS, _PR_SET_MDWE = 23, 24, 38, 65
_libc: Final = ctypes.CDLL(None, use_errno=True)


def main(words: list[str]) -> None:
    file, user, groups, _, *program = words
    unit = read_unit(Path(file).parent, Path(file).name)
    if unknown := set(unit.service) - APPLIED - NOT_APPLIED - NO_RESTRICTION:
        raise SystemExit(f"nobody knows how to apply {', '.join(sorted(unknown))}")
    filters = filters_of(unit.service)  # Asks systemd-analyze, which the namespaces would hide.
    _unshare(unit)
    _mount(unit)
    os.umask(int(unit.last("UMask", "0022"), 8))
    os.nice(int(unit.last("Nice", "0")))
    _become(unit, int(user), [int(group) for group in groups.split(",")])
    if unit.is_on("MemoryDenyWriteExecute"):
        _libc.prctl(_PR_SET_MDWE, 1, 0, 0, 0)  # Newer kernels have it; the filter does the same on all.
    for one in filters:
        one.load()
    os.chdir("/")
    os.execv(program[0], program)  # noqa: S606 - what this is for


def _call(code: int) -> None:
    if code < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _unshare(unit: Unit) -> None:
    flags = _NEW_MOUNTS
    if unit.is_on("PrivateIPC"):
        flags |= _NEW_IPC
    if unit.is_on("ProtectHostname"):
        flags |= _NEW_HOST
    _call(_libc.unshare(flags))
    _do("mount", "--make-rprivate", "/")


def _do(*words: str) -> None:
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL)


def _set_read_only(path: Path, *, is_read_only: bool = True) -> None:
    attributes = (ctypes.c_uint64 * 4)(_READ_ONLY if is_read_only else 0, 0 if is_read_only else _READ_ONLY, 0, 0)
    _call(_libc.syscall(_MOUNT_SETATTR, -1, os.fsencode(path), _RECURSIVE, attributes, ctypes.sizeof(attributes)))


def _mount(unit: Unit) -> None:
    if unit.is_on("PrivateTmp"):
        for place in ("/tmp", "/var/tmp"):  # noqa: S108 - the unit's own
            _do("mount", "-t", "tmpfs", "-o", "mode=1777", "tmpfs", place)
    if unit.is_on("ProtectHome"):
        _hide("/home", "/root", "/run/user")
    if unit.is_on("ProtectKernelModules"):
        _hide("/usr/lib/modules", "/lib/modules")
    writable = [Path("/var/lib", name) for name in unit.service.get("StateDirectory", [])]
    writable += [Path("/run", name) for name in unit.service.get("RuntimeDirectory", [])]
    writable += [Path(path) for path in unit.service.get("ReadWritePaths", [])]
    writable += [Path("/tmp"), Path("/var/tmp")]  # noqa: S108 - the unit's own
    for folder in writable:
        _do("mount", "--bind", str(folder), str(folder))
    if unit.is_on("PrivateDevices"):
        _make_devices()
    assert unit.last("ProtectSystem") == "strict"
    _set_read_only(Path("/"))
    for folder in (*writable, Path("/dev/shm")):  # noqa: S108 - open to every service
        _set_read_only(folder, is_read_only=False)
    # After the rest: its helpers read /proc. /sys is read-only by now, with it the control groups.
    options = f"hidepid={unit.last('ProtectProc')},subset={unit.last('ProcSubset')}"
    _do("mount", "-t", "proc", "-o", options, "proc", "/proc")


def _hide(*folders: str) -> None:
    for folder in folders:
        if Path(folder).is_dir() and not Path(folder).is_symlink():
            _do("mount", "-t", "tmpfs", "-o", "mode=000,size=4k", "tmpfs", folder)


def _make_devices() -> None:
    kept = {name: Path("/dev", name).stat() for name in ("null", "zero", "full", "random", "urandom", "tty")}
    with_shm = os.open("/dev/shm", os.O_PATH)  # noqa: S108 - as systemd keeps it
    _do("mount", "-t", "tmpfs", "-o", "mode=755,nosuid,noexec", "tmpfs", "/dev")
    for name, found in kept.items():
        os.mknod(f"/dev/{name}", stat.S_IFCHR | 0o666, found.st_rdev)
        Path("/dev", name).chmod(0o666)
    for link, target in (("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        Path("/dev", link).symlink_to(target)
    Path("/dev/shm").mkdir()  # noqa: S108 - as systemd keeps it
    words = ["mount", "--bind", f"/proc/self/fd/{with_shm}", "/dev/shm"]  # noqa: S108 - the same
    subprocess.run(words, check=True, pass_fds=[with_shm])
    os.close(with_shm)


def _become(unit: Unit, user: int, groups: list[int]) -> None:
    assert unit.service["CapabilityBoundingSet"] == [""]
    if unit.is_on("PrivateUsers"):
        _enter_own_users(user, groups[0])
        groups = groups[:1]
    number = 0
    while _libc.prctl(_PR_CAPBSET_READ, number, 0, 0, 0) >= 0:
        _call(_libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0))
        number += 1
    os.setgroups(groups)
    os.setresgid(groups[0], groups[0], groups[0])
    os.setresuid(user, user, user)
    if unit.is_on("NoNewPrivileges"):
        _call(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))


def _enter_own_users(user: int, group: int) -> None:
    """Root and the service's user are who they are, all others nobody. Who stays outside must write that down."""
    ours, theirs = socket.socketpair()
    process = os.getpid()
    child = os.fork()
    if child == 0:
        theirs.recv(1)
        Path(f"/proc/{process}/uid_map").write_text(f"0 0 1\n{user} {user} 1\n")
        Path(f"/proc/{process}/gid_map").write_text(f"0 0 1\n{group} {group} 1\n")
        os._exit(0)
    _call(_libc.unshare(_NEW_USER))
    ours.send(b".")
    if os.waitpid(child, 0)[1]:
        raise OSError(errno.EPERM, "the user namespace has no users")
    ours.close()
    theirs.close()


if __name__ == "__main__":
    main(sys.argv[1:])
