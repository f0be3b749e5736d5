"""What payments are found by: written down once for each run of them."""

from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from qirsh.domain.commands.payment_index import IndexPayments
from qirsh.domain.limits import INDEXED_TOGETHER_MAX
from qirsh.domain.payment_index import (
    INDEXED_TOGETHER_MS,
    IndexedBlock,
    PaymentIndex,
    PaymentPlace,
    PaymentWord,
    places_in,
)
from tests.domain.market import Market
from tests.domain.world import World
from tests.each import each

FIRST: Final = 10_001


def entry(payment: int, word: str = "v") -> PaymentWord:
    return PaymentWord(1, word, 5, payment)


def run(after: int, until: int, *words: PaymentWord, block: int = FIRST) -> IndexPayments:
    return IndexPayments(block=block, after=after, until=until, words=words)


# Once.


def test_the_first_run_begins_right_before_the_block_s_first_payment() -> None:
    world = World()
    assert world.do(run(FIRST - 1, FIRST + 1, entry(FIRST), entry(FIRST + 1))) is True
    assert world.indexed_blocks == {FIRST: IndexedBlock(FIRST, FIRST + 1)}
    assert world.payment_words == [entry(FIRST), entry(FIRST + 1)]


@each("after", [0, FIRST - 2, FIRST, FIRST + 1])
def test_a_first_run_that_begins_elsewhere_does_nothing(after: int) -> None:
    world = World()
    assert world.do(run(after, FIRST + 9, entry(FIRST + 9))) is False
    assert (world.indexed_blocks, world.payment_words) == ({}, [])


def test_a_run_goes_on_where_the_last_one_ended_and_nowhere_else() -> None:
    world = World()
    world.do(run(FIRST - 1, FIRST + 4))
    for after in (FIRST - 1, FIRST + 3, FIRST + 5):
        before = world.tables()
        assert world.do(run(after, FIRST + 9, entry(after + 1))) is False
        assert world.tables() == before
    assert world.do(run(FIRST + 4, FIRST + 9, entry(FIRST + 5))) is True
    assert world.indexed_blocks == {FIRST: IndexedBlock(FIRST, FIRST + 9)}
    assert world.payment_words == [entry(FIRST + 5)]


@each("is_shared", [True, False])
@each("done", [FIRST - 1, FIRST + 4])
def test_of_two_workers_who_do_the_same_run_one_does_it(done: int, is_shared: bool) -> None:  # noqa: FBT001
    world = World()
    if done > FIRST:
        world.do(run(FIRST - 1, done))
    mine, theirs = run(done, done + 2, entry(done + 1)), run(done, done + 3, entry(done + 1), entry(done + 3))
    outcomes = world.together(mine, theirs) if is_shared else [world.do(mine), world.do(theirs)]
    assert outcomes == [True, False]
    assert world.indexed_blocks == {FIRST: IndexedBlock(FIRST, done + 2)}
    assert world.payment_words == [entry(done + 1)]


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
    assert {name for name in before if before[name] != after[name]} == {"indexed_blocks", "payment_words"}


# What is written down.


def indexed(*payments: tuple[int, PaymentPlace]) -> PaymentIndex:
    """Payments of these merchants, which all say the same."""
    index = PaymentIndex()
    for merchant, place in payments:
        index.add(place, merchant=merchant, amount=7, note="tea", reference=None, metadata={"order": "A-7"})
    return index


def test_a_row_says_whose_when_and_which() -> None:
    index = indexed((12, PaymentPlace(34, 56)))
    assert index.words() == tuple(PaymentWord(12, word, 34, 56) for word in ("=7", "tea", "7"))


def test_payments_of_one_merchant_and_second_share_their_rows_and_no_others_do() -> None:
    together = [PaymentPlace(5000, 1), PaymentPlace(5999, 2)]
    index = indexed(*((12, place) for place in together), (13, PaymentPlace(5000, 3)), (12, PaymentPlace(6000, 4)))
    rows = index.words()
    assert index.rows == len(rows) == 3 * 3
    tea = [row for row in rows if row.word == "tea"]
    assert [(row.merchant, places_in(row.created_at, row.payment, row.earlier)) for row in tea] == [
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
