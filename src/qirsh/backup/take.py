"""Take a backup: every table of one snapshot, and at the end what it must add up to."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO, Final

from qirsh import __version__
from qirsh.backup.archive import BackupReader, BackupWriter
from qirsh.backup.database import Source, epoch_of, head_of, rows_in, sums_of
from qirsh.backup.layout import Row, TableLayout, layout
from qirsh.backup.lines import FORMAT, Beginning, Manifest, UnusableBackup, moment
from qirsh.backup.postgres import postgres_source
from qirsh.backup.progress import Progress
from qirsh.backup.sqlite import sqlite_source
from qirsh.domain.constant import SECRET_CHECK
from qirsh.store import migrate
from qirsh.store.integrity.invariant import Violation
from qirsh.store.interface import MARKS, CannotTell, refuse_moved

_FINGERPRINT_BYTES: Final = 4  # What a value under a secret begins with.
_VIOLATIONS_NAMED_MAX: Final = 20  # The manifest names so many; `qirsh verify` names all.


def source_of(database: Path | str) -> AbstractContextManager[Source]:
    """A snapshot of it."""
    return sqlite_source(database) if isinstance(database, Path) else postgres_source(database)


def take_backup(
    source: Source, output: BinaryIO, clock: Callable[[], int], progress: Progress, bytes_per_s: float | None = None
) -> Manifest:
    """Written to its end, not yet synced. One that was moved is refused: nothing more happens in it."""
    refuse_moved({name: bytes(value) for name, value in source.select(MARKS)})
    beginning = Beginning(
        format=FORMAT,
        product=__version__,
        schema=source.schema,
        engine=source.engine,
        epoch=epoch_of(source),
        begun_at=moment(clock()),
    )
    progress.begin("Copying", rows_in(source))
    writer = BackupWriter(output, bytes_per_s)
    writer.write_line(beginning)
    fingerprints: set[bytes] = set()
    tables = {}
    for table in layout(source.schema):
        chunks = progress.counted(_noting_keys(table, source.rows(table), fingerprints))
        tables[table.name] = writer.write_table(table, chunks)
    # Before the rules are checked: a standby may end so long a look, and the copy is good without it.
    head, sums = head_of(source), sums_of(source)
    violations = _violations(source, progress)
    manifest = Manifest(
        format=beginning.format,
        product=beginning.product,
        schema=beginning.schema,
        engine=beginning.engine,
        epoch=beginning.epoch,
        begun_at=beginning.begun_at,
        ended_at=moment(clock()),
        head=head,
        secret_keys=tuple(sorted(one.hex() for one in fingerprints)),
        sums=sums,
        tables=tables,
        bytes=writer.written,
        violations=None if violations is None else len(violations),
        first_violations=tuple(violation.sentence for violation in (violations or [])[:_VIOLATIONS_NAMED_MAX]),
    )
    writer.write_line(manifest)
    writer.flush()
    return manifest


def _violations(source: Source, progress: Progress) -> list[Violation] | None:
    if source.schema != migrate.migrations("sqlite")[-1].number:
        return None  # The rules are those of the newest schema.
    try:
        return source.violations(progress)
    except CannotTell:
        return None


def check_backup(file: Path, progress: Progress) -> Manifest:
    """Read it to its end. Raises `UnusableBackup`."""
    with _opened(file) as source:
        progress.begin("Reading", file.stat().st_size)
        try:
            reader = BackupReader(source, progress.add)
            for _, chunks in reader.tables():
                for _ in chunks:
                    pass
        except UnusableBackup as error:
            raise UnusableBackup(f"{file}: {error}") from None
    assert reader.manifest is not None
    return reader.manifest


def _opened(file: Path) -> BinaryIO:
    try:
        return file.open("rb")
    except OSError as error:
        raise UnusableBackup(f"{file} cannot be read: {error.strerror}") from None


def _noting_keys(table: TableLayout, chunks: Iterable[list[Row]], seen: set[bytes]) -> Iterator[list[Row]]:
    """What is sealed, and what is a MAC, begins with the fingerprint of its secret."""
    places = [
        place
        for place, name in enumerate(table.columns)
        if name in table.binary and name.endswith(("sealed", "mac", "recovery"))
    ]
    marks = table.name == "constant"
    for chunk in chunks:
        for place in places:
            seen.update(row[place][:_FINGERPRINT_BYTES] for row in chunk if row[place])
        if marks:
            seen.update(value[:_FINGERPRINT_BYTES] for name, value in chunk if name == SECRET_CHECK)
        yield chunk
