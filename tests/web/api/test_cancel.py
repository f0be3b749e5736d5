"""Cancel over HTTP: a payment that the merchant takes back, against whoever pays it or lets it expire meanwhile."""

import asyncio
from collections import Counter

import pytest

from tests.live import (
    FUNDS,
    PAYMENTS,
    START,
    Call,
    InProcess,
    Live,
    World,
    cancel,
    create,
    field_errors,
    outcome,
    pay,
    post,
    refused,
    retrieve,
    see,
    sign_in,
)
from tests.web.webhooks import last_event


def left_alone(world: World, call: Call, status: int, code: str) -> None:
    before = world.counts()
    refused(world.send(call), status, code)
    assert world.counts() == before


def test_a_cancelled_payment_is_shown_as_such_to_everybody_and_stays_so(world: Live) -> None:
    merchant, customer = world.merchants[0], world.customer()
    payment_id = world.payment(merchant)
    before, counts = world.data(retrieve(merchant.key, payment_id)), world.counts()
    answer = world.send(cancel(merchant.key, payment_id))
    assert (answer.status_code, "location" in answer.headers) == (200, False)
    shown = answer.json()["data"]
    assert shown == world.data(retrieve(merchant.key, payment_id))
    assert shown["cancelledAt"] == shown["updatedAt"]
    assert shown["cancelledAt"] >= before["createdAt"]
    changed = {"status": "cancelled", "version": 2}
    times = {name: shown[name] for name in ("cancelledAt", "updatedAt")}
    assert shown == {**before, **changed, **times}
    after = world.counts()
    assert {table: after[table] - counts[table] for table in after if after[table] != counts[table]} == {"event": 1}
    event = world.data(Call("GET", f"/api/v1/events/{last_event(world, merchant.key)}", merchant.key))
    assert (event["type"], event["data"]) == ("remote_payment.cancelled", shown)
    assert world.data(see(customer, payment_id))["status"] == "cancelled"
    left_alone(world, pay(customer, payment_id), 409, "cancelled")
    assert world.balance(customer) == FUNDS
    # Once is all.
    left_alone(world, cancel(merchant.key, payment_id), 409, "cancelled")


def test_what_is_final_or_somebody_elses_cannot_be_cancelled(still: InProcess) -> None:
    still.clock.now = START
    merchant, other, customer = *still.merchants[:2], still.customer()
    customer = customer._replace(token=still.data(sign_in(customer.email))["token"])
    due, pending = still.payment(merchant, expiresIn=300), still.payment(merchant)
    left_alone(still, cancel(merchant.key, still.paid(merchant, customer)), 409, "already_paid")
    left_alone(still, cancel(other.key, pending), 404, "not_found")
    left_alone(still, cancel(merchant.test_key, pending), 404, "not_found")
    still.clock.advance(300_000)
    left_alone(still, cancel(merchant.key, due), 409, "expired")
    still.expire_due()
    left_alone(still, cancel(merchant.key, due), 409, "expired")
    still.data(cancel(merchant.key, pending))
    # What was cancelled does not expire.
    still.clock.advance(3_600_000)
    still.expire_due()
    assert still.data(retrieve(merchant.key, pending))["status"] == "cancelled"
    still.clock.now = START


def test_a_test_payment_is_cancelled_by_its_test_key(world: Live) -> None:
    merchant = world.merchants[0]
    payment_id = world.data(create(merchant.test_key))["id"]
    left_alone(world, cancel(merchant.key, payment_id), 404, "not_found")
    shown = world.data(cancel(merchant.test_key, payment_id))
    assert (shown["status"], shown["livemode"]) == ("cancelled", False)


def test_a_suspended_shop_cancels_nothing(world: Live) -> None:
    merchant = world.merchant()
    payment_id = world.payment(merchant)
    world.act("account suspend", account=merchant.account)
    left_alone(world, cancel(merchant.key, payment_id), 403, "account_suspended")


def test_nothing_and_an_empty_object_are_taken_for_a_body(world: Live, subtests: pytest.Subtests) -> None:
    for content, content_type in (
        (None, None),
        (b"", None),
        (b"", "text/plain"),
        (b"{}", "application/json"),
        (b" { } ", "application/json"),
    ):
        with subtests.test(f"{content!r:.60}"):
            merchant = world.merchants[0]
            call = cancel(merchant.key, world.payment(merchant))._replace(content=content)
            answer = world.send(call.with_header("content-type", content_type) if content_type else call)
            assert answer.json()["data"]["status"] == "cancelled"


def test_any_other_body_is_refused(world: Live) -> None:
    merchant = world.merchants[0]
    payment_id = world.payment(merchant)
    path = f"{PAYMENTS}/{payment_id}/cancel"
    before = world.counts()
    for body in ({"reason": "x"}, {"status": "cancelled"}):
        assert set(field_errors(world.send(post(path, merchant.key, body))).values()) == {"unknown_field"}
    for content in (b"[]", b"1", b"null", b'""'):
        assert field_errors(world.send(post(path, merchant.key, content))) == {"": "wrong_type"}
    for content in (b"{", b" ", b"\xff", b"{}{}"):
        refused(world.send(post(path, merchant.key, content)), 400, "invalid_json")
    refused(world.send(Call("POST", path, merchant.key, b"{}")), 415, "unsupported_media_type")
    assert world.counts() == before
    assert world.data(retrieve(merchant.key, payment_id))["status"] == "pending"


@pytest.mark.both_engines
def test_a_cancel_is_replayed_under_its_key(anywhere: World) -> None:
    merchant = anywhere.merchants[0]
    first, second = anywhere.payment(merchant), anywhere.payment(merchant)
    call = cancel(merchant.key, first).once(f"cancel {first}")
    answers = anywhere.together([call] * 10)
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 1
    assert sum(answer.headers.get("idempotency-replayed") == "true" for answer in answers) == 9
    left_alone(anywhere, cancel(merchant.key, second).once(f"cancel {first}"), 422, "idempotency_key_reused")
    left_alone(anywhere, cancel(merchant.key, first).once("another key"), 409, "cancelled")


# Against others.


@pytest.mark.both_engines
@pytest.mark.parametrize("rounds", [30, pytest.param(200, marks=pytest.mark.slow)])
def test_pay_against_cancel_has_one_winner_and_the_loser_hears_who_it_was(anywhere: World, rounds: int) -> None:
    merchant, customer = anywhere.merchant(), anywhere.customer()
    events = anywhere.counts()["event"]
    won: Counter[str] = Counter()
    while won.total() < rounds or not (won["paid"] and won["cancelled"]):
        round_ = won.total()
        payment_id = anywhere.payment(merchant, amount=1)
        calls = [pay(customer, payment_id), cancel(merchant.key, payment_id)]
        answers = anywhere.together(calls if round_ % 2 else reversed(calls))
        paid, cancelled = answers if round_ % 2 else reversed(answers)
        told = outcome(paid), outcome(cancelled)
        assert told in {("", "already_paid"), ("cancelled", "")}
        shown = anywhere.data(retrieve(merchant.key, payment_id))
        assert (shown["status"], shown["version"]) == ("cancelled" if told[0] else "paid", 2)
        won[shown["status"]] += 1
    assert anywhere.balance(customer) == FUNDS - won["paid"]
    assert anywhere.held(merchant.account) == won["paid"]
    assert anywhere.counts()["event"] == events + won.total()
    assert anywhere.violations() == []


@pytest.mark.both_engines
def test_many_cancels_at_once_are_one(anywhere: World) -> None:
    merchant = anywhere.merchants[0]
    for _ in range(10):
        payment_id = anywhere.payment(merchant)
        answers = anywhere.together([cancel(merchant.key, payment_id)] * 10)
        assert Counter(map(outcome, answers)) == Counter({"": 1, "cancelled": 9})
        assert anywhere.data(retrieve(merchant.key, payment_id))["version"] == 2


@pytest.mark.parametrize("offset_ms", [-1, 0, 1])
@pytest.mark.parametrize("first", ["cancel", "expiry"])
def test_at_the_boundary_exactly_one_of_cancel_and_expiry_wins(still: InProcess, offset_ms: int, first: str) -> None:
    merchant = still.merchants[0]
    for _ in range(20):
        payment_id = still.payment(merchant, expiresIn=300)
        still.clock.advance(300_000 + offset_ms)

        async def race(call: Call) -> str:
            contest = [still.sent(call), still.expired_due()]
            results = await asyncio.gather(*(contest if first == "cancel" else reversed(contest)))
            return next(outcome(result) for result in results if not isinstance(result, int))

        told = still.run(race(cancel(merchant.key, payment_id)))
        shown = still.data(retrieve(merchant.key, payment_id))
        expected = ("", "cancelled", 2) if offset_ms < 0 else ("expired", "expired", 2)
        assert (told, shown["status"], shown["version"]) == expected
    still.clock.now = START
    assert still.violations() == []
