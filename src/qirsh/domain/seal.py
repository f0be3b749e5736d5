"""Seals: the links of a chain of hashes over audit entries, transfers and credential entries.

docs/audit-chain.md is for auditors.

A content is written once, here, and from then on it is bytes: stored, hashed and read, never written again.
"""

import re
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Final

import msgspec

NOTHING: Final = bytes(32)  # Stands where the first seal has no predecessor.

Run = tuple[int, int]  # Ids from the first to the last, both included.


class Seal(msgspec.Struct, frozen=True):
    """One link. The number has no gaps, and the content names the hash of the one before."""

    number: int
    at: int
    content: str
    hash: bytes


class Cover(msgspec.Struct, frozen=True):
    """Which rows of one table a seal covers: those of a range of ids that were there, and late ones of earlier ranges.

    Their digests are taken piece by piece, so that a row that was changed can be found.
    """

    table: str
    first: int
    last: int  # Before the first when there was nothing new.
    piece: int  # How many ids make a piece: 1 to this, and so on.
    missing: tuple[Run, ...]
    late: tuple[int, ...]
    digests: tuple[str, ...]

    def has_rows(self) -> bool:
        """Whether it says anything."""
        return bool(self.digests)


class Link(msgspec.Struct, frozen=True):
    """A content, read."""

    number: int
    at: int
    previous: bytes
    covers: tuple[Cover, ...]


def make(*, number: int, at: int, previous: bytes, covers: Iterable[Cover]) -> Seal:
    """The one place where a content is written."""
    lines = [f"qirsh seal 1\nnumber {number}\nat {at}\nprevious {previous.hex()}\n"]
    for cover in covers:
        missing = [str(first) if first == last else f"{first}-{last}" for first, last in cover.missing]
        lines.append(f"{cover.table} {cover.first} {cover.last} {cover.piece}\n")
        lines.append(f"{' '.join(('missing', *missing))}\n")
        lines.append(f"{' '.join(('late', *map(str, cover.late)))}\n")
        lines.append(f"{' '.join(('digests', *cover.digests))}\n")
    content = "".join(lines)
    return Seal(number, at, content, sha256(content.encode()).digest())


def read(content: str) -> Link | None:
    """What a content says; None if it is none."""
    head = _HEAD.match(content)
    if head is None:
        return None
    covers, position = [], head.end()
    while found := _COVER.match(content, position):
        covers.append(_cover(found))
        position = found.end()
    if position != len(content):
        return None
    number, at, previous = head.groups()
    return Link(int(number), int(at), bytes.fromhex(previous), tuple(covers))


def gaps(*, first: int, ids: Iterable[int]) -> Iterator[Run]:
    """What is missing from `first` to the last of these ids, which are in order."""
    for present in ids:
        if first < present:
            yield first, present - 1
        first = present + 1


def without(runs: Iterable[Run], ids: Iterable[int]) -> Iterator[Run]:
    """What is left of the runs when these ids, in order, are taken out."""
    taken = tuple(ids)
    for first, last in runs:
        yield from gaps(first=first, ids=(*(one for one in taken if first <= one <= last), last + 1))


def _cover(found: re.Match[str]) -> Cover:
    table, first, last, piece, missing, late, digests = found.groups()
    runs = [(int(run.partition("-")[0]), int(run.rpartition("-")[2])) for run in missing.split()]
    ids = tuple(map(int, late.split()))
    return Cover(
        table=table,
        first=int(first),
        last=int(last),
        piece=int(piece),
        missing=tuple(runs),
        late=ids,
        digests=tuple(digests.split()),
    )


_HEAD: Final = re.compile(r"qirsh seal 1\nnumber ([1-9]\d*)\nat (\d+)\nprevious ([0-9a-f]{64})\n", re.ASCII)
_COVER: Final = re.compile(
    r"([a-z_]+) (\d+) (\d+) ([1-9]\d*)\nmissing((?: \d+(?:-\d+)?)*)\nlate((?: \d+)*)\ndigests((?: [0-9a-f]{64})*)\n",
    re.ASCII,
)
