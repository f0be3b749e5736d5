"""What PostgreSQL guards the money with: kept as the migrations made it, and compared with what is there now.

The server words its own definitions, a little differently in each major version, so no text of ours can be the measure.
The migration's own transaction writes down what the server says; nothing may change or remove that afterwards.
"""

import re
from typing import Any, Final

import asyncpg

from qirsh.store import migrate

# Kind, name, definition, and whether it is awake. Names that the server makes with numbers in them are not looked at:
# the triggers behind a reference count as the reference itself.
_FOUND: Final = """
WITH ours AS (
    SELECT c.* FROM pg_class c JOIN pg_class m ON m.oid = to_regclass('schema_migration')
    WHERE c.relnamespace = m.relnamespace AND c.relkind = 'r' AND c.relname = ANY($1::text[])
)
SELECT 'table', o.relname::text, concat_ws(', ', o.relpersistence, o.relrowsecurity, o.relforcerowsecurity, (
    SELECT string_agg(concat_ws(' ', a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity,
        a.attgenerated, pg_get_expr(d.adbin, d.adrelid)), ', ' ORDER BY a.attnum)
    FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE a.attrelid = o.oid AND a.attnum > 0 AND NOT a.attisdropped)), true
FROM ours o
UNION ALL
SELECT 'trigger', t.tgname || ' on ' || o.relname, pg_get_triggerdef(t.oid, true), t.tgenabled IN ('O', 'A')
FROM ours o JOIN pg_trigger t ON t.tgrelid = o.oid WHERE NOT t.tgisinternal
UNION ALL
SELECT 'rule', r.rulename || ' on ' || o.relname, pg_get_ruledef(r.oid, true), true
FROM ours o JOIN pg_rewrite r ON r.ev_class = o.oid
UNION ALL
SELECT 'constraint', c.conname || ' on ' || o.relname, pg_get_constraintdef(c.oid, true),
    NOT EXISTS (SELECT 1 FROM pg_trigger t WHERE t.tgconstraint = c.oid AND t.tgenabled NOT IN ('O', 'A'))
FROM ours o JOIN pg_constraint c ON c.conrelid = o.oid WHERE c.contype IN ('c', 'f', 'p', 'u', 'x')
UNION ALL
SELECT 'index', i.indexrelid::regclass || ' on ' || o.relname, pg_get_indexdef(i.indexrelid, 0, true), i.indisvalid
FROM ours o JOIN pg_index i ON i.indrelid = o.oid
WHERE NOT EXISTS (SELECT 1 FROM pg_constraint c WHERE c.conindid = i.indexrelid AND c.conrelid = o.oid)
UNION ALL
SELECT 'function', p.proname::text, concat_ws(' ', l.lanname, p.prosecdef, p.proconfig, p.prosrc), true
FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
WHERE p.prorettype = 'trigger'::regtype
    AND p.pronamespace = (SELECT relnamespace FROM pg_class WHERE oid = to_regclass('schema_migration'))
"""
_NEWEST: Final = "SELECT max(number) FROM schema_migration"
_KEPT: Final = "SELECT kind, name, definition, server FROM schema_guard WHERE migration = $1"
# An administrator may have reasons for an index or a function more; what acts by itself is ours or it is wrong.
_ACTS: Final = ("trigger", "rule")


def tables(known: list[migrate.Migration] | None = None) -> set[str]:
    """Those that these migrations make, or all of this version, and the one that records them."""
    steps = migrate.migrations("postgres") if known is None else known
    made = (re.findall(r"^CREATE TABLE (\w+)", step.sql, re.MULTILINE) for step in steps)
    return {"schema_migration"}.union(*made)


async def keep(connection: asyncpg.Connection, known: list[migrate.Migration]) -> None:
    """Write down what is there now, as that which the last of these migrations leads to."""
    rows = [
        (known[-1].number, kind, name, definition, connection.get_server_version().major)
        for kind, name, definition, _ in await connection.fetch(_FOUND, sorted(tables(known)))
    ]
    await connection.executemany(
        "INSERT INTO schema_guard (migration, kind, name, definition, server) VALUES ($1, $2, $3, $4, $5)", rows
    )


async def broken(connection: asyncpg.Connection) -> list[tuple[str, str, str]]:
    """Kind, name, and what is wrong with it. While the next version migrates, by what that one has kept."""
    while True:
        newest = await connection.fetchval(_NEWEST)
        kept = {(kind, name): (definition, by) for kind, name, definition, by in await connection.fetch(_KEPT, newest)}
        # Also those that only a newer version knows.
        names = {name for kind, name in kept if kind == "table"} | tables()
        rows: list[Any] = await connection.fetch(_FOUND, sorted(names))
        # Or a migration has ended between these looks.
        if await connection.fetchval(_NEWEST) == newest:
            break
    found = {(kind, name): (definition, is_awake) for kind, name, definition, is_awake in rows}
    faults = [] if kept else [("table", "schema_guard", "has lost what the guards should be")]
    role: str = await connection.fetchval("SELECT current_setting('session_replication_role')")
    if role == "replica":
        faults.append(("setting", "session_replication_role", "is replica, so that no guard wakes"))
    for key, (definition, server) in sorted(kept.items()):
        if key not in found:
            faults.append((*key, "is missing"))
            continue
        now, is_awake = found[key]
        # What a server of another version says of the same thing may differ; the text of a function is ours.
        is_comparable = server == connection.get_server_version().major or key[0] == "function"
        if is_comparable and now != definition:
            faults.append((*key, "was changed"))
        elif not is_awake:
            faults.append((*key, "is switched off"))
    return faults + [(*key, "is not ours") for key in sorted(found) if key[0] in _ACTS and key not in kept]
