"""What was sealed stays as it was, or verify names what did not, on every engine."""

import re
from pathlib import Path
from typing import Final

import pytest

from qirsh.domain.seal import NOTHING, Cover, make
from qirsh.domain.tables import Tables
from qirsh.store.integrity import hash_chain
from tests.chain import PIECES, digests, follows, row_bytes, sections
from tests.store.conftest import Engine
from tests.store.filled import Denied, Hand, SqliteHand
from tests.store.guarded import accepts_each_without_guards, refuses_each

DOCS: Final = (Path(__file__).parents[3] / "docs/audit-chain.md").read_text()
# What a stranger might want to hide in a detail.
ODD: Final = ("قرش واحد", "👩‍👩‍👧‍👦 é", "\\u0000 \\x00 %00", "1,2:3,\n4,", "12:", "", "1.0", "1", "'quoted'", "a\ttab")


NOW: Final = 1_800_000_500_000


class Copy:
    """A copy of the filled database, a hand on it, and what the check of its chain says at a time."""

    def __init__(self, hand: Hand) -> None:
        self.hand = hand

    def select(self, sql: str) -> list[tuple[object, ...]]:
        return [tuple(row) for row in self.hand.type(sql)]

    def sentences(self, now: int = NOW) -> list[str]:
        return [found.sentence for found in hash_chain.violations(self.select, now=now)]

    def literal(self, value: bytes) -> str:
        return f"x'{value.hex()}'" if isinstance(self.hand, SqliteHand) else f"'\\x{value.hex()}'"

    def disarm(self) -> None:
        """Take the guards away from what was typed already."""
        if isinstance(self.hand, SqliteHand):
            self.hand.disarm()
        else:
            self.hand.type("SET LOCAL session_replication_role = replica")

    def seal(self, covers: tuple[Cover, ...]) -> None:
        """Typed by hand, as the sealer would have made it."""
        number, last = self.hand.type("SELECT number, hash FROM seal ORDER BY number DESC LIMIT 1")[0]
        made = make(number=number + 1, at=1_800_000_000_000, previous=bytes(last), covers=covers)
        content, hashed = made.content, self.literal(made.hash)
        self.hand.type(f"INSERT INTO seal VALUES ({made.number}, {made.at}, '{content}', {hashed})")  # noqa: S608 - ours


@pytest.fixture
def copy(any_hand: Hand) -> Copy:
    return Copy(any_hand)


def note(detail: str, at: int = 1_800_000_000_000) -> str:
    text = detail.replace("'", "''")
    return f"INSERT INTO audit (at, actor, action, subject, detail) VALUES ({at}, 'a', 'b', 'c', '{text}')"  # noqa: S608 - ours


def audit_cover(copy: Copy, *, first: int, late: tuple[int, ...] = ()) -> tuple[Cover, ...]:
    """Of what is there, in the words of the second implementation."""
    rows = {row[0]: row for row in copy.hand.type("SELECT * FROM audit ORDER BY id")}
    new = [row for row in rows if row >= first]
    gone = tuple((row, row) for row in range(first, max(new)) if row not in rows)
    covered = [rows[row] for row in sorted([*late, *new])]
    return (Cover("audit", first, max(new), 1, gone, late, tuple(digests(covered, 1))), *nothing_new(copy))


def nothing_new(copy: Copy) -> tuple[Cover, ...]:
    """Of the tables after the first."""
    tops = {table: copy.hand.type(f"SELECT max(id) FROM {table}")[0][0] for table in ("transfer", "credential_log")}  # noqa: S608 - ours
    return tuple(Cover(table, top + 1, top, 20, (), (), ()) for table, top in tops.items())


def last_audit(copy: Copy) -> int:
    last: int = copy.hand.type("SELECT max(id) FROM audit")[0][0]
    return last


def test_what_commands_have_made_is_whole(copy: Copy) -> None:
    assert copy.sentences() == []


def test_the_database_puts_the_bytes_together_as_the_docs_say(subtests: pytest.Subtests, copy: Copy) -> None:
    for detail in ODD:
        copy.hand.type(note(detail))
    for table in PIECES:
        with subtests.test(table):
            sealed = hash_chain.SEALED[table]
            rows = copy.hand.type(f"SELECT * FROM {table} ORDER BY id")  # noqa: S608 - ours
            lines = copy.hand.type(f"SELECT {sealed.line} FROM {table} ORDER BY id")  # noqa: S608 - ours
            assert [line.encode() for (line,) in lines] == [row_bytes(row) for row in rows]
            query = hash_chain.pieces_query(sealed).replace("$1", "1").replace("$2", "1000000")
            found = hash_chain.cover(sealed, first=1, late=[], pieces=[tuple(row) for row in copy.hand.type(query)])
            assert list(found.digests) == digests(rows, sealed.piece)


def test_odd_details_that_another_implementation_has_sealed_are_good(copy: Copy) -> None:
    first = last_audit(copy) + 1
    for detail in ODD:
        copy.hand.type(note(detail))
    copy.seal(audit_cover(copy, first=first))
    assert copy.sentences() == []


def test_the_docs_name_the_columns_and_show_a_row_as_it_is() -> None:
    for table in (Tables.audit, Tables.transfers, Tables.credentials):
        told = re.search(rf"^- `{table.name}`: ([^-]*)$", DOCS, re.MULTILINE)
        assert told is not None
        assert re.split(r",\s+", told.group(1).strip()) == ["id", *table.columns]
    entry = (7, 1_800_000_000_000, "operator 1", "account.note", "account 1", "قرش")
    assert row_bytes(entry).decode() in DOCS


def test_another_implementation_finds_the_chain_whole(copy: Copy) -> None:
    previous = NOTHING
    for number, at, content, hashed in copy.hand.type("SELECT number, at, content, hash FROM seal ORDER BY number"):
        assert follows(number, at, previous, content, bytes(hashed))
        previous = bytes(hashed)
        for table, section in sections(content).items():
            rows = {row[0]: row for row in copy.hand.type(f"SELECT * FROM {table} ORDER BY id")}  # noqa: S608 - ours
            assert digests([rows[row] for row in section.covered()], section.piece) == section.digests


# What is typed, and what verify says first. The guards are taken away before.
SPOILT: Final = {
    "an audit entry edited": ("UPDATE audit SET detail = 'x' WHERE id = 5", "audit entry 5 was changed after seal 1"),
    "an audit entry whose parts moved": (
        "UPDATE audit SET actor = actor || subject, subject = '' WHERE id = 5",
        "audit entry 5 was changed after seal 1",
    ),
    "an audit entry deleted": ("DELETE FROM audit WHERE id = 7", "audit entry 7 has vanished after seal 1"),
    "two audit entries in each other's place": (
        (
            "UPDATE audit SET (at, actor, action, subject, detail) = (SELECT at, actor, action, subject, detail"
            " FROM audit o WHERE o.id = 17 - audit.id) WHERE id IN (8, 9)"
        ),
        "audit entry 8 was changed after seal 1",
    ),
    "a transfer edited": (
        "UPDATE transfer SET created_at = created_at + 1 WHERE id = 2",
        "one of transfers 1 to 20 was changed after seal 1",
    ),
    "a transfer deleted": ("DELETE FROM transfer WHERE id = 2", "transfer 2 has vanished after seal 1"),
    "a credential entry edited": (
        "UPDATE credential_log SET digest = NULL WHERE id = 2",
        "one of credential entries 1 to 20 was changed after seal 1",
    ),
    "a credential entry deleted": (
        "DELETE FROM credential_log WHERE id = 2",
        "credential entry 2 has vanished after seal 1",
    ),
    "a seal's content edited": (
        "UPDATE seal SET content = replace(content, 'missing', 'missing 1') WHERE number = 1",
        "seal 1 was changed after it was made",
    ),
    "a seal's time edited": ("UPDATE seal SET at = at + 1 WHERE number = 1", "seal 1 was changed after it was made"),
}


def test_what_was_spoilt_is_named_first(subtests: pytest.Subtests, copy: Copy) -> None:
    copy.hand.disarm()
    assert len(copy.hand.type("SELECT id FROM transfer")) >= hash_chain.TRANSFERS.piece, "or a sentence names fewer"
    for name, (sql, sentence) in SPOILT.items():
        with subtests.test(name), copy.hand.tentative():
            copy.hand.type(sql)
            assert copy.sentences()[0] == sentence


def test_verify_names_it(any_engine: Engine, tmp_path: Path) -> None:
    sql, sentence = SPOILT["an audit entry edited"]
    with any_engine.kept(tmp_path) as (hand, violations):
        assert violations() == []
        hand.disarm()
        hand.type(sql)
        assert next(found.sentence for found in violations() if found.name in hash_chain.NAMES) == sentence


def two_more(copy: Copy) -> None:
    for detail in ("one", "two"):
        first = last_audit(copy) + 1
        copy.hand.type(note(detail))
        copy.seal(audit_cover(copy, first=first))
    assert copy.sentences() == []


def test_a_seal_that_is_missing_is_named(copy: Copy) -> None:
    two_more(copy)
    copy.disarm()
    copy.hand.type("DELETE FROM seal WHERE number = 2")
    assert copy.sentences()[0] == "seal 2 is missing"


def test_a_seal_that_was_made_anew_is_betrayed_by_the_next(copy: Copy) -> None:
    two_more(copy)
    copy.disarm()
    [(kept, at, content, hashed)] = copy.hand.type("SELECT number, at, content, hash FROM seal WHERE number = 3")
    copy.hand.type("DELETE FROM seal WHERE number >= 2; UPDATE audit SET detail = 'forged' WHERE detail = 'one'")
    entry = last_audit(copy) - 1
    [row] = copy.hand.type(f"SELECT * FROM audit WHERE id = {entry}")  # noqa: S608 - ours
    forged = Cover("audit", entry, entry, 1, (), (), tuple(digests([row], 1)))
    copy.seal((forged, *nothing_new(copy)))
    copy.hand.type(f"INSERT INTO seal VALUES ({kept}, {at}, '{content}', {copy.literal(bytes(hashed))})")  # noqa: S608 - ours
    assert copy.sentences() == ["seal 3 does not follow from seal 2, which was put in its place"]


def test_rows_that_no_seal_covers_are_named_when_they_are_over_a_minute_apart(copy: Copy) -> None:
    first = last_audit(copy) + 1
    copy.hand.type(note("last seconds of a server that was killed"))
    copy.hand.type(note("59 seconds later", at=1_800_000_059_000))
    assert copy.sentences() == []
    copy.hand.type(note("two minutes later", at=1_800_000_120_000))
    assert copy.sentences() == [f"audit entry {first} and later are not sealed, and are over a minute old"]


def test_rows_of_before_and_after_a_long_rest_are_not_named_until_the_sealer_had_its_time(copy: Copy) -> None:
    first, now = last_audit(copy) + 1, NOW
    copy.hand.type(note("last seconds of a server that was killed", at=now - 3_600_000))
    copy.hand.type(note("it starts again", at=now))
    assert copy.sentences() == []
    copy.hand.type(note("it started a while ago", at=now - 60_000))
    assert copy.sentences() == [f"audit entry {first} and later are not sealed, and are over a minute old"]


def test_what_a_restore_wrote_waits_for_the_sealer_as_long_as_nobody_serves_it(copy: Copy) -> None:
    [(restored_at,)] = copy.hand.type("SELECT max(restored_at) FROM restore")
    first = last_audit(copy) + 1
    copy.hand.type(note("last seconds before the backup", at=restored_at - 3_600_000))
    copy.hand.type(note("what the restore wrote", at=restored_at))
    assert copy.sentences() == []
    copy.hand.type(note("it is served, and nobody seals", at=restored_at + 1))
    assert copy.sentences() == [f"audit entry {first} and later are not sealed, and are over a minute old"]


def test_a_backup_that_was_taken_right_after_a_start_can_be_restored_at_any_time(copy: Copy) -> None:
    [(taken_at,)] = copy.hand.type("SELECT max(taken_at) FROM restore")
    first = last_audit(copy) + 1
    copy.hand.type(note("the last of a server that was killed", at=taken_at - 3_600_000))
    copy.hand.type(note("the first after its next start", at=taken_at - 9_000))
    assert copy.sentences() == []
    copy.hand.type(note("it had served for longer, and nobody sealed", at=taken_at - 11_000))
    assert copy.sentences() == [f"audit entry {first} and later are not sealed, and are over a minute old"]


def test_a_row_in_a_gap_is_covered_by_the_seal_that_calls_it_late(copy: Copy) -> None:
    first = last_audit(copy) + 1
    for detail in ("a", "b", "c"):
        copy.hand.type(note(detail))
    copy.disarm()
    late = f"SELECT * FROM audit WHERE id = {first + 1}"  # noqa: S608 - ours
    [row] = copy.hand.type(late)
    copy.hand.type(f"DELETE FROM audit WHERE id = {first + 1}")  # noqa: S608 - ours
    copy.seal(audit_cover(copy, first=first))
    assert copy.sentences() == []  # A gap is no fault.
    columns = "id, at, actor, action, subject, detail"
    override = "" if isinstance(copy.hand, SqliteHand) else " OVERRIDING SYSTEM VALUE"
    values = f"{row[0]}, {row[1]}, 'a', 'b', 'c', 'b'"
    copy.hand.type(f"INSERT INTO audit ({columns}){override} VALUES ({values})")  # noqa: S608 - ours
    assert copy.sentences() == []  # It is still time to seal it.
    copy.hand.type(note("d"))
    copy.seal(audit_cover(copy, first=first + 3, late=(first + 1,)))
    assert copy.sentences() == []
    copy.hand.type(f"UPDATE audit SET detail = 'x' WHERE id = {first + 1}")  # noqa: S608 - ours
    assert copy.sentences() == [f"audit entry {first + 1} was changed after seal 3"]


REFUSED: Final = {
    "a credential entry changed": ("UPDATE credential_log SET digest = NULL", "credential entries never change"),
    "a credential entry deleted": ("DELETE FROM credential_log", "credential entries never vanish"),
    "a seal changed": ("UPDATE seal SET at = 1", "seals never change"),
    "a seal deleted": ("DELETE FROM seal", "seals never vanish"),
    "a stop changed": ("UPDATE stop SET reason = 'none'", "lifted once"),
    "a stop opened again": ("UPDATE stop SET lifted_at = NULL, lifted_by = NULL", "lifted once"),
    "a stop deleted": ("DELETE FROM stop", "stops never vanish"),
    "a stop that begins lifted": ("INSERT INTO stop VALUES (2, 1, 'why', 1, 'me')", "begins open"),
    "a stop that leaves a gap": ("INSERT INTO stop VALUES (3, 1, 'why', NULL, NULL)", "begins open"),
    "two open stops": (
        "INSERT INTO stop VALUES (2, 1, 'why', NULL, NULL); INSERT INTO stop VALUES (3, 1, 'why', NULL, NULL)",
        "never replaced|stop_open",
    ),
    "a seal that follows nothing": (
        "INSERT INTO seal SELECT 2, at, replace(content, 'number 1', 'number 2'), hash FROM seal",
        "does not follow",
    ),
    "a seal that leaves a gap": ("INSERT INTO seal SELECT 3, at, content, hash FROM seal", "does not follow"),
}


def test_the_database_refuses_and_only_its_guards_do(subtests: pytest.Subtests, any_hand: Hand) -> None:
    refuses_each(subtests, any_hand, REFUSED)
    accepts_each_without_guards(subtests, any_hand, REFUSED)


def test_a_fork_of_the_chain_is_refused_also_when_it_is_well_made(copy: Copy) -> None:
    two_more(copy)
    [(at, hashed)] = copy.hand.type("SELECT at, hash FROM seal WHERE number = 1")
    fork = make(number=4, at=at, previous=bytes(hashed), covers=())
    content, forked = fork.content, copy.literal(fork.hash)
    with pytest.raises(Denied, match="does not follow"):
        copy.hand.type(f"INSERT INTO seal VALUES (4, {fork.at}, '{content}', {forked})")  # noqa: S608 - ours


# The head, kept elsewhere.


def test_a_cut_tail_is_found_by_a_head_that_was_kept(copy: Copy) -> None:
    two_more(copy)
    [(number, hashed)] = copy.hand.type("SELECT number, hash FROM seal ORDER BY number DESC LIMIT 1")
    head = (number, bytes(hashed))
    select = copy.select
    assert hash_chain.violations(select, head, now=0) == []
    other = hash_chain.violations(select, (number, bytes(32)), now=0)
    assert [found.sentence for found in other] == ["seal 3 is not the one that was given: another stands in its place"]
    copy.disarm()
    copy.hand.type("DELETE FROM seal WHERE number = 3; DELETE FROM audit WHERE detail = 'two'")
    assert hash_chain.violations(select, now=0) == []  # The chain alone cannot tell.
    cut = hash_chain.violations(select, head, now=0)
    assert [found.sentence for found in cut] == ["seal 3, which was given, is not there: the chain ends at seal 2"]
