"""What fails when something does: the guilty command, the batch, or the process, and never more than that."""

import asyncio
import logging
from pathlib import Path

import apsw
import pytest

from qirsh.domain.batch import Answer
from qirsh.domain.commands.payout import RefusePayout
from qirsh.domain.payment import Payment
from qirsh.domain.refusal import granted
from qirsh.engine import batcher
from qirsh.engine.batcher import Overloaded
from qirsh.store.interface import StoreBroken, StoreUnavailable
from tests.domain.invariant import complaints
from tests.domain.market import Market
from tests.domain.people_cases import ask_payout
from tests.engine.watched import MARKET, Desk, asking, fail_to_render, house, render, run, settled
from tests.waiting import NEVER_S


def test_only_the_command_whose_answer_cannot_be_rendered_fails(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene(desk: Desk) -> None:
        outcomes = await settled(
            desk.engine.submit_and_render(asking("a"), render),
            desk.engine.submit_and_render(asking("guilty"), fail_to_render),
            desk.engine.submit_and_render(asking("b"), render),
        )
        assert [type(outcome) for outcome in outcomes] == [Answer, ValueError, Answer]
        assert desk.store.batches == [3, 1, 1, 1]
        assert desk.sql("SELECT note FROM payment ORDER BY number") == [("a",), ("b",)]

    with caplog.at_level(logging.ERROR):
        run(tmp_path, scene, world=MARKET)
    assert [record.getMessage() for record in caplog.records] == ["a command failed: CreatePayment"]


def test_only_the_command_that_the_database_refuses_fails(tmp_path: Path) -> None:
    async def scene(desk: Desk) -> None:
        desk.sql(
            "CREATE TRIGGER guilty BEFORE INSERT ON payment WHEN NEW.note = 'guilty'"
            " BEGIN SELECT RAISE(ABORT, 'refused by hand'); END"
        )
        outcomes = await settled(*[desk.engine.submit(asking(note)) for note in ("a", "guilty", "b", "guilty", "c")])
        assert [type(outcome) for outcome in outcomes] == [
            Payment,
            apsw.ConstraintError,
            Payment,
            apsw.ConstraintError,
            Payment,
        ]
        assert desk.sql("SELECT note FROM payment ORDER BY number") == [("a",), ("b",), ("c",)]
        assert granted(await desk.engine.submit(asking("later"))).note == "later"
        assert complaints(desk.world()) == []

    run(tmp_path, scene, world=MARKET)


def test_a_transaction_that_the_database_rolls_back_by_itself_leaves_nothing_half_done(tmp_path: Path) -> None:
    async def scene(desk: Desk) -> None:
        desk.sql(
            "CREATE TRIGGER guilty BEFORE INSERT ON payment WHEN NEW.note = 'guilty'"
            " BEGIN SELECT RAISE(ROLLBACK, 'refused by hand'); END"
        )
        outcomes = await settled(*[desk.engine.submit(asking(note)) for note in ("a", "guilty", "b")])
        assert [type(outcome) for outcome in outcomes] == [Payment, apsw.ConstraintError, Payment]
        assert desk.sql("SELECT note FROM payment ORDER BY number") == [("a",), ("b",)]

    run(tmp_path, scene, world=MARKET)


def test_a_constraint_that_is_checked_at_the_commit_fails_only_the_guilty_and_ends_nothing(tmp_path: Path) -> None:
    async def scene(desk: Desk) -> None:
        desk.sql(
            "CREATE TABLE promise (kept INTEGER REFERENCES person DEFERRABLE INITIALLY DEFERRED);"
            "CREATE TRIGGER guilty AFTER INSERT ON account WHEN NEW.name = 'guilty'"
            " BEGIN INSERT INTO promise VALUES (404); END"
        )
        outcomes = await settled(*[desk.engine.submit(house(name)) for name in ("a", "guilty", "b")])
        assert desk.deaths == 0
        assert isinstance(outcomes[1], apsw.ConstraintError)
        assert desk.houses() == {"a", "b"}

    run(tmp_path, scene)


def test_a_command_that_needs_what_its_neighbour_has_just_made_is_carried_out_too(tmp_path: Path) -> None:
    async def scene(desk: Desk) -> None:
        market = Market()
        await desk.replay(market)
        asked, refused = await asyncio.gather(
            desk.engine.submit(ask_payout(market)),
            desk.engine.submit(RefusePayout("po_1", "no", market.first.id, "test")),
        )
        assert (granted(asked).state, granted(refused).state) == ("asked", "refused")
        assert desk.store.batches[-3:] == [2, 1, 1]

    run(tmp_path, scene)


def test_payment_numbers_outlast_any_number_of_failed_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A block this small is used up at once; the real one takes longer, and ends the same way.
    monkeypatch.setattr("qirsh.store.sqlite.store.PAYMENT_NUMBER_BLOCK", 8)

    async def scene(desk: Desk) -> None:
        for _ in range(10):
            outcomes = await settled(
                *[desk.engine.submit(asking()) for _ in range(3)],
                desk.engine.submit_and_render(asking(), fail_to_render),
            )
            assert [type(outcome) for outcome in outcomes] == [Payment] * 3 + [ValueError]
        numbers = [number for (number,) in desk.sql("SELECT number FROM payment")]
        assert len(set(numbers)) == 30

    run(tmp_path, scene, world=MARKET)


def test_a_lane_that_keeps_failing_is_told_with_its_cause_until_it_works_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batcher, "_FAILURE_SHOWN_S", NEVER_S)

    async def scene(desk: Desk) -> None:
        for failures in range(1, 5):
            desk.store.before.append(ValueError("aborted"))
            await settled(desk.engine.submit(house("a")))
            expected = [] if failures < 3 else ["the database takes no writes: ValueError: aborted"]
            assert desk.engine.troubles() == expected
        await desk.engine.submit(house("b"))
        assert desk.engine.troubles() == []

    run(tmp_path, scene)


def test_single_commands_that_fail_between_others_that_do_not_are_no_trouble(tmp_path: Path) -> None:
    async def scene(desk: Desk) -> None:
        for number in range(5):
            desk.store.before.append(ValueError("guilty"))
            await settled(desk.engine.submit(house("guilty")))
            await desk.engine.submit(house(number))
        assert desk.engine.troubles() == []

    run(tmp_path, scene)


def test_when_the_database_is_unavailable_the_whole_batch_hears_it_once_and_work_goes_on(tmp_path: Path) -> None:
    async def scene(desk: Desk) -> None:
        desk.store.before.append(StoreUnavailable("disk full"))
        outcomes = await settled(*[desk.engine.submit(house(n)) for n in range(3)])
        assert [str(outcome) for outcome in outcomes] == ["disk full"] * 3
        assert desk.store.batches == [3]
        assert desk.houses() == set()
        assert granted(await desk.engine.submit(house("later"))).name == "later"
        assert desk.deaths == 0

    run(tmp_path, scene)


def test_a_database_that_someone_else_has_locked_is_unavailable_until_it_is_free(tmp_path: Path) -> None:
    async def scene(desk: Desk) -> None:
        await desk.engine.submit(asking("before"))
        desk.sql("BEGIN IMMEDIATE")
        outcomes = await settled(desk.engine.submit(asking("a")), desk.engine.submit(asking("b")))
        assert [type(outcome) for outcome in outcomes] == [StoreUnavailable] * 2
        desk.sql("ROLLBACK")
        await desk.engine.submit(asking("after"))
        assert desk.sql("SELECT note FROM payment ORDER BY number") == [("before",), ("after",)]

    run(tmp_path, scene, world=MARKET)


def test_when_nobody_knows_what_was_kept_the_callers_hear_it_and_the_process_ends(tmp_path: Path) -> None:
    async def scene(desk: Desk) -> None:
        desk.store.after.append(StoreBroken("I/O error"))
        outcomes = await settled(*[desk.engine.submit(house(n)) for n in range(3)])
        assert [type(outcome) for outcome in outcomes] == [StoreBroken] * 3
        assert desk.deaths == 1
        with pytest.raises(Overloaded):
            await desk.engine.submit(house("later"))
        assert desk.store.batches == [3]

    run(tmp_path, scene)


def test_when_nobody_knows_what_was_kept_nothing_that_waits_is_written_on_top_of_it(tmp_path: Path) -> None:
    async def scene(desk: Desk) -> None:
        busy = await desk.close_door()
        waiting = await desk.queue(house("a"), house("b"))
        desk.store.before.append(StoreBroken("I/O error"))
        desk.store.door.set()
        outcomes = await settled(busy, *waiting)
        assert isinstance(outcomes[0], StoreBroken)
        assert all(isinstance(outcome, Exception) for outcome in outcomes)
        assert desk.store.batches == []
        assert desk.deaths == 1
        assert desk.houses() == set()

    run(tmp_path, scene)


def test_when_one_of_a_failed_batch_ends_in_doubt_the_rest_is_not_tried(tmp_path: Path) -> None:
    async def scene(desk: Desk) -> None:
        desk.store.before += [ValueError("the batch as a whole"), StoreBroken("I/O error")]
        outcomes = await settled(*[desk.engine.submit(house(n)) for n in range(4)])
        assert isinstance(outcomes[0], StoreBroken)
        assert all(isinstance(outcome, Exception) for outcome in outcomes)
        assert desk.store.batches == [4, 1]
        assert desk.deaths == 1

    run(tmp_path, scene)
