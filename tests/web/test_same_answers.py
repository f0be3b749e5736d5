"""One story told to both engines: every answer is the same, byte for byte, but for the numbers that chance gave out."""

import random
from collections.abc import Iterator

import httpx2
import pytest

from tests.live import (
    BALANCES,
    FUNDS,
    PAYMENTS,
    WRONG_PIN,
    Call,
    InProcess,
    cancel,
    create,
    in_process,
    outcome,
    pay,
    refund,
    retrieve,
    see,
    sign_in,
    trial,
)
from tests.postgres import PostgresServer

CALLS = 600
NOTES = (
    "plain",
    "",
    "\x00",
    "a\x00b",
    "\u200f\u0642\u0631\u0634",
    "\U0001f4b8",
    "\x7f",
    "'; --",
    "\\x00",
    "\\",
    "e\u0301",
)
AMOUNTS = (1, FUNDS // 3, FUNDS, FUNDS + 1, 999_999_999_999_999, 0, -1, 10**15, 2**63, 1.5, "1", None, True)
KEYS = ("one", "One", "'", "x" * 255, "x" * 256, "%00", " ", "\\")


class Told:
    """A world, and the names under which a story speaks of what is in it."""

    def __init__(self, world: InProcess) -> None:
        self.world = world
        self.ids: list[str] = ["1234567890123456"]  # No payment has the first.
        self.customers = [world.customer() for _ in range(3)]
        self.refunds: list[str] = ["rf_" + "0" * 24]  # Nor a refund.
        self.paid: list[str] = []
        self.owners: dict[str, str] = {}  # Whose key made a payment.
        self._names = {world.settings.base_url: "<here>"}
        for number, merchant in enumerate(world.merchants):
            self._names[merchant.account] = f"<shop {number}>"
            self._names[merchant.test_account] = f"<twin {number}>"
        for number, customer in enumerate(self.customers):
            self._names[customer.account] = f"<customer {number}>"
        with world.books() as books:
            for number, merchant in enumerate(world.merchants):
                testers = "SELECT number, kind FROM account WHERE live_account = ? AND kind <> 'commercial'"
                for account, kind in books.select(testers, int(merchant.account)):
                    self._names[str(account)] = f"<{kind} of shop {number}>"

    def hear(self, call: Call) -> tuple[int, list[tuple[str, str]], str]:
        """The answer with its headers, as the story would have it."""
        answer = self.world.send(call)
        self._learn(answer, call.token or "")
        headers = [(name, self._named(value)) for name, value in answer.headers.multi_items()]
        headers = [(name, value) for name, value in headers if name not in {"x-request-id", "date", "content-length"}]
        text = answer.text.replace(answer.headers["x-request-id"], "<request>")
        return answer.status_code, headers, self._named(text)

    def _learn(self, answer: httpx2.Response, token: str) -> None:
        told = answer.json().get("data", {})
        if "token" in told:
            self._names[told["token"]] = "<token>"
        if told.get("status") == "paid" and told["_id"] not in self.paid:
            self.paid.append(told["_id"])
        if "key" in told:
            self._names[told["key"]["id"]] = "<key>"
            self._names[f'"hint":"{told["key"]["hint"]}"'] = "<hint>"
        if answer.status_code == 201 and str(told.get("id")).startswith("rf_") and told["id"] not in self._names:
            self._names[told["id"]] = f"<refund {len(self.refunds)}>"
            self.refunds.append(told["id"])
        if answer.status_code == 201 and "id" in told and told["id"] not in self._names:
            self._names[told["id"]] = f"<payment {len(self.ids)}>"
            self.ids.append(told["id"])
            self.owners[told["id"]] = token

    def _named(self, text: str) -> str:
        for value, name in self._names.items():
            text = text.replace(value, name)
        return text


@pytest.fixture
def both(postgres: PostgresServer) -> Iterator[list[Told]]:
    with in_process(shops=2, people=7) as one, in_process(postgres, shops=2, people=7) as other:
        yield [Told(one), Told(other)]


def step(told: Told, chance: random.Random) -> Call:
    """The next call of the story; chance decides the same for both."""
    merchant = chance.choice(told.world.merchants)
    customer = chance.choice(told.customers)
    payment_id = chance.choice(told.ids[-8:] + told.ids[:1])
    once = chance.choice(KEYS)
    token = chance.choice([merchant.key, merchant.key, merchant.test_key])
    body: dict[str, object] = {
        "amount": chance.choice(AMOUNTS[:4] * 3 + AMOUNTS),
        "currency": chance.choice(["USD", "SYP", "EUR", "XXX", "usd"]),
        "note": chance.choice(NOTES),
        "metadata": {chance.choice(NOTES): chance.choice(NOTES), "n": chance.choice([1e300, -0.0, 2**53, [], None])},
        "expiresIn": chance.choice([300, 300, 3600, 299]),
    }
    kept = dict(chance.sample(sorted(body.items()), chance.randint(0, len(body))))
    plain = {"amount": body["amount"], "currency": "USD", "expiresIn": 300}
    calls = [
        create(token, plain),
        create(token, plain).once(once),
        create(token, body),
        create(token, kept | {"amount": 5}),
        retrieve(token, payment_id),
        see(customer, payment_id),
        pay(customer, payment_id),
        pay(customer, payment_id).once(once),
        pay(customer, payment_id, WRONG_PIN if chance.random() < 0.2 else ""),
        Call("GET", BALANCES, customer.token),
        sign_in(customer.email, chance.choice(["correct horse battery", "a\x00b", "wrong"])),
    ]
    return chance.choice(chance.choice([calls, more_calls(told, chance, token, payment_id)]))


def more_calls(told: Told, chance: random.Random, token: str, payment_id: str) -> list[Call]:
    """What merchants do with a payment when they have one, and what they look at."""
    once = chance.choice(KEYS)
    if chance.random() < 0.5 and told.paid:
        payment_id = chance.choice(told.paid[-4:])
    if chance.random() < 0.8:
        token = told.owners.get(payment_id, token)
    fields: dict[str, object] = {
        "amount": chance.choice([1, 1, FUNDS // 3, FUNDS, 0, -1, 2**63, "1", None]),
        "note": chance.choice(NOTES),
        "metadata": {chance.choice(NOTES): 1.0},
    }
    kept = dict(chance.sample(sorted(fields.items()), chance.randint(0, 2)))
    what = chance.choice(["pay", "pay", "expire", "cancel"])
    refund_id = chance.choice([*told.refunds[-4:], told.refunds[0], "%00", "rf_%ff", "x"])
    status = chance.choice(["pending", "paid", "cancelled", "expired", "Paid", "%00", ""])
    event = chance.choice(["evt_0_1_1", "%00", f"evt_0_{told.world.merchants[0].account}_{chance.randint(1, 9)}"])
    return [
        cancel(token, payment_id),
        cancel(token, payment_id).once(once),
        refund(token, payment_id),
        refund(token, payment_id, amount=1),
        refund(token, payment_id, **kept).once(once),
        refund(token, payment_id, **kept),
        trial(token, what, payment_id),
        trial(token, what, payment_id).once(once),
        trial(token, "pay", payment_id, outcome=chance.choice(["paid", "insufficient_funds", "x", None])),
        Call("GET", f"{PAYMENTS}?limit=100&status={status}", token),
        Call("GET", f"{PAYMENTS}/{payment_id}/refunds", token),
        Call("GET", f"/api/v1/refunds/{refund_id}", token),
        Call("GET", "/api/v1/events?limit=100", token),
        Call("GET", f"/api/v1/events/{event}", token),
        Call("GET", "/api/v1/transfers?limit=100", token),
        Call("GET", "/api/v1/balance", token),
        Call("GET", "/api/v1/me", token),
        Call("GET", "/api/v1/currencies", token),
    ]


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 3))])
def test_both_engines_give_the_same_answers(both: list[Told], seed: int) -> None:
    chances = [random.Random(seed) for _ in both]
    heard = set()
    for number in range(CALLS):
        calls = [step(told, chance) for told, chance in zip(both, chances, strict=True)]
        answers = [told.hear(call) for told, call in zip(both, calls, strict=True)]
        assert answers[0] == answers[1], calls
        heard.add(answers[0][0])
        if number % 25 == 24:
            for told in both:
                told.world.clock.advance(60_000)
                told.world.expire_due()
    # The story had something of everything in it.
    assert heard >= {200, 201, 401, 403, 404, 409, 422}
    assert [len(told.ids) for told in both] == [len(both[0].ids)] * 2
    assert len(both[0].refunds) > 5
    assert both[0].world.counts() == both[1].world.counts()
    assert [told.world.violations() for told in both] == [[], []]


def test_what_the_database_refuses_is_told_in_the_same_words(both: list[Told]) -> None:
    answers = []
    for told in both:
        with told.world.spoiled("spoiled"):
            call = create(told.world.merchants[0].key, note="spoiled")
            answers.append(told.hear(call))
            assert outcome(told.world.send(call)) == "internal_error"
    assert answers[0] == answers[1]
