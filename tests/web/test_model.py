"""The HTTP API against a reference model, one random step after another; states and balances are equal at every one."""

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Final

import httpx2
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from qirsh.domain.money import CURRENCIES
from tests.live import (
    FUNDS,
    PAYMENTS,
    PIN,
    WRONG_PIN,
    Call,
    Customer,
    InProcess,
    Merchant,
    cancel,
    create,
    in_process,
    pay,
    refund,
    retrieve,
    see,
    sign_in,
    trial,
)
from tests.web.reference import KEPT_MS, SESSION_MS, Model, Person, Request, Said, Shop
from tests.web.tenant import set_pin

# Few values, so that steps meet: the same idempotency key, the same body, the same funds.
pick = st.integers(0, 11)
amounts = st.sampled_from([1, 2, FUNDS // 3, FUNDS - 1, FUNDS, FUNDS + 1])
currencies = st.sampled_from(["USD", "SYP"])
keys = st.sampled_from([None, None, None, "k1", "k2"])
# Mostly within the life of a payment; now and then past that of a session or an idempotency key.
TIMES = (1, 1000, 60_000, 299_999, 300_000, 300_000, -1000, 3_600_000, 3_600_000, SESSION_MS, KEPT_MS - 1, KEPT_MS)


NOTHING = "1234567890123456"  # No payment has this id.


class Money(RuleBasedStateMachine):
    """Two shops with their test accounts and three customers, new in each run; the service behind them goes on."""

    world: ClassVar[InProcess]

    def __init__(self) -> None:
        super().__init__()
        world = self.world
        self.merchants: list[Merchant] = [world.merchant() for _ in range(2)]
        live = [Shop(merchant.account, {merchant.key}) for merchant in self.merchants]
        testers = [_tester(world, merchant) for merchant in self.merchants]
        # The live ones first, then their test accounts.
        self.shops = live + [
            Shop(merchant.test_account, {merchant.test_key}, live=shop, tester=tester)
            for merchant, shop, tester in zip(self.merchants, live, testers, strict=True)
        ]
        # A second key of each live one, which comes and goes; the first one stays.
        self.spare: list[tuple[str, str] | None] = [None, None]
        self.revoked: list[list[str]] = [[], []]
        # What was sent under an idempotency key: how to send it again, or something else under the same key.
        self.keyed: list[Callable[[bool, int], None]] = []
        self.customers: list[Customer] = [world.customer() for _ in range(3)]
        self.people = [
            Person(customer.account, dict.fromkeys(CURRENCIES, FUNDS), world.clock.now + SESSION_MS)
            for customer in self.customers
        ]
        self.model = Model(world.clock.now, self.people)
        self.refunds: list[tuple[int, str, str]] = []  # Of which shop, of which payment, and the id.
        with world.books() as books:
            for tester in testers:
                for currency, amount in books.select(
                    "SELECT currency, amount FROM balance WHERE account = ?", int(tester)
                ):
                    self.model.takings[tester, currency] = amount

    # Steps.

    @rule(at=pick, amount=amounts, currency=currencies, expires_in=st.sampled_from([300, 3600]), once=keys, key=pick)
    def create(self, *, at: int, amount: int, currency: str, expires_in: int, once: str | None, key: int) -> None:
        body = {"amount": amount, "currency": currency, "expiresIn": expires_in}
        self._create(at % 4, key, body, once)

    @precondition(lambda self: self.model.payments)
    @rule(who=pick, payment=pick, once=keys, wrong=st.booleans())
    def pay(self, who: int, payment: int, once: str | None, *, wrong: bool) -> None:
        self._pay(who % 3, self._payment(payment), once, wrong=wrong)

    @precondition(lambda self: self.model.payments)
    @rule(payment=pick, at=pick, once=keys, key=pick)
    def cancel(self, payment: int, at: int, once: str | None, key: int) -> None:
        payment_id = self._payment(payment)
        self._cancel(self._shop_of(payment_id, at), key, payment_id, once)

    @precondition(lambda self: self.model.payments)
    @rule(payment=pick, at=pick, amount=st.sampled_from([None, None, 1, 2, FUNDS // 6, FUNDS]), once=keys, key=pick)
    def refund(self, *, payment: int, at: int, amount: int | None, once: str | None, key: int) -> None:
        payment_id = self._payment(payment, "paid")
        self._refund(self._shop_of(payment_id, at), key, payment_id, amount, once)

    @precondition(lambda self: self.model.payments)
    @rule(
        payment=pick,
        at=pick,
        what=st.sampled_from(["pay", "pay", "pay", "expire", "cancel"]),
        once=keys,
        key=pick,
        has_funds=st.sampled_from([True, True, False]),
    )
    def trial(self, *, payment: int, at: int, what: str, once: str | None, key: int, has_funds: bool) -> None:
        payment_id = self._payment(payment, of_test=True)
        self._trial(self._shop_of(payment_id, at), key, payment_id, what, once, has_funds=has_funds or what != "pay")

    @precondition(lambda self: self.keyed)
    @rule(which=pick, key=pick, changed=st.sampled_from([False, False, True]))
    def again(self, which: int, key: int, *, changed: bool) -> None:
        """The same idempotency key once more, for the same wish or for another one."""
        self.keyed[-1 - which % len(self.keyed)](changed, key)

    @rule(at=pick, who=pick, amount=amounts, currency=currencies, back=st.sampled_from([None, 1, FUNDS // 6]))
    def buy(self, at: int, who: int, amount: int, currency: str, back: int | None) -> None:
        """The usual way: ask, look, pay; and now and then give some of it back."""
        self.create(at=at, amount=amount, currency=currency, expires_in=300, once=None, key=0)
        if self.model.payments:
            self.look(at=at, who=who, payment=5, key=0)
            if at % 4 < 2:
                self.pay(who=who, payment=5, once=None, wrong=False)
            else:
                self._trial(at % 4, 0, self._payment(5), "pay", None, has_funds=True)
            if at > 4:
                self._refund(at % 4, 0, self._payment(5), back, None)

    @precondition(lambda self: self.model.payments)
    @rule(at=pick, who=pick, payment=pick, key=pick)
    def look(self, at: int, who: int, payment: int, key: int) -> None:
        token, payment_id = self._key(at % 4, key), self._payment(payment)
        asked = self.model.payments[payment_id]
        said = self.model.retrieve(self.shops[at % 4], token, payment_id)
        answer = self._heard(self.world.send(retrieve(token, payment_id)), said)
        if said == (200, ""):
            self._compare(answer["data"], asked)
        said = self.model.see(self.people[who % 3], payment_id)
        answer = self._heard(self.world.send(see(self.customers[who % 3], payment_id)), said)
        if said == (200, ""):
            assert answer["data"]["status"] == asked.status

    @rule(at=pick, status=st.sampled_from(["pending", "paid", "cancelled", "expired"]))
    def list_and_add_up(self, at: int, status: str) -> None:
        """A list by status, the balance, and the refunds: what the shop can see adds up."""
        shop, key = self.shops[at % 4], self._key(at % 4, 0)
        page = self.world.data(Call("GET", f"{PAYMENTS}?limit=100&status={status}", key))
        own = {one: asked for one, asked in self.model.payments.items() if asked.shop is shop}
        assert {item["_id"] for item in page["items"]} == {one for one in own if own[one].status == status}
        for item in page["items"]:
            self._compare(item, own[item["_id"]])
        items = self.world.data(Call("GET", "/api/v1/balance", key))["items"]
        held = {code: amount for (account, code), amount in self.model.takings.items() if account == shop.account}
        assert {item["currency"]: item["amount"] for item in items} == held
        for one, asked in own.items():
            if asked.refunded:
                given = self.world.data(Call("GET", f"{PAYMENTS}/{one}/refunds?limit=100", key))["items"]
                assert sum(item["amount"] for item in given) == asked.refunded
                assert len(given) == asked.version - 2
                assert {item["id"] for item in given} == {made for _, of, made in self.refunds if of == one}

    @precondition(lambda self: self.refunds)
    @rule(which=pick, at=pick)
    def look_at_a_refund(self, which: int, at: int) -> None:
        owner, payment_id, refund_id = self.refunds[-1 - which % len(self.refunds)]
        said = (200, "") if owner == at % 4 else (404, "not_found")
        answer = self._heard(self.world.send(Call("GET", f"/api/v1/refunds/{refund_id}", self._key(at % 4, 0))), said)
        if said == (200, ""):
            assert answer["data"]["paymentId"] == payment_id

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
            self.world.deposit(person.account, FUNDS // 2, currency)
            person.funds[currency] += FUNDS // 2
        else:
            assert {code: self.world.balance(customer, code) for code in person.funds} == person.funds

    @rule(which=pick, what=st.sampled_from(["shop", "shop", "customer", "key", "PIN", "withdraw"]), currency=currencies)
    def at_the_desk(self, which: int, what: str, currency: str) -> None:
        """Somebody is suspended or resumed; a key is issued or revoked; a PIN is set anew; a shop is paid out."""
        if what == "key":
            self._issue_or_revoke(which % 2)
            return
        if what == "PIN":
            set_pin(self.world, self.customers[which % 3].email)
            self.people[which % 3].wrong_pins = 0
            return
        if what == "withdraw":
            shop = self.shops[which % 2]
            held = self.model.takings.get((shop.account, currency), 0)
            amount = held if which < 6 else held // 2
            if amount and not shop.is_suspended:
                self.world.withdraw(shop.account, amount, currency)
                self.model.withdrew(shop, currency, amount)
            return
        account = self.people[which % 3] if what == "customer" else self.shops[which % 2]
        self.world.act("account resume" if account.is_suspended else "account suspend", account=account.account)
        account.is_suspended = not account.is_suspended
        if isinstance(account, Person) and account.is_suspended:
            account.session_ends = 0  # For good, also if the clock is set back.
            self.world.poll()

    # What holds after each.

    @invariant()
    def states_and_balances_are_equal(self) -> None:
        model, shops = self.model, self.shops
        everybody = [shop.account for shop in shops] + [shop.tester for shop in shops if shop.tester]
        accounts = ", ".join(everybody + [person.account for person in self.people])
        with self.world.books() as books:
            numbers = {books.payment_number(payment_id): payment_id for payment_id in model.payments}
            rows = books.select(
                f"SELECT number, status, payer, version, refunded_amount FROM payment WHERE merchant IN ({accounts})"  # noqa: S608 - numbers
            )
            held = books.select(f"SELECT account, currency, amount FROM balance WHERE account IN ({accounts})")  # noqa: S608 - numbers
            events = books.select(f"SELECT payment, count(*) FROM event WHERE account IN ({accounts}) GROUP BY payment")  # noqa: S608 - numbers
        shown = {numbers[number]: (status, payer and str(payer), *rest) for number, status, payer, *rest in rows}
        assert shown == {
            payment_id: (asked.status, asked.payer, asked.version, asked.refunded)
            for payment_id, asked in model.payments.items()
        }
        balances = {
            (person.account, currency): amount for person in self.people for currency, amount in person.funds.items()
        }
        assert {(str(account), currency): amount for account, currency, amount in held} == balances | model.takings
        # Each visible change has one event.
        told = {numbers[number]: count for number, count in events}
        assert told == {one: asked.version - 1 for one, asked in model.payments.items() if asked.version > 1}

    def teardown(self) -> None:
        assert self.world.violations() == []

    # How calls are made, and what is remembered of them.

    def _create(self, index: int, key: int, body: dict[str, Any], once: str | None) -> None:
        shop, wish, token = self.shops[index], tuple(body.values()), self._key(index, key)
        said, before = self.model.create(shop, token, wish, once)

        def again(other: str, *, changed: bool, key: int) -> None:
            self._create(index, key, {**body, "amount": 3} if changed else body, other)

        answer = self._sent(create(token, body), said, before, once, again)
        if said == (201, ""):
            payment = answer["data"]["id"]
            if before is not None:
                assert payment == before
            else:
                expires_at = self.model.now + body["expiresIn"] * 1000
                asked = Request(shop, body["amount"], body["currency"], expires_at)
                self.model.created(shop, payment, wish, once, asked)

    def _pay(self, index: int, payment_id: str, once: str | None, *, wrong: bool) -> None:
        person = self.people[index]
        said, before = self.model.pay(person, payment_id, once, right_pin=not wrong)
        call = pay(self.customers[index], payment_id, WRONG_PIN if wrong else PIN)

        def again(other: str, *, changed: bool, key: int) -> None:
            self._pay(index, self._payment(key) if changed else payment_id, other, wrong=key % 2 == 0)

        answer = self._sent(call, said, before, once, again)
        if before is None:
            self.model.tried_to_pay(person, payment_id, once, said=said)
        if said == (200, ""):
            assert (answer["data"]["_id"], answer["data"]["status"]) == (payment_id, "paid")
        if said in {(403, "wrong_pin"), (403, "pin_locked")}:
            assert answer["attemptsLeft"] == max(0, 5 - person.wrong_pins)

    def _cancel(self, index: int, key: int, payment_id: str, once: str | None) -> None:
        token = self._key(index, key)
        said, before = self.model.cancel(self.shops[index], token, payment_id, once)

        def again(other: str, *, changed: bool, key: int) -> None:
            self._cancel(index, key, self._payment(key) if changed else payment_id, other)

        answer = self._sent(cancel(token, payment_id), said, before, once, again)
        if said == (200, ""):
            assert (answer["data"]["_id"], answer["data"]["status"]) == (before or payment_id, "cancelled")
            if before is None:
                self.model.cancelled(payment_id, once)

    def _refund(self, index: int, key: int, payment_id: str, amount: int | None, once: str | None) -> None:
        token = self._key(index, key)
        said, before = self.model.refund(self.shops[index], token, payment_id, amount, once)
        fields = {} if amount is None else {"amount": amount}

        def again(other: str, *, changed: bool, key: int) -> None:
            self._refund(index, key, payment_id, 3 if changed else amount, other)

        answer = self._sent(refund(token, payment_id, **fields), said, before, once, again)
        if said == (201, ""):
            made = answer["data"]["id"]
            if before is not None:
                assert made == before
            else:
                self.refunds.append((index, payment_id, made))
                self.model.refunded(payment_id, amount, made, once)

    def _trial(self, index: int, key: int, payment_id: str, what: str, once: str | None, *, has_funds: bool) -> None:
        token = self._key(index, key)
        said, before = self.model.trial(self.shops[index], token, payment_id, what, once, has_funds=has_funds)
        fields = {} if has_funds else {"outcome": "insufficient_funds"}

        def again(other: str, *, changed: bool, key: int) -> None:
            chosen = self._payment(key) if changed else payment_id
            self._trial(index, key, chosen, what, other, has_funds=has_funds)

        answer = self._sent(trial(token, what, payment_id, **fields), said, before, once, again)
        if said == (200, ""):
            assert answer["data"]["_id"] == (before or payment_id)
            if before is None:
                self._compare(answer["data"], self.model.payments[payment_id], ended=what)
                self.model.tried(payment_id, what, once)

    def _sent(
        self, call: Call, said: Said, before: str | None, once: str | None, again: Callable[..., None]
    ) -> dict[str, Any]:
        if once is not None:
            call = call.once(once)
            self.keyed.append(lambda changed, key: again(once, changed=changed, key=key))
        return self._heard(self.world.send(call), said, replayed=before is not None)

    def _heard(self, answer: httpx2.Response, said: Said, *, replayed: bool = False) -> dict[str, Any]:
        told: dict[str, Any] = answer.json()
        assert (answer.status_code, told.get("code", "")) == said
        assert (answer.headers.get("idempotency-replayed") == "true") == replayed
        return told

    def _compare(self, data: dict[str, Any], asked: Request, ended: str = "") -> None:
        """As it is shown, and as the model has it; or will have it when it has ended so."""
        status = {"pay": "paid", "expire": "expired", "cancel": "cancelled"}.get(ended, asked.status)
        version = 2 if ended else asked.version
        assert (data["status"], data["version"], data["refundedAmount"]) == (status, version, asked.refunded)
        assert data["from"] == (asked.shop.tester if ended == "pay" else asked.payer)
        assert (data["amount"], data["currency"], data["to"]) == (asked.amount, asked.currency, asked.shop.account)
        assert data["livemode"] == (asked.shop.live is None)

    def _key(self, index: int, choice: int) -> str:
        """Mostly the first key; now and then the spare one, or one that was revoked."""
        if index > 1:
            return self.merchants[index - 2].test_key
        spare, revoked = self.spare[index], self.revoked[index]
        if choice % 4 == 1 and spare is not None:
            return spare[0]
        if choice % 4 == 2 and revoked:
            return revoked[-1]
        return self.merchants[index].key

    def _payment(self, choice: int, status: str = "", *, of_test: bool = False) -> str:
        """One of the latest, since old ones are paid or expired; if there are some, one that is as one wishes it."""
        payments = self.model.payments
        fitting = [
            one
            for one, asked in payments.items()
            if status in {"", asked.status} and (asked.shop.live is not None or not of_test)
        ]
        latest = (fitting or list(payments))[-6:]
        return latest[choice % len(latest)] if choice != 5 else latest[-1]

    def _shop_of(self, payment_id: str, choice: int) -> int:
        """Mostly whose it is; now and then another."""
        return choice % 4 if choice > 8 else self.shops.index(self.model.payments[payment_id].shop)

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


def _tester(world: InProcess, merchant: Merchant) -> str:
    """The customer that the merchant's test account tries things with."""
    with world.books() as books:
        [(number,)] = books.select(
            "SELECT number FROM account WHERE kind = 'personal' AND live_account = ?", int(merchant.account)
        )
    return str(number)


SERVICES: Final = {
    "sqlite": 1,
    "postgresql": 1,
    "2 services on postgresql": 2,
    "4 services on postgresql": 4,
}


# One service, and as many as can disagree; what lies between has its turn in the long run.
EACH_TIME: Final = {"sqlite", "4 services on postgresql"}


@pytest.fixture(
    scope="module",
    params=[pytest.param(name, marks=[] if name in EACH_TIME else pytest.mark.slow) for name in SERVICES],
    autouse=True,
)
def served_as(request: pytest.FixtureRequest) -> Iterator[str]:
    """Services that share a database take the steps in turn. A clock that is moved cannot reach other processes."""
    server = None if request.param == "sqlite" else request.getfixturevalue("postgres")
    with in_process(server, shops=0, people=0, services=SERVICES[request.param]) as world:
        Money.world = world
        yield request.param


@pytest.mark.both_engines
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
