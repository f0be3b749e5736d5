"""What every storage engine must do. A new engine adds itself to `ENGINES` and passes, or is none."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Protocol

import apsw
import msgspec
import pytest

from qirsh.domain.account import Account
from qirsh.domain.batch import Batch, Submission
from qirsh.domain.commands.operator import ChangeRoles, EndOperator
from qirsh.domain.commands.payment import CancelPayment, CreatePayment
from qirsh.domain.commands.proposal import encoded
from qirsh.domain.ledger import Transfer
from qirsh.domain.limits import (
    AMOUNT_MAX,
    BALANCE_MAX,
    EPOCH_NUMBERS,
    METADATA_BYTES_MAX,
    NOTE_CHARACTERS_MAX,
    PAYMENT_NUMBER_BLOCK,
)
from qirsh.domain.payment import Payment
from qirsh.domain.person import Pin
from qirsh.domain.proposal import Proposal
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.table import Columns, Table
from qirsh.domain.tables import LOCK_ORDER, WRITE_ORDER, Tables
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork
from qirsh.engine.clock import ManualClock
from qirsh.engine.entropy import SeededEntropy
from qirsh.store.integrity.invariant import Violation
from qirsh.store.interface import Query, Store, StoreUnavailable
from qirsh.store.postgres.store import open_postgres
from qirsh.store.reads.queries import BALANCES_OF, DUE_PAYMENTS, REVOCATIONS_AND_STOP
from tests.domain.totals import totals_of
from tests.domain.world import ENTROPY_SEED, START, World
from tests.postgres import PostgresServer, installations, shared_server
from tests.store.filled import FILLED, confirming, fill, fill_postgres, open_store

BATCH: Final = 512


class Database(Protocol):
    """One database of one engine. It can be closed and opened again, and copied while it is closed."""

    def open(self) -> AbstractAsyncContextManager[Store]: ...
    def copy(self, folder: Path) -> "Database": ...
    def fill(self, world: World) -> None:
        """To the state of a small world, at the times of its history, while it is closed."""

    def raise_epoch(self) -> None:
        """As a restore does, while it is closed."""

    def let_houses_open(self) -> None:
        """Without an agreement of two operators, while it is closed."""


class SqliteDatabase:
    def __init__(self, folder: Path) -> None:
        self._path = folder / "qirsh.db"

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Store]:
        store = open_store(self._path)
        try:
            yield store
        finally:
            await store.close()

    def copy(self, folder: Path) -> Database:
        shutil.copy(self._path, folder)
        return SqliteDatabase(folder)

    def fill(self, world: World) -> None:
        fill(self._path, world)

    def raise_epoch(self) -> None:
        connection = apsw.Connection(str(self._path))
        values = dict(connection.execute("SELECT name, value FROM constant"))
        connection.execute("UPDATE constant SET value = ? WHERE name = 'epoch'", (b"%d" % (int(values["epoch"]) + 1),))
        connection.close()

    def let_houses_open(self) -> None:
        connection = apsw.Connection(str(self._path))
        connection.execute("DROP TRIGGER IF EXISTS account_house_takes_two")
        connection.close()


class PostgresDatabase:
    """A database on a server that all tests of the engine share."""

    def __init__(self, server: PostgresServer, template: str = "template1") -> None:
        self._server = server
        self._name = server.create_database(template)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Store]:
        clock, entropy = ManualClock(START), SeededEntropy(ENTROPY_SEED)
        store = await open_postgres(self._server.url(self._name), clock=clock, entropy=entropy)
        try:
            yield store
        finally:
            await store.close()

    def copy(self, _folder: Path) -> Database:
        return PostgresDatabase(self._server, self._name)

    def fill(self, world: World) -> None:
        fill_postgres(self._server.url(self._name), world)

    def raise_epoch(self) -> None:
        raised = "convert_to((convert_from(value, 'UTF8')::bigint + 1)::text, 'UTF8')"
        self._server.sql(f"UPDATE constant SET value = {raised} WHERE name = 'epoch'", self._name)  # noqa: S608 - ours

    def let_houses_open(self) -> None:
        self._server.sql("DROP TRIGGER IF EXISTS account_house_takes_two ON account", self._name)


Make = Callable[[Path], Database]


@contextmanager
def _sqlite() -> Iterator[Make]:
    yield SqliteDatabase


def _postgres(installation: str) -> Callable[[], AbstractContextManager[Make]]:
    @contextmanager
    def installed() -> Iterator[Make]:
        running = shared_server(installation)
        yield lambda _folder: PostgresDatabase(running)

    return installed


ENGINES: Final = {"sqlite": _sqlite} | {
    f"postgresql {installation}": _postgres(installation) for installation in installations()
}

Scene = Callable[[Store], Awaitable[Any]]
Play = Callable[[Scene], Any]


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Iterator[Make]:
    with ENGINES[request.param]() as make:
        yield make


@pytest.fixture(scope="module")
def template(engine: Make, tmp_path_factory: pytest.TempPathFactory) -> Database:
    """With something of everything in it, each command in a transaction of its own."""
    database = engine(tmp_path_factory.mktemp("template"))
    database.fill(FILLED)
    return database


@pytest.fixture
def filled(template: Database, tmp_path: Path) -> Database:
    return template.copy(tmp_path)


@pytest.fixture(scope="module")
def empty(engine: Make, tmp_path_factory: pytest.TempPathFactory) -> Database:
    """With nothing in it but what a first start makes."""

    async def nothing(_store: Store) -> None:
        pass

    database = engine(tmp_path_factory.mktemp("empty"))
    player(database)(nothing)
    return database


@pytest.fixture
def empty_store(empty: Database, tmp_path: Path) -> Play:
    return player(empty.copy(tmp_path))


@pytest.fixture
def store(filled: Database) -> Play:
    return player(filled)


def player(database: Database) -> Play:
    """Opens the database, plays a scene and closes it; called again, it opens the same database again."""

    async def play(scene: Scene) -> Any:  # noqa: ANN401 - whatever the scene tells
        async with database.open() as opened:
            return await scene(opened)

    return lambda scene: asyncio.run(play(scene))


class Act(Batch):
    """A batch of one function."""

    def __init__(
        self, decide: Callable[[UnitOfWork], object], *, size: int = 1, needs: dict[str, set[Any]] | None = None
    ) -> None:
        super().__init__([])
        self._decide = decide
        self._size = size
        self._needs = needs or {}

    def __len__(self) -> int:
        return self._size

    def keys_to_read(self) -> RowKeys:
        return RowKeys()

    def keys_to_lock(self, _work: UnitOfWork) -> RowKeys:
        return needing(**self._needs)

    def decide(self, work: UnitOfWork) -> None:
        self._decide(work)
        work.attest()


def needing(**wanted: set[Any]) -> RowKeys:
    keys = RowKeys()
    vars(keys).update(wanted)
    return keys


def house(number: int, name: str) -> Account:
    """The one record that stands alone: a live one takes two operators, so it is of test money, and its own."""
    return Account(number, "house", "test", None, number, name, "mirrored", "", 1, 1)


def but_for_houses(found: list[Violation]) -> list[Violation]:
    """What verify says besides that such a record mirrors no shop."""
    return [each for each in found if each.name != "a test account mirrors a live commercial account of the same owner"]


def opening(number: int, name: str) -> Act:
    return Act(lambda state: state.accounts.add(number, house(number, name)))


async def submit(store: Store, *commands: Any) -> list[Any]:  # noqa: ANN401 - commands, and their outcomes
    batch = Batch([Submission(command) for command in commands])
    await store.transact(batch)
    return batch.outcomes


def asking(**changes: Any) -> CreatePayment:  # noqa: ANN401 - the fields of the command
    fields: dict[str, Any] = {"merchant": FILLED.shop, "amount": 1, "currency": "USD"}
    return CreatePayment(**fields | changes)


async def all_of(store: Store, table: Columns[Any], order: str) -> list[Any]:
    columns = ", ".join(table.columns)
    rows = await store.select(Query(f"SELECT {columns} FROM {table.name} ORDER BY {order}"))  # noqa: S608 - our own names
    return [table.record(*row) for row in rows]


def without_times(record: Any) -> Any:  # noqa: ANN401 - a record of any kind
    """An engine may look at its own clock, so times are compared only as far as they agree with each other."""
    fields = record.__struct_fields__
    times = {name for name in fields if name in {"at", "until"} or name.endswith("_at")}
    given = {name for name in times if getattr(record, name) is not None}
    return msgspec.structs.replace(record, **dict.fromkeys(given, 0))


# Records come back as they were written.


def test_every_record_that_is_loaded_by_key_comes_back_as_it_was_written(
    subtests: pytest.Subtests, store: Play
) -> None:
    async def scene(opened: Store) -> None:
        for table in LOCK_ORDER:
            with subtests.test(table.name):
                expected = getattr(FILLED, table.attribute)
                assert expected, "nothing of this kind is written, so nothing is shown"
                for key, row in expected.items():
                    if table is Tables.counters and key == "payment":
                        continue
                    found = await opened.find(table, key)
                    assert found is not None, key
                    assert without_times(found) == without_times(row)

    store(scene)


@pytest.mark.parametrize(
    ("table", "order"),
    [
        (Tables.transfers, "id"),
        (Tables.events, "account, sequence"),
        (Tables.audit, "id"),
        (Tables.credentials, "id"),
        (Tables.payment_words, "word"),
        (Tables.webhook_attempts, "endpoint, sequence, number"),
    ],
    ids=["transfer", "event", "audit", "credentials", "word", "webhook attempt"],
)
def test_every_record_that_is_appended_comes_back_in_its_order(store: Play, table: Columns[Any], order: str) -> None:
    expected = getattr(FILLED, table.attribute)
    assert expected

    async def scene(opened: Store) -> list[Any]:
        return await all_of(opened, table, order)

    if table is Tables.events:
        expected = sorted(expected, key=lambda event: (event.account, event.sequence))
    if table is Tables.payment_words:
        expected = sorted(expected, key=lambda row: row.word)
    assert [without_times(record) for record in store(scene)] == [without_times(record) for record in expected]


def test_a_session_is_found_by_its_hash(store: Play) -> None:
    [session] = FILLED.sessions.values()

    async def scene(opened: Store) -> None:
        found = await opened.find(Tables.sessions, session.hash)
        assert found is not None
        assert without_times(found) == without_times(session)

    store(scene)


def test_a_refund_is_found_by_its_id(store: Play) -> None:
    assert len(FILLED.refunds) == 4

    async def scene(opened: Store) -> None:
        for refund in FILLED.refunds.values():
            found = await opened.find(Tables.refunds, refund.id)
            assert found is not None
            assert without_times(found) == without_times(refund)

    store(scene)


CHANGES: Final[dict[str, tuple[Table[Any, Any], dict[str, Any]]]] = {
    "account": (
        Tables.accounts,
        {
            "name": "متجر",
            "state": "suspended",
            "return_origins": "https://a.example",
            "updated_at": 9,
            "return_url": "https://a.example/هنا",
            "cancel_url": "https://a.example/",
            "expires_in_s": 604_800,
        },
    ),
    "indexed_block": (Tables.indexed_blocks, {"until": 2**62}),
    "lease": (Tables.leases, {"holder": "another", "until": 2**41}),
    "login": (
        Tables.logins,
        {
            "password_hash": "$other$",
            "totp_sealed": bytes(range(256)),
            "totp_step": 2**40,
            "recovery": b"\x00\xff",
            "wrong_codes": 7,
        },
    ),
    "person": (
        Tables.people,
        {
            "name": "",
            "phone": "+90",
            "language": "tr",
            "has_notices": False,
            "session_generation": 9,
            "erased_at": 2**41,
            "blocked_at": 2**40,
        },
    ),
    "operator_session": (
        Tables.operator_sessions,
        {
            "hash": bytes(range(32)),
            "session_generation": 9,
            "created_at": 2**41,
            "expires_at": 2**42,
            "address": "2001:db8::9",
            "agent": "متصفح",
        },
    ),
    "recovery": (Tables.recoveries, {"read_by": FILLED.first.id, "read_at": 2**41}),
    "passkey": (Tables.passkeys, {"sign_count": 2**32}),
    "challenge": (
        Tables.challenges,
        {"person": 1, "token_hash": b"h" * 32, "code_mac": b"\x00\xff", "failures": 3, "expires_at": 2**41},
    ),
    "identity": (
        Tables.identities,
        {
            "state": "verified",
            "facts_sealed": b"\x00\xff",
            "reason": "",
            "submitted_at": 5,
            "decided_at": 2**41,
            "decided_by": 2,
            "because": "",
            "document_mac": b"\x00other",
        },
    ),
    "operator": (Tables.operators, {"roles": "treasury auditor", "ended_at": 2**41}),
    # A decision changes nothing else: those of the commands that fill are compared with theirs.
    "proposal": (
        Tables.proposals,
        {
            "action": "withdrawal",
            "command": '{"نعم": 1.0}',
            "subject": "account 1",
            "reason": "نعم",
            "editors": "1 2",
            "state": "open",
            "decided_by": None,
            "decided_at": None,
            "decision": "",
        },
    ),
    "business": (
        Tables.businesses,
        {"reason": "نعم", "needs_two_step": True, "time_zone": "Asia/Kathmandu"},
    ),
    "brand": (Tables.brands, {"colour": "#a3271f", "logo": "f" * 64, "picture": bytes(range(256))}),
    "brand_change": (
        Tables.brand_changes,
        {
            "id": "bc_new",
            "name": "نعم",
            "logo": "",
            "picture": b"",
            "state": "refused",
            "reason": "لا",
            "asked_by": 3,
            "asked_at": 2**41,
            "decided_by": 2,
            "decided_at": 2**42,
        },
    ),
    "bank_account": (Tables.bank_accounts, {"details_sealed": bytes(range(256))}),
    "till": (Tables.tills, {"closed_at": 2**41}),
    "bank_format": (Tables.bank_formats, {"format": '{"نعم": 1}', "changed_by": 2, "changed_at": 2**41}),
    # Lines are matched by commands: those that fill are compared with theirs.
    "bank_line": (Tables.bank_lines, {"text_sealed": bytes(range(256)), "files": 2**40, "matched": None}),
    "bank_statement": (Tables.bank_statements, {"state": "undone", "stored": 0}),
    "member": (Tables.members, {"role": "manager", "updated_at": 2**41}),
    "member_cap": (Tables.member_caps, {"amount": 2**40}),
    "refund_tally": (Tables.refund_tallies, {"used": 2**41, "since": 2**42}),
    "mail": (Tables.mails, {"due_at": 2**41, "attempts": 3}),
    "pin": (Tables.pins, {"mac": b"\0\xff", "failures": 5}),
    "api_key": (
        Tables.api_keys,
        {"name": "new name", "expires_at": 2**40, "revoked_at": 2**41, "replaced_by": "key_1", "told_at": 2**42},
    ),
    "api_key_use": (Tables.key_uses, {"at": 2**41, "address": "2001:db8::9"}),
    "session": (Tables.sessions, {"revoked_at": 2**41}),
    "note": (Tables.notes, {"text_sealed": bytes(range(256))}),
    "shop_message": (Tables.shop_messages, {"read_at": 2**41}),
    "statement_notice": (Tables.statement_notices, {"month": 299912}),
    "ledger_check": (Tables.ledger_checks, {"looked_at": 2**41, "held_at": None, "finding": "نعم"}),
    "ledger_sum": (Tables.ledger_sums, {"amount": 2**62, "held": 2**61, "balances": 0, "at": 2**41}),
    "constant": (Tables.constants, {"value": b"\x00other"}),
    "identity_image": (Tables.identity_images, {"sealed": b"\x00other"}),
    "counter": (Tables.counters, {"last": 2**59}),
    "webhook_endpoint": (
        Tables.webhook_endpoints,
        {
            "url": "https://other.example/هنا",
            "types": "refund.created",
            "description": "نعم",
            "state": "stopped",
            "reason": "gone",
            "secret_sealed": bytes(range(256)),
            "old_secret_sealed": b"\x00\xff",
            "old_secret_until": 2**41,
            "updated_at": 9,
        },
    ),
    "webhook_queue": (
        Tables.webhook_queues,
        {
            "next": 7,
            "failures": 2**40,
            "resting_since": 2**40,
            "due_at": 2**41,
            "replay_next": 2,
            "replay_until": 6,
            "told": "stopped",
            "told_at": 2**42,
        },
    ),
    "webhook_delivery": (
        Tables.webhook_deliveries,
        {
            "state": "waiting",
            "attempts": 2**40,
            "step": 0,
            "due_at": 2**41,
            "tried_at": 2**42,
            "took_ms": 2**43,
            "status": 599,
            "reason": "bad_answer",
            "excerpt": "ش" * 1000,
        },
    ),
    # The other transfers of the shop, which its first row lacks.
    "account_total": (
        Tables.account_totals,
        {name: getattr(totals_of(FILLED, FILLED.shop, "USD")[-1], name) for name in Tables.account_totals.changes},
    ),
    "stored_response": (
        Tables.stored_responses,
        {"fingerprint": b"other", "status": 200, "body": b"\x00bytes", "created_at": 2**41},
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_record_comes_back_changed_in_every_column_that_may_change(store: Play, name: str) -> None:
    table, changes = CHANGES[name]
    assert set(changes) == set(table.changes)
    chosen: dict[str, Any] = {"account": FILLED.shop, "proposal": FILLED.asked.id}
    key = chosen.get(table.name) or next(iter(getattr(FILLED, table.attribute)))
    first, second = FILLED.first.id, FILLED.second.id
    # The database takes nothing else of operators than what two of them agreed to.
    agreed = [
        Proposal(
            id=f"pr_{action}",
            action=action,
            command=encoded(command),
            subject=f"person {first}",
            reason="x",
            asked_by=first,
            asked_at=1,
            state="done",
            decided_by=second,
            decided_at=2**41,
        )
        for action, command in (
            ("operator roles", ChangeRoles(first, "treasury auditor")),
            ("operator end", EndOperator(first)),
        )
    ]

    async def scene(opened: Store) -> None:
        stored: Any = await opened.find(table, key)
        changed = msgspec.structs.replace(stored, **changes)
        assert changed != stored
        needs = {table.attribute: {key}}

        def change(state: UnitOfWork) -> None:
            for proposal in agreed if table is Tables.operators else ():
                state.proposals.add(proposal.id, proposal)
            getattr(state, table.attribute).change(key, changed)

        await opened.transact(Act(change, needs=needs))
        assert await opened.find(table, key) == changed

    store(scene)


def test_every_table_whose_rows_change_is_tried_here_or_by_the_commands_that_fill() -> None:
    tried = {table.name for table, _ in CHANGES.values()} | {
        "payment",
        "balance",
        "appointment",
        "pending_reset",
        "event_counter",
        "payout",
        "session",
        "stop",
    }
    assert {table.name for how, table in WRITE_ORDER if how == "change"} == tried


def test_what_is_not_there_is_found_as_nothing(empty_store: Play) -> None:
    async def scene(opened: Store) -> None:
        assert await opened.find(Tables.payments, 404) is None
        assert await opened.find(Tables.balances, (404, "USD")) is None
        assert await opened.select(BALANCES_OF, 404) == []
        assert await opened.select(REVOCATIONS_AND_STOP) == [(0, None, None)]

    empty_store(scene)


def test_a_query_takes_its_arguments_in_order(store: Play) -> None:
    async def scene(opened: Store) -> None:
        due = await opened.select(DUE_PAYMENTS, 2**60, 2)
        assert len(due) == 2
        assert await opened.select(DUE_PAYMENTS, 0, 2) == []

    store(scene)


# Text and numbers.

TEXTS: Final = {
    "emoji": "🧾 \U0001f469\u200d\U0001f467 \U0001f3f3\ufe0f\u200d\U0001f308",
    "arabic": "قهوة ١٢٣، مع السلامة",
    "both ways": "\u202eabc\u202c \u200fشكر\u200e",
    "not normalised": "e\u0301 \u00e9 \ufdfa \u212b \u00c5",
    "quotes": "'\"`\\ $1 ? :a %s {} -- ;",
    "white": " \t\r\n\u00a0\u2003 ",
    "ends of planes": "\u0001\uffff\U0001f600\U0010ffff",
    "longest": "ش" * NOTE_CHARACTERS_MAX,
    "empty": "",
}
METADATA: Final = {
    "odd numbers": '{"z":1.0,"a":1,"big":1152921504606846976,"e":1E+2,"minus":-0.0}',
    "order and spaces": '{ "b" : {"y":null,"x":[]} ,"a":{} , "__proto__": "a.b" }',
    "escapes": '{"\\u0041":"\\ud83d\\ude00 \\/ \\n","A":"🧾"}',
    "8 KiB": '{"k":"' + "ش" * ((METADATA_BYTES_MAX - 8) // 2) + '"}',
}


def test_text_comes_back_character_for_character(subtests: pytest.Subtests, store: Play) -> None:
    async def scene(opened: Store) -> None:
        for name, text in TEXTS.items():
            with subtests.test(name):
                [created] = await submit(opened, asking(note=text, reference=text))
                found = await opened.find(Tables.payments, created.number)
                assert found is not None
                assert (found.note, found.reference) == (text, text)

    store(scene)


def test_metadata_comes_back_as_sent(subtests: pytest.Subtests, store: Play) -> None:
    async def scene(opened: Store) -> None:
        for name, metadata in METADATA.items():
            with subtests.test(name):
                assert len(metadata.encode()) <= METADATA_BYTES_MAX
                [created] = await submit(opened, asking(metadata=metadata))
                found = await opened.find(Tables.payments, created.number)
                assert found is not None
                assert found.metadata == metadata

    store(scene)


def test_the_longest_metadata_is_at_its_limit() -> None:
    assert METADATA_BYTES_MAX - 1 <= len(METADATA["8 KiB"].encode()) <= METADATA_BYTES_MAX


def test_the_largest_payment_is_created_and_paid_to_the_last_coin(store: Play) -> None:
    async def scene(opened: Store) -> None:
        [created] = await submit(opened, asking(merchant=FILLED.till, amount=AMOUNT_MAX, currency="SYP"))
        [paid] = await submit(opened, FILLED.pay(created, person=FILLED.owner.id, payer=FILLED.test_customer))
        assert type(paid) is Payment
        assert await opened.find(Tables.payments, created.number) == paid
        left = await opened.find(Tables.balances, (FILLED.test_customer, "SYP"))
        won = await opened.find(Tables.balances, (FILLED.till, "SYP"))
        assert (left and left.amount, won and won.amount) == (0, AMOUNT_MAX)

    store(scene)


def test_a_balance_grows_to_its_limit_and_no_further(store: Play) -> None:
    whole, rest = divmod(BALANCE_MAX, AMOUNT_MAX)
    amounts = [AMOUNT_MAX] * whole + [rest]
    orders = [FILLED.ask(reference=f"huge {n}", amount=each, currency="TRY") for n, each in enumerate(amounts)]
    slips = [msgspec.structs.replace(order, id=f"huge {n}") for n, order in enumerate(orders)]

    async def scene(opened: Store) -> None:
        for at in range(0, len(slips), BATCH):
            asked = await submit(opened, *slips[at : at + BATCH])
            await submit(opened, *map(confirming, asked))
        full = await opened.find(Tables.balances, (FILLED.customer.account, "TRY"))
        owed = await opened.find(Tables.balances, (FILLED.house, "TRY"))
        assert (full and full.amount, owed and owed.amount) == (BALANCE_MAX, -BALANCE_MAX)
        more = FILLED.ask(reference="one more", amount=1, currency="TRY")
        assert await submit(opened, more) == [Refused(Refusal.BALANCE_LIMIT)]

    store(scene)


# A batch: facts, rows, decide, write.


def test_a_batch_is_asked_for_facts_then_for_rows_then_to_decide_and_only_then_is_it_written(store: Play) -> None:
    told: list[str] = []

    class Watching(Act):
        def keys_to_read(self) -> RowKeys:
            told.append("read")
            return needing(accounts={FILLED.shop, 404})

        def keys_to_lock(self, work: UnitOfWork) -> RowKeys:
            told.append("lock")
            found = work.accounts.get(FILLED.shop)
            assert found is not None
            assert found.kind == "commercial"
            assert work.accounts.get(404) is None
            assert found.owner is not None
            with pytest.raises(KeyError):
                work.people.get(found.owner)
            return needing(accounts={FILLED.shop}, people={found.owner}, balances={(404, "USD")})

    def decide(work: UnitOfWork) -> None:
        told.append("decide")
        assert work.people.get(FILLED.owner.id) is not None
        assert work.balances.get((404, "USD")) is None
        work.accounts.add(100_000_000_009, house(100_000_000_009, "new"))

    async def scene(opened: Store) -> None:
        state = await opened.transact(Watching(decide))
        assert told == ["read", "lock", "decide"]
        assert (state.epoch, state.identifiers) == (opened.instance.epoch, opened.instance.identifiers)
        assert await opened.find(Tables.accounts, 100_000_000_009) == house(100_000_000_009, "new")

    store(scene)


def test_a_batch_without_changes_is_no_fault(empty_store: Play) -> None:
    async def scene(opened: Store) -> None:
        await opened.transact(Act(lambda _: None, size=0))
        await opened.transact(Act(lambda _: None))

    empty_store(scene)


def test_a_command_sees_what_the_one_before_it_in_the_same_batch_did(store: Play) -> None:
    async def scene(opened: Store) -> None:
        [first, second] = await submit(opened, asking(amount=70_000), asking(amount=70_000))
        outcomes = await submit(opened, FILLED.pay(first), FILLED.pay(second), FILLED.pay(first))
        assert [type(outcome) for outcome in outcomes] == [Payment, Refused, Refused]
        assert [outcome.why for outcome in outcomes[1:]] == [Refusal.INSUFFICIENT_FUNDS, Refusal.ALREADY_PAID]

    store(scene)


# What fails leaves nothing.


class Poisoned(Exception):
    """The rules have a fault."""


def test_a_batch_that_raises_leaves_nothing_and_the_next_one_works(empty_store: Play) -> None:
    def poison(work: UnitOfWork) -> None:
        work.accounts.add(100_000_000_001, house(100_000_000_001, "poisoned"))
        work.note("nobody", "never", "happened")
        raise Poisoned

    async def scene(opened: Store) -> None:
        with pytest.raises(Poisoned):
            await opened.transact(Act(poison))
        assert await opened.find(Tables.accounts, 100_000_000_001) is None
        assert await all_of(opened, Tables.audit, "id") == []
        await opened.transact(opening(100_000_000_001, "good"))
        assert await opened.find(Tables.accounts, 100_000_000_001) == house(100_000_000_001, "good")

    empty_store(scene)


@pytest.mark.parametrize("round_", ["facts", "rows"])
def test_a_batch_that_raises_before_it_decides_leaves_the_store_at_work(empty_store: Play, round_: str) -> None:
    class Failing(Act):
        def keys_to_read(self) -> RowKeys:
            return self._fail("facts")

        def keys_to_lock(self, _work: UnitOfWork) -> RowKeys:
            return self._fail("rows")

        def _fail(self, now: str) -> RowKeys:
            if now == round_:
                raise Poisoned
            return RowKeys()

    async def scene(opened: Store) -> None:
        with pytest.raises(Poisoned):
            await opened.transact(Failing(lambda _: None))
        await opened.transact(opening(100_000_000_001, "good"))

    empty_store(scene)


def _same_name_twice(work: UnitOfWork) -> None:
    for number in (100_000_000_001, 100_000_000_002):
        work.accounts.add(number, Account(number, "house", "live", None, None, "bank", "open", "", 1, 1))


def _pin_of_nobody(work: UnitOfWork) -> None:
    work.accounts.add(100_000_000_001, house(100_000_000_001, "good"))
    work.pins.add(404, Pin(404, b"", 0))


def _money_from_nothing(work: UnitOfWork) -> None:
    work.accounts.add(100_000_000_001, house(100_000_000_001, "good"))
    work.transfers.append(
        Transfer("pay", FILLED.customer.account, FILLED.shop, "USD", 5, 1, -5, 1, 5, 1, None, None, 1)
    )


@pytest.mark.parametrize("bad", [_same_name_twice, _pin_of_nobody, _money_from_nothing])
def test_what_the_database_refuses_leaves_nothing_and_the_next_turn_works(
    store: Play, bad: Callable[[UnitOfWork], None]
) -> None:
    async def scene(opened: Store) -> None:
        with pytest.raises(Exception, match=r"(?i)unique|never replaced|foreign key|transfer") as refused:
            await opened.transact(Act(bad))
        # It would be refused again: nobody is told to try later.
        assert not isinstance(refused.value, StoreUnavailable)
        assert await opened.find(Tables.accounts, 100_000_000_001) is None
        assert len(await all_of(opened, Tables.transfers, "id")) == len(FILLED.transfers)
        await opened.transact(opening(100_000_000_001, "good"))
        assert await opened.find(Tables.accounts, 100_000_000_001) is not None

    store(scene)


def test_a_caller_that_goes_away_takes_nothing_along(empty_store: Play) -> None:
    async def scene(opened: Store) -> None:
        leaving = asyncio.create_task(opened.transact(opening(100_000_000_001, "left alone")))
        await asyncio.sleep(0)
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
        await opened.transact(opening(100_000_000_002, "next"))
        assert await opened.find(Tables.accounts, 100_000_000_002) is not None

    empty_store(scene)


# Reads.


def test_a_read_sees_what_was_acknowledged_at_once(empty_store: Play) -> None:
    async def one(opened: Store, number: int) -> None:
        await opened.transact(opening(number, str(number)))
        assert await opened.find(Tables.accounts, number) is not None
        [(seen,)] = await opened.select(Query("SELECT count(*) FROM account WHERE number = $1"), number)
        assert seen == 1

    async def scene(opened: Store) -> None:
        await asyncio.gather(*(one(opened, 100_000_000_000 + n) for n in range(50)))

    empty_store(scene)


def test_what_was_acknowledged_is_there_when_the_database_is_opened_again(store: Play) -> None:
    async def scene(opened: Store) -> None:
        for number, payment in FILLED.payments.items():
            found = await opened.find(Tables.payments, number)
            assert found is not None
            assert without_times(found) == without_times(payment)
        assert len(await all_of(opened, Tables.transfers, "id")) == len(FILLED.transfers)

    store(scene)


# Numbers.


async def create(opened: Store, count: int = 1) -> list[int]:
    return [payment.number for payment in await submit(opened, *[asking()] * count)]


def test_payment_numbers_are_ordered_and_unique_beyond_their_block(store: Play) -> None:
    async def scene(opened: Store) -> None:
        numbers: list[int] = []
        while len(numbers) <= PAYMENT_NUMBER_BLOCK + BATCH:
            numbers += await create(opened, BATCH)
        assert all(before < after for before, after in pairwise(numbers))

    store(scene)


def test_payment_numbers_go_on_above_when_the_database_is_opened_again(store: Play) -> None:
    numbers: list[int] = []
    for _ in range(4):
        numbers += store(lambda opened: create(opened, 3))
    assert numbers[0] > max(FILLED.payments)
    assert all(before < after for before, after in pairwise(numbers))


def test_payment_numbers_last_through_any_number_of_rolled_back_turns(store: Play) -> None:
    def poison(work: UnitOfWork) -> None:
        for _ in range(BATCH):
            next(work.payment_numbers)
        raise Poisoned

    async def scene(opened: Store) -> None:
        before = await create(opened)
        for _ in range(2 * PAYMENT_NUMBER_BLOCK // BATCH):
            with pytest.raises(Poisoned):
                await opened.transact(Act(poison, size=BATCH))
        after = await create(opened, BATCH)
        assert before[0] < after[0]
        assert len(set(after)) == BATCH

    store(scene)


def test_a_raised_epoch_jumps_ahead_and_marks_its_events(store: Play, filled: Database) -> None:
    async def cancel_one(opened: Store) -> tuple[int, int, str]:
        [created] = await submit(opened, asking())
        [cancelled] = await submit(opened, CancelPayment(payment=created.number, merchant=FILLED.shop))
        events = await all_of(opened, Tables.events, "created_at, sequence")
        [event] = [event for event in events if event.payment == cancelled.number]
        return created.number, event.epoch, opened.instance.identifiers.payment_id(1)

    before, epoch, public = store(cancel_one)
    # It was restored once, after all its payments were made.
    assert max(FILLED.payments) < EPOCH_NUMBERS < before <= EPOCH_NUMBERS + PAYMENT_NUMBER_BLOCK
    assert epoch == 1
    for jump in (2, 3):
        filled.raise_epoch()
        for again in range(2):
            number, epoch, same = store(cancel_one)
            assert epoch == jump
            assert jump * EPOCH_NUMBERS < number <= jump * EPOCH_NUMBERS + (again + 1) * PAYMENT_NUMBER_BLOCK
            assert same == public, "the key of the public numbers changed"
