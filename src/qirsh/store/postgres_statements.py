"""SQL for many rows at once: one statement a table, the rows of a batch as one array a column."""

from collections.abc import Iterable, Sequence
from functools import cache
from types import UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints

from qirsh.store.rows import Table

_TYPES: Final = {int: "bigint", str: "text", bytes: "bytea", bool: "boolean"}


@cache
def load(table: Table[Any], *, locked: bool) -> str:
    """SQL that finds rows by their keys. Locked, each is returned as it is once the lock is ours, in the lock order."""
    columns, key = ", ".join(table.columns), ", ".join(table.key)
    if len(table.key) == 1:
        condition = f"{key} = ANY($1::{_type(table, key)}[])"
    else:
        condition = f"({key}) IN (SELECT * FROM {_unnest(table, table.key)})"  # noqa: S608 - our own names
    sql = f"SELECT {columns} FROM {table.name} WHERE {condition}"  # noqa: S608 - our own names
    return f"{sql} ORDER BY {key} FOR NO KEY UPDATE OF {table.name}" if locked else sql


@cache
def insert(table: Table[Any]) -> str:
    """SQL that adds rows, in their order."""
    columns = ", ".join(table.columns)
    return f"INSERT INTO {table.name} ({columns}) SELECT * FROM {_unnest(table, table.columns)}"  # noqa: S608 - ours


@cache
def update(table: Table[Any]) -> str:
    """SQL that changes rows; the values are those of `Table.changed_values`."""
    names = (*table.changes, *table.key)
    changes = ", ".join(f"{name} = v.{name}" for name in table.changes)
    condition = " AND ".join(f"t.{name} = v.{name}" for name in table.key)
    rows = f"{_unnest(table, names)} AS v ({', '.join(names)})"
    return f"UPDATE {table.name} t SET {changes} FROM {rows} WHERE {condition}"  # noqa: S608 - our own names


def columns_of(rows: Iterable[Sequence[Any]]) -> list[tuple[Any, ...]]:
    """Rows turned into columns, one array each."""
    return list(zip(*rows, strict=True))


def keys_of(table: Table[Any], keys: Sequence[Any]) -> list[Sequence[Any]]:
    """The arguments of `load`."""
    return [keys] if len(table.key) == 1 else [*columns_of(keys)]


def _unnest(table: Table[Any], names: Iterable[str]) -> str:
    arrays = [f"${place}::{_type(table, name)}[]" for place, name in enumerate(names, 1)]
    return f"unnest({', '.join(arrays)})"


@cache
def _type(table: Table[Any], column: str) -> str:
    hint = get_type_hints(table.record)[column]
    if get_origin(hint) in {Union, UnionType}:  # It may be NULL.
        [hint] = [kind for kind in get_args(hint) if kind is not type(None)]
    return _TYPES[str if get_origin(hint) is Literal else hint]
