"""More than can be done, and what cannot be done: honest refusals, nothing half done, and payments that go on."""

import asyncio
import threading
from collections import Counter
from collections.abc import Iterator
from ipaddress import ip_network

import httpx2
import pytest

from qirsh.domain.batch import Batch
from qirsh.domain.limits import PASSWORD_CHECKS_AT_ONCE
from qirsh.domain.unit_of_work import UnitOfWork
from qirsh.engine import batcher, passwords
from qirsh.store.postgres import store as postgres
from qirsh.store.sqlite import store as sqlite
from qirsh.web.http.rate_limit import RateLimits
from tests.live import (
    Call,
    Customer,
    InProcess,
    Live,
    create,
    in_process,
    live,
    outcome,
    pay,
    refused,
    retrieve,
    sign_in,
)
from tests.postgres import PostgresServer


@pytest.fixture
def laborious(engine: PostgresServer | None) -> Iterator[Live]:
    """A world that hashes passwords with the usual effort."""
    with live(engine, is_afresh=True) as world:
        yield world
        assert world.complaints() == []


def test_payments_flow_while_every_check_of_a_password_is_busy(still: InProcess) -> None:
    merchant, customer = still.merchants[0], still.customer()
    gate = threading.Event()

    async def scene() -> list[httpx2.Response]:
        held = [asyncio.create_task(still.context.passwords.run(gate.wait)) for _ in range(PASSWORD_CHECKS_AT_ONCE)]
        # Unknown addresses cost as much as known ones.
        calls = [sign_in(f"nobody{number}@nowhere.example") for number in range(10)]
        signing_in = [asyncio.create_task(still.sent(call)) for call in calls]
        for _ in range(10):
            created = await still.sent(create(merchant.key, amount=1))
            assert created.status_code == 201
            paid = await still.sent(pay(customer, created.json()["data"]["id"]))
            assert paid.status_code == 200
        assert not any(task.done() for task in signing_in)
        gate.set()
        await asyncio.gather(*held)
        return await asyncio.gather(*signing_in)

    assert Counter(map(outcome, still.run(scene()))) == Counter({"wrong_credentials": 10})


@pytest.mark.slow
def test_payments_flow_while_many_people_sign_in_at_once(laborious: Live) -> None:
    world, people = laborious, 50
    merchant, customer = world.merchants[0], world.customer()

    async def storm() -> tuple[list[httpx2.Response], int]:
        # Unknown addresses cost as much as known ones.
        calls = [sign_in(f"nobody{number}@nowhere.example") for number in range(people)]
        signing_in = asyncio.gather(*(world.sent(call) for call in calls))
        flowed = 0
        while not signing_in.done():
            created = await world.sent(create(merchant.key, amount=1))
            assert created.status_code == 201
            paid = await world.sent(pay(customer, created.json()["data"]["id"]))
            assert paid.status_code == 200
            flowed += 1
        return await signing_in, flowed

    answers, flowed = world.run(storm())
    assert Counter(map(outcome, answers)) == Counter({"wrong_credentials": people})
    # One after another behind the sign-ins there would be one or two.
    assert flowed > 5


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


def test_six_networks_that_fill_the_queue_of_sign_ins_keep_no_seventh_out(
    engine: PostgresServer | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()

    def from_network(number: int, call: Call) -> Call:
        return call.with_header("x-forwarded-for", f"203.0.{number}.7")

    async def answered(tasks: list[asyncio.Task[httpx2.Response]], count: int) -> None:
        under_way = set(tasks)
        while len(tasks) - len(under_way) < count:
            _, under_way = await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)

    async def scene(world: InProcess, customer: Customer) -> tuple[list[httpx2.Response], httpx2.Response]:
        held = [asyncio.create_task(world.context.passwords.run(gate.wait)) for _ in range(PASSWORD_CHECKS_AT_ONCE)]
        calls = [from_network(turn % 6, sign_in(f"nobody{turn}@nowhere.example")) for turn in range(24)]
        strangers = [asyncio.create_task(world.sent(call)) for call in calls]
        await answered(strangers, 12)  # Those who find no room.
        another = asyncio.create_task(world.sent(from_network(99, sign_in(customer.email))))
        await answered(strangers, 13)  # One has given way.
        gate.set()
        await asyncio.gather(*held)
        return await asyncio.gather(*strangers), await another

    with in_process(engine, people=1) as world:
        customer = world.customer()
        monkeypatch.setattr(passwords, "PASSWORD_CHECKS_WAITING_MAX", 12)
        world.limit(RateLimits(proxies=(ip_network("127.0.0.0/8"),)))
        strangers, another = world.run(scene(world, customer))
        assert another.status_code == 201
        assert Counter(map(outcome, strangers)) == {"overloaded": 13, "wrong_credentials": 11}


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
    last = still.payment(merchant, amount=1)

    async def leave(payment_id: str, turns: int) -> bool:
        """Whether the caller left without an answer."""
        leaving = asyncio.create_task(still.sent(pay(customer, payment_id)))
        for _ in range(turns):
            await asyncio.sleep(0)
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)
        return leaving.cancelled()

    left = [still.run(leave(payment_id, turns)) for turns, payment_id in enumerate(ids)]
    still.data(pay(customer, last))  # Behind all of them in the queue; creates have another.
    paid = [still.data(retrieve(merchant.key, payment_id))["status"] == "paid" for payment_id in ids]
    # Who leaves before the command is given changes nothing; who leaves after it has paid all the same.
    assert (left[0], paid[0]) == (True, False)
    assert (True, True) in zip(left, paid, strict=True)
    assert (False, False) not in zip(left, paid, strict=True)
    assert still.balance(customer) == held - paid.count(True) - 1
    assert still.violations() == []


def test_a_caller_whom_the_database_keeps_waiting_hears_so_and_the_same_key_resolves(
    still: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, store = still.context.engine, still.context.store
    call = create(still.merchants[0].key, amount=7).once("late")
    before = still.counts()

    async def scene() -> tuple[httpx2.Response, httpx2.Response]:
        came, door, transact = asyncio.Event(), asyncio.Event(), store.transact

        async def held(batch: Batch) -> UnitOfWork:
            came.set()
            await door.wait()
            return await transact(batch)

        monkeypatch.setattr(store, "transact", held)
        waiting = asyncio.create_task(still.sent(call))
        await came.wait()
        for _ in range(batcher.CALLER_LOOKS_MAX):
            engine.answer_late_callers()
        await asyncio.sleep(0)
        assert not waiting.done()
        engine.answer_late_callers()
        told = await waiting
        door.set()
        return told, await still.sent(call)

    told, again = still.run(scene())
    refused(told, 503, "outcome_unknown")
    assert told.headers["retry-after"] == "5"
    assert (again.status_code, again.headers["idempotency-replayed"]) == (201, "true")
    assert still.counts()["payment"] == before["payment"] + 1


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


@pytest.mark.both_engines
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


@pytest.mark.both_engines
def test_failures_do_not_use_up_the_payment_numbers(
    engine: PostgresServer | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for store in (postgres, sqlite):
        monkeypatch.setattr(store, "PAYMENT_NUMBER_BLOCK", 20)
    with in_process(engine, shops=1, people=1) as world, world.spoiled("spoiled"):
        key = world.merchants[0].key

        async def answered(note: str) -> int:
            return (await world.sent(create(key, note=note))).status_code

        for _ in range(50):
            assert world.run(answered("spoiled")) == 500
            assert world.run(answered("good")) == 201
