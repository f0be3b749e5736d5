"""SQL for many rows at once, in a few sizes whose statements stay prepared.

Keys go as arrays, rows as plain values: the driver takes four times as long for an array of each column.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain, count
from types import UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints

import asyncpg

from qirsh.domain.table import Columns, Table

_STEP: Final = 8
_ROWS_MAX: Final = 64  # The driver keeps no statement prepared whose text is above 15 KiB.
_TYPES: Final = {int: "bigint", str: "text", bytes: "bytea", bool: "boolean"}


@cache
def load(table: Table[Any, Any], *, locked: bool) -> str:
    """SQL that finds rows by their keys. Locked, each is returned as it is once the lock is ours, in the lock order."""
    columns, key = ", ".join(table.columns), ", ".join(table.key)
    if len(table.key) == 1:
        sql = f"SELECT {columns} FROM {table.name} WHERE {key} = ANY($1::{_type(table, key)}[])"  # noqa: S608 - our own names
        return f"{sql} ORDER BY {key} FOR NO KEY UPDATE OF {table.name}" if locked else sql
    # One look along the key for each: of a table that it takes for empty the server would read all rows for all keys.
    condition = " AND ".join(f"{table.name}.{name} = k.{name}" for name in table.key)
    ending = "FOR NO KEY UPDATE" if locked else "OFFSET 0"
    return (
        f"SELECT r.* FROM (SELECT * FROM {_unnest(table, table.key)} AS u ({key}) ORDER BY {key}) AS k"  # noqa: S608 - our own names
        f" CROSS JOIN LATERAL (SELECT {columns} FROM {table.name} WHERE {condition} {ending}) AS r"
    )


async def insert(connection: asyncpg.Connection, table: Columns[Any], rows: list[tuple[Any, ...]]) -> None:
    """Add rows by COPY, which costs the database half of an INSERT, and is held to the same guards."""
    await connection.copy_records_to_table(table.name, records=rows, columns=table.columns)


def updates(table: Table[Any, Any], rows: list[tuple[Any, ...]]) -> Iterator[tuple[str, list[Any]]]:
    """Statements and their arguments that change rows; the values are those of `Table.changed_values`."""
    for start in range(0, len(rows), _ROWS_MAX):
        part = rows[start : start + _ROWS_MAX]
        size = 1 << (len(part) - 1).bit_length() if len(part) <= _STEP else -(-len(part) // _STEP) * _STEP
        part += part[-1:] * (size - len(part))  # The same change twice is made once.
        yield _update(table, size), [*chain.from_iterable(part)]


@cache
def _update(table: Table[Any, Any], size: int) -> str:
    names = (*table.changes, *table.key)
    changes = ", ".join(f"{name} = v.{name}" for name in table.changes)
    condition = " AND ".join(f"t.{name} = v.{name}" for name in table.key)
    # The types of the first row are those of all.
    placeholders = (f"${number}" for number in count(1))
    rows = [[f"{next(placeholders)}::{_type(table, name)}" for name in names]]
    rows += [[next(placeholders) for _ in names] for _ in range(size - 1)]
    values = ", ".join(f"({', '.join(row)})" for row in rows)
    return f"UPDATE {table.name} t SET {changes} FROM (VALUES {values}) v ({', '.join(names)}) WHERE {condition}"  # noqa: S608 - ours


@cache
def delete(table: Table[Any, Any]) -> str:
    """SQL that removes the rows of these keys, whose arguments are those of `load`."""
    condition = f"({', '.join(table.key)}) IN (SELECT * FROM {_unnest(table, table.key)})"  # noqa: S608 - our own names
    return f"DELETE FROM {table.name} WHERE {condition}"  # noqa: S608 - our own names


def keys_of(table: Table[Any, Any], keys: Sequence[Any]) -> list[Sequence[Any]]:
    """The arguments of `load`: an array for each column of the key."""
    return [keys] if len(table.key) == 1 else [*zip(*keys, strict=True)]


def _unnest(table: Table[Any, Any], names: Iterable[str]) -> str:
    arrays = [f"${number}::{_type(table, name)}[]" for number, name in enumerate(names, 1)]
    return f"unnest({', '.join(arrays)})"


@cache
def _type(table: Table[Any, Any], column: str) -> str:
    hint = get_type_hints(table.record)[column]
    if get_origin(hint) in {Union, UnionType}:  # It may be NULL.
        [hint] = [kind for kind in get_args(hint) if kind is not type(None)]
    return _TYPES[str if get_origin(hint) is Literal else hint]
