"""Statements for many rows at once: one execution for a batch, from a small set of texts that stay prepared.

Each execution hands the interpreter's lock over and takes a slot in apsw's ring of prepared statements, so that a batch
written row by row pushed its own next statements out, and had them prepared again with all their triggers. Sizes are
powers of two: few texts, and few executions for any number of rows. OR ROLLBACK, because a batch is undone as a whole.
"""

from collections.abc import Callable, Iterator
from functools import cache
from itertools import chain
from typing import Any, Final

import apsw

from qirsh.domain.table import Columns, Table

_ROWS_MAX: Final = 64  # The text must stay below 16 KiB, or apsw does not keep it.


def load(cursor: apsw.Cursor, table: Table[Any, Any], keys: list[Any]) -> Iterator[tuple[Any, ...]]:
    """The rows with these keys, in any order."""
    is_single = len(table.key) == 1
    for start in range(0, len(keys), _ROWS_MAX):
        part = keys[start : start + _ROWS_MAX]
        size = 1 << (len(part) - 1).bit_length()
        part += part[-1:] * (size - len(part))  # The same key twice finds the same row.
        values = part if is_single else tuple(chain.from_iterable(part))
        yield from cursor.execute(select(table, size), values)


def write(cursor: apsw.Cursor, sql: Callable[[Any, int], str], table: Columns[Any], rows: list[Any]) -> None:
    """The rows, in their order."""
    start, left = 0, len(rows)
    while left:
        size = min(1 << (left.bit_length() - 1), _ROWS_MAX)
        values = rows[start] if size == 1 else tuple(chain.from_iterable(rows[start : start + size]))
        cursor.execute(sql(table, size), values)
        start += size
        left -= size


@cache
def insert(table: Columns[Any], size: int) -> str:
    """SQL that adds this many rows."""
    row = f"({', '.join('?' * len(table.columns))})"
    return f"INSERT OR ROLLBACK INTO {table.name} ({', '.join(table.columns)}) VALUES {', '.join([row] * size)}"  # noqa: S608 - ours


@cache
def update(table: Table[Any, Any], size: int) -> str:
    """SQL that changes this many rows; the values are those of `Table.changed_values`."""
    if size == 1:
        changes = ", ".join(f"{column} = ?" for column in table.changes)
        condition = " AND ".join(f"{column} = ?" for column in table.key)
        return f"UPDATE OR ROLLBACK {table.name} SET {changes} WHERE {condition}"  # noqa: S608 - our own names
    columns = (*table.changes, *table.key)
    row = f"({', '.join('?' * len(columns))})"
    changes = ", ".join(f"{column} = v.column{position}" for position, column in enumerate(table.changes, 1))
    first = len(table.changes) + 1
    condition = " AND ".join(
        f"{table.name}.{column} = v.column{position}" for position, column in enumerate(table.key, first)
    )
    return f"UPDATE OR ROLLBACK {table.name} SET {changes} FROM (VALUES {', '.join([row] * size)}) v WHERE {condition}"  # noqa: S608 - ours


@cache
def delete(table: Table[Any, Any]) -> str:
    """SQL that removes one row. Few are, and none on the way of a payment."""
    condition = " AND ".join(f"{column} = ?" for column in table.key)
    return f"DELETE FROM {table.name} WHERE {condition}"  # noqa: S608 - our own names


@cache
def select(table: Table[Any, Any], size: int) -> str:
    """SQL that finds the rows of this many keys."""
    if len(table.key) == 1:
        condition = f"{table.key[0]} IN ({', '.join('?' * size)})"
    else:
        row = f"({', '.join('?' * len(table.key))})"
        condition = f"({', '.join(table.key)}) IN (VALUES {', '.join([row] * size)})"
    return f"SELECT {', '.join(table.columns)} FROM {table.name} WHERE {condition}"  # noqa: S608 - our own names
