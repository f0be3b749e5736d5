"""A database with something of everything in it, made by commands alone, and hands that type SQL into it."""

import asyncio
import functools
import re
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any, Final, Protocol

import apsw
import asyncpg
import uvloop
from msgspec import json
from msgspec.structs import astuple

from qirsh.domain.batch import Answer, Batch, Submission
from qirsh.domain.commands.access import ChangeAccess, KeepSecret, RemoveFactors, ResetPin
from qirsh.domain.commands.account import CloseAccount, IssueKey
from qirsh.domain.commands.constant import FixConstant
from qirsh.domain.commands.identity import ErasePerson, RejectIdentity, SubmitIdentity
from qirsh.domain.commands.lease import HoldLease
from qirsh.domain.commands.ledger_check import RecordLedgerChecks
from qirsh.domain.commands.login_credentials import AddPasskey, StartChallenge
from qirsh.domain.commands.operator import AppointOperator, ChangeRoles, EndOperator
from qirsh.domain.commands.operator_session import OpenOperatorSession
from qirsh.domain.commands.payment import CancelPayment, CreatePayment, ExpirePayment
from qirsh.domain.commands.payment_index import IndexPayments
from qirsh.domain.commands.payout import RequestPayout
from qirsh.domain.commands.proposal import ConfirmProposal, EditProposal, EndProposal, LapseProposal, decoded
from qirsh.domain.commands.recovery import ReadRecovery, RecoverOperator
from qirsh.domain.commands.seal import SealEntries
from qirsh.domain.commands.session import OpenSession
from qirsh.domain.commands.stop import LiftStop, StopMoney
from qirsh.domain.commands.test_mode import ExpireAsTest
from qirsh.domain.commands.total import FollowTotals, RecordTotals
from qirsh.domain.idempotency import IdempotencyKey
from qirsh.domain.ledger_check import LedgerSum, Looked
from qirsh.domain.limits import AMOUNT_MAX
from qirsh.domain.mail import Letter
from qirsh.domain.payment import Payment
from qirsh.domain.payment_index import PaymentIndex, PaymentPlace
from qirsh.domain.proposal import PROPOSAL_MS, Proposal, shown_digest
from qirsh.domain.seal import NOTHING, Cover
from qirsh.domain.unit_of_work import UnitOfWork
from qirsh.engine.clock import ManualClock
from qirsh.engine.entropy import SeededEntropy
from qirsh.store.interface import Store
from qirsh.store.postgres.store import open_postgres
from qirsh.store.sqlite.store import SqliteStore
from tests.chain import PIECES, digests
from tests.domain.market import PIN, Market
from tests.domain.note_cases import SEALED, noting
from tests.domain.restore_cases import restoring
from tests.domain.totals import totals_of
from tests.domain.world import ENTROPY_SEED, World
from tests.postgres import PostgresServer
from tests.store.filled_bank import fill_in_bank
from tests.store.filled_shop import fill_in_staff, fill_in_webhooks

HOUSES_AND_SHOPS: Final = ("house", "corrections", "shop", "till", "test_customer", "mint", "hooked")


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
        self.asked: Proposal = self.do(self.ask(reference="asked", account=self.other.account))
        self.do(IssueKey("key_1", self.shop, bytes(32), "wxyz", "till", "payments:read", None, "test"))
        self.do(
            OpenOperatorSession(
                hash=bytes(range(32)),
                person=self.second.id,
                operator=self.second.id,
                actor="test",
                address="192.0.2.7",
                email="operator.two@example.com",
                totp_step=2**40,
            )
        )
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
        self._fill_in_proposals()
        self._fill_in_orders()
        self._fill_in_recoveries()
        self.hooked = fill_in_webhooks(self)
        fill_in_staff(self, self.pending)
        fill_in_bank(self)
        self._fill_in_notes()
        self._fill_in_totals()
        self.do(HoldLease("sweeper", "a process", 1000))
        self.do(FixConstant("secret_check", b"mark"))
        self.do(FixConstant("colour", b"blue"))
        self.do(FixConstant("two", b"2"))  # What a hand raises the epoch to.
        looked = (Looked("a rule", is_whole=True), Looked("قاعدة", finding="واحد خطأ"))
        self.do(RecordLedgerChecks(looked, (LedgerSum("test", "house", "TRY", -(2**62), 0, 2**40, 0),)))
        self.do(StopMoney(1, "a sum was wrong", "test"))
        # All that is under way stays, to be looked at.
        kept = ("sessions", "operator_sessions", "challenges", "resets", "mails", "leases", "queues", "deliveries")
        self.do(restoring(self, **dict.fromkeys(kept, ())))
        self.agree(LiftStop(1))
        self.do(SealEntries(1, NOTHING, self.covers()))

    def _fill_in_totals(self) -> None:
        """Of all that the shop took in euros, of some of its dollars, and of test money."""
        for account, currency, count in ((self.shop, "USD", 1), (self.shop, "EUR", None), (self.till, "TRY", None)):
            self.do(RecordTotals(None, tuple(totals_of(self, account, currency, count))))
        self.do(FollowTotals(0, 1))

    def _fill_in_people(self) -> None:
        """Something of each kind, waiting and decided."""
        person = self.newcomer = self.join("Newcomer")
        facts, images = bytes(range(256)), (("front", b"\x00\xff"), ("back", b"b"))
        self.do(SubmitIdentity(person.id, person.account, facts, images, b"mac"))  # type: ignore[arg-type]
        self.do(RejectIdentity(person.account, "not readable", self.first.id, "test", (Letter("letter", b"\0"),)))
        self.do(ChangeAccess("customer@example.com", "sign-out", "lost phone", self.first.id, "test"))
        for name, roles in (("Third", "auditor"), ('"Üçüncü"', "treasury support")):
            self.do(self.propose(AppointOperator("third@example.com", name, roles)))
            self.appointed: Proposal = self.do(self.confirm(link=b"t" * 32))
        self.do(StartChallenge("sign-up", "ç@example.com", None, b"s" * 32, b"mac", ()))
        self.do(AddPasskey(b"\x00key", self.customer.id, b"public", 7, "هاتف", ()))
        self.do(RequestPayout("po_1", self.customer.account, self.customer.id, "EUR", 700, b"sealed", (PIN,)))
        self.do(RequestPayout("po_2", self.customer.account, self.customer.id, "EUR", 900, b"sealed", (PIN,)))
        self.do(self.ask(reference="payout", kind="withdrawal", currency="EUR", amount=900, payout="po_2"))
        self.do(self.confirm())
        self.do(RequestPayout("po_3", self.owner.account, self.owner.id, "EUR", 300, b"sealed", (PIN,)))
        told = {"reference": "told", "kind": "withdrawal", "account": self.owner.account, "payout": "po_3"}
        self.ordered: Proposal = self.do(self.ask(**told, currency="EUR", amount=300))

    def _fill_in_notes(self) -> None:
        """About a shop, a person, a payment, and somebody who is gone since."""
        gone = self.join("Gone")
        self.do(noting(self, operator=self.second.id))
        self.do(noting(self, id="note_2", about="person", number=self.customer.id, text_sealed=SEALED + b"2"))
        self.do(noting(self, id="note_3", about="payment", number=self.paid.number, operator=self.second.id))
        self.do(noting(self, id="note_gone", about="person", number=gone.id))
        self.do(ErasePerson(gone.id, gone.account, "gone@example.com", (), (), "test", notes=("note_gone",)))

    def _fill_in_proposals(self) -> None:
        """In each state, and one that was changed since it was asked for."""
        first, second = self.first.id, self.second.id
        self.do(self.propose(EndOperator(second), operator=second))
        self.lost = self.do(self.propose(RemoveFactors("customer@example.com", self.customer.id)))
        self.do(self._ending(self.lost, "غير مقنع", second))
        self.do(self._ending(self.do(self.propose(ChangeRoles(second, "auditor"))), "", first))
        self.now -= PROPOSAL_MS
        closing_account = CloseAccount(self.newcomer.account)
        lapsed = self.do(self.propose(closing_account))
        self.now += PROPOSAL_MS
        self.do(LapseProposal(lapsed.id, closing_account))
        before, after = (self.book(reference=name, account=self.other.account) for name in ("before", "edited"))
        edited = self.do(self.propose(before))
        change = EditProposal(edited.id, shown_digest(edited), first, before, after, "it says so", second, "test")
        self.edited: Proposal = self.do(change)
        self.stopped: Proposal = self.agree(ResetPin(self.customer.id))
        self.do(KeepSecret(self.customer.id, "pin", "test"))
        self.now += 1
        self.reset: Proposal = self.agree(ResetPin(self.customer.id))
        self.now -= 1

    def _fill_in_recoveries(self) -> None:
        """One that was read, and one that was not."""
        known = (self.second.id, self.second.account, "operator.two@example.com", "-", b"seed", ())
        for name in ("rec_0", "rec_1"):
            self.do(RecoverOperator(name, *known, "os user root"))
        self.do(ReadRecovery("rec_1", self.first.id, "test"))

    def _fill_in_orders(self) -> None:
        """A deposit that was wrong, and a balance that was put right."""
        self.agree(self.book(reference="wrong", account=self.other.account))
        self.agree(self.reversal("wrong", reference="wrong back"))
        self.agree(self.correction(account=self.owner.account))

    def _ending(self, proposal: Proposal, reason: str, operator: int) -> EndProposal:
        return EndProposal(**_decided_on(proposal), reason=reason, operator=operator)

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
        accounts = {name: getattr(self, name) for name in HOUSES_AND_SHOPS}
        people = {name: getattr(self, name).account for name in ("customer", "other", "owner")}
        operators = {name: getattr(self, name).id for name in ("first", "second")}
        payments = ("pending", "cancelled", "expired", "paid", "paid_too", "tested", "returned", "refunded")
        return accounts | people | operators | {name: getattr(self, name).number for name in payments}


def _decided_on(proposal: Proposal) -> dict[str, Any]:
    named = {"id": proposal.id, "asked_by": proposal.asked_by, "command": decoded(proposal)}
    return named | {"seen": shown_digest(proposal), "actor": "test"}


def _answer(outcome: Payment, _work: UnitOfWork) -> Answer:
    return Answer(201, str(outcome.number).encode())


FILLED: Final = Filled()


def confirming(asked: Proposal) -> ConfirmProposal:
    """The second operator's word on what a database has."""
    return ConfirmProposal(**_decided_on(asked), operator=FILLED.second.id)


class Denied(Exception):
    """The database refused a statement by itself, in these words."""


class Hand(Protocol):
    """A stranger with a shell on a database that nobody will miss."""

    def type(self, sql: str) -> list[Any]:
        """All statements or none; the rows, if it is one that has rows. Raises `Denied`."""

    def rows(self) -> dict[str, list[Any]]:
        """Everything, table by table."""

    def tentative(self) -> AbstractContextManager[None]:
        """What is typed meanwhile is taken back in the end: many statements, each on the same state, and one copy."""

    def disarm(self) -> None:
        """Take all triggers and indexes away, and look past the CHECKs and references."""


class SqliteHand:
    """SQLite's own defaults, so that references and recursive triggers are off."""

    def __init__(self, path: Path, *, disarmed: Path | None = None) -> None:
        self.path = path
        self._disarmed = disarmed  # Where the same lies without its guards: to take them away takes long.
        self._names = FILLED.names()
        self._is_tentative = False
        self._open()

    def _open(self) -> None:
        self._connection = apsw.Connection(str(self.path))
        self._connection.execute("PRAGMA synchronous = OFF")  # A copy that nobody will miss.

    def type(self, sql: str) -> list[Any]:
        assert self._connection.in_transaction == self._is_tentative, "a trigger refused, and took all of it back"
        begin, end, back = _INSIDE_SQLITE if self._is_tentative else ("BEGIN", "COMMIT", "ROLLBACK")
        self._connection.execute(begin)
        try:
            rows = self._connection.execute(sql, self._names).fetchall()
            # What a commit would refuse. The end of a savepoint does not look.
            if self._connection.in_transaction and self._connection.status(apsw.SQLITE_DBSTATUS_DEFERRED_FKS)[0]:
                raise apsw.ConstraintError("FOREIGN KEY constraint failed")
            self._connection.execute(end)
        except apsw.Error as error:
            if self._connection.in_transaction:  # A trigger that refuses rolls all back by itself.
                self._connection.execute(back)
            if isinstance(error, apsw.ConstraintError):
                raise Denied(str(error)) from error
            raise
        return rows

    @contextmanager
    def tentative(self) -> Iterator[None]:
        self._connection.execute("BEGIN")
        self._is_tentative = True
        try:
            yield
        finally:
            self._is_tentative = False
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def rows(self) -> dict[str, list[Any]]:
        ask = self._connection.execute
        names = ask("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").fetchall()
        return {str(name): ask(f"SELECT * FROM {name} ORDER BY 1, 2").fetchall() for (name,) in names}  # noqa: S608 - our own names

    def disarm(self) -> None:
        if self._disarmed and not self._connection.total_changes():
            self._connection.close()
            shutil.copy(self._disarmed, self.path)
            self._open()
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
        self._names = FILLED.names()
        self._has_typed = False
        self._connections: dict[str, asyncpg.Connection] = {}
        self._enter(url)

    def _enter(self, url: str) -> None:
        if url not in self._connections:
            self._connections[url] = self._loop.run_until_complete(asyncpg.connect(url))
        self._connection = self._connections[url]
        if not self._is_kept:
            self._execute("BEGIN")

    def take_back(self) -> None:
        """Whatever was typed, so that the next one may type. No rollback gives ids back."""
        self._execute("ROLLBACK")
        self._has_typed = False
        self._enter(self._url)
        for table in ("audit", "transfer", "credential_log"):
            self._execute(f"SELECT setval('{table}_id_seq', (SELECT max(id) FROM {table}))")  # noqa: S608 - our own names

    @contextmanager
    def tentative(self) -> Iterator[None]:
        assert not self._is_kept
        self._execute("SAVEPOINT tentative")
        try:
            yield
        finally:
            self._execute("ROLLBACK TO tentative; RELEASE tentative")
            self._has_typed = False

    def type(self, sql: str) -> list[Any]:
        begin, end, back = ("BEGIN", "COMMIT", "ROLLBACK") if self._is_kept else _INSIDE
        sql = re.sub(r"(?<![:\w]):([a-z]\w*)", lambda found: str(self._names[found.group(1)]), sql)
        if re.match(r"\s*(SELECT|WITH(?! RECURSIVE))", sql):
            return [tuple(row) for row in self._loop.run_until_complete(self._connection.fetch(sql))]
        self._has_typed = True
        try:
            self._execute(f"{begin}; {sql.rstrip().removesuffix(';')}; {end}")
        except asyncpg.PostgresError as error:
            self._execute(back)
            if isinstance(error, asyncpg.IntegrityConstraintViolationError):
                raise Denied(str(error)) from error
            raise
        return []

    def rows(self) -> dict[str, list[Any]]:
        names = self.type("SELECT tablename::text FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename")

        async def read() -> dict[str, list[Any]]:
            every = {name: f"SELECT * FROM {name} ORDER BY 1, 2" for (name,) in names}  # noqa: S608 - our own names
            return {name: [tuple(row) for row in await self._connection.fetch(every[name])] for name in every}

        return self._loop.run_until_complete(read())

    def disarm(self) -> None:
        if self._disarmed:
            assert not self._has_typed, "it would not be there"
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

    def _execute(self, sql: str) -> None:
        self._loop.run_until_complete(self._connection.execute(sql))


# As if it were a transaction of its own: what a commit would check is checked.
_INSIDE: Final = (
    "SAVEPOINT typed",
    "SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED; RELEASE typed",
    "ROLLBACK TO typed; RELEASE typed",
)
_INSIDE_SQLITE: Final = ("SAVEPOINT typed", "RELEASE typed", "ROLLBACK TO typed; RELEASE typed")


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


@functools.cache
def disarmed(original: Path) -> Path:
    """A copy of a closed database that has lost its guards."""
    path = original.with_suffix(".disarmed")
    shutil.copy(original, path)
    with closing(SqliteHand(path)) as hand:
        hand.disarm()
    return path


async def _replay(store: Store, clock: ManualClock, world: World) -> None:
    for clock.now, submissions in world.history:
        await store.transact(Batch(submissions))
    await store.close()


@contextmanager
def hand_on_a_copy(original: Path, folder: Path) -> Iterator[SqliteHand]:
    """The original stays as it was."""
    path = folder / "copy.db"
    shutil.copy(original, path)
    hand = SqliteHand(path, disarmed=disarmed(original))
    try:
        yield hand
    finally:
        hand.close()
