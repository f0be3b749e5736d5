"""A file of the bank, understood and imported by the very acts of the console and the command line."""

import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from bench.console.crowd import amount_of, reference_of
from bench.console.size import Size
from bench.failure import BenchFailed
from bench.seed import CURRENCY
from qirsh.domain.money import format_amount
from qirsh.store.interface import Query
from qirsh.web.http.context import Context
from qirsh.web.operator.action import Actor
from qirsh.web.operator.actions import ACTIONS

UNDERSTOOD_S_MAX: Final = 3.0
MATCHED_S_MAX: Final = 10.0
_IMPORTED: Final = Query("SELECT id FROM bank_statement WHERE state <> 'undone'")
_FORMAT: Final = {
    "encoding": "utf-8",
    "separator": ";",
    "decimal": ".",
    "date": "YYYY-MM-DD",
    "day_column": "Day",
    "amount_column": "Amount",
    "currency_column": "Currency",
    "reference_column": "Reference",
    "text_column": "Text",
}


class BankTimes(msgspec.Struct, frozen=True):
    """Of one file."""

    lines: int
    understood_s: float
    imported_s: float  # Understood again, stored, and matched.
    matched: int


async def import_file(context: Context, operator: int, size: Size) -> tuple[str, BankTimes]:
    """What an earlier run has imported is taken back before. The outcome is the statement's id, and the times."""
    actor = Actor(operator)
    for (statement,) in await context.store.select(_IMPORTED):
        await ACTIONS["bank undo"].run(context, actor, {"id": statement})
    await ACTIONS["bank format"].run(context, actor, dict(_FORMAT))
    unknown = _file(f"{_line(number, f'X-{number}')}" for number in range(size.unmatched))
    await _imported(context, actor, unknown, "unknown.csv")
    booked = _file(_line(number, reference_of(number)) for number in range(size.bank_lines))
    statement, times = await _imported(context, actor, booked, "booked.csv")
    if times.matched != size.bank_lines:
        raise BenchFailed(f"of {size.bank_lines} lines of the bank {times.matched} were matched")
    return statement, times


async def _imported(context: Context, actor: Actor, data: bytes, name: str) -> tuple[str, BankTimes]:
    act, params = ACTIONS["bank import"].run, {"file": urlsafe_b64encode(data).decode(), "name": name}
    began = time.monotonic()
    seen: dict[str, Any] = await act(context, actor, params)
    understood_s = time.monotonic() - began
    if seen["state"] != "preview":
        raise BenchFailed(f"{name} was not understood: {seen['faults'][:3]}")
    began = time.monotonic()
    done = await act(context, actor, {**params, "digest": seen["digest"]})
    return done["id"], BankTimes(seen["lines"], understood_s, time.monotonic() - began, done["matched"])


def _file(lines: Iterator[str]) -> bytes:
    return "\n".join(("Day;Amount;Currency;Reference;Text", *lines, "")).encode()


def _line(number: int, reference: str) -> str:
    today = datetime.now(UTC).date()
    amount = format_amount(amount_of(number), CURRENCY)
    return f"{today};{amount};{CURRENCY};{reference};Transfer by customer {number}"
