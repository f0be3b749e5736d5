"""A page of logged requests costs as much as its rows, whoever else calls, and also where there is nothing to show."""

import json
from collections.abc import Iterator
from typing import Any, Final

import apsw
import pytest

from qirsh.store import migrate
from qirsh.store.interface import Query
from qirsh.store.postgres.connection import SETTINGS
from qirsh.store.reads import request_log
from tests.postgres import PostgresServer
from tests.store.filled import PostgresHand, filled_on
from tests.store.reads.test_exports import looked_at

COUNT: Final = 20_000
BUSY, QUIET = 600_000_000_001, 600_000_000_002
LIMIT: Final = 20
# Nineteen of twenty are of the busy shop, of which none failed; the others are old.
MANY: Final = f"""
INSERT INTO request_log (id, at, key, account, method, path, status, code, payment, took_ms, address, skipped)
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {COUNT - 1})
SELECT 'req_many_' || CAST(i AS TEXT), i, CASE WHEN i < {COUNT // 20} THEN 'key_quiet' ELSE 'key_busy' END,
    CASE WHEN i < {COUNT // 20} THEN {QUIET} ELSE {BUSY} END, 'GET', '/', CASE i % 10 WHEN 0 THEN 404 ELSE 200 END,
    '', i % 1000, 1, '', 0 FROM n;
"""  # noqa: S608 - our own names and numbers
NOW: Final = (2**62, "", LIMIT)
QUERIES: Final[dict[str, tuple[Query, tuple[int | str, ...]]]] = {
    "busy": (request_log._OF_ACCOUNT, (BUSY, *NOW)),  # noqa: SLF001 - the queries themselves
    "quiet": (request_log._OF_ACCOUNT, (QUIET, *NOW)),  # noqa: SLF001 - the same
    "nobody": (request_log._OF_ACCOUNT, (7, *NOW)),  # noqa: SLF001 - the same
    "refused": (request_log._OF_ACCOUNT_CLASS, (BUSY, 4, *NOW)),  # noqa: SLF001 - the same
    "refused, deep": (request_log._OF_ACCOUNT_CLASS, (BUSY, 4, COUNT // 2, "", LIMIT)),  # noqa: SLF001 - the same
    "failed": (request_log._OF_ACCOUNT_CLASS, (BUSY, 5, *NOW)),  # noqa: SLF001 - the same
    "of a key": (request_log._OF_KEY, ("key_quiet", *NOW)),  # noqa: SLF001 - the same
    "failed, of a key": (request_log._OF_KEY_CLASS, ("key_busy", 5, *NOW)),  # noqa: SLF001 - the same
    "of a payment": (request_log._OF_PAYMENT, (7, BUSY, *NOW)),  # noqa: SLF001 - the same
    "of a payment of another": (request_log._OF_PAYMENT, (7, 8, *NOW)),  # noqa: SLF001 - the same
    "old": (request_log.OLD_REQUESTS, (100, LIMIT)),
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
    query, arguments = QUERIES[name]
    values = ", ".join(str(one) if isinstance(one, int) else f"'{one}'" for one in arguments)
    types = ", ".join("bigint" if isinstance(one, int) else "text" for one in arguments)
    settings = "; ".join(f"SET {name} = '{value}'" for name, value in SETTINGS.items())
    explained = f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) EXECUTE asked ({values})"
    told = postgres.sql(f"{settings}; PREPARE asked ({types}) AS {query}; {explained}", filled)
    assert looked_at(json.loads(told)[0]["Plan"]) <= 2 * LIMIT, told


@pytest.fixture(scope="module")
def lite() -> Iterator[apsw.Connection]:
    connection = apsw.Connection(":memory:")
    for migration in migrate.migrations("sqlite"):
        connection.execute(migration.sql)
    connection.execute(MANY)
    yield connection
    connection.close()


@pytest.mark.parametrize("name", QUERIES)
def test_sqlite_goes_along_an_index_and_sorts_nothing(lite: apsw.Connection, name: str) -> None:
    query, arguments = QUERIES[name]
    plan: list[Any] = [row[3] for row in lite.execute(f"EXPLAIN QUERY PLAN {query}", arguments)]
    assert [step.split()[0] for step in plan] == ["SEARCH"], plan
    found = lite.execute(query, arguments).fetchall()
    assert found or name in {"nobody", "failed", "failed, of a key", "of a payment of another"}
