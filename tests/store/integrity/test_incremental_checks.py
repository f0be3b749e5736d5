"""What the auditor asks while the service serves costs as much as the rows it asks of, whatever else there is."""

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

import apsw
import pytest

from qirsh.store.integrity import incremental_checks
from qirsh.store.interface import Query
from qirsh.store.postgres.connection import SETTINGS
from tests.postgres import PostgresServer
from tests.store.filled import FILLED, PostgresHand, SqliteHand, fill, filled_on

TURNS: Final = 300  # In each of them everybody pays the same shop once.
PAYERS: Final = 100
ASKED: Final = 2 * PAYERS
SHOP: Final = 600_000_000_001
FIRST_PAYER: Final = 500_000_000_001
FIRST_PAYMENT: Final = 1_000_000
# Of one row that is asked of: its neighbours on both sides, its payment, its accounts; and steps of SQLite's machine.
ROWS_MAX: Final = 20
STEPS_MAX: Final = 500
OF_TABLES: Final = {
    "transfer": incremental_checks.TRANSFERS,
    "payment": incremental_checks.PAYMENTS,
    "balance": incremental_checks.BALANCES,
    "account": incremental_checks.ACCOUNTS,
    "bank_order": incremental_checks.BANK_ORDERS,
    "payout": incremental_checks.PAYOUTS,
}
CHECKS: Final = [
    pytest.param(check.sql, table, id=check.name) for table, checks in OF_TABLES.items() for check in checks
]
Work = Callable[
    [Query, int | str, int | str], float
]  # Of a query from one key to another, for each row that is asked of.


_COPIED: Final = "kind, owner, mode, live_account, name, state, return_origins, created_at, updated_at, expires_in_s"
MANY: Final = f"""
CREATE TABLE place AS WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {TURNS * PAYERS - 1})
SELECT i, i / {PAYERS} AS batch, {FIRST_PAYER} + i % {PAYERS} AS payer FROM n;
INSERT INTO account (number, {_COPIED}) SELECT {SHOP}, {_COPIED} FROM account WHERE number = :shop;
INSERT INTO account (number, {_COPIED})
SELECT payer, {_COPIED} FROM account JOIN place ON i < {PAYERS} WHERE number = :customer;
INSERT INTO payment (number, merchant, payer, amount, currency, status, note, metadata, created_at, updated_at,
    expires_at, paid_at, refunded_amount, version)
SELECT {FIRST_PAYMENT} + i, {SHOP}, payer, 1, 'USD', 'paid', '', '{{}}', i, i, i, i, 0, 2 FROM place;
INSERT INTO transfer (kind, debit, credit, currency, amount, debit_sequence, debit_balance, credit_sequence,
    credit_balance, payment, created_at)
SELECT 'pay', payer, {SHOP}, 'USD', 1, batch + 1, {TURNS} - batch - 1, i + 1, i + 1, {FIRST_PAYMENT} + i, i
FROM place ORDER BY i;
INSERT INTO event (account, sequence, epoch, type, payment, version, created_at)
SELECT {SHOP}, i + 1, 0, 'remote_payment.paid', {FIRST_PAYMENT} + i, 2, i FROM place;
INSERT INTO event_counter SELECT {SHOP}, count(*) FROM place;
INSERT INTO payout (id, account, currency, amount, bank_sealed, state, reference, reason, created_at, updated_at)
SELECT 'po ' || CAST({FIRST_PAYMENT} + i AS TEXT), payer, 'USD', 1, bank_sealed, 'paid',
    'order ' || CAST({FIRST_PAYMENT} + i AS TEXT), '', i, i FROM place, payout WHERE id = 'po_2';
INSERT INTO proposal (id, action, command, subject, reason, asked_by, asked_at, editors, state, decided_by, decided_at,
    decision)
SELECT 'pr ' || CAST({FIRST_PAYMENT} + i AS TEXT), 'payout', command, 'account ' || CAST(payer AS TEXT), 'x',
    :first, i, '', 'done', :second, i, '' FROM place, proposal WHERE id = '{FILLED.ordered.id}';
INSERT INTO bank_order (house, reference, kind, account, currency, amount, proposal, booked_at, payout)
SELECT :house, 'order ' || CAST({FIRST_PAYMENT} + i AS TEXT), 'withdrawal', payer, 'USD', 1,
    'pr ' || CAST({FIRST_PAYMENT} + i AS TEXT), i, 'po ' || CAST({FIRST_PAYMENT} + i AS TEXT) FROM place;
INSERT INTO transfer (kind, debit, credit, currency, amount, debit_sequence, debit_balance, credit_sequence,
    credit_balance, bank_order, created_at)
SELECT 'withdrawal', payer, :house, 'TRY', 1, batch + 1, 1, i + 1, 1, 'order ' || CAST({FIRST_PAYMENT} + i AS TEXT), i
FROM place ORDER BY i;
INSERT INTO balance (account, currency, amount, sequence, is_house, held)
SELECT {SHOP}, 'USD', count(*), count(*), 1 = 0, 0 FROM place;
INSERT INTO balance (account, currency, amount, sequence, is_house, held)
SELECT payer, 'USD', 0, {TURNS}, 1 = 0, 0 FROM place WHERE i < {PAYERS};
"""  # noqa: S608 - our own names and numbers


@pytest.fixture(scope="module")
def sqlite_work(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Work]:
    path = tmp_path_factory.mktemp("many") / "qirsh.db"
    fill(path)
    hand = SqliteHand(path)
    for (name,) in hand.type("SELECT name FROM sqlite_schema WHERE type = 'trigger'"):
        hand.type(f"DROP TRIGGER {name}")
    hand.type(MANY)
    hand.close()
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    steps: list[int] = []
    connection.trace_v2(
        apsw.SQLITE_TRACE_PROFILE, lambda told: steps.append(told["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"])
    )

    def work(query: Query, first: int | str, last: int | str) -> float:
        steps.clear()
        connection.execute(query, (first, last)).fetchall()
        return steps[-1] / ASKED / STEPS_MAX

    yield work
    connection.close()


@pytest.fixture(scope="module")
def postgres_work(postgres: PostgresServer) -> Work:
    name = postgres.create_database(filled_on(postgres))
    hand = PostgresHand(postgres.url(name), is_kept=True)
    hand.type(f"SET LOCAL session_replication_role = replica; {MANY} ANALYZE")
    hand.close()
    settings = "; ".join(f"SET {name} = '{value}'" for name, value in SETTINGS.items())

    def work(query: Query, first: int | str, last: int | str) -> float:
        values = ", ".join(str(one) if isinstance(one, int) else f"'{one}'" for one in (first, last))
        types = ", ".join("bigint" if isinstance(one, int) else "text" for one in (first, last))
        explained = f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) EXECUTE asked ({values})"
        told = postgres.sql(f"{settings}; PREPARE asked ({types}) AS {query}; {explained}", name)
        return _looked_at(json.loads(told)[0]["Plan"]) / ASKED / ROWS_MAX

    return work


def _looked_at(plan: dict[str, Any]) -> float:
    """All rows that were read, also those that were read for nothing."""
    here = 0.0
    if "Relation Name" in plan:
        read = ("Actual Rows", "Rows Removed by Filter", "Rows Removed by Index Recheck")
        here = sum(plan.get(name, 0) for name in read) * plan["Actual Loops"]
    return float(here + sum(map(_looked_at, plan.get("Plans", ()))))


def _last(table: str) -> tuple[int | str, int | str]:
    """The key before the last rows that were added to it, and the last."""
    end = FIRST_PAYMENT + TURNS * PAYERS - 1
    if table == "payment":
        return end - ASKED, end
    if table in {"balance", "account"}:
        return FIRST_PAYER - 1, SHOP
    if table in {"bank_order", "payout"}:
        word = "order" if table == "bank_order" else "po"
        return f"{word} {end - ASKED}", f"{word} {end}"
    end = len(FILLED.transfers) + TURNS * PAYERS
    return end - ASKED, end


@pytest.fixture(params=["sqlite", "postgresql"])
def work(request: pytest.FixtureRequest) -> Work:
    found: Work = request.getfixturevalue("sqlite_work" if request.param == "sqlite" else "postgres_work")
    return found


@pytest.mark.parametrize(("sql", "table"), CHECKS)
def test_a_check_reads_a_few_rows_for_each_that_it_is_asked_of(work: Work, sql: str, table: str) -> None:
    assert work(Query(sql), *_last(table)) < 1


@pytest.mark.parametrize("place", range(len(incremental_checks.SLICES)))
def test_the_end_of_a_slice_is_found_at_its_rows(work: Work, place: int) -> None:
    start, query, _ = incremental_checks.SLICES[place]
    assert work(query, start, ASKED) < 1
