"""Tries to pay that failed, on the page of the payment: roughly why, never who, and nothing of a pay that succeeds."""

import pytest

from qirsh.domain.limits import ATTEMPTS_AT_ONCE, ATTEMPTS_KEPT_MS, ATTEMPTS_OF_PAYMENT_AT_ONCE
from qirsh.domain.refusal import Refusal
from qirsh.workers.attempt_recorder import AttemptRecorder
from qirsh.workers.request_cleaner import RequestCleaner
from tests.guest import Guest
from tests.live import WRONG_PIN, InProcess, Live, create, pay, refused, trial
from tests.waiting import wait_until
from tests.web.business.staff import home, join, owner


@pytest.fixture(autouse=True)
def _nothing_noted(request: pytest.FixtureRequest) -> None:
    if "still" in request.fixturenames:
        for context in request.getfixturevalue("still").services:
            context.attempts.take()


def write_down(world: InProcess) -> None:
    """What every process does after some seconds."""
    for context in world.services:
        world.run(AttemptRecorder(context.engine, context.attempts.take).flush())


@pytest.mark.both_engines
def test_failed_tries_stand_in_the_life_of_a_payment_in_their_order(still: InProcess) -> None:
    boss, merchant = owner(still)
    payment = still.payment(merchant, amount=500)
    poor, customer = still.person(verified=True), still.customer()
    still.clock.advance(1000)
    refused(still.send(pay(poor, payment, "246813")), 409, "insufficient_funds")
    still.clock.advance(1000)
    refused(still.send(pay(customer, payment, WRONG_PIN)), 403, "wrong_pin")
    still.clock.advance(1000)
    still.data(pay(customer, payment))
    refused(still.send(pay(poor, payment, "246813")), 409, "already_paid")
    write_down(still)
    text = boss.read(f"{home(merchant)}/payments/{payment}")
    life = text.partition("What happened")[2]
    order = ["Created", "failed: not enough money", "failed: incorrect PIN", "Paid", "Some may be missing."]
    assert sorted(order, key=life.index) == order
    assert life.count("An attempt to pay failed") == 2
    with still.books() as books:
        rows = books.select("SELECT * FROM payment_attempt WHERE payment = ?", books.payment_number(payment))
    said = repr(rows)
    assert len(rows) == 2
    assert poor.account not in said
    assert not {row[2] for row in rows} & {poor.email, customer.account}
    # Also who may not know payers reads it.
    assert "not enough money" in join(still, merchant, "viewer", boss).read(f"{home(merchant)}/payments/{payment}")


def test_a_pay_that_succeeds_notes_nothing(still: InProcess) -> None:
    merchant = still.merchants[0]
    still.paid(merchant, still.customers[0])
    still.data(trial(merchant.test_key, "pay", still.data(create(merchant.test_key))["id"]))
    assert still.context.attempts.take() == ()


def test_tries_of_the_pay_page_and_of_tests_are_noted(still: InProcess) -> None:
    boss, merchant = owner(still)
    payment, test = still.payment(merchant), still.data(create(merchant.test_key))["id"]
    guest = Guest(still).signed_in(still.customer())
    guest.open(f"/pay/{payment}")
    guest.post(f"/pay/{payment}/confirm", pin=WRONG_PIN)
    refused(still.send(trial(merchant.test_key, "pay", test, outcome="insufficient_funds")), 409, "insufficient_funds")
    boss.open(f"/pay/{test}")
    boss.post(f"/pay/{test}/test", outcome="insufficient_funds")
    assert [attempt.reason for attempt in still.context.attempts.take()] == [
        "wrong_pin",
        "insufficient_funds",
        "insufficient_funds",
    ]


def test_who_keeps_trying_one_payment_leaves_room_for_others(still: InProcess) -> None:
    attempts = still.context.attempts
    for payment in (1, *range(1, ATTEMPTS_AT_ONCE + 9)):
        for _ in range(ATTEMPTS_OF_PAYMENT_AT_ONCE if payment == 1 else 1):
            attempts.note(payment, Refusal.PIN_LOCKED)
    taken = attempts.take()
    assert len(taken) == ATTEMPTS_AT_ONCE
    assert [each.payment for each in taken].count(1) == ATTEMPTS_OF_PAYMENT_AT_ONCE
    assert attempts.take() == ()


def test_failed_tries_go_after_ninety_days(still: InProcess) -> None:
    merchant = still.merchants[0]
    number = still.context.identifiers.payment_number(still.payment(merchant))
    assert number is not None
    still.context.attempts.note(number, Refusal.WRONG_PIN)
    write_down(still)
    cleaner = RequestCleaner(still.context.store, still.context.engine, still.context.clock)
    still.clock.advance(ATTEMPTS_KEPT_MS)
    still.run(cleaner.clean_attempts())
    count = "SELECT count(*) FROM payment_attempt WHERE payment = ?"
    with still.books() as books:
        assert books.select(count, number) == [(1,)]
    still.clock.advance(1)
    assert still.run(cleaner.clean_attempts()) >= 1
    with still.books() as books:
        assert books.select(count, number) == [(0,)]


def test_a_served_process_writes_them_down(world: Live) -> None:
    payment = world.payment(world.merchants[0])
    refused(world.send(pay(world.customer(), payment, WRONG_PIN)), 403, "wrong_pin")

    def reasons() -> list[str]:
        with world.books() as books:
            number = books.payment_number(payment)
            return [row[0] for row in books.select("SELECT reason FROM payment_attempt WHERE payment = ?", number)]

    wait_until(lambda: bool(reasons()))
    assert reasons() == ["wrong_pin"]
