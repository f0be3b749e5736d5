"""What a migration may contain, so that the version before serves on meanwhile: docs/how-to-add.md, "A migration".

What is not known to be harmless is refused. Whether the earlier version's writes pass a new guard, no parser can see.
"""

import re
from collections.abc import Iterator
from typing import Final

from qirsh.store.migrate import Migration

# (Migration, beginning of the statement) -> why the version before can live with it: it has used this no more.
ARGUED: Final[dict[tuple[int, str], str]] = {}

_NO_CODE: Final = re.compile(r"--[^\n]*|\$\$.*?\$\$|'(?:[^']|'')*'", re.DOTALL)
_LITERAL: Final = r"(?:-?\d+|''|TRUE|FALSE|NULL)(?:::\w+)?"
_HARMLESS: Final = re.compile(
    r"CREATE TABLE \w+ \(|CREATE (?:OR REPLACE )?FUNCTION |CREATE (?:OR REPLACE )?(?:CONSTRAINT )?TRIGGER |COMMENT ON "
    r"|INSERT INTO \w+ \([^()]*\) VALUES ",
)
_INDEX: Final = re.compile(r"CREATE (?:UNIQUE )?INDEX (IF NOT EXISTS )?\w+ ON (\w+) ")
_ALTER: Final = re.compile(r"ALTER TABLE (\w+) (.*)")


def complaints(migration: Migration) -> list[str]:
    """What the version before would not live with, in sentences."""
    statements = list(_statements(migration.sql))
    new = {name for statement in statements for name in re.findall(r"^CREATE TABLE (\w+)", statement)}
    found = []
    for statement in statements:
        if any(number == migration.number and statement.startswith(words) for number, words in ARGUED):
            continue
        if why := _complaint(statement, new, statements):
            found.append(f"{migration.number}: {why}: {statement[:80]}")
    return found


def _statements(sql: str) -> Iterator[str]:
    """One line each, without comments and bodies of functions, and with texts that are empty."""
    for statement in _NO_CODE.sub(lambda found: "''" if found[0][0] == "'" else " ", sql).split(";"):
        if words := " ".join(statement.split()):
            yield words


def _complaint(statement: str, new: set[str], all_of_it: list[str]) -> str:
    if _HARMLESS.match(statement):
        return ""
    if index := _INDEX.match(statement):
        is_ready, table = index.groups()
        return "" if table in new or is_ready else "an index of a table that is in use is made IF NOT EXISTS"
    if altered := _ALTER.fullmatch(statement):
        table, actions = altered.groups()
        if table in new:
            return ""
        return next(filter(None, (_action_complaint(action, table, all_of_it) for action in _parts(actions))), "")
    if dropped := re.fullmatch(r"DROP TRIGGER (\w+) ON (\w+)", statement):
        return _not_replaced(rf"CREATE (?:CONSTRAINT )?TRIGGER {dropped[1]} .* ON {dropped[2]} ", all_of_it)
    return "the version before may need this to be otherwise, or waits for too long"


def _parts(actions: str) -> Iterator[str]:
    """What stands between commas outside of brackets."""
    depth, part = 0, ""
    for letter in actions:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            yield part.strip()
            part = ""
        else:
            part += letter
    yield part.strip()


def _not_replaced(pattern: str, all_of_it: list[str]) -> str:
    is_made_again = any(re.match(pattern, statement) for statement in all_of_it)
    return "" if is_made_again else "a guard may be replaced and not dropped"


def _action_complaint(action: str, table: str, all_of_it: list[str]) -> str:
    if dropped := re.fullmatch(r"DROP CONSTRAINT (\w+)", action):
        return _not_replaced(rf"ALTER TABLE {table} .*\bADD CONSTRAINT {dropped[1]} ", all_of_it)
    if re.match(r"ADD (?:CONSTRAINT \w+ )?(?:CHECK|FOREIGN KEY) ?\(", action):
        return "" if action.endswith(" NOT VALID") else "a constraint that reads the whole table is added NOT VALID"
    if re.match(r"VALIDATE CONSTRAINT ", action):
        return ""
    if not (added := re.fullmatch(r"ADD COLUMN (?:IF NOT EXISTS )?\w+ (?:TEXT|BIGINT|BYTEA|BOOLEAN)\b(.*)", action)):
        return "of a table that is in use nothing is renamed, dropped, retyped or made to demand more"
    rest = added[1].replace(' COLLATE "C"', "")
    if re.fullmatch(rf"(?: NOT NULL)? DEFAULT {_LITERAL}(?: NOT NULL)?|", rest):
        return ""
    return "a new column is nullable or has a constant default, and its constraints are added NOT VALID"
