"""What operators look for costs a bounded number of rows, however many are called alike and however much was noted."""

import json
from collections.abc import Iterator
from typing import Any, Final

import apsw
import pytest

from qirsh.domain.limits import NAMES_COUNTED_MAX, NAMES_LOOKED_AT_MAX
from qirsh.domain.name_word import range_of
from qirsh.store import migrate
from qirsh.store.interface import Query
from qirsh.store.postgres.connection import SETTINGS
from qirsh.store.reads import notes, operator_search
from tests.postgres import PostgresServer
from tests.store.filled import PostgresHand, filled_on
from tests.store.reads.test_exports import looked_at

COUNT: Final = 20_000
LIMIT: Final = 20
FIRST: Final = 600_000_000_000
_N: Final = f"WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {COUNT - 1})"  # noqa: S608 - a number
_NUMBER: Final = "substr('00000' || CAST(i AS TEXT), -5)"
# All are called Mohammad, and each has a number; and much was done about one account.
MANY: Final = f"""
INSERT INTO account (number, kind, mode, owner, name, state, return_origins, created_at, updated_at, expires_in_s)
{_N} SELECT {FIRST} + i, 'personal', 'live', 1, 'Mohammad', 'verified', '', 1, 1, 600 FROM n;
INSERT INTO name_word (kind, word, account) {_N} SELECT 'personal', 'mohammad', {FIRST} + i FROM n;
INSERT INTO name_word (kind, word, account) {_N} SELECT 'personal', 'n' || CAST(100000 + i AS TEXT), {FIRST} + i FROM n;
INSERT INTO audit (at, actor, action, subject, detail)
{_N} SELECT i, 'operator 1 (console)', CASE i % 2 WHEN 0 THEN 'account.looked_at' ELSE 'key.issued' END,
    CASE i % 3 WHEN 0 THEN 'key k' ELSE 'account {FIRST}' END, 'account {FIRST}' FROM n;
"""  # noqa: S608 - our own names and numbers
ALIKE, ONE, NOBODY = range_of("moh"), range_of("n100007"), range_of("zz")
QUERIES: Final[dict[str, tuple[Query, tuple[int | str, ...], int]]] = {
    "called alike": (operator_search._named(0), ("personal", *ALIKE, 2 * LIMIT, 2 * LIMIT), 4 * LIMIT),  # noqa: SLF001 - the queries themselves
    "nobody": (operator_search._named(0), ("personal", *NOBODY, 2 * LIMIT, 2 * LIMIT), 0),  # noqa: SLF001 - the same
    "of another kind": (operator_search._named(0), ("commercial", *ALIKE, 2 * LIMIT, 2 * LIMIT), 0),  # noqa: SLF001 - the same
    "one of them": (
        operator_search._named(1),  # noqa: SLF001 - the same
        ("personal", *ONE, NAMES_LOOKED_AT_MAX, *ALIKE, 2 * LIMIT),
        10,
    ),
    "alike, and something that nobody has": (
        operator_search._named(1),  # noqa: SLF001 - the same
        ("personal", *ALIKE, NAMES_LOOKED_AT_MAX, *NOBODY, 2 * LIMIT),
        3 * NAMES_LOOKED_AT_MAX,
    ),
    "how many": (operator_search._COUNTED, ("personal", *ALIKE, NAMES_COUNTED_MAX), NAMES_COUNTED_MAX),  # noqa: SLF001 - the same
    "about an account": (notes._OF_ACCOUNT[False], (f"account {FIRST}", 2**62, LIMIT), LIMIT),  # noqa: SLF001 - the same
    "about a key": (notes._ABOUT[False], ("key k", 2**62, LIMIT), LIMIT),  # noqa: SLF001 - the same
    "about nothing": (notes._ABOUT[False], ("key none", 2**62, LIMIT), 0),  # noqa: SLF001 - the same
    "the last look": (notes._LAST_LOOK, (f"account {FIRST}", "operator 1 (console)"), 1),  # noqa: SLF001 - the same
}


@pytest.fixture(scope="module", params=["fresh", "analyzed"])
def filled(postgres: PostgresServer, request: pytest.FixtureRequest) -> str:
    name = postgres.create_database(filled_on(postgres))
    hand = PostgresHand(postgres.url(name), is_kept=True)
    hand.type(f"{MANY}; {'ANALYZE' if request.param == 'analyzed' else ''}")
    hand.close()
    return name


@pytest.mark.parametrize("name", QUERIES)
def test_postgresql_reads_no_more_than_it_must(postgres: PostgresServer, filled: str, name: str) -> None:
    """With the settings of the service's own connections, which make generic plans."""
    assert SETTINGS["plan_cache_mode"] == "force_generic_plan"
    query, arguments, most = QUERIES[name]
    values = ", ".join(str(one) if isinstance(one, int) else f"'{one}'" for one in arguments)
    types = ", ".join("bigint" if isinstance(one, int) else "text" for one in arguments)
    settings = "; ".join(f"SET {name} = '{value}'" for name, value in SETTINGS.items())
    explained = f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) EXECUTE asked ({values})"
    told = postgres.sql(f"{settings}; PREPARE asked ({types}) AS {query}; {explained}", filled)
    assert looked_at(json.loads(told)[0]["Plan"]) <= most, told


@pytest.fixture(scope="module")
def lite() -> Iterator[apsw.Connection]:
    connection = apsw.Connection(":memory:")
    for migration in migrate.migrations("sqlite"):
        connection.execute(migration.sql)
    connection.execute(MANY)
    yield connection
    connection.close()


@pytest.mark.parametrize("name", QUERIES)
def test_sqlite_goes_along_an_index_and_reads_no_table_to_its_end(lite: apsw.Connection, name: str) -> None:
    query, arguments, most = QUERIES[name]
    plan: list[Any] = [row[3] for row in lite.execute(f"EXPLAIN QUERY PLAN {query}", arguments)]
    assert not [step for step in plan if step.endswith(">?)")], "a range without an end"
    assert not [
        step for step in plan if step.startswith("SCAN ") and step.split()[1] in {"name_word", "audit", "account"}
    ]
    assert [step for step in plan if step.startswith("SEARCH ")], plan
    assert bool(lite.execute(query, arguments).fetchall()) == (most > 0 and "nobody" not in name)
