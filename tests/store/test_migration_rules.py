"""Migrations leave the version before able to serve, and its statements do not notice new columns."""

import ast
import re
from pathlib import Path
from typing import Final

import pytest

import qirsh
from qirsh.store.migrate import Migration, migrations
from tests.store.migration_rules import ARGUED, complaints
from tests.store.next_version import NEXT

_LAST_BEFORE_RULES: Final = 18
_BAD: Final = {
    "DROP TABLE payment": "waits for too long",
    "DROP INDEX payment_note": "waits for too long",
    "DROP TRIGGER transfer_stays ON transfer": "replaced and not dropped",
    "TRUNCATE lease": "waits for too long",
    "LOCK TABLE payment": "waits for too long",
    "UPDATE payment SET note = ''": "waits for too long",
    "DELETE FROM session": "waits for too long",
    "CREATE TABLE a (b BIGINT); INSERT INTO a SELECT number FROM payment": "waits for too long",
    "INSERT INTO currency VALUES ('XAU', 4, '2026-01-01')": "waits for too long",
    "DO $$ BEGIN UPDATE payment SET note = ''; END $$": "waits for too long",
    "CREATE TYPE mood AS ENUM ('good', 'bad')": "waits for too long",
    "SET lock_timeout = 0": "waits for too long",
    "CREATE INDEX payment_x ON payment (note)": "IF NOT EXISTS",
    "CREATE INDEX CONCURRENTLY payment_x ON payment (note)": "waits for too long",
    "ALTER TABLE payment RENAME COLUMN note TO remark": "nothing is renamed",
    "ALTER TABLE payment RENAME TO payments": "nothing is renamed",
    "ALTER TABLE payment DROP COLUMN note": "nothing is renamed",
    "ALTER TABLE payment DROP CONSTRAINT payment_check": "replaced and not dropped",
    "ALTER TABLE payment ALTER COLUMN amount TYPE numeric": "nothing is renamed",
    "ALTER TABLE payment ALTER COLUMN note SET NOT NULL": "nothing is renamed",
    "ALTER TABLE payment ALTER COLUMN note DROP NOT NULL": "nothing is renamed",
    "ALTER TABLE payment ADD COLUMN a TEXT, DROP COLUMN note": "nothing is renamed",
    "ALTER TABLE payment DISABLE TRIGGER ALL": "nothing is renamed",
    "ALTER TABLE payment ADD COLUMN a SERIAL": "nothing is renamed",
    "ALTER TABLE payment ADD PRIMARY KEY (number)": "nothing is renamed",
    "ALTER TABLE payment ADD COLUMN a TEXT NOT NULL": "nullable or has a constant default",
    "ALTER TABLE payment ADD COLUMN a BIGINT DEFAULT nextval('x')": "nullable or has a constant default",
    "ALTER TABLE payment ADD COLUMN a BIGINT REFERENCES account": "nullable or has a constant default",
    "ALTER TABLE payment ADD COLUMN a TEXT UNIQUE": "nullable or has a constant default",
    "ALTER TABLE payment ADD CHECK (amount < 10)": "NOT VALID",
    "ALTER TABLE payment ADD CONSTRAINT c FOREIGN KEY (a) REFERENCES account": "NOT VALID",
}


@pytest.mark.parametrize("migration", migrations("postgres"), ids=lambda one: str(one.number))
def test_the_version_before_lives_with_a_migration(migration: Migration) -> None:
    if migration.number > _LAST_BEFORE_RULES:
        assert complaints(migration) == []


@pytest.mark.parametrize("sql", _BAD)
def test_what_the_version_before_would_not_live_with_is_complained_of(sql: str) -> None:
    """Among good ones, behind a comment with an apostrophe."""
    [complaint] = complaints(Migration(9998, "bad", f"{NEXT.sql}\n-- It's bad.\n{sql};\n"))
    assert _BAD[sql] in complaint


@pytest.mark.parametrize(
    "sql",
    [
        NEXT.sql,
        "CREATE TABLE a (b BIGINT); CREATE INDEX c ON a (b); ALTER TABLE a ADD FOREIGN KEY (b) REFERENCES payment;",
        "DROP TRIGGER t ON payment; CREATE TRIGGER t AFTER INSERT ON payment FOR EACH ROW EXECUTE FUNCTION f('a;b');",
        "CREATE OR REPLACE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN DELETE FROM lease; END $$;",
        "INSERT INTO currency (code, exponent, since) VALUES ('XAU', 4, '2026-01-01');",
        """ALTER TABLE payment ADD COLUMN a TEXT COLLATE "C", ADD COLUMN b BOOLEAN NOT NULL DEFAULT FALSE;""",
        "ALTER TABLE payment DROP CONSTRAINT c, ADD CONSTRAINT c CHECK (note <> 'a -- b') NOT VALID;",
        "ALTER TABLE payment VALIDATE CONSTRAINT payment_a;",
    ],
)
def test_what_it_would_live_with_is_not(sql: str) -> None:
    assert complaints(Migration(9998, "good", sql)) == []


def test_an_argued_exception_is_of_a_statement_that_is_there() -> None:
    there = {migration.number: " ".join(migration.sql.split()) for migration in migrations("postgres")}
    assert [words for number, words in ARGUED if words not in there.get(number, "")] == []


def test_every_statement_names_the_columns_that_it_fills() -> None:
    """Or a version that serves would fill those that the next one adds."""
    root = Path(qirsh.__file__).parent
    nameless = [
        f"{file.relative_to(root)}: {text[:60]}"
        for file in sorted(root.rglob("*.py"))
        if "INSERT INTO" in file.read_text()
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Constant) and isinstance(text := node.value, str)
        if re.search(r"\bINSERT INTO \w+( AS \w+)? (VALUES|SELECT|DEFAULT)\b", text)
    ]
    assert nameless == []
