"""A page of an export costs as much as its rows, whatever else the account has."""

import json
from collections.abc import Callable
from typing import Any, Final

import apsw
import pytest

from qirsh.domain.account import Account
from qirsh.domain.limits import EXPORT_ROWS_AT_ONCE
from qirsh.domain.money import CURRENCIES
from qirsh.domain.payment import STATUSES
from qirsh.store import migrate
from qirsh.store.interface import Query
from qirsh.store.postgres.connection import SETTINGS
from qirsh.store.reads import exports, queries
from tests.postgres import PostgresServer
from tests.store.filled import PostgresHand, filled_on

COUNT: Final = 30_000
SHOP: Final = 600_000_000_001
PAYER: Final = 500_000_000_001
FIRST: Final = 1_000_000
RANGES: Final = len(CURRENCIES) * len(STATUSES)
# Of a page: one index row for each of its ranges and rows at most, then its payment, its refund and its payer.
ROWS_MAX: Final = EXPORT_ROWS_AT_ONCE * (RANGES + 4)
_COPIED: Final = ", ".join(Account.__struct_fields__[1:])
MANY: Final = f"""
CREATE TABLE place AS WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {COUNT - 1})
SELECT i, i % 3 AS turn FROM n;
INSERT INTO account (number, {_COPIED}) SELECT {SHOP}, {_COPIED} FROM account WHERE number = :shop;
INSERT INTO account (number, {_COPIED}) SELECT {PAYER}, {_COPIED} FROM account WHERE number = :customer;
INSERT INTO payment (number, merchant, payer, amount, currency, status, note, metadata, created_at, updated_at,
    expires_at, paid_at, refunded_amount, version)
SELECT {FIRST} + i, {SHOP}, CASE WHEN turn > 0 THEN {PAYER} END, 5, CASE WHEN i % 2 = 0 THEN 'USD' ELSE 'TRY' END,
    CASE WHEN turn > 0 THEN 'paid' ELSE 'pending' END, '', '{{}}', i, i, i,
    CASE WHEN turn > 0 THEN i END, 0, 2 FROM place;
INSERT INTO transfer (kind, debit, credit, currency, amount, debit_sequence, debit_balance, credit_sequence,
    credit_balance, payment, created_at)
SELECT 'refund', {SHOP}, {PAYER}, 'USD', 1, i + 1, 0, i + 1, i + 1, {FIRST} + i, i FROM place ORDER BY i;
INSERT INTO refund (id, payment, version, amount, note, metadata, sequence, created_at)
SELECT 'rf_' || CAST(i AS TEXT), {FIRST} + i, 3, 1, '', '{{}}', i + 1, i FROM place;
INSERT INTO payout (id, account, currency, amount, bank_sealed, state, reference, reason, created_at, updated_at)
SELECT 'po ' || CAST(i AS TEXT), {SHOP}, 'USD', 1, bank_sealed, 'cancelled', NULL, '', i, i FROM place, payout
    WHERE id = 'po_2';
"""  # noqa: S608 - our own names and numbers
MIDDLE: Final = COUNT // 2
QUERIES: Final[dict[str, Callable[[], tuple[Query, tuple[int | str, ...]]]]] = {
    "payments": lambda: (exports.payments_after(CURRENCIES), (SHOP, MIDDLE, 0, COUNT, EXPORT_ROWS_AT_ONCE)),
    "of one currency": lambda: (exports.payments_after(["TRY"]), (SHOP, MIDDLE, 0, COUNT, EXPORT_ROWS_AT_ONCE)),
    "metadata": lambda: (exports.metadata_after(CURRENCIES), (SHOP, MIDDLE, 0, COUNT, EXPORT_ROWS_AT_ONCE)),
    "first": lambda: (exports.first_after(CURRENCIES), (SHOP, 0, 0, COUNT, 1)),
    "last": lambda: (exports.last_payment(CURRENCIES), (SHOP, 0, COUNT)),
    "refunds": lambda: (exports.REFUNDS_BETWEEN, (SHOP, "USD", MIDDLE, COUNT, EXPORT_ROWS_AT_ONCE)),
    "payouts": lambda: (exports.PAYOUTS_AFTER, (SHOP, MIDDLE, "", COUNT, EXPORT_ROWS_AT_ONCE)),
    "newest payouts": lambda: (queries.PAYOUTS_BEFORE, (SHOP, MIDDLE, "", EXPORT_ROWS_AT_ONCE)),
}


@pytest.fixture(scope="module")
def filled(postgres: PostgresServer) -> str:
    name = postgres.create_database(filled_on(postgres))
    hand = PostgresHand(postgres.url(name), is_kept=True)
    hand.type(f"SET LOCAL session_replication_role = replica; {MANY} ANALYZE")
    hand.close()
    return name


def looked_at(plan: dict[str, Any]) -> float:
    """All rows that were read, also those that were read for nothing."""
    here = 0.0
    if "Relation Name" in plan:
        read = ("Actual Rows", "Rows Removed by Filter", "Rows Removed by Index Recheck")
        here = sum(plan.get(name, 0) for name in read) * plan["Actual Loops"]
    return float(here + sum(map(looked_at, plan.get("Plans", ()))))


@pytest.mark.parametrize("mode", ["force_generic_plan", "force_custom_plan"])
@pytest.mark.parametrize("name", QUERIES)
def test_postgresql_reads_no_more_than_a_page(postgres: PostgresServer, filled: str, name: str, mode: str) -> None:
    query, arguments = QUERIES[name]()
    values = ", ".join(str(one) if isinstance(one, int) else f"'{one}'" for one in arguments)
    types = ", ".join("bigint" if isinstance(one, int) else "text" for one in arguments)
    settings = "; ".join(f"SET {name} = '{value}'" for name, value in (SETTINGS | {"plan_cache_mode": mode}).items())
    explained = f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) EXECUTE asked ({values})"
    told = postgres.sql(f"{settings}; PREPARE asked ({types}) AS {query}; {explained}", filled)
    assert 0 < looked_at(json.loads(told)[0]["Plan"]) <= ROWS_MAX


@pytest.mark.parametrize("name", QUERIES)
def test_sqlite_goes_along_an_index_and_reads_no_table_to_its_end(name: str) -> None:
    connection = apsw.Connection(":memory:")
    for migration in migrate.migrations("sqlite"):
        connection.execute(migration.sql)
    query, arguments = QUERIES[name]()
    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {query}", arguments)]
    # What is scanned is the page that a range of an index has given.
    assert {step.split()[1] for step in plan if step.startswith("SCAN")} <= {"a", "c", "t", "newest"}, plan
    assert any(step.startswith("SEARCH") for step in plan)
