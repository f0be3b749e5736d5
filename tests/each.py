"""A table of cases as one test: `@each` in the place of `@pytest.mark.parametrize`.

Every row runs, and those that fail are reported as subtests. To collect, set up and report thousands of tests that
each take a millisecond costs more than to run them.
"""

import functools
import inspect
import itertools
from collections.abc import Callable, Iterable
from typing import Any, Final

import pytest

from tests.domain.market import Market

# Made for every row, even if a fixture has the same name: rows change it.
_FRESH: Final[dict[str, Callable[[], object]]] = {"market": Market}
_ROWS: Final = "rows_of_each"
Test = Callable[..., None]


def each(names: str | tuple[str, ...], rows: Iterable[Any]) -> Callable[[Test], Test]:
    """Names and rows as `parametrize` has them. Of several tables every combination runs."""
    columns = tuple(name.strip() for name in names.split(",")) if isinstance(names, str) else names
    table = [dict(zip(columns, row if len(columns) > 1 else (row,), strict=True)) for row in rows]
    assert table

    def decorated(test: Test) -> Test:
        inner, tables = getattr(test, _ROWS, (test, []))
        return _looped(inner, [table, *tables])

    return decorated


def _looped(test: Test, tables: list[list[dict[str, Any]]]) -> Test:
    parameters = inspect.signature(test).parameters
    columns = {name for table in tables for name in table[0]}
    fresh = {name: make for name, make in _FRESH.items() if name in parameters and name not in columns}
    fixtures = [name for name in parameters if name not in columns and name not in fresh]

    @functools.wraps(test)
    def looped(subtests: pytest.Subtests, **shared: object) -> None:
        for rows in itertools.product(*tables):
            row = {name: value for part in rows for name, value in part.items()}
            made = {name: make() for name, make in fresh.items()}
            try:
                test(**row, **made, **shared)
            except (Exception, pytest.fail.Exception) as failure:
                with subtests.test(", ".join(f"{name}={value!a:.80}" for name, value in row.items())):
                    raise failure from failure.__cause__

    setattr(looped, _ROWS, (test, tables))
    # pytest reads the names of fixtures from it.
    wanted = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in ("subtests", *fixtures)]
    looped.__signature__ = inspect.Signature(wanted)  # type: ignore[attr-defined]
    return looped
