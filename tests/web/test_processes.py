"""Four processes on one PostgreSQL database: whichever of them is asked, there is one truth, and one winner."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import pytest

from qirsh.domain.money import CURRENCIES
from tests.guest import Guest
from tests.live import (
    BALANCES,
    FUNDS,
    ORIGIN,
    PASSWORD,
    PIN,
    WRONG_PIN,
    Call,
    Customer,
    InProcess,
    Live,
    create,
    live,
    outcome,
    pay,
    refused,
    retrieve,
    see,
)
from tests.postgres import PostgresServer
from tests.waiting import wait_until
from tests.web.business.staff import CAPS, join

PROCESSES: Final = 4
# Rare races take many rounds to show.
ROUNDS: Final = pytest.mark.parametrize("rounds", [3, pytest.param(100, marks=pytest.mark.slow)])


@pytest.fixture(scope="module")
def served(postgres: PostgresServer) -> Iterator[Live]:
    with live(postgres, shops=24, people=70, processes=PROCESSES) as running:
        yield running
        # No failed command, no worker in trouble; and no deadlock, also none that was mended by running a batch again.
        assert running.complaints() == []
        database = str(running.settings.database).rpartition("/")[2]
        assert postgres.sql(f"SELECT deadlocks FROM pg_stat_database WHERE datname = '{database}'") == "0"  # noqa: S608 - ours


@pytest.fixture
def four(served: Live) -> Iterator[Live]:
    """Whatever a test does to them, the books are right afterwards."""
    yield served
    assert served.violations() == []


def payments(four: Live, *, count: int, amount: int, currency: str = "USD") -> list[str]:
    """Their ids; the first shops of the world take turns."""
    keys = [merchant.key for merchant in four.merchants[:4]]
    calls = [create(keys[n % 4], amount=amount, currency=currency) for n in range(count)]
    answers = four.together(calls)
    assert {answer.status_code for answer in answers} == {201}
    return [answer.json()["data"]["id"] for answer in answers]


def held(four: Live, account: str, currency: str = "USD") -> int:
    """What the books say."""
    with four.books() as books:
        rows = books.select("SELECT amount FROM balance WHERE account = ? AND currency = ?", int(account), currency)
    return int(rows[0][0]) if rows else 0


# The same money, at once.


@ROUNDS
def test_of_fifty_spends_of_the_same_money_exactly_one_succeeds(four: Live, rounds: int) -> None:
    customer = four.customer()
    for round_ in range(rounds):
        currency = list(CURRENCIES)[round_ % len(CURRENCIES)]
        whole = four.balance(customer, currency)
        assert whole > 0
        ids = payments(four, count=50, amount=whole, currency=currency)
        answers = four.together(pay(customer, payment_id) for payment_id in ids)
        assert Counter(map(outcome, answers)) == Counter({"": 1, "insufficient_funds": 49})
        assert four.balance(customer, currency) == 0
        winner = next(payment_id for payment_id, answer in zip(ids, answers, strict=True) if answer.is_success)
        shown = four.together(see(customer, payment_id) for payment_id in ids)
        assert [one.json()["data"]["status"] == "paid" for one in shown] == [one == winner for one in ids]
        four.deposit(customer.account, FUNDS - round_, currency)


@ROUNDS
def test_the_first_money_of_a_currency_comes_from_all_processes_at_once(four: Live, rounds: int) -> None:
    """Balances that nobody has ever seen come into being under many hands: a deposit's, a shop's, and a payer's."""
    payers = [four.customer() for _ in range(8)]
    person, shop = four.person(verified=True), four.merchant()
    for round_ in range(rounds):
        currency = list(CURRENCIES)[round_ % len(CURRENCIES)]
        if round_ and round_ % len(CURRENCIES) == 0:
            person, shop = four.person(verified=True), four.merchant()
        key = shop.key
        ids = [four.data(create(key, amount=5, currency=currency))["id"] for _ in range(12)]
        references = [f"first {rounds} {round_} {number}" for number in range(8)]

        async def ask(reference: str, account: str, currency: str) -> None:
            slip: dict[str, Any] = {"account": account, "currency": currency, "amount": "0.05", "reference": reference}
            await four.done("deposit ask", **slip, reason="test")

        async def race(references: list[str], ids: list[str], person: Customer, currency: str) -> list[str]:
            await asyncio.gather(*(ask(reference, person.account, currency) for reference in references))
            pays = [pay(person, payment_id) for payment_id in ids[8:]]
            pays += [pay(payer, payment_id) for payer, payment_id in zip(payers, ids, strict=False)]
            answers, _ = await asyncio.gather(
                asyncio.gather(*(four.sent(call) for call in pays)),
                asyncio.gather(*(four.done("deposit confirm", 1, reference=one) for one in references)),
            )
            return [outcome(answer) for answer in answers]

        told = four.run(race(references, ids, person, currency))
        # Whether the newcomer's money was there in time is anybody's guess.
        spent = told[:4].count("")
        assert set(told[:4]) <= {"", "insufficient_funds"}
        assert told[4:] == [""] * 8
        assert held(four, person.account, currency) == (8 - spent) * 5
        assert held(four, shop.account, currency) == (8 + spent) * 5


@ROUNDS
def test_one_payment_paid_by_two_customers_is_debited_once(four: Live, rounds: int) -> None:
    one, two = four.customer(), four.customer()
    for round_ in range(rounds):
        before = [four.balance(person) for person in (one, two)]
        [payment_id] = payments(four, count=1, amount=100)
        places = random.Random(round_).sample(range(PROCESSES), 2)
        calls = [four.at(place, pay(person, payment_id)) for place, person in zip(places, (one, two), strict=True)]
        answers = four.together(calls)
        assert sorted(map(outcome, answers)) == ["", "already_paid"]
        after = [four.balance(person) for person in (one, two)]
        debited = [100 if answer.is_success else 0 for answer in answers]
        assert after == [amount - debit for amount, debit in zip(before, debited, strict=True)]


# The same request, at once.


@ROUNDS
def test_the_same_key_sent_to_all_processes_has_one_effect_and_one_answer(four: Live, rounds: int) -> None:
    merchant, customer = four.merchants[0], four.customer()
    for round_ in range(rounds):
        before = four.counts()
        creating = create(merchant.key, amount=7).once(f"everywhere {rounds} {round_}")
        created = four.together(four.everywhere(creating) * 5)
        assert {answer.status_code for answer in created} == {201}
        assert len({(answer.content, answer.headers["location"]) for answer in created}) == 1
        assert sum("idempotency-replayed" not in answer.headers for answer in created) == 1

        paying = pay(customer, created[0].json()["data"]["id"]).once(f"everywhere {rounds} {round_}")
        paid = four.together(four.everywhere(paying) * 5)
        assert {answer.status_code for answer in paid} == {200}
        assert len({answer.content for answer in paid}) == 1
        assert sum("idempotency-replayed" not in answer.headers for answer in paid) == 1

        after = four.counts()
        assert [after[table] - before[table] for table in ("payment", "transfer", "event", "stored_response")] == [
            1,
            1,
            1,
            2,
        ]
        assert four.balance(customer) == FUNDS - 7 * (round_ + 1)


@ROUNDS
def test_of_different_requests_under_one_key_one_wins(four: Live, rounds: int) -> None:
    merchant = four.merchants[0]
    for round_ in range(rounds):
        calls = [create(merchant.key, amount=1 + n).once(f"duel {rounds} {round_}") for n in range(PROCESSES)]
        answers = four.together(four.at(place, call) for place, call in enumerate(calls))
        assert Counter(map(outcome, answers)) == Counter({"": 1, "idempotency_key_reused": PROCESSES - 1})


# Many hands that cross.


def test_pays_that_cross_and_a_hot_shop_keep_nobody_waiting(four: Live) -> None:
    """Everybody pays everywhere in another order, while money comes in: locks are taken in one order, so none waits."""
    shops = [four.merchant() for _ in range(4)]
    people = [four.customer() for _ in range(8)]
    chance = random.Random(71)
    visits = [(person, shop) for person in people for shop in (*shops, *[shops[0]] * 4) for _ in range(6)]
    keys = [shop.key for _, shop in visits]
    created = four.together(create(key, amount=3) for key in keys)
    ids = [answer.json()["data"]["id"] for answer in created]
    calls = [pay(person, payment_id) for (person, _), payment_id in zip(visits, ids, strict=True)]
    chance.shuffle(calls)
    turns = asyncio.Semaphore(64)

    async def one(call: Call) -> str:
        async with turns:
            return outcome(await four.sent(call))

    async def crossing() -> list[str]:
        paying = [one(call) for call in calls]
        creating = [one(create(shops[n % 4].key, amount=1)) for n in range(100)]
        depositing = asyncio.gather(*(four._deposited(person.account, 2, "USD") for person in people * 2))  # noqa: SLF001 - to be awaited with the rest
        told = await asyncio.gather(*paying, *creating)
        await depositing
        return told

    assert set(four.run(crossing())) == {""}
    for person in people:
        assert four.balance(person) == FUNDS - 48 * 3 + 4
    assert [held(four, shop.account) for shop in shops] == [8 * 5 * 6 * 3] + [8 * 6 * 3] * 3


# One truth.


def test_what_one_process_has_acknowledged_all_others_show(four: Live) -> None:
    merchant, customer = four.merchants[0], four.customer()
    for round_ in range(20):
        here, there = round_ % PROCESSES, (round_ + 1) % PROCESSES
        payment_id = four.data(four.at(here, create(merchant.key, amount=10)))["id"]
        shown = four.together(four.everywhere(retrieve(merchant.key, payment_id)))
        assert [one.json()["data"]["status"] for one in shown] == ["pending"] * PROCESSES
        four.data(four.at(there, pay(customer, payment_id)))
        looks = [retrieve(merchant.key, payment_id), see(customer, payment_id)]
        shown = four.together(call for look in looks for call in four.everywhere(look))
        assert [one.json()["data"]["status"] for one in shown] == ["paid"] * PROCESSES * 2
        balances = four.together(four.everywhere(Call("GET", BALANCES, customer.token)))
        assert {funds.content for funds in balances} == {balances[0].content}
        assert four.balance(customer) == FUNDS - 10 * (round_ + 1)
        for place in range(PROCESSES):
            refused(four.send(four.at(place, pay(customer, payment_id))), 409, "already_paid")


def test_who_waits_at_one_process_hears_what_another_has_done(four: Live) -> None:
    merchant, customer = four.merchants[0], four.customer()
    payment_id = four.payment(merchant)

    async def waited(call: Call) -> None:
        while (await four.sent(call)).json()["data"]["status"] != "paid":
            pass  # A wait that was over before.

    async def race() -> None:
        waits = four.everywhere(retrieve(merchant.key, payment_id, "?wait=30"))
        waiting = asyncio.gather(*map(waited, waits))
        assert (await four.sent(pay(customer, payment_id))).status_code == 200
        await waiting

    four.run(race())


def test_a_revoked_key_is_soon_refused_by_every_process(four: Live) -> None:
    merchant = four.merchant()
    payment_id = four.payment(merchant)
    calls = four.everywhere(retrieve(merchant.key, payment_id))
    assert {answer.status_code for answer in four.together(calls)} == {200}
    four.act("key revoke", id=merchant.key_id)
    wait_until(lambda: {answer.status_code for answer in four.together(calls)} == {401})
    for answer in four.together(four.everywhere(create(merchant.key)) * 3):
        refused(answer, 401, "unauthorized")


def test_who_signs_out_everywhere_is_soon_out_at_every_process(four: Live) -> None:
    person = four.customer()
    here, phone = Guest(four).signed_in(person), Guest(four).signed_in(person)
    looks = four.everywhere(phone.call("GET", "/wallet"))
    assert {answer.status_code for answer in four.together(looks)} == {200}
    here.open("/wallet/security/sessions")
    assert here.post("/wallet/security/sessions", password=PASSWORD).status_code == 303
    wait_until(lambda: {answer.status_code for answer in four.together(looks)} == {303})


def test_a_role_that_is_taken_away_is_soon_felt_at_every_process(four: Live) -> None:
    merchant = four.merchant()
    boss = Guest(four).signed_in(merchant.email)
    guest = join(four, merchant, "manager", boss)
    looks = four.everywhere(guest.call("GET", f"/business/{merchant.account}/staff"))
    assert {answer.status_code for answer in four.together(looks)} == {200}
    guest.open(f"/business/{merchant.account}/take")
    fields = {"amount": "1", "currency": "USD", "note": "", "reference": "", "lasts": "day"}
    late = guest.posting(f"/business/{merchant.account}/take", **fields)
    with four.books() as books:
        [(person,)] = books.select("SELECT person FROM member WHERE account = ?", int(merchant.account))
    path = f"/business/{merchant.account}/staff/{person}"
    boss.open(path)
    assert boss.post(path, role="viewer", **CAPS).status_code == 303
    wait_until(lambda: {answer.status_code for answer in four.together(looks)} == {403})
    assert {answer.status_code for answer in four.together(four.everywhere(late))} == {403}
    boss.open(f"{path}/remove")
    assert boss.post(f"{path}/remove").status_code == 303
    wait_until(lambda: {answer.status_code for answer in four.together(looks)} == {404})
    assert {answer.status_code for answer in four.together(four.everywhere(late))} == {404}


def test_a_suspended_shop_is_refused_by_every_process_and_still_reads(four: Live) -> None:
    merchant, customer = four.merchant(), four.customer()
    payment_id = four.payment(merchant)
    creating = four.everywhere(create(merchant.key))
    assert {answer.status_code for answer in four.together(creating)} == {201}
    four.act("account suspend", account=merchant.account)
    # The rules read the account with each command, so this needs no second.
    for answer in four.together(creating):
        refused(answer, 403, "account_suspended")
    for answer in four.together(four.everywhere(pay(customer, payment_id))):
        refused(answer, 409, "merchant_suspended")
    # Every process has heard that a right was taken when it has heard of one that was taken later.
    spare = four.act("key issue", account=four.merchants[0].account)
    four.act("key revoke", id=spare["id"])
    looks = four.everywhere(Call("GET", "/api/v1/me", spare["key"]))
    wait_until(lambda: {answer.status_code for answer in four.together(looks)} == {401})
    for answer in four.together(four.everywhere(retrieve(merchant.key, payment_id))):
        assert answer.json()["data"]["status"] == "pending"
    four.act("account resume", account=merchant.account)
    assert {answer.status_code for answer in four.together(creating)} == {201}


def test_due_payments_expire_once_although_every_process_looks_for_them(four: Live) -> None:
    merchant, customer = four.merchants[0], four.customer()
    # One whose clock is late makes payments that have only moments to live.
    with InProcess(four.settings, lambda: time.time_ns() // 1_000_000 - 299_300) as late:
        answers = late.together(create(merchant.key, amount=1, expiresIn=300) for _ in range(200))
    ids = [answer.json()["data"]["id"] for answer in answers]
    told: dict[str, str] = {}

    async def keep_paying() -> None:
        """Until about when the last is due. What was paid in time is shown so by all."""
        for payment_id in ids[:100]:
            told[payment_id] = outcome(await four.sent(pay(customer, payment_id)))
            looks = map(four.sent, four.everywhere(retrieve(merchant.key, payment_id)))
            shown = {answer.json()["data"]["status"] for answer in await asyncio.gather(*looks)}
            assert shown == {"paid"} if told[payment_id] == "" else shown <= {"pending", "expired"}

    four.run(keep_paying())
    assert set(told.values()) <= {"", "expired"}

    def statuses() -> list[str]:
        shown = four.together(retrieve(merchant.key, payment_id) for payment_id in ids)
        return [one.json()["data"]["status"] for one in shown]

    wait_until(lambda: "pending" not in statuses())
    assert statuses() == ["paid" if told.get(payment_id) == "" else "expired" for payment_id in ids]
    with four.books() as books:
        numbers = {books.payment_number(payment_id) for payment_id in ids}
        events = Counter(number for (number,) in books.select("SELECT payment FROM event") if number in numbers)
    assert events == Counter(dict.fromkeys(numbers, 1))


# The desk.


@ROUNDS
def test_of_two_operators_who_decide_at_once_one_decides(four: Live, rounds: int) -> None:
    owner = four.person(verified=True)

    async def race(account: str) -> list[str]:
        replies = await asyncio.gather(
            *(
                four.tried(f"account {what}", {"account": account, "reason": "decided"}, who)
                for who, what in enumerate(("approve", "reject"))
            )
        )
        return ["" if reply.done is not None else reply.code for reply in replies]

    for _ in range(rounds):
        asked = four.act("account request", account=owner.account, name="Shop", returnOrigins=ORIGIN)
        told = four.run(race(asked["account"]))
        # By what was read before, or by the commit.
        assert sorted(told) in (["", "already_decided"], ["", "move_not_allowed"])
        decided = "approved" if told[0] == "" else "rejected"
        with four.books() as books:
            noted = books.select(
                "SELECT action FROM audit WHERE subject = ? ORDER BY id", f"account {asked['account']}"
            )
            [(state,)] = books.select("SELECT state FROM account WHERE number = ?", int(asked["account"]))
        assert [action for (action,) in noted] == ["account.requested", f"account.{decided}"]
        assert state == decided


@ROUNDS
def test_a_deposit_that_is_confirmed_at_every_process_is_made_once(four: Live, rounds: int) -> None:
    customer = four.customer()

    async def race(reference: str) -> list[str]:
        replies = await asyncio.gather(
            *(four.tried("deposit confirm", {"reference": reference}, 1) for _ in range(PROCESSES))
        )
        return ["" if reply.done is not None else reply.code for reply in replies]

    for round_ in range(rounds):
        reference = f"confirmed everywhere {rounds} {round_}"
        slip: dict[str, Any] = {"account": customer.account, "currency": "USD", "amount": "0.10"}
        four.act("deposit ask", **slip, reference=reference, reason="test")
        told = four.run(race(reference))
        assert "" in told
        assert set(told) <= {"", "already_decided"}, told
        assert four.balance(customer) == FUNDS + 10 * (round_ + 1)


def test_an_address_is_taken_once(four: Live) -> None:
    async def race(email: str) -> list[str]:
        words = {"email": email, "name": "Twin", "password": PASSWORD, "pin": PIN}
        replies = await asyncio.gather(*(four.tried("person add", words) for _ in range(PROCESSES)))
        return ["" if reply.done is not None else reply.code for reply in replies]

    for round_ in range(5):
        told = four.run(race(f"twin{round_}@home.example"))
        assert Counter(told) == Counter({"": 1, "email_taken": PROCESSES - 1})


# Guessing.


@ROUNDS
def test_fifty_wrong_pins_at_once_are_five_guesses(four: Live, rounds: int) -> None:
    ids = payments(four, count=50, amount=1)
    for _ in range(rounds):
        customer = four.customer()
        answers = four.together(pay(customer, payment_id, WRONG_PIN) for payment_id in ids)
        assert Counter(map(outcome, answers)) == Counter({"wrong_pin": 5, "pin_locked": 45})
        assert sorted(answer.json()["attemptsLeft"] for answer in answers) == [0] * 46 + [1, 2, 3, 4]
        for answer in four.together(four.everywhere(pay(customer, ids[0]))):
            refused(answer, 403, "pin_locked")
        assert four.balance(customer) == FUNDS
