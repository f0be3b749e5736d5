"""More than can be done, and what cannot be done: honest refusals, nothing half done, and payments that go on."""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator

import httpx2
import pytest

from qirsh.engine import batcher, passwords
from qirsh.store.postgres import store as postgres
from qirsh.store.sqlite import store as sqlite
from tests.live import InProcess, Live, create, in_process, live, outcome, pay, refused, retrieve, sign_in
from tests.postgres import PostgresServer


@pytest.fixture
def laborious(engine: PostgresServer | None) -> Iterator[Live]:
    """A world that hashes passwords with the usual effort."""
    with live(engine, is_afresh=True) as world:
        yield world
        assert world.complaints() == []


@pytest.mark.parametrize("people", [10, pytest.param(50, marks=pytest.mark.slow)])
def test_payments_flow_while_many_people_sign_in_at_once(laborious: Live, people: int) -> None:
    world = laborious
    merchant, customer = world.merchants[0], world.customer()

    async def storm() -> tuple[list[httpx2.Response], list[float]]:
        # Unknown addresses cost as much as known ones.
        calls = [sign_in(f"nobody{number}@nowhere.example") for number in range(people)]
        signing_in = asyncio.gather(*(world.sent(call) for call in calls))
        took = []
        while not signing_in.done():
            began = time.monotonic()
            created = await world.sent(create(merchant.key, amount=1))
            assert created.status_code == 201
            paid = await world.sent(pay(customer, created.json()["data"]["id"]))
            assert paid.status_code == 200
            took.append(time.monotonic() - began)
            await asyncio.sleep(0.02)
        return await signing_in, took

    answers, took = world.run(storm())
    assert Counter(map(outcome, answers)) == Counter({"wrong_credentials": people})
    # One after another behind the sign-ins these would take seconds each.
    assert len(took) > 0.4 * people
    assert sorted(took)[len(took) // 2] < 0.5
    assert max(took) < 5


def test_more_sign_ins_than_can_wait_are_told_to_come_back(still: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passwords, "PASSWORD_CHECKS_WAITING_MAX", 5)
    customer = still.customer()
    before = still.counts()
    answers = still.together([sign_in(customer.email)] * 40)
    told = Counter(map(outcome, answers))
    assert told.keys() == {"", "overloaded"}
    for answer in answers:
        if not answer.is_success:
            refused(answer, 503, "overloaded")
            assert answer.headers["retry-after"] == "1"
    # Who was sent away has no session.
    assert still.counts()["session"] == before["session"] + told[""]
    monkeypatch.undo()
    assert still.send(sign_in(customer.email)).status_code == 201


def test_a_full_queue_answers_503_and_nothing_is_done(still: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    merchant = still.merchants[0]
    still.payment(merchant)
    monkeypatch.setattr(batcher, "QUEUE_COMMANDS_MAX", 10)
    before = still.counts()
    answers = still.together(create(merchant.key, amount=1 + number).once(f"full-{number}") for number in range(100))
    told = Counter(map(outcome, answers))
    assert told.keys() == {"", "overloaded"}
    for answer in answers:
        if not answer.is_success:
            refused(answer, 503, "overloaded")
            assert answer.headers["retry-after"] == "1"
    after = still.counts()
    assert after["payment"] == before["payment"] + told[""]
    assert after["stored_response"] == before["stored_response"] + told[""]
    # Whoever was sent away comes back with the same key, and is served.
    monkeypatch.undo()
    again = still.together(create(merchant.key, amount=1 + number).once(f"full-{number}") for number in range(100))
    assert {answer.status_code for answer in again} == {201}
    for first, second in zip(answers, again, strict=True):
        assert (second.headers.get("idempotency-replayed") == "true") == first.is_success
    assert still.counts()["payment"] == before["payment"] + 100


def test_a_full_queue_moves_money_only_for_those_it_served(still: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    merchant, customer = still.merchants[0], still.customer()
    ids = [still.payment(merchant, amount=1) for _ in range(60)]
    held = still.balance(customer)
    monkeypatch.setattr(batcher, "QUEUE_COMMANDS_MAX", 5)
    answers = still.together(pay(customer, payment_id) for payment_id in ids)
    told = Counter(map(outcome, answers))
    assert told.keys() == {"", "overloaded"}
    assert still.balance(customer) == held - told[""]
    for payment_id, answer in zip(ids, answers, strict=True):
        status = still.data(retrieve(merchant.key, payment_id))["status"]
        assert status == ("paid" if answer.is_success else "pending")
    assert still.violations() == []


def test_a_caller_who_leaves_does_not_take_the_command_along(still: InProcess) -> None:
    merchant, customer = still.merchants[0], still.customer()
    held = still.balance(customer)
    ids = [still.payment(merchant, amount=1) for _ in range(12)]

    async def leave(payment_id: str, turns: int) -> bool:
        """Whether the caller left without an answer."""
        leaving = asyncio.create_task(still.sent(pay(customer, payment_id)))
        for _ in range(turns):
            await asyncio.sleep(0)
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)
        return leaving.cancelled()

    left = [still.run(leave(payment_id, turns)) for turns, payment_id in enumerate(ids)]
    still.payment(merchant)  # Behind all of them in the queue.
    paid = [still.data(retrieve(merchant.key, payment_id))["status"] == "paid" for payment_id in ids]
    # Who leaves before the command is given changes nothing; who leaves after it has paid all the same.
    assert (left[0], paid[0]) == (True, False)
    assert (True, True) in zip(left, paid, strict=True)
    assert (False, False) not in zip(left, paid, strict=True)
    assert still.balance(customer) == held - paid.count(True)
    assert still.violations() == []


def test_a_service_that_stops_takes_no_more_and_still_reads(engine: PostgresServer | None) -> None:
    with in_process(engine, shops=1, people=1) as world:
        merchant, customer = world.merchants[0], world.customer()
        payment_id = world.payment(merchant)
        before = world.counts()
        world.run(world.context.engine.close())
        for call in (create(merchant.key), pay(customer, payment_id), sign_in(customer.email)):
            refused(world.send(call), 503, "overloaded")
        assert world.data(retrieve(merchant.key, payment_id))["status"] == "pending"
        assert world.counts() == before


# What the database refuses although the rules let it through: a bug, or a broken disk.


def test_a_command_that_the_database_refuses_fails_alone(still: InProcess) -> None:
    merchant, customer = still.merchants[0], still.customer()
    payment_id = still.payment(merchant, amount=10)
    before = still.counts()
    calls = [create(merchant.key, note="spoiled" if number == 7 else "good") for number in range(20)]
    with still.spoiled("spoiled"):
        answers = still.together([*calls, pay(customer, payment_id)])
    assert [number for number, answer in enumerate(answers) if not answer.is_success] == [7]
    told = refused(answers[7], 500, "internal_error")
    # Nobody outside learns what broke.
    for secret in ("spoiled", "test", "trigger", "apsw", "asyncpg", "SQL", "Traceback", ".py"):
        assert secret not in answers[7].text.replace(told["requestId"], "")
    after = still.counts()
    assert (after["payment"], after["transfer"]) == (before["payment"] + 19, before["transfer"] + 1)
    assert still.violations() == []


def test_failures_do_not_use_up_the_payment_numbers(
    engine: PostgresServer | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for store in (postgres, sqlite):
        monkeypatch.setattr(store, "PAYMENT_NUMBER_BLOCK", 20)
    with in_process(engine, shops=1, people=1) as world, world.spoiled("spoiled"):
        key = world.merchants[0].key

        async def answered(note: str) -> int:
            async with asyncio.timeout(20):
                return (await world.sent(create(key, note=note))).status_code

        for _ in range(50):
            assert world.run(answered("spoiled")) == 500
            assert world.run(answered("good")) == 201
