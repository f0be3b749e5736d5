"""What is looked at, and what is said of it in words: for `qirsh doctor`, and for operators at the console."""

import contextlib
import os
import platform
import resource
import shutil
import stat
import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import apsw

from qirsh.backup.files import last_backup
from qirsh.doctor import memory_checks, postgres_checks, secret_checks
from qirsh.doctor.database_probe import has_begun, operators, probe
from qirsh.doctor.doctor_check import Check, Finding, of_schema
from qirsh.domain.limits import CONNECTIONS_MAX
from qirsh.engine.clock import system_clock
from qirsh.setting_values import is_loopback
from qirsh.settings import Settings
from qirsh.store.interface import CannotTell, UnusableDatabase
from qirsh.store.sqlite.store import SQLITE_MIN

Checks = tuple[Check | None, Check | None]
_FREE_BYTES_MIN: Final = 1024**3  # Ten million payments take some gigabytes; with less, look at it soon.
_DESCRIPTORS_MIN: Final = CONNECTIONS_MAX + 256  # Connections, and room for files.
_CLOCK_MS_MIN: Final = 1_767_225_600_000  # 2026-01-01: the Syrian pound of this service is of that day.
_CLOCK_BEHIND_MS_MAX: Final = 5_000
_OPERATORS_MIN: Final = 2
_BACKUP_AGE_MAX: Final = timedelta(days=2)
# Locks and shared memory do not hold across machines, so that a second server would not be kept out.
_REMOTE: Final = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "fuse.sshfs", "9p", "afs", "ceph", "glusterfs"}


def examine(settings: Settings, checks: Mapping[str, Checks] | None = None) -> dict[str, Finding]:
    """What each check found. It reads only, and takes as long as the database takes to answer."""
    engine = 0 if isinstance(settings.database, Path) else 1
    findings: dict[str, Finding] = {}
    for name, own in (CHECKS if checks is None else checks).items():
        check = own[engine]
        # One answer is enough of a server that gives none, and each would be waited for.
        if check is not None and (name not in _ASK_DATABASE or findings.get("PostgreSQL", _FINE).level == "ok"):
            findings[name] = _found(check, settings)
    return findings


def _found(check: Check, settings: Settings) -> Finding:
    try:
        return check(settings)
    except (CannotTell, UnusableDatabase, OSError) as error:
        return Finding("bad", str(error))


def python(_settings: Settings) -> Finding:
    level: Final = "ok" if sys.version_info >= (3, 11) else "bad"
    return Finding(level, f"{platform.python_version()} (3.11 or newer)")


def sqlite(_settings: Settings) -> Finding:
    version = apsw.sqlite_lib_version()
    level: Final = "ok" if tuple(int(part) for part in version.split(".")) >= SQLITE_MIN else "bad"
    return Finding(level, f"{version} ({'.'.join(map(str, SQLITE_MIN))} or newer: older ones can lose commits)")


def user(_settings: Settings) -> Finding:
    if os.geteuid() == 0:
        return Finding("note", "root: a fault of the service is then a fault of the machine; give it its own user")
    return Finding("ok", f"user {os.geteuid()}, not root")


def descriptors(_settings: Settings) -> Finding:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < _DESCRIPTORS_MIN:
        return Finding("bad", f"{hard} at most: raise the limit (ulimit -Hn, LimitNOFILE) to {_DESCRIPTORS_MIN}")
    return Finding("ok", "as many as the connections need")


def data_directory(settings: Settings) -> Finding:
    directory = settings.data_dir
    if not directory.exists():
        return Finding("note", f"{directory} does not exist yet; the first start makes it")
    if not directory.is_dir():
        return Finding("bad", f"{directory} is not a directory")
    if directory.stat().st_uid != os.geteuid():
        return Finding("bad", f"{directory} belongs to user {directory.stat().st_uid}: run as that user, or chown it")
    opened = [path for path in (directory, *sorted(directory.iterdir())) if _is_open_to_others(path)]
    if opened:
        return Finding("bad", f"other users can open {', '.join(map(str, opened))}: chmod go= them")
    return Finding("ok", f"{directory}, closed to other users")


def control_socket(settings: Settings) -> Finding:
    """Whoever can write to its folder can put another in its place, and hear operators' passwords."""
    folder = settings.control_socket.parent
    if settings.shared_socket is None:
        return Finding("ok", "in the data directory, for the service's own user")
    if not folder.is_dir():
        return Finding(
            "bad",
            f"{folder} is not a directory: systemd makes it when the service starts; elsewhere make it, for the"
            " service's user alone to write",
        )
    if stat.S_IMODE(folder.stat().st_mode) & 0o022 or folder.stat().st_uid not in {0, os.geteuid()}:
        return Finding(
            "bad", f"others can write to {folder}, and put a socket of their own there: chmod go-w, chown it"
        )
    if settings.operators_group is None:
        return Finding("note", f"{settings.control_socket}, for the service's own user: see QIRSH_OPERATORS_GROUP")
    return Finding("ok", f"{settings.control_socket}, for the group {settings.operators_group}")


def _is_open_to_others(path: Path) -> bool:
    return bool(stat.S_IMODE(path.lstat().st_mode) & 0o077)


def free_space(settings: Settings) -> Finding:
    free = shutil.disk_usage(_existing(_file(settings).parent)).free
    level: Final = "ok" if free >= _FREE_BYTES_MIN else "bad"
    return Finding(level, f"{free / 1024**3:.1f} GiB (1 GiB or more; a full disk stops payments)")


def file_system(settings: Settings) -> Finding:
    folder = _existing(_file(settings).parent)
    kind = _file_system_of(folder)
    if kind in _REMOTE:
        return Finding("bad", f"{folder} is on {kind}: SQLite needs a disk of this machine")
    if kind in {"tmpfs", "ramfs"}:
        return Finding("note", f"{folder} is in memory ({kind}): it is gone when the machine stops")
    return Finding("ok", kind or "of this machine, as far as can be seen")


def _file_system_of(folder: Path) -> str:
    """The type of the longest mount point above the folder; empty where /proc does not tell."""
    mounts: dict[Path, str] = {}
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace").splitlines():
            _, point, kind, *_ = line.split(" ")
            mounts[Path(point.replace("\\040", " "))] = kind
    real = folder.resolve()
    return next((mounts[point] for point in (real, *real.parents) if point in mounts), "")


def _file(settings: Settings) -> Path:
    assert isinstance(settings.database, Path), "the table of checks knows the engine"
    return settings.database


def _existing(path: Path) -> Path:
    return next(above for above in (path, *path.parents) if above.exists())


def database(settings: Settings) -> Finding:
    if not has_begun(settings):
        if settings.secret_file.exists():
            return Finding("bad", f"{settings.database} is gone, though {settings.secret_file} is there: put it back")
        return Finding("note", f"{settings.database} does not exist yet; the first start makes it")
    applied = dict(probe(settings, "SELECT number, digest FROM schema_migration"))
    return of_schema("sqlite", str(settings.database), applied)


def durability(settings: Settings) -> Finding:
    if not has_begun(settings):
        return Finding("note", "not set yet; the first start does")
    [(journal,)] = probe(settings, "PRAGMA journal_mode")
    if journal != "wal":
        return Finding("bad", f"the journal is {journal}, not wal: somebody changed it; the next start sets it again")
    return Finding("ok", "write-ahead log; every commit is on the disk before it is answered (synchronous = full)")


def base_url(settings: Settings) -> Finding:
    if settings.base_url.startswith("https:"):
        return Finding("ok", settings.base_url)
    if is_loopback(settings.base_url):
        return Finding("ok", f"{settings.base_url}, on this machine only")
    return Finding("bad", f"{settings.base_url} is not https: keys, passwords and PINs would travel in the open")


def mail(settings: Settings) -> Finding:
    if settings.smtp is None and settings.demo_file.exists():
        return Finding(
            "note",
            "none can be sent: `qirsh demo` shows each one at /demo/mail, and people can join there; under"
            " `qirsh serve` nobody could: see QIRSH_SMTP_URL",
        )
    if settings.smtp is None:
        return Finding(
            "note",
            "none can be sent, so nobody can join, set a forgotten password or become the second operator:"
            " see QIRSH_SMTP_URL",
        )
    if settings.smtp.security == "none" and not is_loopback(f"//{settings.smtp.host}"):
        return Finding("bad", f"{settings.smtp.shown}: codes and links would travel in the open: use smtp+starttls://")
    return Finding(
        "ok", f"through {settings.smtp.shown}, from {settings.mail_from}; whether it takes any was not tried"
    )


def webhooks(settings: Settings) -> Finding:
    """Where a business may have requests sent to."""
    if not settings.webhook_networks:
        return Finding("ok", "go by https to public addresses only")
    opened = ", ".join(map(str, settings.webhook_networks))
    return Finding("note", f"go to {opened} too, by http and to any port: whoever has a key can have them sent there")


def clock(settings: Settings) -> Finding:
    now = system_clock()
    if now < _CLOCK_MS_MIN:
        return Finding("bad", "the clock is before 2026: set it, or payments expire at wrong times")
    if has_begun(settings):
        [(newest,)] = probe(settings, "SELECT max(at) FROM audit")
        if newest is not None and newest - now > _CLOCK_BEHIND_MS_MAX:
            return Finding("bad", f"the clock is {(newest - now) // 1000} s behind the newest audit entry: set it")
    if not isinstance(settings.database, Path) and (apart := postgres_checks.clocks_apart(settings)):
        return apart
    return Finding("ok", "plausible")


def operators_enough(settings: Settings) -> Finding:
    count = operators(settings)
    if count < _OPERATORS_MIN:
        return Finding(
            "bad",
            f"{count}: deposits take two, a week after one appointed the other; use `qirsh operator create`",
        )
    return Finding("ok", str(count))


def money(settings: Settings) -> Finding:
    """Whether the auditor has stopped it."""
    if not has_begun(settings):
        return Finding("note", "there is none yet")
    open_stops = probe(settings, "SELECT reason FROM stop WHERE lifted_at IS NULL ORDER BY id DESC LIMIT 1")
    if open_stops:
        return Finding("bad", f"stopped: {open_stops[0][0]}; repair it, then qirsh audit lift")
    return Finding("ok", "moves")


def backup(settings: Settings) -> Finding:
    """When the last one was taken from here, to the end."""
    last = last_backup(settings.data_dir)
    if last is None:
        return Finding(
            "note", "none was taken from here: qirsh backup DIRECTORY, each night and kept on another machine"
        )
    age = datetime.now(UTC) - last.at
    broken = f"; {last.violations:,} of them broke a rule: run qirsh verify" if last.violations else ""
    words = f"the last one is of {last.at:%Y-%m-%d %H:%M} UTC, {last.rows:,} rows, {last.bytes:,} bytes{broken}"
    if age > _BACKUP_AGE_MAX:
        return Finding("note", f"{words}; that is {age.days} days ago: take one each night")
    if broken:
        return Finding("bad", words)
    return Finding("ok", words)


_FINE: Final = Finding("ok", "")
_ASK_DATABASE: Final = {
    *("Database", "Durability", "Preferences", "Guards", "Connections", "Secret key", "Old secrets", "Clock"),
    *("Operators", "Money", "Role", "Webhook secrets", "Chain memory", "Standbys"),
}
# On SQLite, and on PostgreSQL.
CHECKS: Final[dict[str, Checks]] = {
    "Python": (python, python),
    "SQLite": (sqlite, None),
    "PostgreSQL": (None, postgres_checks.server),
    "Hosts": (None, postgres_checks.hosts),
    "Standbys": (None, postgres_checks.standbys),
    "Line": (None, postgres_checks.line),
    "Role": (None, postgres_checks.owner),
    "User": (user, user),
    "Descriptors": (descriptors, descriptors),
    "Data directory": (data_directory, data_directory),
    "Control socket": (control_socket, control_socket),
    "Free space": (free_space, None),
    "File system": (file_system, None),
    "Database": (database, postgres_checks.database),
    "Durability": (durability, postgres_checks.durability),
    "Preferences": (None, postgres_checks.preferences),
    "Guards": (None, postgres_checks.guards),
    "Connections": (None, postgres_checks.connections),
    "Secret key": (secret_checks.secret_key, secret_checks.secret_key),
    "Old secrets": (secret_checks.old_secrets, secret_checks.old_secrets),
    "Webhook secrets": (secret_checks.webhook_secrets, secret_checks.webhook_secrets),
    "Base URL": (base_url, base_url),
    "Mail": (mail, mail),
    "Webhooks": (webhooks, webhooks),
    "Clock": (clock, clock),
    "Operators": (operators_enough, operators_enough),
    "Money": (money, money),
    "Backup": (backup, backup),
    "Chain memory": (memory_checks.memory, memory_checks.memory),
}
