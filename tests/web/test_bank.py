"""The bank workload: many clients pay at random while the whole ledger is read, then the history is checked.

Every call is recorded from its invocation to its end. Afterwards the ledger's own order must explain all of them:
what was acknowledged is there once, what was refused is not there and was rightly refused, what nobody heard of is
there at most once, and whoever came later in time comes later in the ledger.
"""

import asyncio
import random
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import accumulate
from typing import Any, Final, NamedTuple

import pytest

from qirsh.domain.money import CURRENCIES
from tests.live import PIN, PURSE, WRONG_PIN, Books, Call, Customer, Live, Merchant, create, live, outcome, pay

SECONDS: Final = 4.0
SECONDS_MAX: Final = 60.0  # On a slow machine it goes on until enough has happened.
PAYS_MIN: Final = 300
CLIENTS: Final = 16
UNHEARD: Final = "unheard"


class Attempt(NamedTuple):
    """One call: what was wanted, when it was under way, and what was heard."""

    payment: int  # Which of the bank's payments: its note tells.
    customer: Customer | None  # None: the call that creates the payment.
    pin: str
    began: float
    ended: float
    heard: str  # A problem's code; empty for success; `UNHEARD` if the caller left.


class Asked(NamedTuple):
    """A payment that a merchant asked for."""

    merchant: Merchant
    amount: int
    currency: str


class Paid(NamedTuple):
    """A pay transfer, as the ledger has it, and the time in which its callers asked for it."""

    payment: int
    debit: str
    credit: str
    currency: str
    amount: int
    debit_sequence: int
    debit_balance: int
    credit_sequence: int
    began: float
    ended: float


class Bank:
    """The clients, and what they remember."""

    def __init__(self, world: Live) -> None:
        self.world = world
        self.customers = [world.customer() for _ in range(10)]
        self.merchants = [world.merchant() for _ in range(3)]
        self.asked: list[Asked] = []
        self.ids: dict[int, str] = {}
        self.history: list[Attempt] = []
        self.sums: list[list[tuple[Any, ...]]] = []
        self._began = time.monotonic()
        self._chance = random.Random(20260301)

    def run(self) -> None:
        self._began = time.monotonic()
        self.world.run(self._run())

    def is_open(self) -> bool:
        busy_s = time.monotonic() - self._began
        pays = sum(attempt.customer is not None and attempt.heard == "" for attempt in self.history)
        return busy_s < SECONDS or (pays < PAYS_MIN and busy_s < SECONDS_MAX)

    async def _run(self) -> None:
        reading = asyncio.create_task(asyncio.to_thread(self._read))
        await asyncio.gather(*(self._client() for _ in range(CLIENTS)), reading)
        # What callers who left had sent is carried out by now, if at all.
        await asyncio.sleep(0.5)

    def _read(self) -> None:
        """Whole-ledger reads, each in one snapshot; now and then with every invariant."""
        while self.is_open():
            with self.world.books() as books:
                self.sums.append(sums(books))
                if len(self.sums) % 25 == 1:
                    assert books.violations() == []
            time.sleep(0.01)

    async def _client(self) -> None:
        chance = self._chance
        while self.is_open():
            number = len(self.asked)
            # Mostly small change, and now and then most of a purse, so that later pays find too little.
            amount = chance.randint(1, PURSE if chance.random() < 0.2 else PURSE // 500)
            asked = Asked(chance.choice(self.merchants), amount, chance.choice(list(CURRENCIES)))
            self.asked.append(asked)
            fields = {"amount": asked.amount, "currency": asked.currency, "note": f"bank {number}"}
            answer = await self._call(number, None, create(asked.merchant.key, fields), leaves=chance.random() < 0.05)
            if answer is None:
                continue
            self.ids[number] = answer["data"]["id"]
            await asyncio.gather(*self._pays(number))

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
        self, number: int, customer: Customer | None, call: Call, *, leaves: bool, pin: str = PIN
    ) -> dict[str, Any] | None:
        began = time.monotonic()
        heard, told = UNHEARD, None
        try:
            async with asyncio.timeout(self._chance.random() * 0.02 if leaves else 30):
                answer = await self.world.sent(call)
            heard = outcome(answer)
            told = answer.json() if answer.is_success else None
        except TimeoutError:
            assert leaves, "an answer took half a minute"
        self.history.append(Attempt(number, customer, pin, began, time.monotonic(), heard))
        return told


def sums(books: Books) -> list[tuple[Any, ...]]:
    """Per currency: all balances, those outside the house, the lowest of these, and how many there are."""
    return books.select(
        "SELECT currency, sum(amount), sum(CASE WHEN is_house THEN 0 ELSE amount END),"
        " min(CASE WHEN is_house THEN 0 ELSE amount END), count(*) FROM balance GROUP BY currency ORDER BY currency"
    )


def ledger(bank: Bank, books: Books) -> list[Paid]:
    """The pays of the bank's people, in the ledger's order of each account."""
    numbers = {books.payment_number(payment_id): number for number, payment_id in bank.ids.items()}
    people = {customer.account for customer in bank.customers}
    asking = defaultdict(list)
    for attempt in bank.history:
        if attempt.customer is not None:
            asking[attempt.payment, attempt.customer.account].append(attempt)
    paid = []
    for row in books.select(
        "SELECT payment, debit, credit, currency, amount, debit_sequence, debit_balance, credit_sequence"
        " FROM transfer WHERE kind = 'pay' ORDER BY debit, currency, debit_sequence"
    ):
        if str(row[1]) in people:
            number, debit, credit = numbers[row[0]], str(row[1]), str(row[2])
            askers = asking[number, debit]
            assert askers, "money moved that nobody asked for"
            # A caller who left may have been carried out long after.
            ends = [attempt.ended for attempt in askers if attempt.heard == ""]
            began, ended = min(attempt.began for attempt in askers), min(ends, default=float("inf"))
            currency, amount, sequence, left, credit_sequence = row[3:]
            paid.append(Paid(number, debit, credit, currency, amount, sequence, left, credit_sequence, began, ended))
    return paid


PROCESSES: Final = {
    "sqlite": 1,
    "postgresql": 1,
    "2 processes on postgresql": 2,
    "4 processes on postgresql": 4,
}


@pytest.fixture(scope="module", params=PROCESSES)
def bank(request: pytest.FixtureRequest) -> Iterator[Bank]:
    server = None if request.param == "sqlite" else request.getfixturevalue("postgres")
    with live(server, shops=7, people=14, processes=PROCESSES[request.param]) as world:
        with world.books() as books:
            before = sums(books)
        told = Bank(world)
        told.run()
        with world.books() as books:
            told.sums = [before, *told.sums, sums(books)]
        yield told
        assert world.complaints() == []


@pytest.fixture(scope="module")
def paid(bank: Bank) -> list[Paid]:
    with bank.world.books() as books:
        return ledger(bank, books)


def test_the_bank_was_busy_in_every_way(bank: Bank, paid: list[Paid]) -> None:
    pays = Counter(attempt.heard for attempt in bank.history if attempt.customer)
    creates = Counter(attempt.heard for attempt in bank.history if not attempt.customer)
    assert pays[""] > 200
    assert pays[UNHEARD] > 5
    assert pays["insufficient_funds"] > 5
    assert pays["already_paid"] > 5
    assert pays["wrong_pin"] > 1
    assert creates[""] > 200
    assert pays.keys() <= {"", UNHEARD, "insufficient_funds", "already_paid", "wrong_pin"}
    assert creates.keys() <= {"", UNHEARD}
    assert {row.debit for row in paid} == {customer.account for customer in bank.customers}


def test_every_read_sums_to_the_constant_and_nothing_is_negative(bank: Bank) -> None:
    assert len(bank.sums) > 20
    first = bank.sums[0]
    assert [row[0] for row in first] == sorted(CURRENCIES)
    for read in bank.sums:
        for (currency, total, outside, lowest, accounts), before in zip(read, first, strict=True):
            assert (currency, total, outside) == (before[0], 0, before[2])
            assert lowest >= 0
            assert accounts >= before[4]


def test_every_invariant_holds_afterwards(bank: Bank) -> None:
    assert bank.world.violations() == []


def test_every_acknowledged_payment_is_there_once_as_it_was_asked(bank: Bank) -> None:
    with bank.world.books() as books:
        rows = books.select("SELECT note, number, merchant, amount, currency FROM payment WHERE note LIKE 'bank %'")
        numbers = {number: books.payment_number(payment_id) for number, payment_id in bank.ids.items()}
    found = {int(note.removeprefix("bank ")): rest for note, *rest in rows}
    assert len(found) == len(rows), "a payment was made twice"
    heard = {attempt.payment: attempt.heard for attempt in bank.history if not attempt.customer}
    for number, asked in enumerate(bank.asked):
        if heard[number] == "":
            assert found[number] == [numbers[number], int(asked.merchant.account), asked.amount, asked.currency]
    # Those who left may have been served or not; nobody else made any.
    assert found.keys() <= {number for number, told in heard.items() if told in {"", UNHEARD}}


def test_every_acknowledged_pay_is_in_the_ledger_once_and_no_refused_one(bank: Bank, paid: list[Paid]) -> None:
    moved = {row.payment: row for row in paid}
    assert len(moved) == len(paid), "a payment was paid twice"
    for attempt in bank.history:
        if attempt.customer is None:
            continue
        row, asked = moved.get(attempt.payment), bank.asked[attempt.payment]
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


def test_the_ledgers_order_replays_to_its_balances(paid: list[Paid]) -> None:
    for rows in by_account(paid, "debit"):
        amounts = accumulate((-row.amount for row in rows), initial=PURSE)
        assert [row.debit_balance for row in rows] == list(amounts)[1:]
        assert [row.debit_sequence for row in rows] == list(range(2, len(rows) + 2))
        assert all(row.debit_balance >= 0 for row in rows)


def test_whoever_came_later_comes_later_in_the_ledger(paid: list[Paid]) -> None:
    for side in ("debit", "credit"):
        for rows in by_account(paid, side):
            latest_begin = 0.0
            for row in rows:
                assert row.ended > latest_begin, f"payment {row.payment} had ended before one ahead of it began"
                latest_begin = max(latest_begin, row.began)


def test_who_was_told_of_too_little_money_had_too_little_at_some_moment_of_the_call(
    bank: Bank, paid: list[Paid]
) -> None:
    for attempt in bank.history:
        if attempt.customer is None or attempt.heard != "insufficient_funds":
            continue
        asked = bank.asked[attempt.payment]
        # Purses only shrink here, so the lowest it can have been is after all pays that had begun.
        spent = sum(
            row.amount
            for row in paid
            if (row.debit, row.currency) == (attempt.customer.account, asked.currency) and row.began < attempt.ended
        )
        assert PURSE - spent < asked.amount


def test_customers_are_told_what_the_ledger_holds(bank: Bank, paid: list[Paid]) -> None:
    for customer in bank.customers:
        for currency in CURRENCIES:
            spent = sum(row.amount for row in paid if (row.debit, row.currency) == (customer.account, currency))
            assert bank.world.balance(customer, currency) == PURSE - spent


def by_account(paid: list[Paid], side: str) -> list[list[Paid]]:
    groups = defaultdict(list)
    for row in paid:
        groups[getattr(row, side), row.currency].append(row)
    return [sorted(rows, key=lambda row: int(getattr(row, f"{side}_sequence"))) for rows in groups.values()]
