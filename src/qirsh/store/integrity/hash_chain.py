"""The chain of seals: how the rows that it covers become bytes, and whether they and the chain are as they were sealed.

The bytes are put together by the database, in SQL that both engines speak; docs/audit-chain.md describes them.
"""

# Every part of every query is a constant or a number of this file's own.
# ruff: noqa: S608

from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from itertools import groupby, islice
from math import inf
from types import NoneType
from typing import Any, Final, NamedTuple, get_args, get_type_hints

from qirsh.domain import seal
from qirsh.domain.limits import SEAL_LATE_MS, SEAL_ROWS_MAX
from qirsh.domain.seal import Cover, Link, Run
from qirsh.domain.table import Columns
from qirsh.domain.tables import Tables
from qirsh.store.integrity.invariant import ROWS_NAMED_MAX, Invariant, Select, Violation
from qirsh.store.interface import Query

UNSEALED_MS_MAX: Final = 60_000
_JUST_NOW_MS: Final = 10_000  # The sealer looks each second, and seals what was there at the look before.
_SEALS_AT_ONCE: Final = 100
_RESTORED: Final = "SELECT restored_at FROM restore"
_JUST_BEFORE_BACKUP: Final = (
    f"SELECT 1 FROM restore WHERE {{at}} BETWEEN restore.taken_at - {_JUST_NOW_MS} AND restore.taken_at"
)


class Sealed(NamedTuple):
    """A table whose rows are sealed."""

    table: str
    one: str  # What a row of it is called.
    many: str
    at: str  # The column that says when.
    piece: int  # How many ids share a digest: a changed row is located to this precision.
    line: str  # SQL for the bytes of a row.


Head = tuple[int, bytes]
Pieces = list[tuple[int, int, str, str]]  # The number of a piece, how many rows it has, their ids, and their lines.


def _line(table: Columns[Any]) -> str:
    """A number as its digits, a text as its length in bytes and itself, nothing as nothing; a comma after each."""
    hints = get_type_hints(table.record)
    parts = ["id"]
    for column in table.columns:
        kinds = get_args(hints[column])
        is_number, may_be_null = int in {hints[column], *kinds}, NoneType in kinds
        text = f"octet_length({column}) || ':' || {column}"
        if is_number:
            text = f"CAST({column} AS TEXT)" if may_be_null else column
        parts.append(f"coalesce({text}, '')" if may_be_null else text)
    # One call for all columns: with a `||` for each, PostgreSQL took half as long again.
    return f"concat_ws(',', {', '.join(parts)}, '\n')"


AUDIT_ENTRIES: Final = Sealed("audit", "audit entry", "audit entries", "at", 1, _line(Tables.audit))
TRANSFERS: Final = Sealed("transfer", "transfer", "transfers", "created_at", 20, _line(Tables.transfers))
CREDENTIALS: Final = Sealed(
    "credential_log", "credential entry", "credential entries", "at", 20, _line(Tables.credentials)
)
SEALED: Final = {sealed.table: sealed for sealed in (AUDIT_ENTRIES, TRANSFERS, CREDENTIALS)}

TOPS: Final = Query(f"SELECT {', '.join(f'(SELECT coalesce(max(id), 0) FROM {table})' for table in SEALED)}")
SEALS_BACKWARDS: Final = Query(
    f"SELECT number, at, content, hash FROM seal WHERE number < $1 ORDER BY number DESC LIMIT {_SEALS_AT_ONCE}"
)


def pieces_query(sealed: Sealed) -> Query:
    """Rows from $1 to $2, put together piece by piece: thousands of rows are a few hundred values."""
    return Query(
        f"SELECT piece, count(*), string_agg(CAST(id AS TEXT), ' ' ORDER BY id), string_agg(line, '' ORDER BY id)"
        f" FROM (SELECT id, (id - 1) / {sealed.piece} AS piece, {sealed.line} AS line"
        f" FROM {sealed.table} WHERE id >= $1 AND id <= $2 ORDER BY id LIMIT {SEAL_ROWS_MAX}) AS r"
        " GROUP BY piece ORDER BY piece"
    )


def late_query(sealed: Sealed, runs: Iterable[Run]) -> Query:
    """Rows that have appeared where ids were missing."""
    values = ", ".join(f"({first}, {last})" for first, last in runs)
    return Query(
        f"SELECT id, {sealed.line} FROM (VALUES {values}) AS gap"
        f" JOIN {sealed.table} ON id BETWEEN gap.column1 AND gap.column2 ORDER BY id"
    )


def cover(sealed: Sealed, *, first: int, late: list[tuple[int, str]], pieces: Pieces) -> Cover:
    """What a seal says of these rows. The pieces are what the query has found from `first` on."""
    last = int(pieces[-1][2].rpartition(" ")[2]) if pieces else first - 1
    missing: tuple[Run, ...] = ()
    if sum(count for _, count, _, _ in pieces) != last - first + 1:
        missing = tuple(seal.gaps(first=first, ids=[int(one) for _, _, ids, _ in pieces for one in ids.split()]))
    lines = [((one - 1) // sealed.piece, line) for one, line in late]
    lines += [(piece, line) for piece, _, _, line in pieces]
    digests = tuple(_digest(line for _, line in group) for _, group in groupby(lines, key=lambda line: line[0]))
    return Cover(
        table=sealed.table,
        first=first,
        last=last,
        piece=sealed.piece,
        missing=missing,
        late=tuple(one for one, _ in late),
        digests=digests,
    )


def _digest(lines: Iterable[str]) -> str:
    return sha256("".join(lines).encode()).hexdigest()


# Whether all is as it was sealed.

CHAIN: Final = Invariant(9, "the chain of seals is whole", "{}", SEALS_BACKWARDS)
ROWS: Final = Invariant(9, "audit entries, transfers and credential entries are as they were sealed", "{}", TOPS)
BEHIND: Final = Invariant(9, "what is more than a minute old is sealed", "{}", TOPS)
HEAD: Final = Invariant(9, "the head that was given is in the chain", "{}", SEALS_BACKWARDS)
ALL: Final = (CHAIN, ROWS, BEHIND)
NAMES: Final = frozenset(invariant.name for invariant in (*ALL, HEAD))


def checks(head: Head | None) -> tuple[Invariant, ...]:
    """What is looked at, with a head that was given or without one."""
    return ALL if head is None else (*ALL, HEAD)


def violations(select: Select, head: Head | None = None, *, now: int) -> list[Violation]:
    """In the order of the chain, so that the first is where it was meddled with; at best on one snapshot."""
    walk = _Walk(select, now=now)
    found = list(islice(walk.violations(), ROWS_NAMED_MAX))
    if head is not None:
        found += [_violation(HEAD, sentence) for sentence in _not_in_chain(select, head)]
    return found


def part_violations(select: Select, after: int, rows_max: int) -> tuple[int, list[Violation]]:
    """The same of some seals behind one, and the number of the last that was looked at: 0 at the end of the chain."""
    walk = _Walk(select, after)
    found = list(islice(walk.links(rows_max), ROWS_NAMED_MAX))
    return walk.number if walk.is_unfinished else 0, found


def not_in_chain(select: Select, head: Head) -> list[str]:
    """Whether a head that was seen once is there no more, in words."""
    return list(_not_in_chain(select, head))


def _violation(invariant: Invariant, sentence: str) -> Violation:
    return Violation(invariant.number, invariant.name, sentence)


def _not_in_chain(select: Select, head: Head) -> Iterator[str]:
    number, expected = head
    for (found,) in select(f"SELECT hash FROM seal WHERE number = {number}"):
        if bytes(found) != expected:
            yield f"seal {number} is not the one that was given: another stands in its place"
        return
    [(last,)] = select("SELECT coalesce(max(number), 0) FROM seal")
    yield f"seal {number}, which was given, is not there: the chain ends at seal {last}"


class _Walk:
    """From the first seal, or from behind one, to the last, and then to what no seal covers."""

    def __init__(self, select: Select, after: int = 0, now: int = 0) -> None:
        self._select = select
        self._now = now
        self.number, self._previous = 0, seal.NOTHING
        self.is_unfinished = False
        self._next = dict.fromkeys(SEALED, 1)  # The first id that no seal before has covered.
        for content, stored in select(f"SELECT content, hash FROM seal WHERE number = {after}") if after else ():
            self.number, self._previous = after, bytes(stored)
            link = seal.read(content)
            self._next |= {one.table: one.last + 1 for one in link.covers} if link is not None else {}
        self._gaps: dict[str, list[tuple[int, Run]]] = {table: [] for table in SEALED}  # And when they were seen.
        self._at = 0

    def violations(self) -> Iterator[Violation]:
        yield from self.links()
        yield from self._never_sealed()
        yield from self._behind()

    def links(self, rows_max: float = inf) -> Iterator[Violation]:
        """What is wrong with seals and what they cover, until they have covered so many rows."""
        rows = 0
        for found, at, content, stored in self._seals():
            number, previous = self.number, self._previous
            if found != number + 1:
                yield _violation(CHAIN, f"seal {number + 1} is missing")
            link = seal.read(content)
            is_whole = link is not None and (link.number, link.at) == (found, at)
            is_whole = is_whole and sha256(content.encode()).digest() == stored
            if not is_whole:
                yield _violation(CHAIN, f"seal {found} was changed after it was made")
            elif link is not None and link.previous != previous and found == number + 1:
                yield _violation(CHAIN, f"seal {found} does not follow from seal {number}, which was put in its place")
            self.number, self._previous = found, stored
            if link is not None:
                yield from self._covered(link, is_whole=is_whole)
                self._at = max(self._at, link.at)
                rows += sum(one.last - one.first + 1 for one in link.covers)
            if rows >= rows_max:
                self.is_unfinished = True
                return

    def _seals(self) -> Iterator[tuple[int, int, str, bytes]]:
        last = self.number
        while True:
            page = list(
                self._select(
                    f"SELECT number, at, content, hash FROM seal WHERE number > {last} ORDER BY number"
                    f" LIMIT {_SEALS_AT_ONCE}"
                )
            )
            for number, at, content, stored in page:
                yield number, at, content, bytes(stored)
            if not page:
                return
            last = page[-1][0]

    def _covered(self, link: Link, *, is_whole: bool) -> Iterator[Violation]:
        if [one.table for one in link.covers] != list(SEALED):
            yield _violation(CHAIN, f"seal {link.number} does not say what it covers")
            return
        for one in link.covers:
            sealed = SEALED[one.table]
            if one.first != self._next[one.table]:
                yield _violation(
                    CHAIN,
                    f"seal {link.number} begins at {sealed.one} {one.first}, and not at {self._next[one.table]}",
                )
            self._next[one.table] = one.last + 1
            known = self._gaps[one.table]
            known[:] = [(at, run) for at, gap in known for run in seal.without([gap], one.late)]
            known += [(link.at, run) for run in one.missing]
            for sentence in self._changed(link.number, sealed, one) if is_whole else ():
                yield _violation(ROWS, sentence)

    def _changed(self, number: int, sealed: Sealed, one: Cover) -> Iterator[str]:
        """What of the rows that a seal covers is not as it was."""
        rows = self._rows(sealed, one)
        expected = sorted((*one.late, *_ids(one.first, one.last, one.missing)))
        for gone in [row for row in expected if row not in rows]:
            yield f"{sealed.one} {gone} has vanished after seal {number}"
        grouped = groupby(expected, key=lambda row: (row - 1) // one.piece)
        found = [list(group) for _, group in grouped]
        if len(found) != len(one.digests):
            yield f"seal {number} has {len(one.digests)} digests for {len(found)} pieces of {sealed.many}"
            return
        for group, digest in zip(found, one.digests, strict=True):
            if all(row in rows for row in group) and _digest(rows[row] for row in group) != digest:
                yield (
                    f"{sealed.one} {group[0]} was changed after seal {number}"
                    if len(group) == 1
                    else f"one of {sealed.many} {group[0]} to {group[-1]} was changed after seal {number}"
                )

    def _rows(self, sealed: Sealed, one: Cover) -> Mapping[int, str]:
        """Id -> bytes as text, for all that are there now."""
        rows: dict[int, str] = {}
        if one.late:
            rows |= dict(self._select(late_query(sealed, [(late, late) for late in one.late])))
        if one.first <= one.last:
            rows |= dict(
                self._select(
                    f"SELECT id, {sealed.line} FROM {sealed.table}"
                    f" WHERE id BETWEEN {one.first} AND {one.last} ORDER BY id"
                )
            )
        return rows

    def _never_sealed(self) -> Iterator[Violation]:
        """Rows in gaps that nobody looks at any more."""
        for table, known in self._gaps.items():
            sealed = SEALED[table]
            for at, (first, last) in known:
                if at + SEAL_LATE_MS < self._at:
                    for (row,) in self._select(f"SELECT id FROM {table} WHERE id BETWEEN {first} AND {last} LIMIT 1"):
                        yield _violation(ROWS, f"{sealed.one} {row} was not there when its neighbours were sealed")

    def _behind(self) -> Iterator[Violation]:
        """Measured by the rows themselves: a server that was killed leaves a few seconds, however long it rests.

        When it starts again, its first rows wait beside its last ones of then, until the sealer has come to them; so
        they do in a backup that was taken in that moment. What a restore wrote waits beside the last rows of its
        backup, until somebody serves it.
        """
        spans = []
        just_now = f"BETWEEN {self._now - _JUST_NOW_MS} AND {self._now + _JUST_NOW_MS}"
        for table, first in self._next.items():
            sealed = SEALED[table]
            [(oldest, newest)] = self._select(
                f"SELECT min({sealed.at}), max(CASE WHEN {sealed.at} {just_now} OR {sealed.at} IN ({_RESTORED})"
                f" OR EXISTS ({_JUST_BEFORE_BACKUP.format(at=sealed.at)}) THEN 0 ELSE {sealed.at} END)"
                f" FROM {table} WHERE id >= {first}"
            )
            if oldest is not None:
                spans.append((oldest, newest, sealed, first))
        for oldest, _, sealed, first in spans:
            if oldest + UNSEALED_MS_MAX < max(newest for _, newest, _, _ in spans):
                yield _violation(BEHIND, f"{sealed.one} {first} and later are not sealed, and are over a minute old")


def _ids(first: int, last: int, missing: tuple[Run, ...]) -> Iterator[int]:
    for gap_first, gap_last in (*missing, (last + 1, last + 1)):
        yield from range(first, gap_first)
        first = gap_last + 1
