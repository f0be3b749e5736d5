"""Proposals that wait are found oldest first, page by page, by what they are about, and by their age."""

import json
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

import apsw
import pytest

from qirsh.domain.proposal import PROPOSAL_MS, Proposal
from qirsh.store import migrate
from qirsh.store.interface import Query, Store
from qirsh.store.postgres.connection import SETTINGS
from qirsh.store.reads.proposals import (
    ASKED_BEFORE,
    OF_SUBJECT,
    OPEN,
    asked_before,
    open_proposals,
    waiting_for,
    who_asked,
)
from tests.domain.world import START
from tests.postgres import PostgresServer
from tests.store.filled import FILLED, PostgresHand, filled_on
from tests.store.reads.test_exports import looked_at
from tests.store.test_conformance import ENGINES, Database, Play, player, submit

WAITING: Final[list[Proposal]] = sorted(
    (one for one in FILLED.proposals.values() if one.state == "open"), key=lambda one: (one.asked_at, one.id)
)


@pytest.fixture(scope="module", params=ENGINES)
def template(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    with ENGINES[request.param]() as make:
        database = make(tmp_path_factory.mktemp("filled"))
        database.fill(FILLED)
        yield database


@pytest.fixture
def store(template: Database, tmp_path: Path) -> Play:
    return player(template.copy(tmp_path))


@pytest.fixture(scope="module")
def many(postgres: PostgresServer) -> str:
    """The name of a database with thousands that were decided long ago."""
    name = postgres.create_database(filled_on(postgres))
    with closing(PostgresHand(postgres.url(name), is_kept=True)) as hand:
        hand.type(f"SET LOCAL session_replication_role = replica; {MANY}; ANALYZE")
    return name


OLD: Final = START - PROPOSAL_MS


def test_there_are_some_that_wait_and_some_of_each_end() -> None:
    assert len(WAITING) > 3
    assert {one.state for one in FILLED.proposals.values()} == {"open", "done", "refused", "withdrawn", "lapsed"}


def test_what_waits_comes_page_by_page(store: Play) -> None:
    async def scene(opened: Store) -> None:
        found: list[Proposal] = []
        after = (-1, "")
        while page := await open_proposals(opened, 2, after):
            assert len(page) <= 2
            found += page
            after = (page[-1].asked_at, page[-1].id)
        assert found == WAITING
        assert await open_proposals(opened, len(WAITING)) == WAITING

    store(scene)


def test_the_names_of_all_who_ask_for_what_waits_are_read_at_once(store: Play) -> None:
    async def scene(opened: Store) -> None:
        asked = {one.asked_by for one in WAITING}
        assert await who_asked(opened) == {person: FILLED.people[person].name for person in asked}

    store(scene)


def test_what_waits_about_one_thing_is_found(store: Play) -> None:
    subject = f"account {FILLED.other.account}"
    about = [one for one in WAITING if one.subject == subject]

    async def scene(opened: Store) -> None:
        assert await waiting_for(opened, subject, 9) == about
        assert await waiting_for(opened, subject, 1) == about[:1]
        assert await waiting_for(opened, f"person {FILLED.customer.id}", 9) == []  # Of theirs, one was refused.

    assert {FILLED.asked.id, FILLED.edited.id} == {one.id for one in about}
    store(scene)


def test_what_was_asked_for_long_ago_is_found_while_it_waits(store: Play) -> None:
    async def scene(opened: Store) -> None:
        [young] = await submit(opened, FILLED.ask(reference="young"))
        assert await asked_before(opened, young.asked_at, 99) == sorted(
            [*WAITING, young], key=lambda one: (one.asked_at, one.id)
        )
        assert await asked_before(opened, WAITING[0].asked_at, 1) == WAITING[:1]
        assert await asked_before(opened, WAITING[0].asked_at - 1, 99) == []  # The one that lapsed is older.
        await submit(opened, FILLED.confirm(FILLED.asked.id))
        assert FILLED.asked.id not in {one.id for one in await asked_before(opened, young.asked_at, 99)}

    assert min(one.asked_at for one in FILLED.proposals.values()) == OLD
    store(scene)


# Each with its arguments.
QUERIES: Final[dict[str, tuple[Query, tuple[int | str, ...]]]] = {
    "what waits": (OPEN, (1, "", 9)),
    "what waits about one thing": (OF_SUBJECT, ("person 3", 9)),
    "what was asked for long ago": (ASKED_BEFORE, (2**40, 9)),
}
MANY: Final = """
INSERT INTO proposal WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
SELECT 'x' || i, 'remove-factors', '', 'person 3', 'x', 1, i, '', 'done', 2, i, '' FROM n"""


@pytest.mark.parametrize("name", QUERIES)
def test_postgresql_reads_none_that_are_decided(postgres: PostgresServer, many: str, name: str) -> None:
    query, arguments = QUERIES[name]
    values = ", ".join(str(one) if isinstance(one, int) else f"'{one}'" for one in arguments)
    types = ", ".join("bigint" if isinstance(one, int) else "text" for one in arguments)
    settings = "; ".join(f"SET {name} = '{value}'" for name, value in SETTINGS.items())
    explained = f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) EXECUTE asked ({values})"
    told = postgres.sql(f"{settings}; PREPARE asked ({types}) AS {query}; {explained}", many)
    assert looked_at(json.loads(told)[0]["Plan"]) <= len(WAITING)


@pytest.mark.parametrize("name", QUERIES)
def test_sqlite_reads_none_that_are_decided(name: str) -> None:
    connection = apsw.Connection(":memory:")
    for migration in migrate.migrations("sqlite"):
        connection.execute(migration.sql)
    query, arguments = QUERIES[name]
    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {query}", arguments)]
    assert re.match("SEARCH proposal USING INDEX proposal_(open|waits) ", plan[0]), plan
