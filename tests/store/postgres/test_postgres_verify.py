"""Verify on PostgreSQL says yes, no, or that it cannot tell, beside servers that go on writing."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import closing

import apsw
import pytest

from qirsh.engine.clock import ManualClock
from qirsh.engine.entropy import SeededEntropy
from qirsh.store import migrate
from qirsh.store.integrity import attested_rows, hash_chain, invariants, name_words
from qirsh.store.integrity.invariant import Invariant
from qirsh.store.interface import CannotTell
from qirsh.store.postgres.store import open_postgres
from qirsh.store.postgres.verify import GUARDS, HANDED_OUT, LEADS_TO, LEADS_TOGETHER, REFERENCES, read_only, verify
from tests.domain.world import ENTROPY_SEED
from tests.store.conftest import PostgresEngine
from tests.store.filled import FILLED, PostgresHand
from tests.store.test_conformance import asking, submit


class Spoilt(PostgresHand):
    """A hand on a copy, and the address of it."""

    def __init__(self, url: str) -> None:
        super().__init__(url, is_kept=True)
        self.url = url


@pytest.fixture
def spoilt(postgres_engine: PostgresEngine) -> Iterator[Spoilt]:
    with postgres_engine.copy() as url, closing(Spoilt(url)) as hand:
        yield hand


def silence(_: Invariant) -> None:
    pass


def sentences(url: str) -> list[str]:
    return [violation.sentence for violation in verify(url, silence)]


def test_a_good_database_is_good_and_every_check_is_told(spoilt: Spoilt) -> None:
    told: list[Invariant] = []
    assert verify(spoilt.url, told.append) == []
    own = (attested_rows.CREDENTIALS, name_words.NAMES)
    assert told == [GUARDS, REFERENCES, HANDED_OUT, *invariants.ALL, *own, *hash_chain.ALL]


# No.


def test_a_broken_row_is_named_among_all_checks(spoilt: Spoilt) -> None:
    spoilt.disarm()
    spoilt.type("UPDATE balance SET amount = 90 WHERE account = :other AND currency = 'EUR'")
    expected = f"balance of account {FILLED.other.account} in EUR is 90, its transfers sum to 100000"
    assert expected in sentences(spoilt.url)


WEAKENED = {
    "DROP TRIGGER transfer_stays ON transfer": "trigger transfer_stays on transfer is missing",
    "ALTER TABLE transfer DISABLE TRIGGER transfer_stays": "trigger transfer_stays on transfer is switched off",
    "ALTER TABLE transfer ENABLE REPLICA TRIGGER transfer_stays": "trigger transfer_stays on transfer is switched off",
    "DROP INDEX transfer_pay": "index transfer_pay on transfer is missing",
    "ALTER TABLE balance DROP CONSTRAINT balance_check": "constraint balance_check on balance is missing",
    "ALTER TABLE balance ALTER amount DROP NOT NULL": "table balance was changed",
    "ALTER TABLE stored_response SET UNLOGGED": "table stored_response was changed",
    "CREATE OR REPLACE FUNCTION refused() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'": (
        "function refused was changed"
    ),
    "CREATE OR REPLACE TRIGGER transfer_stays BEFORE UPDATE OF amount ON transfer FOR EACH STATEMENT"
    " EXECUTE FUNCTION refused('transfers never change')": "trigger transfer_stays on transfer was changed",
    "CREATE TRIGGER thief AFTER INSERT ON transfer FOR EACH ROW EXECUTE FUNCTION refused('x')": (
        "trigger thief on transfer is not ours"
    ),
    "CREATE RULE thief AS ON INSERT TO transfer DO INSTEAD NOTHING": "rule thief on transfer is not ours",
}


@pytest.mark.parametrize("sql", WEAKENED)
def test_a_guard_that_was_weakened_is_named(spoilt: Spoilt, sql: str) -> None:
    spoilt.type(sql)
    assert WEAKENED[sql] in sentences(spoilt.url)


def test_references_that_are_switched_off_are_named(spoilt: Spoilt) -> None:
    spoilt.type("ALTER TABLE pin DISABLE TRIGGER ALL")
    assert sentences(spoilt.url) == [
        "constraint pin_person_fkey on pin is switched off",
        "trigger pin_stays on pin is switched off",
    ]
    spoilt.type("INSERT INTO pin SELECT 404, mac, 0 FROM pin LIMIT 1; ALTER TABLE pin ENABLE TRIGGER ALL")
    assert sentences(spoilt.url)[0] == "person 404 of pin refers to a row of person that is not there"


def test_guards_that_sleep_for_the_whole_database_are_told(spoilt: Spoilt) -> None:
    name = spoilt.url.rpartition("/")[2]
    spoilt.type(f"ALTER DATABASE {name} SET session_replication_role = replica")
    assert sentences(spoilt.url) == ["setting session_replication_role is replica, so that no guard wakes"]


def test_an_index_and_a_table_more_are_nobody_s_business(spoilt: Spoilt) -> None:
    spoilt.type("CREATE INDEX payment_note ON payment (note); CREATE TABLE notes (a int); CREATE VIEW mine AS SELECT 1")
    assert sentences(spoilt.url) == []


def test_on_a_server_of_another_version_wording_is_not_compared_but_functions_and_names_are(spoilt: Spoilt) -> None:
    spoilt.type(
        "ALTER TABLE schema_guard DISABLE TRIGGER ALL;"
        "UPDATE schema_guard SET server = 14, definition = CASE kind WHEN 'function' THEN definition ELSE 'other' END;"
        "ALTER TABLE schema_guard ENABLE TRIGGER ALL"
    )
    assert sentences(spoilt.url) == []
    spoilt.type("DROP TRIGGER event_stays ON event; ALTER TABLE audit DISABLE TRIGGER audit_stays")
    spoilt.type("ALTER FUNCTION events_follow() SECURITY DEFINER")
    assert sentences(spoilt.url) == [
        "function events_follow was changed",
        "trigger audit_stays on audit is switched off",
        "trigger event_stays on event is missing",
    ]


def test_a_database_that_forgot_its_guards_is_not_good(spoilt: Spoilt) -> None:
    spoilt.type("ALTER TABLE schema_guard DISABLE TRIGGER ALL; DELETE FROM schema_guard")
    assert "table schema_guard has lost what the guards should be" in sentences(spoilt.url)


def test_every_reference_of_the_other_engine_is_checked() -> None:
    connection = apsw.Connection(":memory:")
    for migration in migrate.migrations("sqlite"):
        connection.execute(migration.sql)
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()]
    found = {
        (f"{table}.{row[3]}", row[2])
        for table in tables
        for row in connection.execute(f"PRAGMA foreign_key_list({table})").fetchall()
    }
    together = {
        (f"{columns.partition('.')[0]}.{column}", keys.partition(".")[0])
        for columns, keys in LEADS_TOGETHER.items()
        for column in columns.partition(".")[2].split()
    }
    # Of a payment's payer SQLite has no reference: its guards compare the payer with the transfer's.
    found.add(("payment.payer", "account"))
    assert {(column, key.partition(".")[0]) for column, key in LEADS_TO.items()} | together == found


def test_an_id_that_was_never_handed_out_is_named(spoilt: Spoilt) -> None:
    spoilt.type(
        "ALTER TABLE audit DISABLE TRIGGER ALL;"
        "INSERT INTO audit OVERRIDING SYSTEM VALUE VALUES (5000, 1, '', '', '', '');"
        "ALTER TABLE audit ENABLE TRIGGER ALL"
    )
    [(last,)] = spoilt.type("SELECT last_value FROM audit_id_seq")
    assert f"audit entry 5000 has an id that was never handed out: the last one is {last}" in sentences(spoilt.url)


# Cannot tell.


def test_of_what_cannot_be_reached_or_entered_nothing_can_be_told(postgres_engine: PostgresEngine) -> None:
    with postgres_engine.copy() as url:
        password = url.split(":")[2].partition("@")[0]
        for wrong, why in (
            (url.replace(password, "wrong-secret"), "password authentication failed"),
            (f"{url}x", "does not exist"),
        ):
            with pytest.raises(CannotTell, match=why) as told:
                verify(wrong, silence)
            assert password not in str(told.value)
            assert "wrong-secret" not in str(told.value)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(CannotTell, match="cannot be reached"):
        verify(f"postgresql://u:secret@127.0.0.1:{port}/d", silence)
    with pytest.raises(CannotTell, match="no address") as told:
        verify("postgresql://u:sec/ret@127.0.0.1/d", silence)
    assert "sec" not in str(told.value)


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("DROP SCHEMA public CASCADE; CREATE SCHEMA public", "no tables of Qirsh"),
        ("INSERT INTO schema_migration VALUES (999, 'future', 'digest', 1)", "schema 999"),
        ("UPDATE schema_migration SET digest = 'x'", "differs"),
        ("DELETE FROM schema_migration", "lacks migration 1"),
        ("DROP TABLE stored_response", "lacks the table stored_response"),
    ],
)
def test_of_another_schema_nothing_can_be_told(spoilt: Spoilt, sql: str, why: str) -> None:
    spoilt.type(sql)
    with pytest.raises(CannotTell, match=why):
        verify(spoilt.url, silence)


# Beside a server.


def test_it_cannot_write(spoilt: Spoilt) -> None:
    before = spoilt.rows()
    with pytest.raises(CannotTell, match="read-only transaction"), read_only(spoilt.url) as look:
        look.select("DELETE FROM stored_response")
    assert sentences(spoilt.url) == []
    assert spoilt.rows() == before


def test_all_checks_see_one_snapshot(spoilt: Spoilt) -> None:
    spoilt.disarm()
    before = sentences(spoilt.url)

    def break_it(invariant: Invariant) -> None:
        if invariant == GUARDS:
            spoilt.type("UPDATE balance SET amount = 90 WHERE account = :other AND currency = 'EUR'")

    assert [violation.sentence for violation in verify(spoilt.url, break_it)] == before
    assert sentences(spoilt.url) != before


def test_it_is_good_while_a_server_writes(spoilt: Spoilt) -> None:
    async def served() -> None:
        store = await open_postgres(spoilt.url, clock=ManualClock(FILLED.now), entropy=SeededEntropy(ENTROPY_SEED + 1))
        told = asyncio.create_task(asyncio.to_thread(sentences, spoilt.url))
        paid = 0
        while not told.done() or paid < 10:
            [created] = await submit(store, asking(amount=1))
            await submit(store, FILLED.pay(created))
            paid += 1
        assert await told == []
        await store.close()

    asyncio.run(served())
    assert sentences(spoilt.url) == []
