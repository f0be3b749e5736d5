"""The HTTP API against a reference model, one random step after another; states and balances are equal at every one."""

from collections.abc import Iterator
from typing import Any, ClassVar, Final

import httpx2
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from qirsh.domain.money import CURRENCIES
from tests.live import (
    PIN,
    PURSE,
    WRONG_PIN,
    Customer,
    InProcess,
    Merchant,
    create,
    in_process,
    pay,
    retrieve,
    see,
    sign_in,
)
from tests.web.reference import KEPT_MS, SESSION_MS, Model, Person, Request, Said, Shop

# Few values, so that steps meet: the same idempotency key, the same body, the same purse.
pick = st.integers(0, 11)
amounts = st.sampled_from([1, 2, PURSE // 3, PURSE - 1, PURSE, PURSE + 1])
currencies = st.sampled_from(["USD", "SYP"])
keys = st.sampled_from([None, None, None, "k1", "k2"])
# Mostly within the life of a payment; now and then past that of a session or an idempotency key.
TIMES = (1, 1000, 60_000, 299_999, 300_000, 300_000, -1000, 3_600_000, 3_600_000, SESSION_MS, KEPT_MS - 1, KEPT_MS)


NOTHING = "1234567890123456"  # No payment has this id.


class Money(RuleBasedStateMachine):
    """Two shops and three customers, who are new in each run; the service behind them goes on."""

    world: ClassVar[InProcess]

    def __init__(self) -> None:
        super().__init__()
        world = self.world
        self.model = Model(world.clock.now)
        self.merchants: list[Merchant] = [world.merchant() for _ in range(2)]
        self.shops = [Shop(merchant.account, {merchant.key}) for merchant in self.merchants]
        # A second key of each, which comes and goes; the first one stays.
        self.spare: list[tuple[str, str] | None] = [None, None]
        self.revoked: list[list[str]] = [[], []]
        # What was sent under an idempotency key: by whom, a body or the payment to pay, the key.
        self.keyed: list[tuple[int, dict[str, Any] | str, str]] = []
        self.customers: list[Customer] = [world.customer() for _ in range(3)]
        self.people = [
            Person(customer.account, dict.fromkeys(CURRENCIES, PURSE), world.clock.now + SESSION_MS)
            for customer in self.customers
        ]

    # Steps.

    @rule(at=pick, amount=amounts, currency=currencies, expires_in=st.sampled_from([300, 3600]), once=keys, key=pick)
    def create(self, *, at: int, amount: int, currency: str, expires_in: int, once: str | None, key: int) -> None:
        body = {"amount": amount, "currency": currency, "expiresIn": expires_in}
        self._create(at % 2, self._key(at % 2, key), body, once)

    @precondition(lambda self: self.model.payments)
    @rule(who=pick, payment=pick, once=keys, wrong=st.booleans())
    def pay(self, who: int, payment: int, once: str | None, *, wrong: bool) -> None:
        self._pay(who % 3, self._payment(payment), once, wrong=wrong)

    @precondition(lambda self: self.keyed)
    @rule(which=pick, key=pick, changed=st.sampled_from([False, False, True]), wrong=st.booleans())
    def again(self, which: int, key: int, *, changed: bool, wrong: bool) -> None:
        """The same idempotency key once more, for the same wish or for another one."""
        index, wish, once = self.keyed[which % len(self.keyed)]
        if isinstance(wish, str):
            self._pay(index, self._payment(key) if changed else wish, once, wrong=wrong)
        else:
            self._create(index, self._key(index, key), {**wish, "amount": 3} if changed else wish, once)

    @rule(at=pick, who=pick, amount=amounts, currency=currencies)
    def buy(self, at: int, who: int, amount: int, currency: str) -> None:
        """The usual way: ask, look, pay."""
        self.create(at=at, amount=amount, currency=currency, expires_in=300, once=None, key=0)
        if self.model.payments:
            self.look(at=at, who=who, payment=5, key=0)
            self.pay(who=who, payment=5, once=None, wrong=False)

    @precondition(lambda self: self.model.payments)
    @rule(at=pick, who=pick, payment=pick, key=pick)
    def look(self, at: int, who: int, payment: int, key: int) -> None:
        token, payment_id = self._key(at % 2, key), self._payment(payment)
        asked = self.model.payments[payment_id]
        said = self.model.retrieve(self.shops[at % 2], token, payment_id)
        answer = self._heard(self.world.send(retrieve(token, payment_id)), said)
        if said == (200, ""):
            data = answer["data"]
            assert (data["status"], data["from"], data["version"]) == (asked.status, asked.payer, asked.version)
            assert (data["amount"], data["currency"], data["to"]) == (asked.amount, asked.currency, asked.shop.account)
        said = self.model.see(self.people[who % 3], payment_id)
        answer = self._heard(self.world.send(see(self.customers[who % 3], payment_id)), said)
        if said == (200, ""):
            assert answer["data"]["status"] == asked.status

    @rule(by=st.sampled_from(TIMES), expiring=st.booleans())
    def pass_time(self, by: int, *, expiring: bool) -> None:
        """With or without the worker that looks for what has expired."""
        self.world.clock.advance(by)
        self.model.now += by
        if expiring:
            self.world.expire_due()
            self.model.expired()

    @rule(who=pick, what=st.sampled_from(["guess", "balance", "sign in", "deposit"]), currency=currencies)
    def at_the_wallet(self, who: int, what: str, currency: str) -> None:
        person, customer = self.people[who % 3], self.customers[who % 3]
        if what == "sign in" or self.model.now >= person.session_ends:
            token = self.world.data(sign_in(customer.email))["token"]
            self.customers[who % 3] = customer._replace(token=token)
            person.session_ends = self.model.now + SESSION_MS
        elif what == "guess" and self.model.payments:
            for _ in range(3):
                self._pay(who % 3, self._payment(5), None, wrong=True)
        elif what == "deposit" and not person.is_suspended:
            self.world.deposit(person.account, PURSE // 2, currency)
            person.purse[currency] += PURSE // 2
        else:
            assert {code: self.world.balance(customer, code) for code in person.purse} == person.purse

    @rule(which=pick, what=st.sampled_from(["shop", "customer", "key", "PIN"]))
    def at_the_desk(self, which: int, what: str) -> None:
        """Somebody is suspended or resumed; a key is issued or revoked; a PIN is set anew."""
        if what == "key":
            self._issue_or_revoke(which % 2)
            return
        if what == "PIN":
            self.world.act("person pin", email=self.customers[which % 3].email, pin=PIN)
            self.people[which % 3].wrong_pins = 0
            return
        account = self.people[which % 3] if what == "customer" else self.shops[which % 2]
        self.world.act("account resume" if account.is_suspended else "account suspend", account=account.account)
        account.is_suspended = not account.is_suspended

    # What holds after each.

    @invariant()
    def states_and_balances_are_equal(self) -> None:
        with self.world.books() as books:
            numbers = {books.payment_number(payment_id): payment_id for payment_id in self.model.payments}
            accounts = ", ".join([shop.account for shop in self.shops] + [person.account for person in self.people])
            rows = books.select(f"SELECT number, status, payer, version FROM payment WHERE merchant IN ({accounts})")  # noqa: S608 - numbers
            held = books.select(f"SELECT account, currency, amount FROM balance WHERE account IN ({accounts})")  # noqa: S608 - numbers
        shown = {numbers[number]: (status, payer and str(payer), version) for number, status, payer, version in rows}
        assert shown == {
            payment_id: (asked.status, asked.payer, asked.version) for payment_id, asked in self.model.payments.items()
        }
        purses = {
            (person.account, currency): amount for person in self.people for currency, amount in person.purse.items()
        }
        assert {(str(account), currency): amount for account, currency, amount in held} == purses | self.model.takings

    def teardown(self) -> None:
        assert self.world.violations() == []

    # How calls are made, and what is remembered of them.

    def _create(self, index: int, token: str, body: dict[str, Any], once: str | None) -> None:
        shop, wish = self.shops[index], tuple(body.values())
        said, before = self.model.create(shop, token, wish, once)
        call = create(token, body)
        if once is not None:
            call = call.once(once)
            self.keyed.append((index, body, once))
        answer = self._heard(self.world.send(call), said, replayed=before is not None)
        if said == (201, ""):
            payment = answer["data"]["id"]
            if before is not None:
                assert payment == before
            else:
                expires_at = self.model.now + body["expiresIn"] * 1000
                self.model.created(
                    shop, payment, wish, once, Request(shop, body["amount"], body["currency"], expires_at)
                )

    def _pay(self, index: int, payment_id: str, once: str | None, *, wrong: bool) -> None:
        person = self.people[index]
        said, before = self.model.pay(person, payment_id, once, right_pin=not wrong)
        call = pay(self.customers[index], payment_id, WRONG_PIN if wrong else PIN)
        if once is not None:
            call = call.once(once)
            self.keyed.append((index, payment_id, once))
        answer = self._heard(self.world.send(call), said, replayed=before is not None)
        if before is None:
            self.model.tried_to_pay(person, payment_id, once, said=said)
        if said == (200, ""):
            assert (answer["data"]["_id"], answer["data"]["status"]) == (payment_id, "paid")
        if said in {(403, "wrong_pin"), (403, "pin_locked")}:
            assert answer["attemptsLeft"] == max(0, 5 - person.wrong_pins)

    def _heard(self, answer: httpx2.Response, said: Said, *, replayed: bool = False) -> dict[str, Any]:
        told: dict[str, Any] = answer.json()
        assert (answer.status_code, told.get("code", "")) == said
        assert (answer.headers.get("idempotency-replayed") == "true") == replayed
        return told

    def _key(self, index: int, choice: int) -> str:
        """Mostly the first key; now and then the spare one, or one that was revoked."""
        spare, revoked = self.spare[index], self.revoked[index]
        if choice % 4 == 1 and spare is not None:
            return spare[0]
        if choice % 4 == 2 and revoked:
            return revoked[-1]
        return self.merchants[index].key

    def _payment(self, choice: int) -> str:
        """One of the latest, since old ones are paid or expired."""
        latest = list(self.model.payments)[-6:]
        return latest[choice % len(latest)] if choice != 5 else latest[-1]

    def _issue_or_revoke(self, index: int) -> None:
        shop, spare = self.shops[index], self.spare[index]
        if spare is not None:
            self.world.act("key revoke", id=spare[1])
            self.world.poll()
            self._heard(self.world.send(retrieve(spare[0], NOTHING)), (401, "unauthorized"))
            shop.keys.discard(spare[0])
            self.revoked[index].append(spare[0])
            self.spare[index] = None
        elif not shop.is_suspended:
            done = self.world.act("key issue", account=shop.account)
            self._heard(self.world.send(retrieve(done["key"], NOTHING)), (404, "not_found"))
            shop.keys.add(done["key"])
            self.spare[index] = (done["key"], done["id"])


SERVICES: Final = {
    "sqlite": 1,
    "postgresql": 1,
    "2 services on postgresql": 2,
    "4 services on postgresql": 4,
}


@pytest.fixture(scope="module", params=SERVICES, autouse=True)
def served_as(request: pytest.FixtureRequest) -> Iterator[str]:
    """Services that share a database take the steps in turn. A clock that is moved cannot reach other processes."""
    server = None if request.param == "sqlite" else request.getfixturevalue("postgres")
    with in_process(server, shops=0, people=0, services=SERVICES[request.param]) as world:
        Money.world = world
        yield request.param


def test_the_service_agrees_with_the_model(served_as: str) -> None:
    # A step takes three times as long on PostgreSQL; the slow test below makes up for it.
    assert settings.default is not None
    examples = settings.default.max_examples // (1 if served_as == "sqlite" else 3)
    run_state_machine_as_test(Money, settings=settings(max_examples=examples))


@pytest.mark.slow
def test_ten_thousand_steps_agree_with_the_model() -> None:
    deep = settings(
        deadline=None,
        derandomize=False,  # New steps each time; a failure prints what repeats it.
        max_examples=200,
        stateful_step_count=50,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(Money, settings=deep)
