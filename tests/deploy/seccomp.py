"""System call filters as systemd makes them of a unit's settings, by libseccomp, which systemd brings along."""

import ctypes
import errno
import mmap
import socket
import stat
import subprocess
from collections.abc import Callable, Iterable, Mapping
from typing import Final

_ALLOW: Final = 0x7FFF0000
_ERRNO: Final = 0x00050000
_GREATER, _EQUAL, _MASKED, _NOT_EQUAL = 6, 4, 7, 1
_UNKNOWN: Final = -1  # A system call that this architecture does not have.
_NAMESPACES: Final = (0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000)
_O_CREAT: Final = 0o100
_SHM_EXEC: Final = 0o100000


class _Compared(ctypes.Structure):
    _fields_ = (
        ("argument", ctypes.c_uint),
        ("operation", ctypes.c_int),
        ("first", ctypes.c_uint64),
        ("second", ctypes.c_uint64),
    )


class Filter:
    """One filter; `load` puts it on this process for good."""

    def __init__(self, otherwise: int = _ALLOW) -> None:
        self._library = ctypes.CDLL("libseccomp.so.2")
        self._library.seccomp_init.restype = ctypes.c_void_p
        self._context = ctypes.c_void_p(self._library.seccomp_init(ctypes.c_uint32(otherwise)))
        self._otherwise = otherwise

    def rule(self, action: int, name: str, *compared: tuple[int, int, int, int]) -> None:
        number = self._library.seccomp_syscall_resolve_name(name.encode())
        if number == _UNKNOWN or action == self._otherwise:
            return
        arguments = (_Compared * len(compared))(*(_Compared(*one) for one in compared))
        code = self._library.seccomp_rule_add_array(
            self._context, ctypes.c_uint32(action), number, len(compared), arguments
        )
        if code not in {0, -errno.EDOM}:  # EDOM: of another architecture.
            raise OSError(-code, f"seccomp rule for {name}")

    def refuse(self, name: str, *compared: tuple[int, int, int, int], code: int = errno.EPERM) -> None:
        self.rule(_ERRNO | code, name, *compared)

    def load(self) -> None:
        if code := self._library.seccomp_load(self._context):
            raise OSError(-code, "seccomp_load")


def members(name: str) -> set[str]:
    """A system call, or all of a set, as this systemd knows it."""
    if not name.startswith("@"):
        return {name}
    told = subprocess.run(["systemd-analyze", "syscall-filter", name], capture_output=True, text=True, check=True)
    inner = [line.strip() for line in told.stdout.splitlines() if line.startswith(" ") and "#" not in line]
    return {call for one in inner for call in members(one)}


def allowed_calls(filters: Iterable[str]) -> set[str]:
    """What lines of SystemCallFilter= leave, in their order, of which the first allows."""
    allowed = members("@default")
    for line in filters:
        calls = {call for name in line.removeprefix("~").split() for call in members(name)}
        allowed = allowed - calls if line.startswith("~") else allowed | calls
    return allowed


def filters_of(service: Mapping[str, list[str]]) -> list[Filter]:
    """All filters of a unit's [Service], to be loaded in this order: the list of allowed calls comes last."""
    on = {key for key, values in service.items() if values[-1] == "yes"}
    filters = [make() for key, make in _BY_KEY.items() if key in on]
    if families := service.get("RestrictAddressFamilies"):
        filters.append(_families({getattr(socket, name) for name in families[-1].split()}))
    if lines := service.get("SystemCallFilter"):
        assert service["SystemCallErrorNumber"] == ["EPERM"]
        last = Filter(_ERRNO | errno.EPERM)
        # What loads a filter is needed until the last one is loaded, and a filter cannot be taken back.
        for call in sorted(allowed_calls(lines)):
            last.rule(_ALLOW, call)
        filters.append(last)
    return filters


def _families(allowed: set[int]) -> Filter:
    made = Filter()
    for family in set(range(max(allowed))) - allowed:
        made.refuse("socket", (0, _EQUAL, family, 0), code=errno.EAFNOSUPPORT)
    made.refuse("socket", (0, _GREATER, max(allowed), 0), code=errno.EAFNOSUPPORT)
    return made


def _no_writable_code() -> Filter:
    made = Filter()
    both = mmap.PROT_EXEC | mmap.PROT_WRITE
    made.refuse("mmap", (2, _MASKED, both, both))
    made.refuse("mprotect", (2, _MASKED, mmap.PROT_EXEC, mmap.PROT_EXEC))
    made.refuse("pkey_mprotect", (2, _MASKED, mmap.PROT_EXEC, mmap.PROT_EXEC))
    made.refuse("shmat", (2, _MASKED, _SHM_EXEC, _SHM_EXEC))
    return made


def _no_namespaces() -> Filter:
    made = Filter()
    made.refuse("clone3", code=errno.ENOSYS)
    made.refuse("setns", (1, _EQUAL, 0, 0))
    for flag in _NAMESPACES:
        for call, argument in (("unshare", 0), ("clone", 0), ("setns", 1)):
            made.refuse(call, (argument, _MASKED, flag, flag))
    return made


def _no_suid() -> Filter:
    made = Filter()
    for bit in (stat.S_ISUID, stat.S_ISGID):
        for call, argument in (("chmod", 1), ("fchmod", 1), ("fchmodat", 2), ("fchmodat2", 2), ("mkdir", 1)):
            made.refuse(call, (argument, _MASKED, bit, bit))
        for call, argument in (("mkdirat", 2), ("mknod", 1), ("mknodat", 2), ("creat", 1)):
            made.refuse(call, (argument, _MASKED, bit, bit))
        made.refuse("open", (1, _MASKED, _O_CREAT, _O_CREAT), (2, _MASKED, bit, bit))
        made.refuse("openat", (2, _MASKED, _O_CREAT, _O_CREAT), (3, _MASKED, bit, bit))
    made.refuse("openat2", code=errno.ENOSYS)
    return made


def _no_personality() -> Filter:
    made = Filter()
    made.refuse("personality", (0, _NOT_EQUAL, 0, 0))
    return made


def _no_calls(*names: str) -> Filter:
    made = Filter()
    for call in sorted({call for name in names for call in members(name)}):
        made.refuse(call)
    return made


_BY_KEY: Final[dict[str, Callable[[], Filter]]] = {
    "MemoryDenyWriteExecute": _no_writable_code,
    "RestrictNamespaces": _no_namespaces,
    "RestrictSUIDSGID": _no_suid,
    "LockPersonality": _no_personality,
    "RestrictRealtime": lambda: _no_calls("sched_setscheduler", "sched_setattr"),
    "ProtectClock": lambda: _no_calls("@clock"),
    "ProtectKernelModules": lambda: _no_calls("@module"),
    "ProtectKernelLogs": lambda: _no_calls("syslog"),
    "ProtectHostname": lambda: _no_calls("sethostname", "setdomainname"),
    "PrivateDevices": lambda: _no_calls("@raw-io"),
}
