"""A database with something of everything in it, made by commands alone, and hands that type SQL into it."""

import asyncio
import functools
import re
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final, Protocol

import apsw
import asyncpg
import uvloop
from msgspec import json
from msgspec.structs import astuple

from qirsh.domain.batch import Answer, Batch, Submission
from qirsh.domain.commands.access_order import RequestAccessOrder
from qirsh.domain.commands.account import IssueKey
from qirsh.domain.commands.bank_account import AddBankAccount
from qirsh.domain.commands.brand import ApproveBrandChange, SetBrandColour
from qirsh.domain.commands.constant import FixConstant
from qirsh.domain.commands.identity import RejectIdentity, SubmitIdentity
from qirsh.domain.commands.lease import HoldLease
from qirsh.domain.commands.login_credentials import AddPasskey, StartChallenge
from qirsh.domain.commands.operator import AppointOperator, ConfirmOperator, RequestOperatorEnd
from qirsh.domain.commands.payment import CancelPayment, CreatePayment, ExpirePayment
from qirsh.domain.commands.payment_attempt import RecordAttempts
from qirsh.domain.commands.payment_index import IndexPayments
from qirsh.domain.commands.payout import RequestPayout
from qirsh.domain.commands.request_log import RecordRequests
from qirsh.domain.commands.seal import SealEntries
from qirsh.domain.commands.session import OpenSession
from qirsh.domain.commands.shop_message import ReadShopMessages, WriteToOperators, WriteToShop
from qirsh.domain.commands.staff_payment import CreatePaymentByHand
from qirsh.domain.commands.statement import AnnounceStatement
from qirsh.domain.commands.stop import LiftStop, StopMoney
from qirsh.domain.commands.test_mode import ExpireAsTest
from qirsh.domain.commands.till import CloseTill, CreatePaymentAtTill
from qirsh.domain.commands.total import FollowTotals, RecordTotals
from qirsh.domain.commands.webhook import (
    RecordWebhookResults,
    RemoveWebhookEndpoint,
    ResendDeliveries,
    RotateWebhookSecret,
    StartReplay,
    TellWebhookOwner,
    TurnReplayPage,
    UpdateWebhookEndpoint,
)
from qirsh.domain.idempotency import IdempotencyKey
from qirsh.domain.limits import AMOUNT_MAX
from qirsh.domain.mail import Letter
from qirsh.domain.payment import Payment
from qirsh.domain.payment_attempt import FailedAttempt
from qirsh.domain.payment_index import PaymentIndex, PaymentPlace
from qirsh.domain.request_log import KeyUse
from qirsh.domain.seal import NOTHING, Cover
from qirsh.domain.unit_of_work import UnitOfWork
from qirsh.engine.clock import ManualClock
from qirsh.engine.entropy import SeededEntropy
from qirsh.store.interface import Store
from qirsh.store.postgres.store import open_postgres
from qirsh.store.sqlite.store import SqliteStore
from tests.chain import PIECES, digests
from tests.domain.brand_cases import asking_for_brand
from tests.domain.market import PIN, Market
from tests.domain.request_cases import logged
from tests.domain.staff_cases import TILL, inviting, join, opening, refunding, saving
from tests.domain.totals import totals_of
from tests.domain.webhook_cases import creating, failure, happen, success
from tests.domain.world import ENTROPY_SEED, World
from tests.postgres import PostgresServer


class Filled(Market):
    """A payment in each state, refunds of some and of all, test money, and an order that waits for its operator."""

    def __init__(self) -> None:
        super().__init__()
        late = self.create(amount=7, expires_in_ms=0)  # Its time is over as it is asked for: no clock need be moved.
        self.pending = self.create(amount=500, note="not yet", metadata='{"z": 1.0, "a": 1152921504606846976}')
        self.cancelled: Payment = self.do(CancelPayment(payment=self.create().number, merchant=self.shop))
        self.paid: Payment = self.do(self.pay(self.create(amount=300, return_url="https://shop.example/thanks")))
        self.paid_too: Payment = self.do(self.pay(self.create(amount=200, reference="order 2")))
        of_test = self.create(merchant=self.till, currency="TRY")
        self.tested: Payment = self.do(self.pay(of_test, person=self.owner.id, payer=self.test_customer))
        self.do(self.ask_withdrawal())
        self.do(self.ask(reference="asked", account=self.other.account))
        self.do(IssueKey("key_1", self.shop, bytes(32), "wxyz", "till", "payments:read", None, "test"))
        self.do(OpenSession(bytes(range(32)), self.customer.id, self.customer.account, "test"))
        asked = CreatePayment(merchant=self.shop, amount=1, currency="SYP")
        self.transact([Submission(asked, IdempotencyKey(self.shop, "once", b"print"), _answer)])
        self.expired: Payment = self.do(ExpirePayment(payment=late.number))
        returned, refunded = self.buy(amount=400, currency="EUR"), self.buy(amount=250, currency="EUR")
        self.do(self.refund(returned))
        self.do(self.refund(refunded, amount=100, note="sorry", metadata='{"b": 1.0}'))
        self.do(self.refund(refunded, amount=50))
        self.returned, self.refunded = self.payments[returned.number], self.payments[refunded.number]
        # More than is left in the funds, so that the mint fills it first.
        dear = self.create(merchant=self.till, amount=AMOUNT_MAX, currency="TRY")
        self.tested_too: Payment = self.do(self.pay_as_test(dear))
        self.do(ExpireAsTest(payment=self.create(merchant=self.till).number, merchant=self.till))
        labelled = self.create(metadata='{"order": "A-7", "\\ud83d\\ude00": "", "n": 1.0}')
        index = PaymentIndex()
        for number in (labelled.number - 1, labelled.number):
            index.add(
                PaymentPlace(labelled.created_at, number),
                merchant=self.shop,
                amount=100,
                note="a7 قهوة",
                reference=None,
                metadata=json.decode(labelled.metadata),
            )
        self.do(IndexPayments(block=1, after=0, until=labelled.number, words=index.words()))
        self._fill_in_people()
        self._fill_in_webhooks()
        self._fill_in_staff()
        self._fill_in_totals()
        self.do(HoldLease("sweeper", "a process", 1000))
        self.do(FixConstant("secret_check", b"mark"))
        self.do(FixConstant("colour", b"blue"))
        self.do(StopMoney(1, "a sum was wrong", "test"))
        self.do(LiftStop(1, "it was mended", "test"))
        self.do(SealEntries(1, NOTHING, self.covers()))

    def _fill_in_totals(self) -> None:
        """Of all that the shop took in euros, of some of its dollars, and of test money."""
        for account, currency, count in ((self.shop, "USD", 1), (self.shop, "EUR", None), (self.till, "TRY", None)):
            self.do(RecordTotals(None, tuple(totals_of(self, account, currency, count))))
        self.do(FollowTotals(0, 1))

    def _fill_in_people(self) -> None:
        """Something of each kind, waiting and decided."""
        person = self.join("Newcomer")
        facts, images = bytes(range(256)), (("front", b"\x00\xff"), ("back", b"b"))
        self.do(SubmitIdentity(person.id, person.account, facts, images))  # type: ignore[arg-type]
        self.do(RejectIdentity(person.account, "not readable", self.first.id, "test", (Letter("letter", b"\0"),)))
        self.do(RequestAccessOrder("customer@example.com", "block", "lost phone", self.first.id, "test"))
        self.do(AppointOperator("third@example.com", "Üçüncü", self.first.id, "test", b"t" * 32))
        self.do(ConfirmOperator("third@example.com", "appoint", self.first.id, self.second.id, "test", b"t" * 32))
        self.do(RequestOperatorEnd("operator.two@example.com", self.second.id, "test"))
        self.do(StartChallenge("sign-up", "ç@example.com", None, b"s" * 32, b"mac", ()))
        self.do(AddPasskey(b"\x00key", self.customer.id, b"public", 7, "هاتف", ()))
        self.do(RequestPayout("po_1", self.customer.account, self.customer.id, "EUR", 700, b"sealed", (PIN,)))
        self.do(RequestPayout("po_2", self.customer.account, self.customer.id, "EUR", 900, b"sealed", (PIN,)))
        self.do(self.ask(reference="payout", kind="withdrawal", currency="EUR", amount=900, payout="po_2"))
        self.do(self.confirm("payout"))

    def _fill_in_webhooks(self) -> None:
        """Events that arrived at once, after a failure, not yet and never; a replay; endpoints in each state."""
        # A shop of its own: its events are counted from one, whatever else happens in this world.
        self.hooked = shop = self.open_shop(self.owner)
        till, _, _ = self.test_accounts(shop)
        self.do(creating(shop))
        self.do(creating(shop, "we_gone"))
        self.do(creating(till, "we_test", types=("refund.created",), description="متجر"))
        happen(self, 6, shop)
        happen(self, 1, till)
        now = self.now
        first = (success(1, now), failure(2, now), failure(3, now, status=None, reason="timeout"), failure(4, now))
        self.do(RecordWebhookResults(first, (("we_1", 6, ""),)))
        self.do(RecordWebhookResults((success(2, now + 1), *(failure(4, now + each) for each in range(1, 10)))))
        self.do(ResendDeliveries("we_1", shop, (5,), "test"))
        self.do(StartReplay("we_1", shop, first=1, until=4, actor="test"))
        self.do(TurnReplayPage("we_1", (), next=2))
        self.do(RecordWebhookResults((failure(1, now, endpoint="we_gone"),)))
        self.do(RemoveWebhookEndpoint("we_gone", shop, "test"))
        self.do(RotateWebhookSecret("we_test", till, b"\x00\xff", overlap_ms=1000, actor="test"))
        self.do(RecordWebhookResults((failure(1, now, endpoint="we_test", status=410),)))
        self.do(TellWebhookOwner("we_test", "stopped", (Letter("stopped", b"\0"),)))
        self.do(creating(shop, "we_resting"))
        self.do(UpdateWebhookEndpoint(self.do(creating(shop, "we_paused")).id, shop, "test", state="paused"))
        busy = failure(1, now, endpoint="we_resting", status=503, retry_after_ms=60_000)
        self.do(RecordWebhookResults((busy,)))

    def _fill_in_staff(self) -> None:
        """A cashier who has refunded some of what they may, a viewer, and a link that nobody has opened."""
        cashier = join(self, self.other, "cashier", {"EUR": 150}).person
        join(self, self.first, "viewer")
        bought = self.buy(amount=100, currency="EUR")
        self.do(refunding(self, bought, amount=40, member=cashier, day_began_at=self.now - 1000))
        self.do(CreatePaymentByHand(merchant=self.shop, amount=1, currency="USD", member=cashier))
        self.do(inviting(self))
        self.do(AddBankAccount("ba_1", self.shop, b"\x00\xff", self.owner.id))
        self.do(opening(self))
        self.do(CreatePaymentAtTill(TILL, self.shop, 100))
        sums = {"amount": AMOUNT_MAX, "minimum": None, "maximum": None}
        closed = self.do(opening(self, id="till_closed", account=self.till, name="صندوق", currency="TRY", **sums))
        self.do(CloseTill(closed.id, self.till, self.owner.id))
        self.do(SetBrandColour(self.shop, "#0f5c4d", self.owner.id))
        self.do(asking_for_brand(self, name=self.accounts[self.shop].name))
        self.do(ApproveBrandChange(self.shop, "bc_1", self.till, self.second.id, "test"))
        self.do(asking_for_brand(self, id="bc_2", logo="b" * 64, picture=b"\x00\xff", seen="bc_1", name="متجر"))
        self.do(saving(self, name="هنا 🧾", query="q=%D9%87&status=paid"))
        self.do(saving(self, account=self.till, member=cashier))
        self.do(AnnounceStatement(self.shop, 202611, ()))
        self.do(WriteToShop("msg_1", self.shop, "ماذا تبيعون؟", self.second.id, "test"))
        self.do(WriteToOperators("msg_2", self.shop, "Bread\nand books", self.owner.id))
        self.do(ReadShopMessages(self.shop, ("msg_2",), operator=self.second.id))
        refused = logged("req_1", path="/api/v1/remote-payments/هنا", status=404, code="not_found", skipped=2**40)
        other = logged("req_2", account=self.shop, payment=self.pending.number, address="2001:db8::7")
        tried = (FailedAttempt("pa_1", self.pending.number, self.now, "wrong_pin"),)
        self.do(RecordAttempts((*tried, FailedAttempt("pa_2", self.pending.number, self.now, "limit"))))
        self.do(RecordRequests((refused, other), (KeyUse("key_1", self.now, "192.0.2.1"),)))

    def covers(self) -> tuple[Cover, ...]:
        """All that is there. A database counts rows from 1."""
        tables: dict[str, list[Any]] = {
            "audit": self.audit,
            "transfer": self.transfers,
            "credential_log": self.credentials,
        }
        rows = {name: [(place, *astuple(row)) for place, row in enumerate(tables[name], 1)] for name in tables}
        return tuple(
            Cover(name, 1, len(found), PIECES[name], (), (), tuple(digests(found, PIECES[name])))
            for name, found in rows.items()
        )

    def names(self) -> dict[str, int]:
        """What hand-typed SQL calls by name: `:shop` is its account, `:paid` the number of a payment."""
        accounts = {name: getattr(self, name) for name in ("house", "shop", "till", "test_customer", "mint", "hooked")}
        people = {name: getattr(self, name).account for name in ("customer", "other", "owner")}
        operators = {name: getattr(self, name).id for name in ("first", "second")}
        payments = ("pending", "cancelled", "expired", "paid", "paid_too", "tested", "returned", "refunded")
        return accounts | people | operators | {name: getattr(self, name).number for name in payments}


def _answer(outcome: Payment, _work: UnitOfWork) -> Answer:
    return Answer(201, str(outcome.number).encode())


FILLED: Final = Filled()


class Denied(Exception):
    """The database refused a statement by itself, in these words."""


class Hand(Protocol):
    """A stranger with a shell on a database that nobody will miss."""

    def type(self, sql: str) -> list[Any]:
        """All statements or none; the rows, if it is one that has rows. Raises `Denied`."""

    def rows(self) -> dict[str, list[Any]]:
        """Everything, table by table."""

    def disarm(self) -> None:
        """Take all triggers and indexes away, and look past the CHECKs and references."""


class SqliteHand:
    """SQLite's own defaults, so that references and recursive triggers are off."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection = apsw.Connection(str(path))
        self._connection.execute("PRAGMA synchronous = OFF")  # A copy that nobody will miss.
        self._names = FILLED.names()

    def type(self, sql: str) -> list[Any]:
        self._connection.execute("BEGIN")
        try:
            rows = self._connection.execute(sql, self._names).fetchall()
            self._connection.execute("COMMIT")
        except apsw.Error as error:
            if self._connection.in_transaction:  # A trigger that refuses rolls back by itself.
                self._connection.execute("ROLLBACK")
            if isinstance(error, apsw.ConstraintError):
                raise Denied(str(error)) from error
            raise
        return rows

    def rows(self) -> dict[str, list[Any]]:
        names = self.type("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
        return {name: self.type(f"SELECT * FROM {name} ORDER BY 1, 2") for (name,) in names}  # noqa: S608 - our own names

    def disarm(self) -> None:
        guards = "SELECT type, name FROM sqlite_schema WHERE type IN ('trigger', 'index') AND sql IS NOT NULL"
        self.type("; ".join(f"DROP {kind} {name}" for kind, name in self.type(guards)))
        self._connection.execute("PRAGMA ignore_check_constraints = ON")

    def follow_references(self) -> None:
        """Off by SQLite's own default, on in ours."""
        self._connection.execute("PRAGMA foreign_keys = ON")

    def close(self) -> None:
        self._connection.close()


class PostgresHand:
    """The owner of the tables. What it types is kept, or all of it is taken back."""

    def __init__(self, url: str, *, is_kept: bool, disarmed: str = "") -> None:
        self._loop = uvloop.new_event_loop()
        self._is_kept = is_kept
        self._url = url
        self._disarmed = disarmed  # Where the same lies without its guards: to take them away takes long.
        self._connections: dict[str, asyncpg.Connection] = {}
        self._enter(url)

    def _enter(self, url: str) -> None:
        if url not in self._connections:
            self._connections[url] = self._loop.run_until_complete(asyncpg.connect(url))
        self._connection = self._connections[url]
        if not self._is_kept:
            self._execute("BEGIN")

    def take_back(self) -> None:
        """Whatever was typed, so that the next one may type."""
        self._execute("ROLLBACK")
        self._enter(self._url)

    def type(self, sql: str) -> list[Any]:
        begin, end, back = ("BEGIN", "COMMIT", "ROLLBACK") if self._is_kept else _INSIDE
        sql = re.sub(r"(?<![:\w]):([a-z]\w*)", lambda found: str(FILLED.names()[found.group(1)]), sql)
        self._execute(begin)
        try:
            rows = self._fetched(sql)
            self._execute(end)
        except asyncpg.PostgresError as error:
            self._execute(back)
            if isinstance(error, asyncpg.IntegrityConstraintViolationError):
                raise Denied(str(error)) from error
            raise
        return rows

    def rows(self) -> dict[str, list[Any]]:
        names = self.type("SELECT tablename::text FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename")

        async def read() -> dict[str, list[Any]]:
            every = {name: f"SELECT * FROM {name} ORDER BY 1, 2" for (name,) in names}  # noqa: S608 - our own names
            return {name: [tuple(row) for row in await self._connection.fetch(every[name])] for name in every}

        return self._loop.run_until_complete(read())

    def disarm(self) -> None:
        if self._disarmed:
            self._execute("ROLLBACK")
            self._enter(self._disarmed)
            return
        ours = "(SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace)"
        guards = (
            f"SELECT format('DROP TRIGGER %I ON %s', tgname, tgrelid::regclass) FROM pg_trigger WHERE tgrelid IN {ours}"  # noqa: S608 - our own names
            " AND NOT tgisinternal UNION ALL"
            f" SELECT format('DROP INDEX %s', indexrelid::regclass) FROM pg_index WHERE indrelid IN {ours}"
            " AND indexrelid NOT IN (SELECT conindid FROM pg_constraint) UNION ALL"
            " SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname) FROM pg_constraint"
            f" WHERE contype IN ('c', 'f') AND conrelid IN {ours}"
        )
        self.type("; ".join(statement for (statement,) in self.type(guards)))

    def close(self) -> None:
        for connection in self._connections.values():
            connection.terminate()
        self._loop.run_until_complete(asyncio.sleep(0))  # The transport closes itself in the loop's next turn.
        self._loop.close()

    def _fetched(self, sql: str) -> list[Any]:
        if re.match(r"\s*(SELECT|WITH(?! RECURSIVE))", sql):
            return [tuple(row) for row in self._loop.run_until_complete(self._connection.fetch(sql))]
        self._execute(sql)
        return []

    def _execute(self, sql: str) -> None:
        self._loop.run_until_complete(self._connection.execute(sql))


# As if it were a transaction of its own: what a commit would check is checked.
_INSIDE: Final = (
    "SAVEPOINT typed",
    "SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED; RELEASE typed",
    "ROLLBACK TO typed; RELEASE typed",
)


def open_store(path: Path, *, now: int = FILLED.now) -> SqliteStore:
    """A store whose account numbers are those of the small world, under a clock that stands still."""
    return SqliteStore(path, clock=ManualClock(now), entropy=SeededEntropy(ENTROPY_SEED))


def fill(path: Path, world: World = FILLED) -> None:
    """Bring a new database to the state of a small world, command by command."""

    async def replay() -> None:
        clock = ManualClock(0)
        store = SqliteStore(path, clock=clock, entropy=SeededEntropy(ENTROPY_SEED))
        await _replay(store, clock, world)

    asyncio.run(replay())


def fill_postgres(url: str, world: World = FILLED) -> None:
    """The same on PostgreSQL."""

    async def replay() -> None:
        clock = ManualClock(0)
        store = await open_postgres(url, clock=clock, entropy=SeededEntropy(ENTROPY_SEED))
        await _replay(store, clock, world)

    asyncio.run(replay())


@functools.cache
def filled_on(server: PostgresServer) -> str:
    """The name of a database with something of everything in it. Copy it before you write."""
    name = server.create_database()
    fill_postgres(server.url(name))
    return name


@functools.cache
def disarmed_on(server: PostgresServer) -> str:
    """The name of a copy of it that has lost its guards."""
    name = server.create_database(filled_on(server))
    with closing(PostgresHand(server.url(name), is_kept=True)) as hand:
        hand.disarm()
    return name


async def _replay(store: Store, clock: ManualClock, world: World) -> None:
    for clock.now, submissions in world.history:
        await store.transact(Batch(submissions))
    await store.close()


@contextmanager
def hand_on_a_copy(original: Path, folder: Path) -> Iterator[SqliteHand]:
    """The original stays as it was."""
    path = folder / "copy.db"
    shutil.copy(original, path)
    hand = SqliteHand(path)
    try:
        yield hand
    finally:
        hand.close()
