"""What is done on one engine: a backup beside pays, and a restore of it into the other engine."""

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import apsw
import msgspec

from bench.backup.paying import Beside, Pays
from bench.backup.program import Ended, Program
from bench.dashboard.ground import Ground
from bench.dashboard.people import open_doors
from bench.display import Display
from bench.failure import BenchFailed
from bench.lists import wait_until_quiet
from bench.postgresql import server as postgresql_server
from bench.target import running_service
from qirsh.backup.lines import Manifest
from qirsh.backup.progress import Progress
from qirsh.backup.take import check_backup, source_of

_SETTLE_S_MAX: Final = 900
_RESERVE_S_PER_MILLION: Final = 60.0  # Pays are made ready for about as long as a backup takes.


class Pace(msgspec.Struct, frozen=True):
    """How long and how often."""

    slices: int  # Before the backup, and as many after it.
    seconds: int
    slow_s: int  # Beside one that is held back, which is not waited for.
    mib_per_s: float  # To which it is held.


FULL: Final = Pace(slices=4, seconds=4, slow_s=28, mib_per_s=16)
QUICK: Final = Pace(slices=2, seconds=1, slow_s=3, mib_per_s=1)


class Back(msgspec.Struct, frozen=True):
    """The way back."""

    into: str  # The other engine, with its version.
    check: Ended
    restore: Ended
    verify: Ended


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """All that was seen on one engine."""

    version: str
    back: Back
    manifest: Manifest
    file_bytes: int
    backup: Ended
    free: Beside  # As fast as it can,
    slow: Beside  # and held back.


def settle(ground: Ground, display: Display) -> None:
    """What was filled in past the service is sealed and counted by it once, and that takes a while."""
    with running_service(ground.data_dir, **ground.settings) as server:
        display.say(f"{ground.version}: waiting until all is sealed and counted")
        wait_until_quiet(server, _SETTLE_S_MAX)


def carry_out(ground: Ground, pace: Pace, disk: Path, display: Display) -> Outcome:
    """All of it. Raises `BenchFailed` when the numbers would mean nothing."""
    filled = ground.filled
    owners = filled.large.shop.owner, filled.small.shop.owner
    doors = asyncio.run(open_doors(ground.read_settings(), filled.town, owners))
    with tempfile.TemporaryDirectory(prefix="qirsh-backup-", dir=disk) as name:
        scratch = Path(name)
        scratch.chmod(0o755)
        with running_service(ground.data_dir, **ground.settings) as server:
            display.say(f"{ground.version}: waiting until all is sealed and counted")
            wait_until_quiet(server, _SETTLE_S_MAX)
            pays = Pays(server, ground.books, doors.customers, scratch)
            backup, free, slow = _beside_pays(ground, pays, pace, scratch, display)
        file = scratch / "backup.jsonl.gz"
        back = come_back(ground, file, disk, display)
        return Outcome(
            version=ground.version,
            back=back,
            manifest=check_backup(file, Progress()),
            file_bytes=file.stat().st_size,
            backup=backup,
            free=free,
            slow=slow,
        )


def come_back(ground: Ground, file: Path, disk: Path, display: Display) -> Back:
    """On the other engine. The file lies where there is room."""
    log = file.with_name("log")
    display.say(f"{ground.version}: reading the backup")
    check = Program("backup", "check", str(file), settings=own_settings(ground), log=log).ended()
    with _other_engine(ground, file.parent, disk) as (into, settings):
        display.say(f"{ground.version}: restoring it into {into}")
        restore = Program("restore", str(file), settings=settings, log=log).ended()
        display.say(f"{into}: verifying the books")
        verify = Program("verify", settings=settings, log=log).ended()
    return Back(into, check, restore, verify)


def _beside_pays(
    ground: Ground, pays: Pays, pace: Pace, scratch: Path, display: Display
) -> tuple[Ended, Beside, Beside]:
    display.say(f"{ground.version}: pays without a backup")
    pays.slices(1, pace.seconds)  # The first warms what the others find warm.
    pays.reserve(_RESERVE_S_PER_MILLION * ground.filled.payments / 1e6 + 2 * pace.slices * pace.seconds + pace.slow_s)
    pays.rest()
    without = pays.slices(pace.slices, pace.seconds)
    display.say(f"{ground.version}: a backup beside pays")
    paid = _transfers(ground)
    file = scratch / "backup.jsonl.gz"
    program = Program("backup", str(file), settings=own_settings(ground), log=scratch / "log")
    meanwhile = pays.beside(program, pace.seconds)
    backup = program.ended()
    without += pays.slices(pace.slices, pace.seconds)
    display.say(f"{ground.version}: one of {pace.mib_per_s:g} MiB/s beside pays")
    words = ("backup", str(scratch / "slow.jsonl.gz"), "--mib-per-s", str(pace.mib_per_s))
    program = Program(*words, settings=own_settings(ground), log=scratch / "log")
    held = pays.beside(program, pace.seconds, pace.slow_s)
    program.stop()
    if sum(one.transfers for one in check_backup(file, Progress()).sums.values()) < paid:
        raise BenchFailed("what was paid before the backup began is not in it")
    return backup, Beside(without, meanwhile), Beside(without, held)


def _transfers(ground: Ground) -> int:
    with source_of(ground.read_settings().database) as source:
        [(count,)] = source.select("SELECT count(*) FROM transfer")
    return int(count)


def own_settings(ground: Ground) -> dict[str, str]:
    """For a program beside the service."""
    return {"QIRSH_DATA_DIR": str(ground.data_dir), **ground.settings}


@contextmanager
def _other_engine(ground: Ground, scratch: Path, disk: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """An empty place of it, with the secret key of the backup."""
    data_dir = scratch / "restored"
    data_dir.mkdir(mode=0o700)
    secret = ground.settings.get("QIRSH_SECRET_KEY") or (ground.data_dir / "secret.key").read_text().strip()
    settings = {"QIRSH_DATA_DIR": str(data_dir), "QIRSH_SECRET_KEY": secret}
    if ground.engine == "postgresql":
        yield f"SQLite {apsw.sqlite_lib_version()}", settings
        return
    with postgresql_server.running(disk) as server, server.database() as url:
        yield f"PostgreSQL {server.sql('SHOW server_version')}", settings | {"QIRSH_DATABASE_URL": url}
