"""What payments are found by: written down once for each run of them."""

import json
from typing import Any, Final

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qirsh.domain.commands.payment_index import IndexPayments
from qirsh.domain.limits import INDEXED_TOGETHER_MAX, METADATA_FILTER_CHARACTERS_MAX
from qirsh.domain.payment_index import (
    INDEXED_TOGETHER_MS,
    IndexedBlock,
    MetadataEntry,
    PaymentIndex,
    PaymentPlace,
    PaymentWord,
    places_in,
    texts_of,
)
from tests.domain.market import Market
from tests.domain.world import World

FIRST: Final = 10_001


def entry(payment: int, value: str = "v") -> MetadataEntry:
    return MetadataEntry(1, "k", value, 5, payment)


def run(after: int, until: int, *entries: MetadataEntry, block: int = FIRST) -> IndexPayments:
    words = tuple(PaymentWord(one.merchant, one.value, one.created_at, one.payment) for one in entries)
    return IndexPayments(block=block, after=after, until=until, entries=entries, words=words)


def found(metadata: str) -> list[tuple[str, str]]:
    return texts_of(msgspec.json.decode(metadata))


# Once.


def test_the_first_run_begins_right_before_the_block_s_first_payment() -> None:
    world = World()
    assert world.do(run(FIRST - 1, FIRST + 1, entry(FIRST), entry(FIRST + 1))) is True
    assert world.indexed_blocks == {FIRST: IndexedBlock(FIRST, FIRST + 1)}
    assert world.metadata_entries == [entry(FIRST), entry(FIRST + 1)]
    assert world.payment_words == [PaymentWord(1, "v", 5, FIRST), PaymentWord(1, "v", 5, FIRST + 1)]


@pytest.mark.parametrize("after", [0, FIRST - 2, FIRST, FIRST + 1])
def test_a_first_run_that_begins_elsewhere_does_nothing(after: int) -> None:
    world = World()
    assert world.do(run(after, FIRST + 9, entry(FIRST + 9))) is False
    assert (world.indexed_blocks, world.metadata_entries, world.payment_words) == ({}, [], [])


def test_a_run_goes_on_where_the_last_one_ended_and_nowhere_else() -> None:
    world = World()
    world.do(run(FIRST - 1, FIRST + 4))
    for after in (FIRST - 1, FIRST + 3, FIRST + 5):
        before = world.tables()
        assert world.do(run(after, FIRST + 9, entry(after + 1))) is False
        assert world.tables() == before
    assert world.do(run(FIRST + 4, FIRST + 9, entry(FIRST + 5))) is True
    assert world.indexed_blocks == {FIRST: IndexedBlock(FIRST, FIRST + 9)}
    assert world.metadata_entries == [entry(FIRST + 5)]


@pytest.mark.parametrize("is_shared", [True, False])
@pytest.mark.parametrize("done", [FIRST - 1, FIRST + 4])
def test_of_two_workers_who_do_the_same_run_one_does_it(done: int, is_shared: bool) -> None:  # noqa: FBT001
    world = World()
    if done > FIRST:
        world.do(run(FIRST - 1, done))
    mine, theirs = run(done, done + 2, entry(done + 1)), run(done, done + 3, entry(done + 1), entry(done + 3))
    outcomes = world.together(mine, theirs) if is_shared else [world.do(mine), world.do(theirs)]
    assert outcomes == [True, False]
    assert world.indexed_blocks == {FIRST: IndexedBlock(FIRST, done + 2)}
    assert world.metadata_entries == [entry(done + 1)]


def test_runs_that_follow_each_other_may_share_a_batch() -> None:
    world = World()
    outcomes = world.together(run(FIRST - 1, FIRST, entry(FIRST)), run(FIRST, FIRST + 1, entry(FIRST + 1)))
    assert outcomes == [True, True]
    assert world.indexed_blocks == {FIRST: IndexedBlock(FIRST, FIRST + 1)}


def test_blocks_do_not_meet() -> None:
    world = World()
    assert world.together(run(FIRST - 1, FIRST), run(0, 3, block=1)) == [True, True]
    assert world.indexed_blocks == {FIRST: IndexedBlock(FIRST, FIRST), 1: IndexedBlock(1, 3)}


def test_a_run_touches_nothing_but_the_index() -> None:
    market = Market()
    before = market.tables()
    market.do(run(FIRST - 1, FIRST, entry(FIRST)))
    after = market.tables()
    assert {name for name in before if before[name] != after[name]} == {
        *("indexed_blocks", "metadata_entries", "payment_words")
    }


# What is written down.


def indexed(*payments: tuple[int, PaymentPlace]) -> PaymentIndex:
    """Payments of these merchants, which all say the same."""
    index = PaymentIndex()
    for merchant, place in payments:
        index.add(place, merchant=merchant, amount=7, note="tea", reference=None, metadata={"order": "A-7"})
    return index


def test_a_row_says_whose_when_and_which() -> None:
    index = indexed((12, PaymentPlace(34, 56)))
    assert index.entries() == (MetadataEntry(12, "order", "A-7", 34, 56),)
    assert index.words() == tuple(PaymentWord(12, word, 34, 56) for word in ("=7", "tea", "7"))


def test_payments_of_one_merchant_and_second_share_their_rows_and_no_others_do() -> None:
    together = [PaymentPlace(5000, 1), PaymentPlace(5999, 2)]
    index = indexed(*((12, place) for place in together), (13, PaymentPlace(5000, 3)), (12, PaymentPlace(6000, 4)))
    assert index.rows == len(index.words()) + len(index.entries()) == 3 * 4
    assert [(row.merchant, places_in(row.created_at, row.payment, row.earlier)) for row in index.entries()] == [
        (12, together[::-1]),
        (13, [PaymentPlace(5000, 3)]),
        (12, [PaymentPlace(6000, 4)]),
    ]


@given(st.lists(st.tuples(st.integers(0, 3000), st.integers(1, 10**12)), unique=True, max_size=100))
def test_every_payment_is_in_one_row_whose_newest_leads(drawn: list[tuple[int, int]]) -> None:
    """The clock may be set back, so that a later number is of an earlier time."""
    places = [PaymentPlace(*one) for one in drawn]
    rows = [row for row in indexed(*((1, place) for place in places)).words() if row.word == "tea"]
    held = [places_in(row.created_at, row.payment, row.earlier) for row in rows]
    assert sorted(place for row in held for place in row) == sorted(places)
    for row in held:
        assert row == sorted(row, reverse=True)
        assert len(row) <= INDEXED_TOGETHER_MAX
        assert row[0].created_at // INDEXED_TOGETHER_MS == row[-1].created_at // INDEXED_TOGETHER_MS


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ("{}", []),
        ('{"a":"x","b":"y"}', [("a", "x"), ("b", "y")]),
        ('{ "b" : "y" , "a" : "x" }', [("b", "y"), ("a", "x")]),
        ('{"a":1,"b":1.0,"c":true,"d":null,"e":1e3,"f":1152921504606846976}', []),
        ('{"a":{"b":"x"},"c":["x"],"d":"x"}', [("d", "x")]),
        ('{"":"x","a":""}', [("", "x"), ("a", "")]),
        (r'{"\u0041":"\ud83d\ude00 \/ \n \" \\"}', [("A", '\U0001f600 / \n " \\')]),
        ('{"\U0001f9fe":"\u0642\u0647\u0648\u0629"}', [("\U0001f9fe", "\u0642\u0647\u0648\u0629")]),
        ('{"a.b":"x","__proto__":"y","a[b]":"z"}', [("a.b", "x"), ("__proto__", "y"), ("a[b]", "z")]),
        ('{"a":"1.0","b":"true","c":"null"}', [("a", "1.0"), ("b", "true"), ("c", "null")]),
        ('{"a":"\u00e9","b":"e\u0301"}', [("a", "\u00e9"), ("b", "e\u0301")]),
    ],
)
def test_top_level_texts_are_found_as_they_read_and_nothing_else_is(
    metadata: str, expected: list[tuple[str, str]]
) -> None:
    assert found(metadata) == expected


@pytest.mark.parametrize("letter", ["x", "\u0642", "\U0001f600"])
def test_a_text_is_found_up_to_its_limit_of_characters_whatever_they_weigh(letter: str) -> None:
    fits, exceeds = letter * METADATA_FILTER_CHARACTERS_MAX, letter * (METADATA_FILTER_CHARACTERS_MAX + 1)
    assert found(json.dumps({"fits": fits, "exceeds": exceeds})) == [("fits", fits)]


VALUES: Final = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
) | st.text(max_size=210)


@given(st.dictionaries(st.text(max_size=64), VALUES, max_size=8), st.booleans())
def test_any_object_is_read_to_the_same_texts_however_it_was_written(
    metadata: dict[str, Any],
    is_ascii: bool,  # noqa: FBT001 - drawn
) -> None:
    short = METADATA_FILTER_CHARACTERS_MAX
    expected = [(key, value) for key, value in metadata.items() if isinstance(value, str) and len(value) <= short]
    assert found(json.dumps(metadata, ensure_ascii=is_ascii)) == expected
