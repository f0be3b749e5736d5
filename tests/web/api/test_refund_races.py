"""Many hands on what can go back: exactly what was paid goes back, from one process or from several."""

import asyncio
import random
from collections import Counter
from collections.abc import Iterator
from typing import Final

import pytest

from tests.live import FUNDS, Live, World, cancel, live, outcome, pay, refund, retrieve
from tests.postgres import PostgresServer

MANY: Final = 100
ROUNDS: Final = pytest.mark.parametrize("rounds", [3, pytest.param(MANY, marks=pytest.mark.slow)])


def tenths(world: World, amount: int) -> None:
    """Fifty refunds of a tenth each, at once."""
    merchant, customer = world.merchants[0], world.customers[0]
    payment_id = world.paid(merchant, customer, amount=amount * 10)
    funds, till = world.balance(customer), world.held(merchant.account)
    answers = world.together([refund(merchant.key, payment_id, amount=amount)] * 50)
    assert Counter(map(outcome, answers)) == Counter({"": 10, "refund_exceeds": 40})
    assert len({answer.json()["data"]["id"] for answer in answers if answer.is_success}) == 10
    shown = world.data(retrieve(merchant.key, payment_id))
    assert (shown["status"], shown["refundedAmount"], shown["version"]) == ("paid", amount * 10, 12)
    assert world.balance(customer) == funds + amount * 10
    assert world.held(merchant.account) == till - amount * 10


@pytest.mark.both_engines
def test_of_fifty_refunds_of_a_tenth_exactly_ten_succeed(anywhere: World) -> None:
    tenths(anywhere, 7)
    tenths(anywhere, 1)
    assert anywhere.violations() == []


@pytest.mark.both_engines
def test_refunds_of_any_size_at_once_never_exceed_what_was_paid(anywhere: World) -> None:
    merchant, customer = anywhere.merchants[0], anywhere.customers[0]
    chance = random.Random(61)
    for _ in range(10):
        payment_id = anywhere.paid(merchant, customer, amount=100)
        sizes = [chance.choice([1, 3, 10, 33, 50, 99, 100]) for _ in range(12)]
        calls = [refund(merchant.key, payment_id, amount=size) for size in sizes] + [refund(merchant.key, payment_id)]
        answers = anywhere.together(calls)
        told = [outcome(answer) for answer in answers]
        assert set(told) <= {"", "refund_exceeds"}
        gone = anywhere.data(retrieve(merchant.key, payment_id))["refundedAmount"]
        asked = sum(size for size, code in zip(sizes, told, strict=False) if code == "")
        # The last one took what was left when its turn came, and then nothing was.
        assert gone == (100 if told[-1] == "" else asked)
        assert told[-1] == "" or asked == 100
    assert anywhere.violations() == []


@pytest.mark.both_engines
def test_whole_refunds_at_once_are_one(anywhere: World) -> None:
    merchant, customer = anywhere.merchants[0], anywhere.customers[0]
    payment_id = anywhere.paid(merchant, customer, amount=100)
    answers = anywhere.together([refund(merchant.key, payment_id)] * 20)
    assert Counter(map(outcome, answers)) == Counter({"": 1, "refund_exceeds": 19})


@pytest.mark.both_engines
def test_refunds_against_withdrawals_never_take_a_shop_below_zero(anywhere: World) -> None:
    merchant, customer = anywhere.merchant(), anywhere.customer()
    paid, withdrawn, gone = 20 * 50, 0, 0
    ids = [anywhere.paid(merchant, customer, amount=50) for _ in range(20)]

    async def race() -> tuple[list[str], list[str]]:
        refunds = asyncio.gather(*(anywhere.sent(refund(merchant.key, one, amount=40)) for one in ids))
        orders = asyncio.gather(*(anywhere.withdrawn(merchant.account, 70) for _ in range(8)))
        answers, codes = await asyncio.gather(refunds, orders)
        return [outcome(answer) for answer in answers], codes

    told, codes = anywhere.run(race())
    assert set(told) <= {"", "merchant_balance_short"}
    assert set(codes) <= {"", "insufficient_funds"}
    withdrawn, gone = codes.count("") * 70, told.count("") * 40
    # Together they want more than there is, so both meet the end of it.
    assert withdrawn + gone <= paid < 8 * 70 + 20 * 40
    assert anywhere.held(merchant.account) == paid - withdrawn - gone
    assert anywhere.held(merchant.account) < 70
    assert anywhere.balance(customer) == FUNDS - paid + gone
    assert anywhere.violations() == []


@pytest.mark.both_engines
def test_a_refund_that_comes_with_the_pay_finds_it_paid_or_not(anywhere: World) -> None:
    merchant, customer = anywhere.merchants[0], anywhere.customer()
    for round_ in range(20):
        payment_id = anywhere.payment(merchant, amount=10)
        calls = [pay(customer, payment_id), refund(merchant.key, payment_id)]
        answers = anywhere.together(calls if round_ % 2 else reversed(calls))
        told = Counter(map(outcome, answers))
        assert told in (Counter({"": 2}), Counter({"": 1, "not_paid": 1}))
        gone = anywhere.data(retrieve(merchant.key, payment_id))["refundedAmount"]
        assert gone == (10 if told[""] == 2 else 0)
        if not gone:
            anywhere.data(refund(merchant.key, payment_id))
        assert anywhere.balance(customer) == FUNDS
    assert anywhere.violations() == []


@pytest.mark.both_engines
def test_a_refund_that_comes_with_the_end_of_the_payers_account_goes_back_or_leaves_it_empty(anywhere: World) -> None:
    merchant = anywhere.merchants[0]
    for _ in range(5):
        customer = anywhere.person(verified=True)
        anywhere.deposit(customer.account, 10)
        payment_id = anywhere.paid(merchant, customer, amount=10)

        asked = anywhere.act("account close", account=customer.account, reason="they have left")
        decision = {"id": asked["id"], "digest": asked["digest"]}

        async def race(decision: dict[str, str] = decision, payment_id: str = payment_id) -> tuple[str, str]:
            closing = anywhere.tried("proposal confirm", decision, 1)
            reply, answer = await asyncio.gather(closing, anywhere.sent(refund(merchant.key, payment_id)))
            return reply.code, outcome(answer)

        told = anywhere.run(race())
        assert told in {("", "payer_closed"), ("money_left", "")}
        assert anywhere.held(customer.account) == (10 if told[1] == "" else 0)
    assert anywhere.violations() == []


# Several processes.


@pytest.fixture(scope="module", params=[pytest.param(2, marks=pytest.mark.slow), 4])
def several(request: pytest.FixtureRequest, postgres: PostgresServer) -> Iterator[Live]:
    with live(postgres, shops=8, people=12, processes=request.param) as running:
        yield running
        assert running.complaints() == []
        assert running.violations() == []
        database = str(running.settings.database).rpartition("/")[2]
        assert postgres.sql(f"SELECT deadlocks FROM pg_stat_database WHERE datname = '{database}'") == "0"  # noqa: S608 - ours


@ROUNDS
def test_over_several_processes_exactly_ten_tenths_go_back(several: Live, rounds: int) -> None:
    for round_ in range(rounds):
        tenths(several, 1 + round_)


@ROUNDS
def test_over_several_processes_a_refund_finds_its_pay_whole_or_not_at_all(several: Live, rounds: int) -> None:
    merchant, customer = several.merchants[0], several.customers[1]
    funds = several.balance(customer)
    seen: Counter[str] = Counter()
    for _ in range(rounds * 2):
        payment_id = several.payment(merchant, amount=9)
        refunds = several.everywhere(refund(merchant.key, payment_id, amount=3)) * 2
        answers = several.together([pay(customer, payment_id), *refunds])
        told = [outcome(answer) for answer in answers]
        assert told[0] == ""
        assert set(told[1:]) <= {"", "not_paid", "refund_exceeds"}
        seen.update(told[1:])
        gone = several.data(retrieve(merchant.key, payment_id))["refundedAmount"]
        assert gone == 3 * told[1:].count("")
        if gone < 9:
            several.data(refund(merchant.key, payment_id))
        assert several.balance(customer) == funds
    assert rounds < MANY or seen["not_paid"] > 0, "the pay always came first: no race was tried"


@ROUNDS
def test_over_several_processes_pay_and_cancel_have_one_winner(several: Live, rounds: int) -> None:
    merchant, customer = several.merchants[1], several.customers[2]
    funds, paid = several.balance(customer), 0
    for _ in range(rounds * 2):
        payment_id = several.payment(merchant, amount=1)
        calls = several.everywhere(pay(customer, payment_id)) + several.everywhere(cancel(merchant.key, payment_id))
        random.shuffle(calls)
        told = Counter(map(outcome, several.together(calls)))
        status = several.data(retrieve(merchant.key, payment_id))["status"]
        loser = {"paid": "already_paid", "cancelled": "cancelled"}[status]
        assert told == Counter({"": 1, loser: len(calls) - 1})
        paid += status == "paid"
        assert several.balance(customer) == funds - paid


def test_over_several_processes_refunds_of_many_payments_meet_withdrawals(several: Live) -> None:
    test_refunds_against_withdrawals_never_take_a_shop_below_zero(several)


@ROUNDS
def test_one_key_sent_to_all_processes_makes_one_refund(several: Live, rounds: int) -> None:
    merchant, customer = several.merchants[0], several.customers[3]
    for round_ in range(rounds):
        payment_id = several.paid(merchant, customer, amount=10)
        call = refund(merchant.key, payment_id, amount=1).once(f"everywhere {rounds} {round_}")
        answers = several.together(several.everywhere(call) * 3)
        assert {answer.status_code for answer in answers} == {201}
        assert len({answer.content for answer in answers}) == 1
        assert sum("idempotency-replayed" not in answer.headers for answer in answers) == 1
        assert several.data(retrieve(merchant.key, payment_id))["refundedAmount"] == 1


@pytest.mark.slow
def test_refunds_that_cross_pays_keep_nobody_waiting(several: Live) -> None:
    """Pays lock payer and shop, refunds the same the other way: the locks have one order, so nobody waits for ever."""
    shops, people = several.merchants[:4], several.customers[4:8]
    chance = random.Random(62)
    paid = [(shop, several.paid(shop, person, amount=3)) for shop in shops for person in people for _ in range(5)]
    calls = [refund(shop.key, payment_id) for shop, payment_id in paid]
    calls += [pay(person, several.payment(shop, amount=2)) for shop in shops for person in people for _ in range(5)]
    chance.shuffle(calls)
    assert Counter(map(outcome, several.together(calls))) == Counter({"": len(calls)})
