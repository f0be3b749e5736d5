"""A second implementation of the chain of seals, from docs/audit-chain.md alone: it shares no code with the product."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

# Which numbers of ids share a digest: one audit entry, twenty transfers or credential entries.
PIECES = {"audit": 1, "transfer": 20, "credential_log": 20}


class Section(NamedTuple):
    """What a seal says of one table."""

    first: int
    last: int
    piece: int
    missing: set[int]
    late: list[int]
    digests: list[str]

    def covered(self) -> list[int]:
        """The ids, in order."""
        return sorted([*self.late, *(row for row in range(self.first, self.last + 1) if row not in self.missing)])


def row_bytes(row: Sequence[Any]) -> bytes:
    """The columns of a row, its id first."""
    parts = []
    for value in row:
        if isinstance(value, str):
            text = value.encode("utf-8")
            parts.append(b"%d:%b" % (len(text), text))
        else:
            parts.append(b"" if value is None else b"%d" % value)
    return b"".join(part + b"," for part in parts) + b"\n"


def digests(rows: Iterable[Sequence[Any]], piece: int) -> list[str]:
    """Of rows in the order of their ids."""
    pieces: dict[int, bytes] = {}
    for row in rows:
        number = (row[0] - 1) // piece
        pieces[number] = pieces.get(number, b"") + row_bytes(row)
    return [hashlib.sha256(text).hexdigest() for text in pieces.values()]


def sections(content: str) -> dict[str, Section]:
    """What a content says after its first four lines."""
    lines = content.split("\n")
    assert lines.pop() == ""
    return dict(_sections(lines[4:]))


def _sections(lines: list[str]) -> Iterator[tuple[str, Section]]:
    for place in range(0, len(lines), 4):
        (table, first, last, piece), (m, *missing), (late_word, *late), (d, *hashes) = map(
            str.split, lines[place : place + 4]
        )
        assert (m, late_word, d) == ("missing", "late", "digests")
        gone: set[int] = set()
        for run in missing:
            low, _, high = run.partition("-")
            gone |= set(range(int(low), int(high or low) + 1))
        yield table, Section(int(first), int(last), int(piece), gone, list(map(int, late)), hashes)


def follows(number: int, at: int, previous: bytes, content: str, hashed: bytes) -> bool:
    """Whether a seal is what it says, after a seal with this hash."""
    head = f"qirsh seal 1\nnumber {number}\nat {at}\nprevious {previous.hex()}\n"
    return content.startswith(head) and hashlib.sha256(content.encode("utf-8")).digest() == hashed


def check(select: Callable[[str], Iterable[Sequence[Any]]]) -> dict[str, list[int]]:
    """Walk the whole chain, and see that it holds of the rows; the ids that it covers, by table."""
    covered: dict[str, list[int]] = {table: [] for table in PIECES}
    ends = dict.fromkeys(PIECES, 0)
    previous = bytes(32)
    rows = {table: {row[0]: row for row in select(f"SELECT * FROM {table}")} for table in PIECES}  # noqa: S608 - ours
    seals = select("SELECT number, at, content, hash FROM seal ORDER BY number")
    for expected, (number, at, content, hashed) in enumerate(seals, 1):
        assert number == expected
        assert follows(number, at, previous, content, bytes(hashed))
        previous = bytes(hashed)
        for table, section in sections(content).items():
            assert section.first == ends[table] + 1
            ends[table] = section.last
            assert digests([rows[table][row] for row in section.covered()], section.piece) == section.digests
            covered[table] += section.covered()
    assert all(len(ids) == len(set(ids)) for ids in covered.values()), "a row is covered twice"
    return covered
