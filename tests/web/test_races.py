"""Many hands on the same money: whatever the order, exactly what fits goes through, and the losers are told why."""

import asyncio
import random
from collections import Counter

import pytest

from tests.live import (
    FUNDS,
    PIN,
    WRONG_PIN,
    Call,
    Customer,
    InProcess,
    World,
    create,
    outcome,
    pay,
    refused,
    retrieve,
    see,
    sign_in,
)


def statuses(world: World, key: str, ids: list[str]) -> Counter[str]:
    answers = world.together(retrieve(key, payment_id) for payment_id in ids)
    return Counter(answer.json()["data"]["status"] for answer in answers)


def received(world: World, account: str) -> int:
    with world.books() as books:
        rows = books.select("SELECT amount FROM balance WHERE account = ? AND currency = 'USD'", int(account))
    return int(rows[0][0]) if rows else 0


@pytest.mark.both_engines
@pytest.mark.parametrize("fits", [1, 49, *(pytest.param(fits, marks=pytest.mark.slow) for fits in (7, 50))])
def test_of_fifty_pays_at_once_exactly_what_fits_succeeds(anywhere: World, fits: int) -> None:
    merchant, customer = anywhere.merchants[0], anywhere.customer()
    amount = FUNDS // fits
    ids = [anywhere.payment(merchant, amount=amount) for _ in range(50)]
    before = received(anywhere, merchant.account)
    answers = anywhere.together(pay(customer, payment_id) for payment_id in ids)
    told = Counter(outcome(answer) for answer in answers)
    assert told == Counter({"": fits, "insufficient_funds": 50 - fits})
    assert anywhere.balance(customer) == FUNDS - fits * amount
    assert received(anywhere, merchant.account) == before + fits * amount
    # Each caller's answer is what became of their payment.
    for payment_id, answer in zip(ids, answers, strict=True):
        status = anywhere.data(retrieve(merchant.key, payment_id))["status"]
        assert status == ("paid" if answer.is_success else "pending")
    assert anywhere.violations() == []


@pytest.mark.both_engines
def test_money_spent_in_two_shops_at_once_is_spent_once(anywhere: World) -> None:
    customer = anywhere.customer()
    shops = anywhere.merchants[:4]
    ids = [anywhere.payment(shop, amount=FUNDS) for shop in shops]
    answers = anywhere.together(pay(customer, payment_id) for payment_id in ids)
    assert Counter(map(outcome, answers)) == Counter({"": 1, "insufficient_funds": 3})
    assert anywhere.balance(customer) == 0


@pytest.mark.both_engines
@pytest.mark.parametrize("payers", [pytest.param(2, marks=pytest.mark.slow), 8])
def test_of_many_payers_of_one_payment_one_pays(anywhere: World, payers: int) -> None:
    merchant = anywhere.merchants[0]
    people = [anywhere.customer() for _ in range(payers)]
    for round_ in range(5):
        payment_id = anywhere.payment(merchant, amount=100 + round_)
        held = [anywhere.balance(person) for person in people]
        answers = anywhere.together(pay(person, payment_id) for person in people)
        assert Counter(map(outcome, answers)) == Counter({"": 1, "already_paid": payers - 1})
        winner = next(person for person, answer in zip(people, answers, strict=True) if answer.is_success)
        assert anywhere.data(retrieve(merchant.key, payment_id))["from"] == winner.account
        for person, before in zip(people, held, strict=True):
            assert anywhere.balance(person) == before - (100 + round_ if person == winner else 0)


@pytest.mark.both_engines
def test_a_double_click_pays_once(anywhere: World) -> None:
    customer = anywhere.customer()
    for round_ in range(10):
        payment_id = anywhere.payment(anywhere.merchants[0], amount=10)
        answers = anywhere.together([pay(customer, payment_id)] * 2)
        assert Counter(map(outcome, answers)) == Counter({"": 1, "already_paid": 1})
        assert anywhere.balance(customer) == FUNDS - 10 * (round_ + 1)


def test_one_customer_in_two_tabs_pays_once(anywhere: World) -> None:
    customer = anywhere.customer()
    other_tab = customer._replace(token=anywhere.data(sign_in(customer.email))["token"])
    payment_id = anywhere.payment(anywhere.merchants[0], amount=10)
    for tab in (customer, other_tab):
        assert anywhere.data(see(tab, payment_id))["status"] == "pending"
    answers = anywhere.together([pay(customer, payment_id).once("tab 1"), pay(other_tab, payment_id).once("tab 2")])
    assert Counter(map(outcome, answers)) == Counter({"": 1, "already_paid": 1})
    assert anywhere.balance(customer) == FUNDS - 10
    for tab in (customer, other_tab):
        assert anywhere.data(see(tab, payment_id))["status"] == "paid"


@pytest.mark.both_engines
def test_wrong_pins_at_once_all_count_and_lock_after_five(anywhere: World) -> None:
    merchant, customer = anywhere.merchants[0], anywhere.customer()
    ids = [anywhere.payment(merchant) for _ in range(20)]
    answers = anywhere.together(pay(customer, payment_id, WRONG_PIN) for payment_id in ids)
    assert Counter(map(outcome, answers)) == Counter({"wrong_pin": 5, "pin_locked": 15})
    left = sorted(answer.json()["attemptsLeft"] for answer in answers)
    assert left == [0] * 16 + [1, 2, 3, 4]
    refused(anywhere.send(pay(customer, ids[0])), 403, "pin_locked")
    assert anywhere.balance(customer) == FUNDS


@pytest.mark.both_engines
def test_guessing_beside_the_right_pin_gives_no_more_than_five_guesses_in_a_row(anywhere: World) -> None:
    """Right and wrong PINs together: what is told is what one after another would have been told, in some order."""
    merchant, customer = anywhere.merchants[0], anywhere.customer()
    ids = [anywhere.payment(merchant, amount=1) for _ in range(30)]
    pins = [PIN if number % 10 == 9 else WRONG_PIN for number in range(30)]
    answers = anywhere.together(pay(customer, payment_id, pin) for payment_id, pin in zip(ids, pins, strict=True))
    told = Counter(map(outcome, answers))
    assert told.keys() <= {"", "wrong_pin", "pin_locked"}
    assert told["wrong_pin"] <= 5 * (told[""] + 1)
    assert [pin for pin, answer in zip(pins, answers, strict=True) if answer.is_success] == [PIN] * told[""]
    assert anywhere.balance(customer) == FUNDS - told[""]


def test_suspended_between_seeing_and_paying(anywhere: World) -> None:
    for suspended, code in (("customer", "account_suspended"), ("merchant", "merchant_suspended")):
        merchant, customer = anywhere.merchant(), anywhere.customer()
        payment_id = anywhere.payment(merchant)
        assert anywhere.data(see(customer, payment_id))["status"] == "pending"
        account = customer.account if suspended == "customer" else merchant.account
        anywhere.act("account suspend", account=account)
        if suspended == "customer":
            assert outcome(anywhere.send(pay(customer, payment_id))) == "unauthorized"
            customer = anywhere.anew(customer)
        answer = anywhere.send(pay(customer, payment_id))
        assert outcome(answer) == code
        assert anywhere.balance(customer) == FUNDS
        assert anywhere.data(retrieve(merchant.key, payment_id))["status"] == "pending"


@pytest.mark.both_engines
def test_suspension_and_pays_at_once_agree_on_an_order(anywhere: World) -> None:
    merchant, customer = anywhere.merchant(), anywhere.customer()
    ids = [anywhere.payment(merchant, amount=1) for _ in range(30)]

    async def race() -> list[str]:
        pays = [asyncio.create_task(anywhere.sent(pay(customer, payment_id))) for payment_id in ids]
        suspended = asyncio.create_task(anywhere.done("account suspend", account=merchant.account))
        answers = await asyncio.gather(*pays)
        await suspended
        return [outcome(answer) for answer in answers]

    told = Counter(anywhere.run(race()))
    assert told.keys() <= {"", "merchant_suspended"}
    assert statuses(anywhere, merchant.key, ids)["paid"] == told[""]
    assert received(anywhere, merchant.account) == told[""]
    refused(anywhere.send(create(merchant.key)), 403, "account_suspended")


# Paying against the clock.


def fresh(world: InProcess) -> Customer:
    """Signed in now, wherever the clock has gone."""
    customer = world.customer()
    return customer._replace(token=world.data(sign_in(customer.email))["token"])


@pytest.mark.both_engines
@pytest.mark.parametrize("offset_ms", [-1, 0, 1])
@pytest.mark.parametrize("first", ["pay", "expiry"])
@pytest.mark.parametrize("rounds", [5, pytest.param(20, marks=pytest.mark.slow)])
def test_at_the_boundary_exactly_one_of_pay_and_expiry_wins(
    still: InProcess, offset_ms: int, first: str, rounds: int
) -> None:
    merchant, customer = still.merchants[0], fresh(still)
    for _ in range(rounds):
        payment_id = still.payment(merchant, amount=1, expiresIn=300)
        held = still.balance(customer)
        still.clock.advance(300_000 + offset_ms)

        async def race(call: Call) -> str:
            contest = [still.sent(call), still.expired_due()]
            results = await asyncio.gather(*(contest if first == "pay" else reversed(contest)))
            return next(outcome(result) for result in results if not isinstance(result, int))

        told = still.run(race(pay(customer, payment_id)))
        # Who comes in time pays, whatever else runs at the same moment; who comes too late does not.
        status = still.data(retrieve(merchant.key, payment_id))["status"]
        assert (told, status) == (("", "paid") if offset_ms < 0 else ("expired", "expired"))
        assert still.balance(customer) == held - (1 if offset_ms < 0 else 0)
    assert still.violations() == []


def test_a_clock_that_moves_among_the_pays_splits_them_cleanly(still: InProcess) -> None:
    merchant, customer = still.merchants[0], fresh(still)
    chance = random.Random(7)
    for _ in range(30):
        ids = [still.payment(merchant, amount=1, expiresIn=300) for _ in range(6)]
        held = still.balance(customer)
        still.clock.advance(299_998)

        async def tick() -> None:
            for _ in range(4):
                await asyncio.sleep(0)
                still.clock.advance(1)
                await still.expired_due()

        async def late(call: Call, turns: int) -> str:
            for _ in range(turns):
                await asyncio.sleep(0)
            return outcome(await still.sent(call))

        async def race(contest: list[str]) -> list[str]:
            pays = [late(pay(customer, payment_id), chance.randrange(12)) for payment_id in contest]
            told, _ = await asyncio.gather(asyncio.gather(*pays), tick())
            return told

        told = still.run(race(ids))
        still.expire_due()
        assert set(told) <= {"", "expired"}
        shown = [still.data(retrieve(merchant.key, payment_id))["status"] for payment_id in ids]
        assert shown == ["expired" if code else "paid" for code in told]
        assert still.balance(customer) == held - told.count("")
    assert still.violations() == []


@pytest.mark.both_engines
def test_two_expiry_workers_and_a_payer_leave_one_event(still: InProcess) -> None:
    merchant, customer = still.merchants[0], fresh(still)
    ids = [still.payment(merchant, amount=1, expiresIn=300) for _ in range(10)]
    still.clock.advance(300_000)

    async def race() -> None:
        await asyncio.gather(still.expired_due(), still.expired_due(), *(still.sent(pay(customer, one)) for one in ids))

    still.run(race())
    assert statuses(still, merchant.key, ids) == Counter({"expired": 10})
    with still.books() as books:
        numbers = [books.payment_number(payment_id) for payment_id in ids]
        told = [books.select("SELECT type FROM event WHERE payment = ?", number) for number in numbers]
    assert told == [[("remote_payment.expired",)]] * 10
    assert still.violations() == []
