"""A database with something of everything in it, made by commands alone, and a hand that types SQL into it."""

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import apsw

from qirsh.domain.command import Cancel, CreatePayment, Expire, IssueKey, OpenSession
from qirsh.domain.decide import Answer, Submission
from qirsh.domain.idempotency import Once
from qirsh.domain.payment import Payment
from qirsh.domain.state import State
from qirsh.engine.batcher import Batch
from qirsh.engine.clock import ManualClock
from qirsh.engine.entropy import SeededEntropy
from qirsh.store.sqlite import SqliteStore
from tests.domain.market import Market
from tests.domain.world import ENTROPY_SEED, World


class Filled(Market):
    """A payment in each state, one of test money, a withdrawal, and an order that waits for its second operator."""

    def __init__(self) -> None:
        super().__init__()
        late = self.create(amount=7, expires_in_ms=0)  # Its time is over as it is asked for: no clock need be moved.
        self.pending = self.create(amount=500, note="not yet", metadata='{"z": 1.0, "a": 1152921504606846976}')
        self.cancelled: Payment = self.do(Cancel(payment=self.create().number, merchant=self.shop))
        self.paid: Payment = self.do(self.pay(self.create(amount=300, return_url="https://shop.example/thanks")))
        self.paid_too: Payment = self.do(self.pay(self.create(amount=200, reference="order 2")))
        of_test = self.create(merchant=self.till, currency="TRY")
        self.tested: Payment = self.do(self.pay(of_test, person=self.owner.id, payer=self.test_customer))
        self.do(self.ask_withdrawal())
        self.do(self.ask(reference="asked", account=self.other.account))
        self.do(IssueKey("key_1", self.shop, bytes(32), "wxyz", "till", "payments:read", None, "test"))
        self.do(OpenSession(bytes(range(32)), self.customer.id, self.customer.account, "test"))
        asked = CreatePayment(merchant=self.shop, amount=1, currency="SYP")
        self.transact([Submission(asked, Once(self.shop, "once", b"print"), _answer)])
        self.expired: Payment = self.do(Expire(payment=late.number))

    def names(self) -> dict[str, int]:
        """What hand-typed SQL calls by name: `:shop` is its account, `:paid` the number of a payment."""
        accounts = {name: getattr(self, name) for name in ("house", "shop", "till", "test_customer", "mint")}
        people = {name: getattr(self, name).account for name in ("customer", "other", "owner")}
        operators = {name: getattr(self, name).id for name in ("first", "second")}
        payments = ("pending", "cancelled", "expired", "paid", "paid_too", "tested")
        return accounts | people | operators | {name: getattr(self, name).number for name in payments}


def _answer(outcome: Payment, _state: State) -> Answer:
    return Answer(201, str(outcome.number).encode())


FILLED: Final = Filled()


class Hand:
    """A stranger with a shell: SQLite's own defaults, so that references and recursive triggers are off."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection = apsw.Connection(str(path))
        self._connection.execute("PRAGMA synchronous = OFF")  # A copy that nobody will miss.
        self._names = FILLED.names()

    def type(self, sql: str) -> list[Any]:
        """All statements or none."""
        self._connection.execute("BEGIN")
        try:
            rows = self._connection.execute(sql, self._names).fetchall()
            self._connection.execute("COMMIT")
        except apsw.Error:
            if self._connection.in_transaction:  # A trigger that refuses rolls back by itself.
                self._connection.execute("ROLLBACK")
            raise
        return rows

    def rows(self) -> dict[str, list[Any]]:
        """Everything, table by table."""
        names = self.type("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
        return {name: self.type(f"SELECT * FROM {name} ORDER BY 1, 2") for (name,) in names}  # noqa: S608 - our own names

    def disarm(self) -> None:
        """Take all triggers and indexes away, and look past the CHECKs."""
        guards = "SELECT type, name FROM sqlite_schema WHERE type IN ('trigger', 'index') AND sql IS NOT NULL"
        self.type("; ".join(f"DROP {kind} {name}" for kind, name in self.type(guards)))
        self._connection.execute("PRAGMA ignore_check_constraints = ON")

    def follow_references(self) -> None:
        """Off by SQLite's own default, on in ours."""
        self._connection.execute("PRAGMA foreign_keys = ON")

    def close(self) -> None:
        self._connection.close()


def open_store(path: Path, *, now: int = FILLED.now) -> SqliteStore:
    """A store whose account numbers are those of the small world, under a clock that stands still."""
    return SqliteStore(path, clock=ManualClock(now), entropy=SeededEntropy(ENTROPY_SEED))


def fill(path: Path, world: World = FILLED) -> None:
    """Bring a new database to the state of a small world, command by command."""

    async def replay() -> None:
        clock = ManualClock(0)
        store = SqliteStore(path, clock=clock, entropy=SeededEntropy(ENTROPY_SEED))
        for clock.now, submissions in world.history:
            await store.transact(Batch(submissions))
        await store.close()

    asyncio.run(replay())


@contextmanager
def hand_on_a_copy(original: Path, folder: Path) -> Iterator[Hand]:
    """The original stays as it was."""
    path = folder / "copy.db"
    shutil.copy(original, path)
    hand = Hand(path)
    try:
        yield hand
    finally:
        hand.close()
