"""The file of a backup: lines of JSON, compressed; written in one pass, and read in one.

It is a series of gzip members, each with a checksum of its own, so that damage shows near its place.
"""

import gzip
import hashlib
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO, Final

import msgspec

from qirsh.backup.layout import Row, TableLayout, layout
from qirsh.backup.lines import (
    FORMAT,
    Beginning,
    Line,
    Manifest,
    TableBegins,
    TableDigest,
    TableEnds,
    UnusableBackup,
)
from qirsh.store import migrate

_MEMBER_BYTES: Final = 1 << 20
_READ_BYTES: Final = 1 << 20
# Three times as fast as level 6, into a seventh more.
_LEVEL: Final = 1
_GZIP: Final = 31  # For zlib: with the head and the checksum of gzip.

_encoder: Final = msgspec.json.Encoder()
_line_decoder: Final[msgspec.json.Decoder[Line]] = msgspec.json.Decoder(Line)


def encode_rows(rows: list[Row]) -> bytes:
    """A line each; bytes are base64 in it. The same rows are the same bytes, whichever engine they come from."""
    return _encoder.encode_lines(rows)


class BackupWriter:
    """Lines on their way into a file or a pipe, at most so many bytes a second before they are packed."""

    def __init__(self, output: BinaryIO, bytes_per_s: float | None = None) -> None:
        self._output = output
        self._waiting = bytearray()
        self._bytes_per_s = bytes_per_s
        self._began = time.monotonic()
        self.written = 0

    def write_line(self, line: Line) -> None:
        """One that is no row."""
        self._write(_encoder.encode(line) + b"\n")

    def write_table(self, table: TableLayout, chunks: Iterable[list[Row]]) -> TableDigest:
        """All its rows, between two lines of their own."""
        self.write_line(TableBegins(table.name, table.columns, tuple(sorted(table.binary))))
        digest, rows = hashlib.sha256(), 0
        for chunk in chunks:
            lines = encode_rows(chunk)
            digest.update(lines)
            rows += len(chunk)
            self._write(lines)
        found = TableDigest(rows, digest.hexdigest())
        self.write_line(TableEnds(table.name, found.rows, found.sha256))
        return found

    def flush(self) -> None:
        """What is left; nothing comes after it."""
        self._pack()
        self._output.flush()

    def _write(self, data: bytes) -> None:
        self._waiting += data
        self.written += len(data)
        if len(self._waiting) >= _MEMBER_BYTES:
            self._pack()

    def _pack(self) -> None:
        if self._waiting:
            self._output.write(gzip.compress(self._waiting, _LEVEL, mtime=0))
            self._waiting.clear()
        if self._bytes_per_s is not None:
            ahead_s = self.written / self._bytes_per_s - (time.monotonic() - self._began)
            if ahead_s > 0:
                time.sleep(ahead_s)


class BackupReader:
    """A file from its first line to its manifest. Whatever is wrong with it is `UnusableBackup`, with the place."""

    def __init__(self, source: BinaryIO, on_read: Callable[[int], None] = lambda _count: None) -> None:
        self._table = ""
        self._number = 0  # Of the line within the table.
        self._pending: list[bytes] = []
        self._blocks = self._split(_unpacked(source, on_read))
        try:
            first = self._next_line()
        except UnusableBackup:
            first = None
        if not isinstance(first, Beginning):
            raise UnusableBackup("this is not a backup of Qirsh, or it is damaged in its first part")
        _check_known(first)
        self.beginning = first
        self.manifest: Manifest | None = None

    def tables(self) -> Iterator[tuple[TableLayout, Iterator[list[Row]]]]:
        """Each table with its rows, to be read to their end. Then the manifest is known, and agrees with them."""
        expected = {table.name: table for table in layout(self.beginning.schema)}
        digests: dict[str, TableDigest] = {}
        while isinstance(line := self._next_line(), TableBegins):
            table = expected.pop(line.table, None)
            if table is None or line.columns != table.columns:
                raise UnusableBackup(f"table {line.table} is not one of schema {self.beginning.schema}")
            self._table, self._number = table.name, 0
            digest = _Digest()
            yield table, self._rows(table, digest)
            self._check_end(digest)
            digests[table.name] = digest.found()
            self._table = ""
        if not isinstance(line, Manifest):
            raise UnusableBackup("the lines of the backup are not in their order")
        if line.tables != digests or expected:
            raise UnusableBackup("the backup does not hold the tables that its manifest names")
        if self._take() is not None:
            raise UnusableBackup("there is something behind the end of the backup")
        self.manifest = line

    def _rows(self, table: TableLayout, digest: "_Digest") -> Iterator[list[Row]]:
        decoder = _row_decoder(table)
        while (lines := self._take()) is not None:
            count = next((place for place, line in enumerate(lines) if line[:1] != b"["), len(lines))
            self._pending = lines[count:]
            if count:
                rows = self._decoded(decoder, lines[:count])
                self._number += count
                digest.add(lines[:count])
                yield rows
            if self._pending:
                return

    def _decoded(self, decoder: "msgspec.json.Decoder[list[Row]]", lines: list[bytes]) -> list[Row]:
        try:
            return decoder.decode(b"[" + b",".join(lines) + b"]")
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            for place, line in enumerate(lines, self._number + 1):
                try:
                    decoder.decode(b"[" + line + b"]")
                except (msgspec.MsgspecError, UnicodeDecodeError):
                    raise UnusableBackup(
                        f"the backup is damaged in table {self._table}, line {place}: {error}"
                    ) from None
            raise

    def _check_end(self, digest: "_Digest") -> None:
        end = self._next_line()
        found = digest.found()
        if not isinstance(end, TableEnds) or end.table != self._table:
            raise UnusableBackup(f"the backup is damaged in table {self._table}, after line {self._number}")
        if (end.rows, end.sha256) != (found.rows, found.sha256):
            raise UnusableBackup(
                f"table {self._table} of the backup is not as it was written: {found.rows:,} of {end.rows:,} lines,"
                " and another checksum"
            )

    def _next_line(self) -> Line:
        lines = self._take()
        if lines is None:
            raise UnusableBackup("the backup is unfinished: it has no manifest at its end")
        self._pending = lines[1:]
        try:
            return _line_decoder.decode(lines[0])
        except msgspec.MsgspecError:
            raise UnusableBackup(f"the backup is damaged {self._place()}") from None

    def _take(self) -> list[bytes] | None:
        """The next lines, a few or many."""
        if self._pending:
            lines, self._pending = self._pending, []
            return lines
        return next(self._blocks, None)

    def _split(self, pieces: Iterator[bytes]) -> Iterator[list[bytes]]:
        tail = b""
        try:
            for piece in pieces:
                *lines, tail = (tail + piece).split(b"\n")
                if lines:
                    yield lines
        except zlib.error as error:
            raise UnusableBackup(f"the backup is damaged {self._place()}: {error}") from None
        except EOFError:
            raise UnusableBackup(f"the backup is unfinished: it ends {self._place()}") from None
        if tail:
            raise UnusableBackup(f"the backup is unfinished: it ends {self._place()}")

    def _place(self) -> str:
        return f"in table {self._table}, behind line {self._number}" if self._table else "between two tables"


class _Digest:
    def __init__(self) -> None:
        self._hash, self._rows = hashlib.sha256(), 0

    def add(self, lines: list[bytes]) -> None:
        self._hash.update(b"\n".join(lines) + b"\n")
        self._rows += len(lines)

    def found(self) -> TableDigest:
        return TableDigest(self._rows, self._hash.hexdigest())


def _row_decoder(table: TableLayout) -> "msgspec.json.Decoder[list[Row]]":
    kinds = tuple(bytes | None if column in table.binary else int | str | None for column in table.columns)
    return msgspec.json.Decoder(list[tuple[kinds]])  # type: ignore[valid-type]


def _check_known(beginning: Beginning) -> None:
    if beginning.format > FORMAT:
        raise UnusableBackup(
            f"the backup has format {beginning.format} and was made by Qirsh {beginning.product}; this one reads up to"
            f" {FORMAT}: run the newer Qirsh"
        )
    newest = migrate.migrations("sqlite")[-1].number
    if beginning.schema > newest:
        raise UnusableBackup(
            f"the backup has schema {beginning.schema} and was made by Qirsh {beginning.product}; this one knows up to"
            f" {newest}: run the newer Qirsh"
        )


def _unpacked(source: BinaryIO, on_read: Callable[[int], None]) -> Iterator[bytes]:
    data = b""
    while data or (data := source.read(_READ_BYTES)):
        member: Any = zlib.decompressobj(_GZIP)
        while not member.eof:
            if not data and not (data := source.read(_READ_BYTES)):
                raise EOFError
            on_read(len(data))
            unpacked = member.decompress(data)
            data = member.unused_data
            on_read(-len(data))
            if unpacked:
                yield unpacked
