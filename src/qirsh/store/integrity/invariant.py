"""A rule that must hold of what is stored: a query that returns the rows which break it, and words for them."""

from collections.abc import Callable, Iterable
from decimal import Decimal
from itertools import islice
from typing import Any, Final

import msgspec

from qirsh.store.interface import Query

ROWS_NAMED_MAX: Final = 20  # Enough to see a pattern; a broken table has millions.

Select = Callable[[str], Iterable[tuple[Any, ...]]]


class Invariant(msgspec.Struct, frozen=True):
    """One rule. Its sentence is filled with the columns of each row that the query finds."""

    number: int  # In docs/invariants.md; a rule that the list does not name stands under the one it serves.
    name: str
    sentence: str
    sql: Query


class Violation(msgspec.Struct, frozen=True):
    """One row that breaks a rule, named so that a person can go and look at it."""

    number: int
    name: str
    sentence: str


def violations_of(invariant: Invariant, select: Select) -> list[Violation]:
    """The first rows that break one rule, and a last sentence if there are more."""
    rows = list(islice(select(f"{invariant.sql} LIMIT {ROWS_NAMED_MAX + 1}"), ROWS_NAMED_MAX + 1))
    named = [map(_named, row) for row in rows[:ROWS_NAMED_MAX]]
    sentences = [invariant.sentence.format(*row) for row in named]
    if len(rows) > ROWS_NAMED_MAX:
        sentences.append(f"and more than these {ROWS_NAMED_MAX}")
    return [Violation(invariant.number, invariant.name, sentence) for sentence in sentences]


def _named(value: object) -> object:
    # PostgreSQL sums into decimals, which would print 100000 as 1.0E+5.
    return "nothing" if value is None else int(value) if isinstance(value, Decimal) else value


def rule(number: int, name: str, sentence: str, sql: str) -> Invariant:
    return Invariant(number, name, sentence, Query(sql))


def total(amount: str) -> str:
    """A sum in two halves: what moved through a busy account can exceed 64 bits and leave a small balance."""
    return f"(sum({amount} / 1000000000) * 1000000000 + sum({amount} % 1000000000))"
