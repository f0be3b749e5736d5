"""Restore a backup into an empty place of either engine: all of it is there, or nothing has changed.

A file that is whole is restored even if its rows break rules: money stands still until operators have seen to them.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path

import msgspec

from qirsh.backup.archive import BackupReader
from qirsh.backup.database import Target, head_of, require_sound, sums_of
from qirsh.backup.lines import Manifest, UnusableBackup, moment_ms
from qirsh.backup.new_file import new_sqlite_file
from qirsh.backup.postgres import postgres_target
from qirsh.backup.progress import Progress
from qirsh.backup.sqlite import sqlite_source, sqlite_target
from qirsh.domain.restore import Restore
from qirsh.store.integrity.invariant import Invariant, Violation
from qirsh.store.postgres import verify as postgres_verify
from qirsh.store.postgres.long_transaction import LongTransaction
from qirsh.store.postgres.store import instance_in
from qirsh.store.record_restore import record_restore
from qirsh.store.sqlite import verify as sqlite_verify
from qirsh.store.sqlite.store import SqliteStore


class Installation(msgspec.Struct, frozen=True):
    """Whose backup it becomes."""

    clock: Callable[[], int]
    entropy: Callable[[int], bytes]
    done_by: str
    after_epoch: int  # The last one that there was, as far as is known here.


class Restored(msgspec.Struct, frozen=True):
    """What was done."""

    record: Restore
    violations: list[Violation]
    moved_aside: list[Path]


def restore_backup(
    file: Path, manifest: Manifest, database: Path | str, own: Installation, progress: Progress, *, aside: bool = False
) -> Restored:
    """From a file that was read to its end before."""
    if isinstance(database, Path):
        return _into_sqlite(file, manifest, database.resolve(), own, progress, aside=aside)
    return _into_postgres(file, manifest, database, own, progress)


def _into_sqlite(
    file: Path, manifest: Manifest, path: Path, own: Installation, progress: Progress, *, aside: bool
) -> Restored:
    with new_sqlite_file(path, aside=aside) as (fresh, moved):
        with sqlite_target(fresh, manifest.schema) as target:
            _fill(target, file, manifest, progress)
            target.awake()
            target.migrate()
        record = asyncio.run(_record_in_sqlite(fresh, manifest, own))
        with sqlite_source(fresh) as copied:
            violations = copied.violations(progress)
        _require_readable(violations, sqlite_verify.WHOLE)
    return Restored(record, violations, moved)


def _into_postgres(file: Path, manifest: Manifest, url: str, own: Installation, progress: Progress) -> Restored:
    with postgres_target(url, manifest.schema) as (runner, connection, target):
        _fill(target, file, manifest, progress)
        target.awake()
        target.migrate()

        async def recorded() -> Restore:
            store = LongTransaction(connection, await instance_in(connection, own.entropy))
            taken_at = moment_ms(manifest.begun_at)
            return await record_restore(store, taken_at, own.done_by, epoch_above=own.after_epoch)

        record = runner.run(recorded())
        violations = target.violations(progress)
        _require_readable(violations, postgres_verify.WHOLE)
    return Restored(record, violations, [])


def _require_readable(violations: list[Violation], whole: Invariant) -> None:
    """Refuse a copy with damaged pages. SQLite names rows that break a CHECK in the same place."""
    damage = (violation for violation in violations if violation.name == whole.name)
    require_sound([violation for violation in damage if "CHECK constraint failed" not in violation.sentence])


def _fill(target: Target, file: Path, manifest: Manifest, progress: Progress) -> None:
    progress.begin("Restoring", manifest.rows)
    with file.open("rb") as source:
        reader = BackupReader(source)
        for table, chunks in reader.tables():
            target.load(table, progress.counted(chunks))
    if reader.manifest != manifest:
        raise UnusableBackup("the file changed while it was read")
    if sums_of(target) != manifest.sums or head_of(target) != manifest.head:
        raise UnusableBackup("the sums or the head of the chain that the backup names are not those of its rows")


async def _record_in_sqlite(path: Path, manifest: Manifest, own: Installation) -> Restore:
    store = SqliteStore(path, clock=own.clock, entropy=own.entropy)
    try:
        taken_at = moment_ms(manifest.begun_at)
        return await record_restore(store, taken_at, own.done_by, epoch_above=own.after_epoch)
    finally:
        await store.close()
