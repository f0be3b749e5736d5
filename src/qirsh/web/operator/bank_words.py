"""Statements of the bank in the words of the command line, and what both faces ask about them."""

from datetime import date
from typing import Final
from zoneinfo import ZoneInfo

import msgspec

from qirsh.contract.timestamps import timestamp
from qirsh.domain import limits
from qirsh.domain.bank_file import Fault
from qirsh.domain.bank_format import BankFormat, read_format
from qirsh.domain.bank_order import BankOrder
from qirsh.domain.bank_statement import BankLine, BankStatement, bank_amount
from qirsh.domain.money import format_amount
from qirsh.domain.tables import Tables
from qirsh.engine.bank_line_text import text_of
from qirsh.language.catalog import mark as _
from qirsh.language.local_time import midnight_ms
from qirsh.store.reads.bank_reconciliation import Reconciled
from qirsh.store.reads.bank_statements import FoundLine, House, houses, line_by_signs
from qirsh.web.http.context import Context
from qirsh.web.operator.action import HOUSE, ONE_OF, ActionRefused, Params, word_text

HOUSES_MAX: Final = 100
LINE_SIGNS: Final = 16  # Of a line's digest: what people know it by.
_DIGEST_SIGNS: Final = 64
# What is wrong with a file, for the command line. Pages have words of their own.
FAULTS: Final = {
    "too_large": f"the file is larger than {limits.BANK_FILE_BYTES_MAX // 1024 // 1024} MiB",
    "too_many_lines": f"the file has more than {limits.BANK_LINES_MAX} lines: import it in parts",
    "encoding": "cannot be read in the encoding of the format",
    "is_utf8": "the file is in UTF-8, and the format says another encoding",
    "control_character": "has a character that is no text",
    "open_quote": "a quotation mark is never closed: is the file complete?",
    "quote": "has a quotation mark where none can be",
    "no_column": "there is no such column",
    "column_twice": "there are two columns of this name",
    "cells": "has another number of cells than the first line: is it complete?",
    "long_cell": f"has a cell of more than {limits.BANK_CELL_CHARACTERS_MAX} characters",
    "date": "is no date of the chosen form",
    "far_day": f"is a day before {limits.BANK_DAY_FIRST} or more than {limits.BANK_DAYS_AHEAD_MAX} days from now",
    "amount": "is no amount",
    "decimals": "has more decimals than the currency",
    "too_much": "is more than can be held",
    "no_amount": "has neither a debit nor a credit",
    "two_amounts": "has both a debit and a credit",
    "currency": "is no currency of this service",
    "reference": f"has a reference of more than {limits.BANK_REFERENCE_CHARACTERS_MAX} characters",
    "other_account": "is about another bank account",
    "no_account": "no line above the table names the bank account: is it the right file?",
    "balance": "its balance does not follow from the one before and its amount",
    "no_lines": "the file has no lines",
    "only_zeros": "no line of the file has an amount, and lines of 0.00 are left out",
}

# What is wrong with a format.
FORMAT_FAULTS: Final[dict[str, str]] = {
    "name": _("must be a name of at most %(most)s printable characters, or a number"),
    "number": _("must be a name, or a number from 1 to %(most)s"),
    "missing": _("must be given"),
    "twice": _("is the column of something else already"),
    "amount": _("must be given, or the two columns of debits and credits"),
    "currency": _("must be given, or the column that tells it"),
    "unknown_currency": ONE_OF,
    "skipped": _("must be 0 to %(most)s"),
    "account": _("must be printable, with at most %(most)s characters"),
    "no_account": _("must be given, where a column tells it"),
    "no_account_column": _("must be given, where no line above the table could name the account"),
}


async def bank_house(context: Context, params: Params) -> House:
    """The house account that is meant, by its number or its name; without either, the first one."""
    given = word_text(params, "house", limits.NAME_CHARACTERS_MAX, default="") or HOUSE
    for one in await houses(context.store, HOUSES_MAX):
        if given in {str(one.number), one.name}:
            return one
    raise ActionRefused(
        "not_found", _("there is no house account of this number or name that has a bank account"), field="house"
    )


async def format_of(context: Context, house: House) -> BankFormat:
    """As it was chosen for the house account."""
    kept = await context.store.find(Tables.bank_formats, house.number)
    if kept is None:
        raise ActionRefused(
            "not_found",
            _("How the bank of %(house)s writes its files is not known yet: `qirsh bank format` says it."),
            house=house.name,
        )
    return read_format(kept.format)


async def statement_of(context: Context, params: Params) -> BankStatement:
    """The one that is meant."""
    found = await context.store.find(Tables.bank_statements, word_text(params, "id", 64))
    if found is None:
        raise ActionRefused("not_found", _("There is no statement with this id: `qirsh bank list` shows them."))
    return found


async def line_of(context: Context, house: House, params: Params) -> FoundLine:
    """The one that is meant, by the beginning of its digest."""
    given = word_text(params, "line", _DIGEST_SIGNS).lower()
    try:
        signs = bytes.fromhex(given)
    except ValueError:
        signs = b""
    found = await line_by_signs(context.store, house.number, signs) if len(given) >= LINE_SIGNS // 2 else None
    if found is None or found.statement is None:
        raise ActionRefused("not_found", _("There is no such line: `qirsh bank list --what lines` shows them."))
    return found


def day_end(day: str, time_zone: str) -> int:
    """The first moment after a day of the bank."""
    return _midnight(day, 1, time_zone)


def near_days(day: str, time_zone: str) -> tuple[int, int]:
    """From when to when an order may be that of a line."""
    near = limits.BANK_SUGGESTED_DAYS
    return _midnight(day, -near, time_zone), _midnight(day, near + 1, time_zone)


def _midnight(day: str, later: int, time_zone: str) -> int:
    """The first moment of the day that is so many days later, or of the one at which the calendar ends."""
    number = date.fromisoformat(day).toordinal() + later
    near = date.fromordinal(min(max(number, date.min.toordinal()), date.max.toordinal()))
    return midnight_ms(near, ZoneInfo(time_zone))


def statement_words(statement: BankStatement) -> Params:
    """For the command line."""
    closing: dict[str, int] = msgspec.json.decode(statement.closing)
    return {
        "id": statement.id,
        "state": statement.state,
        "file": statement.name,
        "firstDay": statement.first_day,
        "lastDay": statement.last_day,
        "lines": statement.lines,
        "closing": ", ".join(f"{format_amount(amount, code)} {code}" for code, amount in closing.items()),
        "importedBy": f"operator {statement.imported_by}",
        "importedAt": timestamp(statement.imported_at),
    }


def line_words(context: Context, line: BankLine) -> Params:
    """The same."""
    return {
        "line": line_id(line),
        "day": line.day,
        "amount": format_amount(line.amount, line.currency),
        "currency": line.currency,
        "reference": line.reference,
        "text": text_of(context.keyring, line),
    }


def line_id(line: BankLine) -> str:
    """What people know a line by."""
    return line.digest.hex()[:LINE_SIGNS]


def order_words(order: BankOrder) -> Params:
    """The same."""
    return {
        "reference": order.reference,
        "bookedAt": timestamp(order.booked_at),
        "amount": format_amount(bank_amount(order), order.currency),
        "currency": order.currency,
        "account": str(order.account),
    }


def fault_words(fault: Fault) -> Params:
    """The same."""
    found = f": {fault.found}" if fault.found else ""
    return {"line": fault.line, "what": fault.what, "found": fault.found, "told": f"{FAULTS[fault.what]}{found}"}


def reconciled_words(one: Reconciled) -> Params:
    """The same."""

    def told(amount: int | None) -> str:
        return "" if amount is None else format_amount(amount, one.currency)

    return {
        "currency": one.currency,
        "bank": told(one.bank),
        "books": told(one.books),
        "difference": told(one.difference),
        "unmatchedLines": told(one.lines),
        "unmatchedLinesCount": one.lines_count,
        "unmatchedOrders": told(one.orders),
        "unmatchedOrdersCount": one.orders_count,
        "unexplained": told(one.unexplained),
        "state": "unknown" if one.unexplained is None else "wrong" if one.unexplained else "right",
    }
