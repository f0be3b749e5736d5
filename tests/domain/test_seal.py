"""A seal's content is written once and read back, and says exactly which rows it covers."""

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from qirsh.domain import seal
from qirsh.domain.seal import NOTHING, Cover, Link
from tests.chain import follows, sections
from tests.each import each

DIGEST = "ab" * 32
COVERS = (
    Cover("audit", 120, 131, 1, ((125, 126), (129, 129)), (7, 9), (DIGEST, "0" * 64)),
    Cover("transfer", 4001, 4000, 20, (), (), ()),
)


def test_a_content_is_read_as_it_was_written() -> None:
    made = seal.make(number=17, at=1_800_000_000_000, previous=bytes(range(32)), covers=COVERS)
    assert seal.read(made.content) == Link(17, 1_800_000_000_000, bytes(range(32)), COVERS)
    assert made.hash == hashlib.sha256(made.content.encode()).digest()


def test_another_implementation_reads_the_same() -> None:
    made = seal.make(number=1, at=5, previous=NOTHING, covers=COVERS)
    assert follows(1, 5, bytes(32), made.content, made.hash)
    told = sections(made.content)
    assert told["audit"].covered() == [7, 9, 120, 121, 122, 123, 124, 127, 128, 130, 131]
    assert told["audit"].digests == [DIGEST, "0" * 64]
    assert told["transfer"].covered() == []


@each(
    ("before", "after"),
    [
        ("qirsh seal 1", "qirsh seal 2"),
        ("number 1\n", "number 01\n"),
        ("number 1\n", "number \u0661\n"),
        ("at 5\n", "at 5 \n"),
        (f"previous {'0' * 64}", f"previous {'0' * 63}"),
        ("late 7 9", "late 7  9"),
        ("missing 125-126 129", "missing 125-126,129"),
        (DIGEST, DIGEST.upper()),
        ("late\ndigests\n", "late\ndigests\n\n"),
        ("late\ndigests\n", "late\ndigests"),
    ],
)
def test_what_is_not_written_exactly_so_is_no_content(before: str, after: str) -> None:
    made = seal.make(number=1, at=5, previous=NOTHING, covers=COVERS)
    assert before in made.content
    assert seal.read(made.content.replace(before, after, 1)) is None


@given(st.sets(st.integers(1, 40), max_size=20), st.integers(1, 10))
def test_gaps_are_what_is_missing_up_to_the_last_id(ids: set[int], first: int) -> None:
    present = sorted(row for row in ids if row >= first)
    missing = {row for low, high in seal.gaps(first=first, ids=present) for row in range(low, high + 1)}
    assert missing == set(range(first, max(present, default=first))) - set(present)


@given(st.sets(st.integers(1, 40)), st.sets(st.integers(1, 40)))
def test_what_has_arrived_is_no_gap_any_more(gone: set[int], late: set[int]) -> None:
    runs = [*seal.gaps(first=1, ids=sorted(set(range(1, 42)) - gone))]
    left = {row for low, high in seal.without(runs, sorted(late)) for row in range(low, high + 1)}
    assert left == gone - late
