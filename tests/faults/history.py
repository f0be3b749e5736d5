"""What clients did and heard, and whether the database agrees: everything acknowledged once, nothing refused at all."""

import contextlib
import itertools
import math
import secrets
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from tests.line import Answer, Line, Lost, NotSent
from tests.live import Books, Call, Customer, Live, Merchant, create, pay, refund

Outcome = Literal["invoked", "ok", "fail", "unknown"]

BESIDE: Final = "beside the history"  # The note of payments that others make.


def new_key() -> str:
    """An Idempotency-Key that is found again in the database, and in what is written to the disk."""
    return f"key-{secrets.token_hex(6)}"


@dataclass(eq=False)
class Operation:
    """One wish to change something, from its first call until its outcome is known, over any number of retries."""

    kind: Literal["create", "pay", "refund"]
    call: Call
    account: int
    key: str
    amount: int
    currency: str
    of: "Operation | None" = None  # What a pay pays, and a refund gives back.
    outcome: Outcome = "invoked"
    refusal: str = ""
    payment_id: str = ""
    refund_id: str = ""
    is_paid: bool = False  # Somebody was told so: it must stay so.
    refunded: int = 0  # And so much of it has gone back.
    request_ids: list[str] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)
    ended: float = math.inf
    was_replayed: bool = False

    async def send(self, line: Line) -> None:
        """Once. Raises `NotSent` or `Lost`."""
        try:
            answer = await line.ask(self.call)
        except Lost:
            self.outcome = "unknown"
            raise
        except NotSent:
            # A retry that was not sent leaves the first call as unknown as it was.
            if self.outcome == "invoked":
                self.outcome = "fail"
            raise
        self.hear(answer)

    def hear(self, answer: Answer) -> None:
        """What the answer says about the outcome."""
        self.request_ids.append(answer.headers["x-request-id"])
        assert answer.status != 500, answer
        assert (answer.status == 503) == ("retry-after" in answer.headers), answer
        self.refusal = answer.code
        if answer.code == "outcome_unknown":
            self.outcome = "unknown"
            return
        if answer.status == 503 and self.outcome == "unknown":
            return  # Nothing was done by this call; the one before is as unknown as it was.
        self.ended = time.monotonic()
        self.outcome = "fail" if answer.code else "ok"
        self.was_replayed = "idempotency-replayed" in answer.headers
        if self.outcome == "ok":
            if self.of is None:
                self.payment_id = answer.data["id"]
            elif self.kind == "refund":
                self.payment_id = self.of.payment_id
                self.refund_id = answer.data["id"]
                self.of.refunded += self.amount
            else:
                self.payment_id = self.of.payment_id
                assert (answer.data["_id"], answer.data["status"]) == (self.payment_id, "paid"), answer
                self.of.is_paid = True


class History:
    """All operations on one world since it was founded."""

    def __init__(self, world: Live) -> None:
        self._world = world
        self.operations: list[Operation] = []
        with world.books() as books:
            self._balances = _balances(books)
            assert books.counts()["payment"] == 0

    def create(self, merchant: Merchant, amount: int, currency: str = "USD", **fields: object) -> Operation:
        """A payment whose note is its key."""
        key = new_key()
        call = create(merchant.key, amount=amount, currency=currency, note=key, **fields).once(key)
        return self._began(Operation("create", call, int(merchant.account), key, amount, currency))

    def pay(self, customer: Customer, of: Operation) -> Operation:
        """A payment is paid."""
        key = new_key()
        call = pay(customer, of.payment_id).once(key)
        return self._began(Operation("pay", call, int(customer.account), key, of.amount, of.currency, of))

    def refund(self, merchant: Merchant, of: Operation, amount: int) -> Operation:
        """Some of what was paid goes back. The note is the key."""
        key = new_key()
        call = refund(merchant.key, of.payment_id, amount=amount, note=key).once(key)
        return self._began(Operation("refund", call, int(merchant.account), key, amount, of.currency, of))

    def clash(self, merchant: Merchant, earlier: Operation) -> Operation:
        """A key that was used for another payment, which must be refused."""
        call = create(merchant.key, amount=earlier.amount + 1, note=earlier.key).once(earlier.key)
        return self._began(
            Operation("create", call, int(merchant.account), earlier.key, earlier.amount + 1, earlier.currency)
        )

    def _began(self, operation: Operation) -> Operation:
        self.operations.append(operation)
        return operation

    def having(self, outcome: Outcome, kind: str = "") -> list[Operation]:
        """Those that ended so."""
        return [one for one in self.operations if one.outcome == outcome and kind in {"", one.kind}]

    async def retry(self, operations: Iterable[Operation]) -> None:
        """Send each again with the same key, to any process, until it has an outcome."""
        async with contextlib.AsyncExitStack() as stack:
            lines = [await stack.enter_async_context(Line(port)) for port in self._world.ports]
            for operation, line in zip(operations, itertools.cycle(lines), strict=False):
                await operation.send(line)
                while operation.outcome == "unknown":
                    await operation.send(line)
                assert operation.outcome in {"ok", "fail"}, operation

    def lost(self) -> list[Operation]:
        """What was acknowledged, and the database knows nothing of."""
        with self._world.books() as books:
            kept = set(books.select("SELECT account, key FROM stored_response"))
        return [one for one in self.having("ok") if (one.account, one.key) not in kept]

    def check(self) -> None:
        """The database says what the clients were told. Nothing may be unknown any more."""
        assert Counter(one.outcome for one in self.operations).keys() <= {"ok", "fail"}
        with self._world.books() as books:
            created = self._check_creates(books)
            paid = self._check_pays(books)
            refunded = self._check_refunds(books)
            self._check_events(books)
            kept = books.select("SELECT account, key FROM stored_response")
            assert _once(kept) == {(one.account, one.key) for one in self.having("ok")}
            assert _balances(books) == self._expected_balances()
        if len(self._world.ports) == 1:  # Each process has numbers of its own to give out.
            _check_real_time_order(created)
        _check_real_time_order(paid)
        _check_real_time_order(refunded)

    def _check_creates(self, books: Books) -> list[Operation]:
        """In the order of the database."""
        rows = books.select(
            "SELECT note, number, merchant, amount, currency, status FROM payment WHERE note <> ? ORDER BY number",
            BESIDE,
        )
        stored = {note: tuple(row) for note, *row in rows}
        assert len(stored) == len(rows), "a key made two payments"
        acknowledged = {one.key: one for one in self.having("ok", "create")}
        assert stored.keys() == acknowledged.keys()
        for key, one in acknowledged.items():
            number, *rest, status = stored[key]
            assert number == books.payment_number(one.payment_id), one
            assert rest == [one.account, one.amount, one.currency], one
            assert status == ("paid" if one.is_paid else "pending"), one
        return [acknowledged[note] for note in stored]

    def _check_pays(self, books: Books) -> list[Operation]:
        """In the order of the database."""
        rows = books.select(
            "SELECT payment, debit, credit, amount, currency FROM transfer WHERE kind = 'pay' ORDER BY id"
        )
        stored = {payment: tuple(row) for payment, *row in rows}
        assert len(stored) == len(rows), "a payment was paid twice"
        acknowledged = {books.payment_number(one.payment_id): one for one in self.having("ok", "pay")}
        assert len(acknowledged) == len(self.having("ok", "pay")), "two pays of one payment were acknowledged"
        assert stored.keys() == acknowledged.keys()
        for payment, one in acknowledged.items():
            assert one.of is not None
            assert stored[payment] == (one.account, one.of.account, one.amount, one.currency), one
        return [acknowledged[payment] for payment in stored]

    def _check_refunds(self, books: Books) -> list[Operation]:
        """In the order of the database."""
        rows = books.select(
            "SELECT r.note, r.id, r.payment, r.amount, t.kind, t.debit, t.credit, t.amount, t.currency FROM refund r"
            " JOIN payment p ON p.number = r.payment JOIN transfer t ON t.payment = r.payment AND t.debit = p.merchant"
            " AND t.debit_sequence = r.sequence AND t.currency = p.currency ORDER BY t.id"
        )
        [(moved,)] = books.select("SELECT count(*) FROM transfer WHERE kind = 'refund'")
        stored = {note: tuple(row) for note, *row in rows}
        assert len(stored) == len(rows) == moved, "a key gave back twice"
        acknowledged = {one.key: one for one in self.having("ok", "refund")}
        assert stored.keys() == acknowledged.keys()
        payers = {one.payment_id: one.account for one in self.having("ok", "pay")}
        for key, one in acknowledged.items():
            number = books.payment_number(one.payment_id)
            told = ("refund", one.account, payers[one.payment_id], one.amount, one.currency)
            assert stored[key] == (one.refund_id, number, one.amount, *told), one
        gone = {books.payment_number(one.payment_id): one.refunded for one in self.having("ok", "create")}
        for number, refunded in books.select("SELECT number, refunded_amount FROM payment WHERE note <> ?", BESIDE):
            assert refunded == gone[number]
        return [acknowledged[note] for note in stored]

    def _check_events(self, books: Books) -> None:
        [(paid,)] = books.select("SELECT count(*) FROM payment WHERE status = 'paid'")
        told = books.select("SELECT payment FROM event WHERE type = 'remote_payment.paid'")
        assert paid == len(_once(told)) == len(self.having("ok", "pay"))
        back = books.select("SELECT payment, version FROM event WHERE type = 'refund.created'")
        assert len(_once(back)) == len(self.having("ok", "refund"))
        for account, events, first, last in books.select(
            "SELECT account, count(*), min(sequence), max(sequence) FROM event GROUP BY account"
        ):
            assert (first, last) == (1, events), f"the events of account {account} have a gap"

    def _expected_balances(self) -> dict[tuple[int, str], int]:
        expected = Counter(self._balances)
        for one in self.having("ok", "pay"):
            assert one.of is not None
            expected[one.account, one.currency] -= one.amount
            expected[one.of.account, one.currency] += one.amount
        payers = {one.payment_id: one.account for one in self.having("ok", "pay")}
        for one in self.having("ok", "refund"):
            expected[one.account, one.currency] -= one.amount
            expected[payers[one.payment_id], one.currency] += one.amount
        return dict(expected)


def _once(rows: list[tuple[Any, ...]]) -> set[tuple[Any, ...]]:
    assert len(set(rows)) == len(rows), "the same is there twice"
    return set(rows)


def _balances(books: Books) -> dict[tuple[int, str], int]:
    rows = books.select("SELECT account, currency, amount FROM balance")
    return {(account, currency): amount for account, currency, amount in rows}


def _check_real_time_order(stored: list[Operation]) -> None:
    """Whatever was acknowledged before another was asked for comes before it in the database."""
    soonest_end_of_later = itertools.accumulate(reversed([one.ended for one in stored]), min)
    for one, soonest in zip(reversed(stored), soonest_end_of_later, strict=True):
        assert one.began <= soonest, f"{one} is stored before one that had ended when it began"
