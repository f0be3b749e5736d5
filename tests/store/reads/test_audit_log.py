"""A page of the audit log costs as much as its rows, by whatever it is looked for and however many there are."""

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import apsw
import pytest

from qirsh.domain.limits import LIST_LOOKED_AT_MAX
from qirsh.store import migrate
from qirsh.store.interface import Query
from qirsh.store.postgres.connection import SETTINGS
from qirsh.store.reads import audit_log, ledger
from qirsh.store.reads.audit_log import AuditEntryRow, AuditFilter, AuditPlace, read_audit_log
from tests.postgres import PostgresServer
from tests.store.filled import PostgresHand, filled_on
from tests.store.reads.test_exports import looked_at

COUNT: Final = 40_000
LIMIT: Final = 20
MAX: Final = audit_log.MAX_PLACE
# Most are of people who sign in. Operators are rare, and act from a shell and at the console.
MANY: Final = f"""
INSERT INTO audit (at, actor, action, subject, detail)
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {COUNT - 1})
SELECT 1900000000000 + i * 1000,
    CASE WHEN i % 400 = 0 THEN 'operator 33' WHEN i % 400 = 1 THEN 'operator 33 (os user alice)'
        WHEN i % 400 = 2 THEN 'operator 3 (console)' ELSE 'person ' || CAST(i % 5000 AS TEXT) END,
    CASE i % 100 WHEN 0 THEN 'many.moved' WHEN 1 THEN 'many.closed' ELSE 'session.opened' END,
    CASE WHEN i % 1000 = 7 THEN 'account 7' ELSE 'person ' || CAST(i % 5000 AS TEXT) END, 'entry ' || CAST(i AS TEXT)
    FROM n;
"""  # noqa: S608 - our own names and numbers
TOP: Final = (MAX, MAX, 0, LIMIT)
DAY: Final = (1_900_000_000_000 + 20_000_000, 0, 1_900_000_000_000 + 10_000_000, LIMIT)
QUERIES: Final[dict[str, tuple[Query, tuple[int | str, ...], int]]] = {
    "all": (audit_log._BY_TIME, TOP, 1),  # noqa: SLF001 - the queries themselves
    "some days": (audit_log._BY_TIME, DAY, 1),  # noqa: SLF001 - the same
    "of an account": (audit_log._BY_SUBJECT, ("account 7", MAX, LIMIT), 1),  # noqa: SLF001 - the same
    "of nothing": (audit_log._BY_SUBJECT, ("account 8", MAX, LIMIT), 1),  # noqa: SLF001 - the same
    "by an operator": (audit_log.by_actors(1), ("operator 33", *TOP), 1),
    "by an operator, some days": (audit_log.by_actors(1), ("operator 33", *DAY), 1),
    "by two operators": (audit_log.by_actors(2), ("operator 33", *TOP, "operator 3"), 2),
    "by nobody": (audit_log.by_actors(1), ("operator 4", *TOP), 1),
    "by an act": (audit_log.by_actions(1), ("many.moved", *TOP), 1),
    "by an act, some days": (audit_log.by_actions(1), ("many.moved", *DAY), 1),
    "by two acts": (audit_log.by_actions(2), ("many.moved", *TOP, "many.closed"), 2),
    "by the commonest act": (audit_log.by_actions(1), ("session.opened", *TOP), 1),
    "stops": (ledger._STOPS, (LIMIT,), 1),  # noqa: SLF001 - of the ledger's page, which asks the log
    "the last full check": (ledger._LAST_CHECK, (), 1),  # noqa: SLF001 - the same
}


@pytest.fixture(scope="module", params=["fresh", "analyzed"])
def filled(postgres: PostgresServer, request: pytest.FixtureRequest) -> str:
    name = postgres.create_database(filled_on(postgres))
    hand = PostgresHand(postgres.url(name), is_kept=True)
    hand.type(f"{MANY}; {'ANALYZE' if request.param == 'analyzed' else ''}")
    hand.close()
    return name


@pytest.mark.parametrize("name", QUERIES)
def test_postgresql_reads_no_more_than_a_page(postgres: PostgresServer, filled: str, name: str) -> None:
    query, arguments, ranges = QUERIES[name]
    values = ", ".join(str(one) if isinstance(one, int) else f"'{one}'" for one in arguments)
    types = ", ".join("bigint" if isinstance(one, int) else "text" for one in arguments)
    settings = "; ".join(f"SET {name} = '{value}'" for name, value in SETTINGS.items())
    prepared, asked = (f"asked ({types})", f"asked ({values})") if arguments else ("asked", "asked")
    explained = f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) EXECUTE {asked}"
    told = postgres.sql(f"{settings}; PREPARE {prepared} AS {query}; {explained}", filled)
    assert looked_at(json.loads(told)[0]["Plan"]) <= (ranges + 2) * LIMIT, told


def test_postgresql_steps_from_act_to_act(postgres: PostgresServer, filled: str) -> None:
    settings = "; ".join(f"SET {name} = '{value}'" for name, value in SETTINGS.items())
    query = audit_log._ACTIONS  # noqa: SLF001 - the query itself
    explained = "EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) EXECUTE asked (300)"
    told = postgres.sql(f"{settings}; PREPARE asked (bigint) AS {query}; {explained}", filled)
    assert looked_at(json.loads(told)[0]["Plan"]) <= 10 * 100, told


@pytest.fixture(scope="module")
def lite() -> Iterator[apsw.Connection]:
    connection = apsw.Connection(":memory:")
    for migration in migrate.migrations("sqlite"):
        connection.execute(migration.sql)
    connection.execute(
        MANY.replace("INTO audit (at", "INTO audit (id, at").replace("SELECT 1900", "SELECT i + 1, 1900")
    )
    yield connection
    connection.close()


def steps(connection: apsw.Connection, query: Query, arguments: tuple[int | str, ...]) -> int:
    """What the engine has done, in steps of its own."""
    cursor = connection.cursor()
    done: list[int] = []
    connection.set_progress_handler(lambda: done.append(1) or False, 10)  # type: ignore[func-returns-value]
    try:
        cursor.execute(query, arguments).fetchall()
    finally:
        connection.set_progress_handler(None)
    return 10 * len(done)


@pytest.mark.parametrize("name", QUERIES)
def test_sqlite_goes_along_an_index_and_sorts_no_more_than_a_page(lite: apsw.Connection, name: str) -> None:
    query, arguments, ranges = QUERIES[name]
    plan: list[Any] = [row[3] for row in lite.execute(f"EXPLAIN QUERY PLAN {query}", arguments)]
    assert not [step for step in plan if step.startswith("SCAN audit")], plan
    assert steps(lite, query, arguments) <= 150 * (ranges + 1) * LIMIT, plan
    assert lite.execute(query, arguments).fetchall() or name in {
        "of nothing",
        "by nobody",
        "stops",
        "the last full check",
    }


def test_sqlite_steps_from_act_to_act(lite: apsw.Connection) -> None:
    query = audit_log._ACTIONS  # noqa: SLF001 - the query itself
    assert [action for (action,) in lite.execute(query, (300,))] == ["many.closed", "many.moved", "session.opened"]
    assert steps(lite, query, (300,)) <= 1000


class OneTable:
    """The entries of this file, as a store finds them."""

    def __init__(self, search: Callable[[Query, tuple[object, ...]], list[tuple[Any, ...]]]) -> None:
        self._search = search
        self.rows = 0

    async def search(self, query: Query, *arguments: object) -> list[tuple[Any, ...]]:
        found = self._search(query, arguments)
        self.rows += len(found)
        return found


def listed(store: OneTable, wanted: AuditFilter, limit: int = LIMIT) -> tuple[list[AuditEntryRow], int]:
    """All of them, page by page, and how many pages."""
    place: AuditPlace | None = AuditPlace()
    found: list[AuditEntryRow] = []
    pages = 0
    while place is not None:
        page, place = asyncio.run(read_audit_log(store, wanted, place, limit))  # type: ignore[arg-type]  # As far as it is used.
        assert len(page) <= limit
        found += page
        pages += 1
    return found, pages


FILTERS: Final = {
    "actors": AuditFilter(actors=("operator 33", "operator 3")),
    "actions": AuditFilter(actions=("many.moved", "many.closed")),
    "subject": AuditFilter(subject="account 7"),
    "days": AuditFilter(begin=1_900_000_010_000, end=1_900_000_300_000),
    "actor and action": AuditFilter(actors=("operator 33",), actions=("many.moved",)),
    "actor and days": AuditFilter(actors=("operator 33",), begin=1_900_000_000_000, end=1_900_010_000_000),
    "subject and days": AuditFilter(subject="account 7", begin=1_900_005_000_000, end=1_900_010_000_000),
    "all of it": AuditFilter(
        actors=("person 7",), actions=("session.opened",), subject="account 7", begin=1_900_000_000_000
    ),
    "an act that there is not": AuditFilter(actions=()),
}


@pytest.mark.parametrize("name", FILTERS)
def test_all_pages_together_are_what_was_asked_for_newest_first(lite: apsw.Connection, name: str) -> None:
    wanted = FILTERS[name]
    store = OneTable(lambda query, arguments: lite.execute(query, arguments).fetchall())
    found, pages = listed(store, wanted)
    everything = [AuditEntryRow(*row) for row in lite.execute("SELECT * FROM audit ORDER BY id DESC")]
    assert found == [entry for entry in everything if wanted.fits(entry)]
    assert found or name == "an act that there is not"
    assert store.rows <= pages * max(LIST_LOOKED_AT_MAX, LIMIT + 1)


def test_an_operator_is_found_wherever_they_acted_and_not_under_another_number(lite: apsw.Connection) -> None:
    store = OneTable(lambda query, arguments: lite.execute(query, arguments).fetchall())
    found, _ = listed(store, AuditFilter(actors=("operator 33",)), limit=100)
    assert {entry.actor for entry in found} == {"operator 33", "operator 33 (os user alice)"}
    found, _ = listed(store, AuditFilter(actors=("operator 3",)), limit=100)
    assert {entry.actor for entry in found} == {"operator 3 (console)"}


def test_a_search_for_what_is_rare_ends_early_and_goes_on(lite: apsw.Connection) -> None:
    store = OneTable(lambda query, arguments: lite.execute(query, arguments).fetchall())
    wanted = AuditFilter(actors=("operator 33",), actions=("session.opened",))  # They never did.
    page, place = asyncio.run(read_audit_log(store, wanted, AuditPlace(), LIMIT, looked_at_max=50))  # type: ignore[arg-type]  # The same.
    assert (page, store.rows) == ([], 50)
    assert place is not None


def test_entries_of_clocks_that_were_set_back_are_found_by_their_subject(tmp_path: Path) -> None:
    connection = apsw.Connection(str(tmp_path / "one.db"))
    for migration in migrate.migrations("sqlite"):
        connection.execute(migration.sql)
    for number, at in enumerate((5_000_000, 4_000_000, 6_000_000), 1):
        connection.execute("INSERT INTO audit VALUES (?, ?, 'x', 'y', 'account 7', '')", (number, at))
    store = OneTable(lambda query, arguments: connection.execute(query, arguments).fetchall())
    found, _ = listed(store, AuditFilter(subject="account 7", begin=4_500_000))
    assert [entry.at for entry in found] == [6_000_000, 5_000_000]
    connection.close()
