"""Stored responses go some time after their keys are free again, and never before."""

import asyncio
from collections.abc import Iterator

import pytest

from qirsh.domain.commands.idempotency import ForgetStoredResponses
from qirsh.domain.limits import IDEMPOTENCY_FORGOTTEN_MS, IDEMPOTENCY_KEPT_MS
from qirsh.workers import response_cleaner
from qirsh.workers.response_cleaner import ResponseCleaner
from tests.live import InProcess, create, in_process
from tests.postgres import PostgresServer


@pytest.fixture
def world(engine: PostgresServer | None, monkeypatch: pytest.MonkeyPatch) -> Iterator[InProcess]:
    monkeypatch.setattr(response_cleaner, "RESPONSES_LOOKED_AT", 3)
    with in_process(engine, shops=2, people=0) as held:
        yield held


def cleaned(world: InProcess) -> set[str]:
    """The keys that are left after a whole walk."""
    context = world.context
    cleaner = ResponseCleaner(context.store, context.engine, context.clock)
    while world.run(cleaner.step()):
        pass
    with world.books() as books:
        return {key for (key,) in books.select("SELECT key FROM stored_response")}


@pytest.mark.both_engines
def test_they_go_when_their_term_is_long_over_and_new_ones_stay(world: InProcess) -> None:
    before = cleaned(world)
    old = {f"old {number}" for number in range(7)}
    for key in sorted(old):
        world.data(create(world.merchants[len(key) % 2].key, amount=1).once(key))
    world.clock.advance(IDEMPOTENCY_KEPT_MS)
    new = {f"new {number}" for number in range(4)}
    for key in sorted(new):
        world.data(create(world.merchants[0].key, amount=1).once(key))
    assert cleaned(world) == before | old | new
    world.clock.advance(IDEMPOTENCY_FORGOTTEN_MS - IDEMPOTENCY_KEPT_MS - 1)
    assert cleaned(world) >= old | new
    world.clock.advance(1)
    assert cleaned(world) == new
    world.clock.advance(IDEMPOTENCY_FORGOTTEN_MS)
    assert cleaned(world) == set()


def test_a_key_that_is_used_again_meanwhile_stays(world: InProcess) -> None:
    merchant = world.merchants[0]
    first = world.data(create(merchant.key, amount=1).once("again"))["id"]
    world.clock.advance(IDEMPOTENCY_FORGOTTEN_MS)
    second = world.data(create(merchant.key, amount=1).once("again"))["id"]
    assert second != first
    forget = ForgetStoredResponses(((int(merchant.account), "again"), (int(merchant.account), "never used")))
    assert world.run(world.context.engine.submit(forget)) == 0
    assert world.data(create(merchant.key, amount=1).once("again"))["id"] == second


@pytest.mark.both_engines
def test_a_key_that_is_forgotten_and_used_at_once_makes_one_payment(world: InProcess) -> None:
    merchant = world.merchants[0]
    for number in range(10):
        key = f"at once {number}"
        world.data(create(merchant.key, amount=1).once(key))
        world.clock.advance(IDEMPOTENCY_FORGOTTEN_MS)
        forget = ForgetStoredResponses(((int(merchant.account), key),))

        async def scene(key: str = key, forget: ForgetStoredResponses = forget) -> set[str]:
            calls = [world.sent(create(merchant.key, amount=1).once(key)) for _ in range(3)]
            _, answers = await asyncio.gather(world.context.engine.submit(forget), asyncio.gather(*calls))
            return {answer.json()["data"]["id"] for answer in answers}

        [made] = world.run(scene())
        assert world.data(create(merchant.key, amount=1).once(key))["id"] == made
