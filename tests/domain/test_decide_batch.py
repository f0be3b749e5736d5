"""Batches: commands that share a commit come out as if each had come alone, and the books are right after each."""

from typing import Final

import pytest
from hypothesis import event, given, settings

from qirsh.domain.batch import Submission
from qirsh.domain.commands.payout import RefusePayout
from qirsh.domain.idempotency import is_forgettable
from qirsh.domain.payment import at_version, refunded
from tests.domain.invariant import complaints
from tests.domain.market import Market
from tests.domain.people_cases import ask_payout
from tests.domain.test_account import ALLOWED as ACCOUNT_MOVES
from tests.domain.test_payment import ALLOWED as PAYMENT_MOVES
from tests.domain.wish import SEED, batches
from tests.domain.world import World, attested, newest

# Most random commands are refused, so that it takes many to see what the others do to each other.
EXAMPLES: Final = 2 * settings().max_examples


def check_step(before: World, after: World) -> None:
    """What one command may do to what was there."""
    changes = [
        (payment, after.payments[number])
        for number, payment in before.payments.items()
        if after.payments[number] != payment
    ]
    for old, new in changes:
        assert new.version == old.version + 1
        if old.status == "paid":  # It stays so, and only a refund changes anything of it.
            [made] = [refund for id_, refund in after.refunds.items() if id_ not in before.refunds]
            assert (made.payment, made.version, made.created_at) == (new.number, new.version, new.updated_at)
            assert new == refunded(old, made.amount, after.now)
            earlier = {"version": old.version, "updated_at": old.updated_at, "refunded_amount": old.refunded_amount}
            assert at_version(new, **earlier) == old
        else:
            assert (old.status, new.status) in PAYMENT_MOVES
            assert new.refunded_amount == 0
    assert [(event.payment, event.version) for event in after.events[len(before.events) :]] == [
        (new.number, new.version) for _, new in changes
    ]
    for number, account in before.accounts.items():
        state = after.accounts[number].state
        assert state == account.state or (account.kind, account.state, state) in ACCOUNT_MOVES
    for grown in ("transfers", "events", "audit", "credentials", "payment_words"):
        assert getattr(after, grown)[: len(getattr(before, grown))] == getattr(before, grown)
    for kept in ("payments", "accounts", "balances", "people", "bank_orders", "api_keys", "proposals"):
        assert set(getattr(after, kept)) >= set(getattr(before, kept))
    for key, proposal in before.proposals.items():
        assert proposal.state == "open" or after.proposals[key] == proposal
    assert before.bank_orders.items() <= after.bank_orders.items()
    gone = set(before.stored_responses) - set(after.stored_responses)
    assert all(is_forgettable(before.stored_responses[key], after.now) for key in gone)
    assert before.refunds.items() <= after.refunds.items()
    if len(after.refunds) > len(before.refunds):
        assert len(changes) == 1


@settings(max_examples=EXAMPLES)
@given(batches)
def test_a_batch_comes_out_as_its_commands_one_by_one(drawn: list[tuple[int, list[Submission]]]) -> None:
    world: World = SEED.fork()
    for pause, batch in drawn:
        world.now += pause
        alone = world.fork()
        expected = [outcome for submission in batch for outcome in alone.transact([submission])]
        try:
            outcomes = world.transact(batch)
        except KeyError:
            # A command needs what another of the batch has only just made: the engine then runs them one by one.
            event("fell back")
            world = alone
        else:
            event("shared a commit")
            assert outcomes == expected
            tables, expected_tables = world.tables(), alone.tables()
            assert newest(tables.pop("credentials")) == newest(expected_tables.pop("credentials"))
            assert tables == expected_tables


@settings(max_examples=EXAMPLES)
@given(batches)
def test_whatever_is_asked_the_books_are_right(drawn: list[tuple[int, list[Submission]]]) -> None:
    world: World = SEED.fork()
    for pause, batch in drawn:
        world.now += pause
        for submission in batch:
            before = world.fork()
            world.transact([submission])
            check_step(before, world)
    assert complaints(world) == []
    assert newest(world.credentials) == attested(world)


def test_the_market_begins_with_its_books_right() -> None:
    assert complaints(SEED) == []


def test_a_command_that_needs_what_its_neighbour_has_just_made_fails_the_batch_and_leaves_nothing() -> None:
    market: Market = SEED.fork()
    tables = market.tables()
    with pytest.raises(KeyError):
        market.together(ask_payout(market, "po_new"), RefusePayout("po_new", "no", market.first.id, "test"))
    assert market.tables() == tables
