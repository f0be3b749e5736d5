"""Verify says yes, no, or that it cannot tell, beside a server that goes on writing."""

import asyncio
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Final

import apsw
import pytest

from qirsh.store import migrate
from qirsh.store.integrity import attested_rows, hash_chain, invariants, name_words
from qirsh.store.integrity.invariant import Invariant
from qirsh.store.interface import CannotTell, Store
from qirsh.store.sqlite.verify import FILE, GUARDS, read_only, verify
from tests.store.filled import FILLED, SqliteHand, open_store
from tests.store.test_conformance import asking, submit

SCENE_S: Final = 20.0


def silence(_: Invariant) -> None:
    pass


def sentences(path: Path) -> list[str]:
    return [violation.sentence for violation in verify(path, silence)]


def test_a_good_database_is_good_and_every_check_is_told(filled: Path) -> None:
    told: list[Invariant] = []
    assert verify(filled, told.append) == []
    own = (attested_rows.CREDENTIALS, name_words.NAMES)
    assert told == [GUARDS, *FILE, *invariants.ALL, *own, *hash_chain.ALL]


def test_a_database_of_nothing_is_good(tmp_path: Path) -> None:
    asyncio.run(open_store(tmp_path / "qirsh.db").close())
    assert sentences(tmp_path / "qirsh.db") == []


# No.


def test_a_broken_row_is_named_among_all_checks(hand: SqliteHand) -> None:
    hand.disarm()
    hand.type("UPDATE balance SET amount = 90 WHERE account = :other AND currency = 'EUR'")
    assert f"balance of account {FILLED.other.account} in EUR is 90, its transfers sum to 100000" in sentences(
        hand.path
    )


def test_a_guard_that_was_taken_away_is_missed(hand: SqliteHand) -> None:
    hand.type("DROP TRIGGER transfer_stays")
    hand.type("DROP INDEX transfer_pay")
    assert sentences(hand.path) == ["index transfer_pay is missing", "trigger transfer_stays is missing"]


def test_a_guard_that_was_put_in_the_place_of_another_is_noticed(hand: SqliteHand) -> None:
    hand.type(
        "DROP TRIGGER transfer_stays; CREATE TRIGGER transfer_stays BEFORE UPDATE ON transfer BEGIN SELECT 1; END"
    )
    assert sentences(hand.path) == ["trigger transfer_stays was changed"]


def test_a_constraint_that_was_edited_out_is_noticed(hand: SqliteHand) -> None:
    hand.type(
        "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'amount >= 0 OR is_house', '1')"
        " WHERE name = 'balance'"
    )
    assert sentences(hand.path) == ["table balance was changed"]


def test_a_trigger_that_is_not_ours_is_noticed_and_an_index_is_nobody_s_business(hand: SqliteHand) -> None:
    hand.type("CREATE TRIGGER thief AFTER INSERT ON transfer BEGIN DELETE FROM stored_response; END")
    hand.type("CREATE INDEX payment_note ON payment (note); CREATE TABLE notes (a); CREATE VIEW mine AS SELECT 1")
    assert sentences(hand.path) == ["trigger thief is not ours"]


def test_a_reference_that_leads_nowhere_is_named(hand: SqliteHand) -> None:
    hand.type("INSERT INTO pin VALUES (404, x'00', 0)")
    assert sentences(hand.path)[0] == "row 404 of pin refers to a row of person that is not there"


def test_an_audit_entry_that_vanished_leaves_a_gap(hand: SqliteHand) -> None:
    guard = hand.type("SELECT sql FROM sqlite_schema WHERE name = 'audit_remains'")[0][0]
    hand.type("DROP TRIGGER audit_remains; DELETE FROM audit WHERE id = 3")
    hand.type(guard)
    assert sentences(hand.path) == [
        "audit entry 4 comes after audit entry 2",
        "audit entry 3 has vanished after seal 1",
    ]


def test_a_transfer_after_a_gap_is_named(hand: SqliteHand) -> None:
    hand.disarm()
    hand.type("UPDATE transfer SET id = 9223372036854775807 WHERE id = (SELECT max(id) FROM transfer)")
    last = len(FILLED.transfers) - 1
    assert f"transfer 9223372036854775807 comes after transfer {last}" in sentences(hand.path)


def test_a_damaged_page_is_told_and_does_not_stop_the_other_checks(filled: Path, tmp_path: Path) -> None:
    path = tmp_path / "qirsh.db"
    shutil.copy(filled, path)
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    place = "SELECT (rootpage - 1) * page_size FROM sqlite_schema, pragma_page_size WHERE name = 'transfer'"
    root = int(str(connection.execute(place).get))
    connection.close()
    with path.open("r+b") as file:
        file.seek(root)
        file.write(b"\xff" * 64)
    found = verify(path, silence)
    assert {violation.name for violation in found} == {"the file is whole"}
    assert found[0].sentence.startswith("SQLite says: ")


def test_what_is_no_text_is_told_and_does_not_stop_the_other_checks(hand: SqliteHand) -> None:
    hand.disarm()
    before = len(sentences(hand.path))
    hand.type("UPDATE payment SET status = CAST(x'6cff' AS TEXT) WHERE number = :pending")
    hand.type("UPDATE balance SET amount = amount + 1 WHERE account = :other AND currency = 'EUR'")
    found = sentences(hand.path)
    assert len(found) > before + 2
    assert any(one.startswith("SQLite says: ") and one.endswith("status and times of a payment agree") for one in found)
    assert "balances in EUR sum to 1, not to zero" in found


def test_a_flipped_digit_in_a_page_is_found_by_the_sums(filled: Path, tmp_path: Path) -> None:
    """SQLite has no checksums of pages: a changed amount is a valid page, and only the ledger tells."""
    path = tmp_path / "qirsh.db"
    shutil.copy(filled, path)
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    connection.close()
    data = path.read_bytes()
    # The customer's balance after the first payment: 99,700 as SQLite writes it.
    amount = (99_700).to_bytes(3, "big")
    assert amount in data
    path.write_bytes(data.replace(amount, (99_701).to_bytes(3, "big")))
    assert any("leaves account" in sentence for sentence in sentences(path))


# Cannot tell.


def test_of_a_file_that_is_not_there_nothing_can_be_told_and_none_is_made(tmp_path: Path) -> None:
    with pytest.raises(CannotTell, match="is not a file"):
        verify(tmp_path / "qirsh.db", silence)
    with pytest.raises(CannotTell, match="is not a file"):
        verify(tmp_path, silence)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "why"), [(b"", "is not a Qirsh database"), (b"no database " * 1000, "is not a SQLite database")]
)
def test_of_another_file_nothing_can_be_told(tmp_path: Path, content: bytes, why: str) -> None:
    (tmp_path / "qirsh.db").write_bytes(content)
    with pytest.raises(CannotTell, match=why):
        verify(tmp_path / "qirsh.db", silence)
    assert (tmp_path / "qirsh.db").read_bytes() == content


def test_of_another_program_s_database_nothing_can_be_told(tmp_path: Path) -> None:
    connection = apsw.Connection(str(tmp_path / "other.db"))
    connection.execute("CREATE TABLE account (a)")
    connection.close()
    with pytest.raises(CannotTell, match="is not a Qirsh database"):
        verify(tmp_path / "other.db", silence)


def test_of_a_newer_schema_nothing_can_be_told(hand: SqliteHand) -> None:
    hand.type("INSERT INTO schema_migration VALUES (999, 'future', 'digest', 1)")
    with pytest.raises(CannotTell, match="schema 999"):
        verify(hand.path, silence)


def test_of_an_edited_migration_nothing_can_be_told(hand: SqliteHand) -> None:
    hand.type("UPDATE schema_migration SET digest = 'x'")
    with pytest.raises(CannotTell, match="differs"):
        verify(hand.path, silence)


def test_of_a_half_migrated_schema_nothing_can_be_told(hand: SqliteHand, monkeypatch: pytest.MonkeyPatch) -> None:
    known = migrate.migrations("sqlite")
    monkeypatch.setattr(migrate, "migrations", lambda _: [*known, migrate.Migration(77, "next", "CREATE TABLE t (a)")])
    with pytest.raises(CannotTell, match=r"lacks migration 77 \(next\)"):
        verify(hand.path, silence)
    monkeypatch.undo()
    hand.type("DROP TABLE stored_response")
    with pytest.raises(CannotTell, match="lacks the table stored_response"):
        verify(hand.path, silence)


def test_of_a_file_out_of_reach_nothing_can_be_told(hand: SqliteHand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qirsh.store.sqlite.verify._BUSY_MS", 50)
    hand.type("SELECT 1")
    greedy = apsw.Connection(str(hand.path))
    hand.close()
    greedy.execute("PRAGMA locking_mode = EXCLUSIVE").fetchall()
    greedy.execute("BEGIN IMMEDIATE; COMMIT")
    with pytest.raises(CannotTell, match="cannot be read"):
        verify(hand.path, silence)
    greedy.close()


# Beside a server.


def test_it_reads_only_and_leaves_every_byte(filled: Path, tmp_path: Path) -> None:
    path = tmp_path / "qirsh.db"
    shutil.copy(filled, path)
    before = path.read_bytes()
    assert sentences(path) == []
    assert path.read_bytes() == before
    with pytest.raises(apsw.ReadOnlyError):
        read_only(path).execute("DELETE FROM stored_response")


def test_what_it_leaves_behind_is_for_the_owner_alone(filled: Path, tmp_path: Path) -> None:
    shutil.copy(filled, tmp_path / "qirsh.db")
    os.chmod(tmp_path / "qirsh.db", 0o600)  # noqa: PTH101 - nothing else is meant
    before = os.umask(0)
    try:
        assert sentences(tmp_path / "qirsh.db") == []
    finally:
        os.umask(before)
    assert {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()} == {0o600}


VERIFY: Final = """
import sys, pathlib
from qirsh.store.sqlite.verify import verify
print([violation.sentence for violation in verify(pathlib.Path(sys.argv[1]), lambda _: None)])
"""


def test_another_process_verifies_while_a_server_writes_and_takes_nothing_from_it(filled: Path, tmp_path: Path) -> None:
    path = tmp_path / "qirsh.db"
    shutil.copy(filled, path)

    async def scene(store: Store) -> None:
        verifying = await asyncio.create_subprocess_exec(
            sys.executable, "-c", VERIFY, str(path), stdout=subprocess.PIPE
        )
        told = asyncio.create_task(verifying.communicate())
        paid = 0
        while not told.done() or paid < 10:
            [created] = await submit(store, asking(amount=1))
            await submit(store, FILLED.pay(created))
            paid += 1
        assert (await told)[0] == b"[]\n"
        # Its leaving took no file away from under the server.
        await submit(store, asking(amount=1))
        seen = subprocess.run(  # noqa: ASYNC221 - the server waits, as it would for nobody
            [sys.executable, "-c", VERIFY, str(path)], capture_output=True, text=True, check=True
        )
        assert seen.stdout == "[]\n"

    async def served() -> None:
        store = open_store(path)
        await scene(store)
        await store.close()

    asyncio.run(served())
    assert sentences(path) == []


def test_all_checks_see_one_snapshot(hand: SqliteHand) -> None:
    hand.disarm()
    before = sentences(hand.path)

    def break_it(invariant: Invariant) -> None:
        if invariant == GUARDS:
            hand.type("UPDATE balance SET amount = 90 WHERE account = :other AND currency = 'EUR'")

    assert [violation.sentence for violation in verify(hand.path, break_it)] == before
    assert sentences(hand.path) != before


def test_a_server_starts_while_verify_looks(filled: Path, tmp_path: Path) -> None:
    path = tmp_path / "qirsh.db"
    shutil.copy(filled, path)
    looking = read_only(path)
    looking.execute("BEGIN")
    assert looking.execute("SELECT count(*) FROM payment").fetchall() == [(len(FILLED.payments),)]

    async def served() -> None:
        store = open_store(path)
        await submit(store, asking())
        await store.close()

    asyncio.run(served())
    assert looking.execute("SELECT count(*) FROM payment").fetchall() == [(len(FILLED.payments),)]
    looking.close()


def test_a_database_whose_server_was_killed_is_verified_with_its_log(filled: Path, tmp_path: Path) -> None:
    path = tmp_path / "qirsh.db"
    shutil.copy(filled, path)
    connection = apsw.Connection(str(path))
    connection.execute("INSERT INTO pin VALUES (404, x'00', 0)")
    for suffix in ("", "-wal"):
        shutil.copy(f"{path}{suffix}", f"{tmp_path / 'killed.db'}{suffix}")
    connection.close()
    assert sentences(tmp_path / "killed.db")[0] == "row 404 of pin refers to a row of person that is not there"
