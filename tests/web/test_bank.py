"""The bank workload: clients pay and give back at random while the whole ledger is read, then the history is checked.

Every call is recorded from its invocation to its end. Afterwards the ledger's own order must explain all of them:
what was acknowledged is there once, what was refused is not there and was rightly refused, what nobody heard of is
there at most once, and whoever came later in time comes later in the ledger.
"""

import asyncio
import itertools
import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import accumulate
from typing import Any, Final, NamedTuple

import pytest

from qirsh.domain.money import CURRENCIES
from tests.live import (
    FUNDS,
    PIN,
    WRONG_PIN,
    Books,
    Call,
    Customer,
    Live,
    Merchant,
    create,
    live,
    outcome,
    pay,
    refund,
)
from tests.waiting import wait_until

CLIENTS: Final = 16
READS: Final = 30
UNHEARD: Final = "unheard"
# The clients go on until so much has happened: to whom, and what was heard.
ENOUGH: Final = {
    ("pay", ""): 300,
    ("pay", UNHEARD): 6,
    ("pay", "insufficient_funds"): 6,
    ("pay", "already_paid"): 6,
    ("pay", "wrong_pin"): 2,
    ("create", ""): 300,
    ("refund", ""): 60,
    ("refund", "refund_exceeds"): 6,
    ("refund", UNHEARD): 2,
}


class Attempt(NamedTuple):
    """One call: what was wanted, when it was under way, and what was heard."""

    payment: int  # Which of the bank's payments: its note tells.
    customer: Customer | None  # None: a call of the merchant's, which creates the payment or gives some of it back.
    pin: str
    began: int  # As the bank counts what it sees, one after the other.
    ended: int
    heard: str  # A problem's code; empty for success; `UNHEARD` if the caller left.
    refund: int | None = None  # Which of the bank's refunds: its note tells.

    @property
    def kind(self) -> str:
        return "pay" if self.customer is not None else "create" if self.refund is None else "refund"


class Asked(NamedTuple):
    """A payment that a merchant asked for."""

    merchant: Merchant
    amount: int
    currency: str


class GivenBack(NamedTuple):
    """A refund that a merchant asked for."""

    payment: int
    amount: int


class Moved(NamedTuple):
    """A transfer of the ledger, and the time in which its callers asked for it."""

    kind: str
    payment: int
    debit: str
    credit: str
    currency: str
    amount: int
    debit_sequence: int
    debit_balance: int
    credit_sequence: int
    credit_balance: int
    began: int
    ended: float
    refund: int | None

    def sequence(self, account: str) -> int:
        return self.debit_sequence if account == self.debit else self.credit_sequence

    def balance(self, account: str) -> int:
        return self.debit_balance if account == self.debit else self.credit_balance

    def change(self, account: str) -> int:
        return -self.amount if account == self.debit else self.amount


class Bank:
    """The clients, and what they remember."""

    def __init__(self, world: Live, part: int) -> None:
        """Of what is enough, one part of so many."""
        self.world = world
        self.enough = Counter({what: -(-count // part) for what, count in ENOUGH.items()})
        self.reads = READS // part
        self.customers = [world.customer() for _ in range(10)]
        self.merchants = [world.merchant() for _ in range(3)]
        self.asked: list[Asked] = []
        self.given_back: list[GivenBack] = []
        self.ids: dict[int, str] = {}
        self.history: list[Attempt] = []
        self.heard: Counter[tuple[str, str]] = Counter()
        self.sums: list[list[tuple[Any, ...]]] = []
        self._moments = itertools.count()
        self._chance = random.Random(20260301)

    def run(self) -> None:
        self.world.run(self._run())

    def is_open(self) -> bool:
        """Also until the ledger was read often enough meanwhile."""
        has_enough = self.heard >= self.enough and len(self.sums) >= self.reads
        return not has_enough

    async def _run(self) -> None:
        reading = asyncio.create_task(asyncio.to_thread(self._read))
        await asyncio.gather(*(self._client() for _ in range(CLIENTS)), reading)

    def _read(self) -> None:
        """Whole-ledger reads, each in one snapshot; now and then with every invariant."""
        while self.is_open():
            with self.world.books() as books:
                self.sums.append(sums(books))
                if len(self.sums) % 25 == 1:
                    assert books.violations() == []
            seen = len(self.history)
            wait_until(lambda seen=seen: len(self.history) > seen + 5 or not self.is_open())  # type: ignore[misc]

    async def _client(self) -> None:
        chance = self._chance
        while self.is_open():
            number = len(self.asked)
            # Mostly small change, and now and then most of a funds, so that later pays find too little.
            amount = chance.randint(1, FUNDS if chance.random() < 0.2 else FUNDS // 500)
            asked = Asked(chance.choice(self.merchants), amount, chance.choice(list(CURRENCIES)))
            self.asked.append(asked)
            fields = {"amount": asked.amount, "currency": asked.currency, "note": f"bank {number}"}
            answer = await self._call(number, None, create(asked.merchant.key, fields), leaves=chance.random() < 0.05)
            if answer is None:
                continue
            self.ids[number] = answer["data"]["id"]
            await asyncio.gather(*self._pays(number))
            if self.history[-1].heard == "" and chance.random() < 0.3:
                await asyncio.gather(*self._refunds(number))

    def _refunds(self, number: int) -> Iterator[Any]:
        """All of it, a part, parts that are too much together, or a caller who leaves."""
        chance, amount = self._chance, self.asked[number].amount
        way = chance.random()
        if way < 0.4:
            yield self._refund(number, amount)
        elif way < 0.6:
            yield self._refund(number, chance.randint(1, amount))
        elif way < 0.85:
            yield from (self._refund(number, chance.randint(1, amount)) for _ in range(4))
        else:
            yield self._refund(number, chance.randint(1, amount), leaves=True)

    async def _refund(self, number: int, amount: int, *, leaves: bool = False) -> None:
        which = len(self.given_back)
        self.given_back.append(GivenBack(number, amount))
        call = refund(self.asked[number].merchant.key, self.ids[number], amount=amount, note=f"bank {which}")
        await self._call(number, None, call, leaves=leaves, which=which)

    def _pays(self, number: int) -> Iterator[Any]:
        """One pay, mostly; or two people, a double click, a wrong PIN, a caller who leaves."""
        chance = self._chance
        way = chance.random()
        people = chance.sample(self.customers, 2)
        if way < 0.1:
            yield from (self._pay(number, person) for person in people)
        elif way < 0.2:
            yield from (self._pay(number, people[0], once=f"bank {number}") for _ in range(2))
        elif way < 0.23:
            yield self._pay(number, people[0], pin=WRONG_PIN)
        elif way < 0.35:
            yield self._pay(number, people[0], leaves=True)
        else:
            yield self._pay(number, people[0])

    async def _pay(
        self, number: int, customer: Customer, *, pin: str = PIN, once: str = "", leaves: bool = False
    ) -> None:
        call = pay(customer, self.ids[number], pin)
        await self._call(number, customer, call.once(once) if once else call, leaves=leaves, pin=pin)

    async def _call(
        self,
        number: int,
        customer: Customer | None,
        call: Call,
        *,
        leaves: bool,
        pin: str = PIN,
        which: int | None = None,
    ) -> dict[str, Any] | None:
        began = next(self._moments)
        heard, told = UNHEARD, None
        sending = asyncio.create_task(self.world.sent(call))
        if leaves:
            await self._turns(sending)
            sending.cancel()
        try:
            answer = await sending
            heard = outcome(answer)
            told = answer.json() if answer.is_success else None
        except asyncio.CancelledError:
            assert leaves
        self.history.append(Attempt(number, customer, pin, began, next(self._moments), heard, which))
        self.heard[self.history[-1].kind, heard] += 1
        return told

    async def _turns(self, sending: asyncio.Task[Any]) -> None:
        """Some of the event loop: enough to send, and now and then to hear."""
        for _ in range(self._chance.randrange(100)):
            if not sending.done():
                await asyncio.sleep(0)


def sums(books: Books) -> list[tuple[Any, ...]]:
    """Per currency: all balances, those outside the house, the lowest of these, and how many there are."""
    return books.select(
        "SELECT currency, sum(amount), sum(CASE WHEN is_house THEN 0 ELSE amount END),"
        " min(CASE WHEN is_house THEN 0 ELSE amount END), count(*) FROM balance GROUP BY currency ORDER BY currency"
    )


def ledger(bank: Bank, books: Books) -> list[Moved]:
    """What the bank's people paid and got back."""
    numbers = {books.payment_number(payment_id): number for number, payment_id in bank.ids.items()}
    asking = defaultdict(list)
    for attempt in bank.history:
        if attempt.customer is not None:
            asking["pay", attempt.payment, attempt.customer.account].append(attempt)
        elif attempt.refund is not None:
            asking["refund", attempt.payment, str(attempt.refund)].append(attempt)
    moved = []
    for *row, note in books.select(
        "SELECT t.kind, t.payment, t.debit, t.credit, t.currency, t.amount, t.debit_sequence, t.debit_balance,"
        " t.credit_sequence, t.credit_balance, r.note FROM transfer t JOIN payment p ON p.number = t.payment"
        " LEFT JOIN refund r ON t.kind = 'refund' AND r.payment = t.payment AND r.sequence = t.debit_sequence"
        " WHERE p.note LIKE 'bank %'"
    ):
        kind, number, debit, credit = row[0], numbers[row[1]], str(row[2]), str(row[3])
        which = None if note is None else int(note.removeprefix("bank "))
        askers = asking[kind, number, debit if kind == "pay" else str(which)]
        assert askers, "money moved that nobody asked for"
        # A caller who left may have been carried out long after.
        ends = [attempt.ended for attempt in askers if attempt.heard == ""]
        began, ended = min(attempt.began for attempt in askers), min(ends, default=float("inf"))
        moved.append(Moved._make([kind, number, debit, credit, *row[4:], began, ended, which]))
    return moved


PROCESSES: Final = {
    "sqlite": 1,
    "postgresql": 1,
    "2 processes on postgresql": 2,
    "4 processes on postgresql": 4,
}
# One process, and as many as can disagree, for a while; in the long run all of them, and for longer.
SHORTLY: Final = ("sqlite", "4 processes on postgresql")
PART: Final = 3  # Of what is enough, for a while.


@pytest.fixture(
    scope="module",
    params=[
        *(pytest.param((name, PART), id=f"{name}, shortly") for name in SHORTLY),
        *(pytest.param((name, 1), id=name, marks=pytest.mark.slow) for name in PROCESSES),
    ],
)
def bank(request: pytest.FixtureRequest) -> Iterator[Bank]:
    name, part = request.param
    server = None if name == "sqlite" else request.getfixturevalue("postgres")
    with live(server, shops=7, people=14, processes=PROCESSES[name]) as world:
        with world.books() as books:
            before = sums(books)
        told = Bank(world, part)
        told.run()
        # What callers who left had sent is carried out when the service has stopped, if at all.
        world.run(world._hang_up())  # noqa: SLF001 - or the stop waits for what they may still ask
        world.stop()
        world.start()
        with world.books() as books:
            told.sums = [before, *told.sums, sums(books)]
        yield told
        assert world.complaints() == []


@pytest.fixture(scope="module")
def moved(bank: Bank) -> list[Moved]:
    with bank.world.books() as books:
        return ledger(bank, books)


@pytest.mark.both_engines
def test_the_bank_was_busy_in_every_way(bank: Bank, moved: list[Moved]) -> None:
    assert bank.heard >= bank.enough
    # Nothing else is ever heard. A shop never gives back more than it got, so there is always enough.
    assert bank.heard.keys() <= {*ENOUGH, ("create", UNHEARD), ("refund", "not_paid")}
    assert {row.debit for row in moved if row.kind == "pay"} == {customer.account for customer in bank.customers}


@pytest.mark.both_engines
def test_every_read_sums_to_the_constant_and_nothing_is_negative(bank: Bank) -> None:
    assert len(bank.sums) >= bank.reads
    first = bank.sums[0]
    assert [row[0] for row in first] == sorted(CURRENCIES)
    for read in bank.sums:
        for (currency, total, outside, lowest, accounts), before in zip(read, first, strict=True):
            assert (currency, total, outside) == (before[0], 0, before[2])
            assert lowest >= 0
            assert accounts >= before[4]


@pytest.mark.both_engines
def test_every_invariant_holds_afterwards(bank: Bank) -> None:
    assert bank.world.violations() == []


@pytest.mark.both_engines
def test_every_acknowledged_payment_is_there_once_as_it_was_asked(bank: Bank) -> None:
    with bank.world.books() as books:
        rows = books.select("SELECT note, number, merchant, amount, currency FROM payment WHERE note LIKE 'bank %'")
        numbers = {number: books.payment_number(payment_id) for number, payment_id in bank.ids.items()}
    found = {int(note.removeprefix("bank ")): rest for note, *rest in rows}
    assert len(found) == len(rows), "a payment was made twice"
    creates = [attempt for attempt in bank.history if not attempt.customer and attempt.refund is None]
    heard = {attempt.payment: attempt.heard for attempt in creates}
    for number, asked in enumerate(bank.asked):
        if heard[number] == "":
            assert found[number] == [numbers[number], int(asked.merchant.account), asked.amount, asked.currency]
    # Those who left may have been served or not; nobody else made any.
    assert found.keys() <= {number for number, told in heard.items() if told in {"", UNHEARD}}


@pytest.mark.both_engines
def test_every_acknowledged_pay_is_in_the_ledger_once_and_no_refused_one(bank: Bank, moved: list[Moved]) -> None:
    paid = {row.payment: row for row in moved if row.kind == "pay"}
    assert len(paid) == sum(row.kind == "pay" for row in moved), "a payment was paid twice"
    for attempt in bank.history:
        if attempt.customer is None:
            continue
        row, asked = paid.get(attempt.payment), bank.asked[attempt.payment]
        if attempt.heard == "":
            assert row is not None, "acknowledged and lost"
            assert (row.debit, row.credit) == (attempt.customer.account, asked.merchant.account)
            assert (row.amount, row.currency) == (asked.amount, asked.currency)
        elif attempt.heard == "already_paid":
            assert row is not None
            assert row.began < attempt.ended, "paid, before anybody had asked"
        elif attempt.heard == "wrong_pin":
            assert attempt.pin == WRONG_PIN
            assert row is None
        elif attempt.heard == "insufficient_funds":
            assert row is None or row.debit != attempt.customer.account


@pytest.mark.both_engines
def test_every_acknowledged_refund_is_in_the_ledger_once_and_no_refused_one(bank: Bank, moved: list[Moved]) -> None:
    paid = {row.payment: row for row in moved if row.kind == "pay"}
    back = {row.refund: row for row in moved if row.kind == "refund"}
    assert len(back) == sum(row.kind == "refund" for row in moved), "a refund was made twice"
    for attempt in bank.history:
        if attempt.refund is None:
            continue
        wanted, pay_row, row = bank.given_back[attempt.refund], paid.get(attempt.payment), back.get(attempt.refund)
        if attempt.heard == "":
            assert row is not None, "acknowledged and lost"
        if row is not None:
            assert attempt.heard in {"", UNHEARD}
            assert pay_row is not None
            assert (row.debit, row.credit, row.currency) == (pay_row.credit, pay_row.debit, pay_row.currency)
            assert row.amount == wanted.amount
        if attempt.heard == "not_paid":
            # Nobody had been told yet that it was paid.
            assert pay_row is None or pay_row.ended > attempt.began
        if attempt.heard == "refund_exceeds":
            # What is left only shrinks: all that had begun by then, and this one, are too much.
            rows = [one for one in back.values() if one.payment == attempt.payment and one.began < attempt.ended]
            assert sum(one.amount for one in rows) + wanted.amount > bank.asked[attempt.payment].amount
    gone: Counter[int] = Counter()
    for one in back.values():
        gone[one.payment] += one.amount
    assert all(amount <= paid[number].amount for number, amount in gone.items())


@pytest.mark.both_engines
def test_the_ledgers_order_replays_to_its_balances(bank: Bank, moved: list[Moved]) -> None:
    people = {customer.account for customer in bank.customers}
    for account, rows in by_account(moved):
        amounts = accumulate((row.change(account) for row in rows), initial=FUNDS if account in people else 0)
        assert [row.balance(account) for row in rows] == list(amounts)[1:]
        first = 2 if account in people else 1
        assert [row.sequence(account) for row in rows] == list(range(first, len(rows) + first))
        assert all(row.balance(account) >= 0 for row in rows)


@pytest.mark.both_engines
def test_whoever_came_later_comes_later_in_the_ledger(moved: list[Moved]) -> None:
    for _, rows in by_account(moved):
        latest_begin = -1
        for row in rows:
            assert row.ended > latest_begin, f"payment {row.payment} had ended before one ahead of it began"
            latest_begin = max(latest_begin, row.began)


@pytest.mark.both_engines
def test_who_was_told_of_too_little_money_had_too_little_at_some_moment_of_the_call(
    bank: Bank, moved: list[Moved]
) -> None:
    for attempt in bank.history:
        if attempt.customer is None or attempt.heard != "insufficient_funds":
            continue
        asked, account = bank.asked[attempt.payment], attempt.customer.account
        own = [row for row in moved if account in {row.debit, row.credit} and row.currency == asked.currency]
        # The lowest it can have been: after all pays that had begun, and only those refunds that had surely ended.
        spent = sum(row.amount for row in own if row.kind == "pay" and row.began < attempt.ended)
        back = sum(row.amount for row in own if row.kind == "refund" and row.ended < attempt.began)
        assert FUNDS - spent + back < asked.amount


@pytest.mark.both_engines
def test_customers_are_told_what_the_ledger_holds(bank: Bank, moved: list[Moved]) -> None:
    for customer in bank.customers:
        for currency in CURRENCIES:
            own = [row for row in moved if customer.account in {row.debit, row.credit} and row.currency == currency]
            assert bank.world.balance(customer, currency) == FUNDS + sum(row.change(customer.account) for row in own)


def by_account(moved: list[Moved]) -> list[tuple[str, list[Moved]]]:
    """Of each account and currency, in the ledger's order."""
    groups = defaultdict(list)
    for row in moved:
        groups[row.debit, row.currency].append(row)
        groups[row.credit, row.currency].append(row)
    return [(account, sorted(rows, key=lambda row: row.sequence(account))) for (account, _), rows in groups.items()]
