"""Idempotency keys over HTTP: one key, one outcome, whatever the line, the client or a restart does to the answers."""

import asyncio
import http.client
import json
import signal
from typing import Final

import httpx2
import pytest

from qirsh.web.http.authentication import KEY
from tests.line import Lost, NotSent
from tests.live import (
    FUNDS,
    PAYMENTS,
    START,
    WRONG_PIN,
    Call,
    Customer,
    InProcess,
    Live,
    Merchant,
    World,
    create,
    field_errors,
    live,
    pay,
    refused,
    retrieve,
    sign_in,
)
from tests.postgres import PostgresServer
from tests.web.belongings import (
    BODIES,
    BY_NAME,
    NAMES,
    NOT_ONCE,
    ONCE,
    SECRETS,
    call_of,
    is_of_tests,
    named,
    takes_an_id,
)
from tests.web.webhooks import OWN_NETWORKS

KEPT_MS: Final = 30 * 24 * 3600 * 1000


def is_replay(answer: httpx2.Response) -> bool:
    return answer.headers.get("idempotency-replayed") == "true"


def payments(world: World) -> int:
    return world.counts()["payment"]


def test_the_same_request_gets_the_same_answer(world: Live) -> None:
    call = create(world.merchants[0].key, amount=42, metadata={"a": 1}).once("same-1")
    before = payments(world)
    first, second = world.send(call), world.send(call)
    assert first.status_code == second.status_code == 201
    assert (is_replay(first), is_replay(second)) == (False, True)
    assert second.content == first.content
    for name in ("location", "link", "content-type", "content-length"):
        assert second.headers[name] == first.headers[name]
    assert payments(world) == before + 1


def test_without_a_key_each_request_is_its_own(world: Live) -> None:
    call = create(world.merchants[0].key)
    assert world.send(call).json() != world.send(call).json()


@pytest.mark.both_engines
def test_another_request_under_the_same_key_is_refused(world: Live) -> None:
    key = world.merchants[0].key
    first = world.send(create(key, b'{"amount":100,"currency":"USD"}').once("other-1"))
    before = world.counts()
    for body in (
        b'{"amount":101,"currency":"USD"}',
        b'{"amount":100,"currency":"EUR"}',
        b'{"amount":100,"currency":"USD","note":""}',
        b'{"currency":"USD","amount":100}',
        b'{"amount":100,"currency":"USD"} ',
    ):
        refused(world.send(create(key, body).once("other-1")), 422, "idempotency_key_reused")
    assert world.counts() == before
    # The first outcome stands.
    again = world.send(create(key, b'{"amount":100,"currency":"USD"}').once("other-1"))
    assert again.content == first.content


def test_accounts_know_nothing_of_each_others_keys(world: Live) -> None:
    one, two = world.merchants[:2]
    ids = [
        world.data(create(key, amount=amount).once("shared"))["id"]
        for amount, key in ((1, one.key), (2, two.key), (3, one.test_key))
    ]
    assert len(set(ids)) == 3
    assert world.data(create(one.key, amount=1).once("shared"))["id"] == ids[0]
    # The keys of one account share its memory: a rotated key can still retry.
    other_key = world.act("key issue", account=one.account)["key"]
    assert world.data(create(other_key, amount=1).once("shared"))["id"] == ids[0]


@pytest.mark.both_engines
def test_twenty_twins_at_once_make_one_payment(anywhere: World) -> None:
    for round_ in range(5):
        call = create(anywhere.merchants[0].key, amount=7).once(f"twins-{round_}")
        before = payments(anywhere)
        answers = anywhere.together([call] * 20)
        assert {answer.status_code for answer in answers} == {201}
        assert len({answer.content for answer in answers}) == 1
        assert sum(is_replay(answer) for answer in answers) == 19
        assert payments(anywhere) == before + 1


@pytest.mark.both_engines
def test_of_two_different_requests_at_once_one_wins_the_key(anywhere: World) -> None:
    key = anywhere.merchants[0].key
    for round_ in range(5):
        before = payments(anywhere)
        answers = anywhere.together(create(key, amount=1 + n % 2).once(f"duel-{round_}") for n in range(10))
        statuses = sorted(answer.status_code for answer in answers)
        assert statuses == [201] * 5 + [422] * 5
        assert len({answer.content for answer in answers if answer.is_success}) == 1
        assert payments(anywhere) == before + 1


@pytest.mark.both_engines
def test_accounts_of_a_pay_move_the_money_once(anywhere: World) -> None:
    customer = anywhere.customer()
    payment_id = anywhere.payment(anywhere.merchants[0], amount=500)
    answers = anywhere.together([pay(customer, payment_id).once("pay-twins")] * 20)
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 1
    assert sum(is_replay(answer) for answer in answers) == 19
    assert anywhere.balance(customer) == FUNDS - 500


def test_any_printable_key_of_1_to_255_characters_is_taken(world: Live, subtests: pytest.Subtests) -> None:
    for key in ("x", "x" * 255, "a b", "'\"; DROP TABLE stored_response; --", "~!@#$%^&*()", "%00", "true"):
        with subtests.test(key):
            call = create(world.merchants[0].key, amount=3).once(key)
            first, second = world.send(call), world.send(call)
            assert (first.status_code, is_replay(second), first.content) == (201, True, second.content)


def test_a_key_of_256_characters_is_refused(world: Live) -> None:
    before = world.counts()
    answer = world.send(create(world.merchants[0].key).once("x" * 256))
    assert field_errors(answer) == {"Idempotency-Key": "invalid"}
    assert world.counts() == before


def test_blanks_around_a_header_are_no_part_of_it(world: Live, subtests: pytest.Subtests) -> None:
    for blanks in (" ", "  ", "\t", " \t "):
        with subtests.test(blanks):
            key, token = f"blanks {ord(blanks[0])} {len(blanks)}", world.merchants[0].key
            before = payments(world)
            ids = set()
            for around in ("", blanks):
                # A client that sends values as they are given to it.
                connection = http.client.HTTPConnection("127.0.0.1", world.settings.port)
                headers = {
                    "Idempotency-Key": key,
                    "Authorization": f"Bearer {token}",
                    "Content-Type": "application/json",
                }
                spaced = {name: f"{around}{value}{around}" for name, value in headers.items()}
                connection.request("POST", PAYMENTS, b'{"amount":100,"currency":"USD"}', spaced)
                answer = connection.getresponse()
                assert answer.status == 201
                ids.add(json.loads(answer.read())["data"]["id"])
                connection.close()
            assert len(ids) == 1
            assert payments(world) == before + 1


def test_keys_differ_by_case_and_by_their_last_character(world: Live) -> None:
    keys = ("Case", "case", "CASE", "x" * 254 + "a", "x" * 254 + "b")
    ids = {world.data(create(world.merchants[0].key, amount=4).once(key))["id"] for key in keys}
    assert len(ids) == len(keys)


def test_a_request_that_was_refused_is_not_remembered(world: Live) -> None:
    key = world.merchants[0].key
    before = world.counts()
    elsewhere = b'{"amount":1,"currency":"USD","returnUrl":"https://e.example"}'
    for body in (b"{", b"{}", b'{"amount":0,"currency":"USD"}', elsewhere):
        assert world.send(create(key, body).once("fixed-later")).status_code in {400, 422}
    assert world.counts() == before
    fixed = world.send(create(key).once("fixed-later"))
    assert fixed.status_code == 201
    assert not is_replay(fixed)


def test_too_little_money_is_not_remembered_but_the_pay_after_a_deposit_is(world: Live) -> None:
    customer = world.customer()
    payment_id = world.payment(world.merchants[0], amount=FUNDS + 10)
    call = pay(customer, payment_id).once("short")
    refused(world.send(call), 409, "insufficient_funds")
    refused(world.send(call), 409, "insufficient_funds")
    world.deposit(customer.account, 10)
    paid, again = world.send(call), world.send(call)
    assert paid.status_code == again.status_code == 200
    assert (is_replay(paid), is_replay(again)) == (False, True)
    assert paid.content == again.content
    assert world.balance(customer) == 0


def test_a_wrong_pin_first_then_the_right_one_under_the_same_key(world: Live) -> None:
    customer = world.customer()
    payment_id = world.payment(world.merchants[0], amount=5)
    refused(world.send(pay(customer, payment_id, WRONG_PIN).once("pin")), 403, "wrong_pin")
    paid = world.send(pay(customer, payment_id).once("pin"))
    assert (paid.status_code, is_replay(paid)) == (200, False)
    # The PIN is no part of the request's identity: a replay tells only what the payer was told before.
    again = world.send(pay(customer, payment_id, WRONG_PIN).once("pin"))
    assert (again.status_code, is_replay(again), again.content) == (200, True, paid.content)
    # And no attempt was counted for it.
    other = world.payment(world.merchants[0])
    assert refused(world.send(pay(customer, other, WRONG_PIN)), 403, "wrong_pin")["attemptsLeft"] == 4


def test_a_key_of_one_payment_does_not_pay_another(world: Live) -> None:
    customer = world.customer()
    first, second = world.payment(world.merchants[0]), world.payment(world.merchants[0])
    world.data(pay(customer, first).once("one-pay"))
    refused(world.send(pay(customer, second).once("one-pay")), 422, "idempotency_key_reused")
    assert world.data(retrieve(world.merchants[0].key, second))["status"] == "pending"


def test_somebody_elses_key_does_not_replay_a_pay(world: Live) -> None:
    payer, other = world.customer(), world.customer()
    payment_id = world.payment(world.merchants[0])
    world.data(pay(payer, payment_id).once("mine"))
    refused(world.send(pay(other, payment_id).once("mine")), 409, "already_paid")


def test_what_was_done_is_replayed_even_when_it_could_not_be_done_any_more(world: Live) -> None:
    merchant, customer = world.merchant(), world.customer()
    creating = create(merchant.key, amount=9).once("before-the-fall")
    created = world.send(creating)
    paying = pay(customer, created.json()["data"]["id"]).once("before-the-fall")
    paid = world.send(paying)
    world.act("account suspend", account=merchant.account)
    world.act("account suspend", account=customer.account)
    paying = pay(world.anew(customer), created.json()["data"]["id"]).once("before-the-fall")
    for call, first in ((creating, created), (paying, paid)):
        again = world.send(call)
        assert (again.status_code, is_replay(again), again.content) == (first.status_code, True, first.content)


def test_reading_has_no_use_for_a_key(world: Live) -> None:
    merchant, customer = world.merchants[0], world.customer()
    payment_id = world.payment(merchant)
    call = retrieve(merchant.key, payment_id).once("read")
    assert world.data(call)["status"] == "pending"
    world.data(pay(customer, payment_id))
    assert world.data(call)["status"] == "paid"


@pytest.mark.both_engines
def test_a_key_is_forgotten_after_thirty_days(still: InProcess) -> None:
    merchant, customer = still.merchants[0], still.customer()
    still.clock.now = START
    creating = create(merchant.key, amount=9).once("a month")
    first = still.send(creating)
    payment_id = first.json()["data"]["id"]
    paid = still.send(pay(customer, payment_id).once("a month"))
    assert paid.status_code == 200

    still.clock.now = START + KEPT_MS - 1
    customer = customer._replace(token=still.data(sign_in(customer.email))["token"])
    again = still.send(creating)
    assert (is_replay(again), again.content) == (True, first.content)
    assert still.send(pay(customer, payment_id).once("a month")).content == paid.content

    still.clock.now = START + KEPT_MS
    fresh = still.send(creating)
    assert (fresh.status_code, is_replay(fresh)) == (201, False)
    assert fresh.content != first.content
    # Money does not move again: what is paid is paid.
    refused(still.send(pay(customer, payment_id).once("a month")), 409, "already_paid")
    # The new outcome has the key for another thirty days, and another body may not have it.
    assert still.send(creating).content == fresh.content
    refused(still.send(create(merchant.key, amount=10).once("a month")), 422, "idempotency_key_reused")
    still.clock.now = START


def test_a_clock_that_runs_backwards_forgets_nothing(still: InProcess) -> None:
    call = create(still.merchants[0].key, amount=9).once("backwards")
    first = still.send(call)
    still.clock.advance(-40 * 24 * 3600 * 1000)
    assert still.send(call).content == first.content
    still.clock.now = START


# Every route of the table that takes a key.


def first_call(world: World, name: str, merchant: Merchant, customer: Customer) -> Call:
    """A call of the route that will succeed."""
    token = merchant.test_key if is_of_tests(name) else merchant.key
    if BY_NAME[name].token is not KEY:
        token = customer.token
    argument = named(world, NAMES[name], merchant, customer) if takes_an_id(BY_NAME[name]) else ""
    return call_of(name, token, argument)


def answered_again(name: str, first: httpx2.Response, again: httpx2.Response) -> None:
    """The same answer; but for a secret, which is shown once."""
    assert is_replay(again)
    if name in SECRETS:
        refused(again, 409, "secret_already_shown")
        assert first.json()["data"]["secret"] not in again.text
        return
    assert (again.status_code, again.content) == (first.status_code, first.content)
    told = [
        [(key, value) for key, value in one.headers.multi_items() if key in {"location", "link"}]
        for one in (first, again)
    ]
    assert told[0] == told[1]


def test_every_call_that_changes_something_takes_a_key_but_signing_in() -> None:
    told = {name: route.doc for name, route in BY_NAME.items() if route.doc is not None}
    assert {name for name, one in told.items() if one.takes_key} == set(told) & set(ONCE)
    assert {name for name in BODIES if name.startswith("POST")} - set(ONCE) == NOT_ONCE


def test_each_call_is_carried_out_once_and_answered_twice(world: Live, subtests: pytest.Subtests) -> None:
    for name in ONCE:
        with subtests.test(name):
            call = first_call(world, name, world.merchants[0], world.customer()).once(f"twice {name}")
            first = world.send(call)
            assert first.status_code in {200, 201}
            assert not is_replay(first)
            before = world.counts()
            again = world.send(call)
            answered_again(name, first, again)
            assert world.counts() == before
            # Without the key it is another wish; the same key for another thing is refused.
            other = first_call(world, name, world.merchants[0], world.customers[0])
            other = other._replace(token=call.token)
            if other.path == call.path:
                other = other._replace(content=(call.content or b"") + b" ")
            before = world.counts()
            refused(world.send(other.once(f"twice {name}")), 422, "idempotency_key_reused")
            assert world.counts() == before


def test_a_key_that_is_none_is_refused_before_anything_is_done(world: Live, subtests: pytest.Subtests) -> None:
    for name in ONCE:
        with subtests.test(name):
            call = first_call(world, name, world.merchants[0], world.customers[0])
            before = world.counts()
            for key in ("x" * 256, "", "caf\u00e9", "a\tb"):
                assert field_errors(world.send(call.once(key))) == {"Idempotency-Key": "invalid"}
            assert world.counts() == before
            assert world.send(call.once(f"one that is: {name}")).status_code in {200, 201}


def test_a_key_is_not_shared_with_another_account(world: Live, subtests: pytest.Subtests) -> None:
    for name in ONCE:
        with subtests.test(name):
            one, two = world.merchants[:2]
            people = (world.customer(), world.customer())
            once = f"not shared {name}"
            calls = [
                first_call(world, name, shop, who).once(once) for shop, who in zip((one, two), people, strict=True)
            ]
            answers = [world.send(call) for call in calls]
            assert [answer.status_code in {200, 201} for answer in answers] == [True, True]
            assert [is_replay(answer) for answer in answers] == [False, False]
            assert answers[0].content != answers[1].content
            # Each goes on to hear its own.
            for call, first in zip(calls, answers, strict=True):
                answered_again(name, first, world.send(call))


def test_the_keys_of_one_account_share_its_memory_and_those_of_its_other_half_do_not(
    world: Live, subtests: pytest.Subtests
) -> None:
    for name in [name for name in ONCE if BY_NAME[name].token is KEY]:
        with subtests.test(name):
            merchant = world.merchants[0]
            once = f"rotated {name}"
            call = first_call(world, name, merchant, world.customers[0]).once(once)
            first = world.send(call)
            is_test = call.token == merchant.test_key
            rotated = world.act("key issue", account=merchant.account, test=is_test)["key"]
            answered_again(name, first, world.send(call._replace(token=rotated)))
            other_half = world.send(call._replace(token=merchant.key if is_test else merchant.test_key))
            assert not is_replay(other_half)
            assert other_half.content != first.content


# Whoever is killed was not asked to put anything in order.
HOWS: Final = pytest.mark.parametrize(
    "how",
    [pytest.param(signal.SIGTERM, id="stopped", marks=pytest.mark.slow), pytest.param(signal.SIGKILL, id="killed")],
)


@HOWS
def test_after_a_restart_every_call_is_answered_as_before(engine: PostgresServer | None, how: signal.Signals) -> None:
    with live(engine, shops=1, people=2, more=OWN_NETWORKS) as own:
        calls = [first_call(own, name, own.merchants[0], own.customers[0]).once(f"kept {name}") for name in ONCE]
        answers = [own.send(call) for call in calls]
        assert {answer.status_code for answer in answers} <= {200, 201}
        before = own.counts()

        own.stop(how)
        own.start()

        for name, call, first in zip(ONCE, calls, answers, strict=True):
            answered_again(name, first, own.send(call))
        assert own.counts() == before
        assert own.violations() == []


@HOWS
def test_after_a_restart_a_key_still_has_its_outcome(engine: PostgresServer | None, how: signal.Signals) -> None:
    with live(engine, shops=1, people=2) as own:
        merchant, customer = own.merchants[0], own.customer()
        creating = create(merchant.key, amount=FUNDS).once("r-1")
        created = own.send(creating)
        paying = pay(customer, created.json()["data"]["id"]).once("r-2")
        paid = own.send(paying)
        before = own.counts()

        own.stop(how)
        own.start()

        for call, first in ((creating, created), (paying, paid)):
            again = own.send(call)
            assert (again.status_code, is_replay(again), again.content) == (first.status_code, True, first.content)
        refused(own.send(create(merchant.key, amount=1).once("r-1")), 422, "idempotency_key_reused")
        assert own.counts() == before
        assert own.balance(customer) == 0
        assert own.violations() == []
        # New ids go on where no old one was given.
        ids = {own.payment(merchant) for _ in range(20)}
        assert len(ids | {created.json()["data"]["id"]}) == 21


@pytest.mark.both_engines
def test_accounts_of_a_killed_server_meet_again(engine: PostgresServer | None) -> None:
    """A client that never saw its answer asks again: the same id, and one payment."""
    with live(engine, shops=1, people=1) as own:
        merchant = own.merchants[0]
        for round_ in range(3):
            calls = [create(merchant.key, amount=1 + n).once(f"{round_}-{n}") for n in range(40)]
            seen = own.run(_cut_off(own, calls))
            own.start()
            answers = own.together(calls)
            assert {answer.status_code for answer in answers} == {201}
            for before, after in zip(seen, answers, strict=True):
                # Whoever was answered before the kill hears the same now.
                assert before is None or before == after.content
            assert len({answer.content for answer in answers}) == 40
            assert payments(own) == 40 * (round_ + 1)


async def _cut_off(world: Live, calls: list[Call]) -> list[bytes | None]:
    """Send all, and kill the server while it is at work; what each caller saw."""
    seen: list[bytes | None] = [None] * len(calls)
    killed = False

    async def one(number: int, call: Call) -> None:
        nonlocal killed
        try:
            answer = await world.sent(call)
        except (NotSent, Lost):
            return
        seen[number] = answer.content
        if not killed and number % 7 == 0:
            killed = True
            world.stop(signal.SIGKILL)

    await asyncio.gather(*(one(number, call) for number, call in enumerate(calls)))
    if not killed:
        world.stop(signal.SIGKILL)
    return seen
