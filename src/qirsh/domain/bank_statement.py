"""Statements of the bank: files that were imported, their lines, and which bank order each line shows."""

import hashlib
from typing import Literal

import msgspec

from qirsh.domain.bank_file import FileLine
from qirsh.domain.bank_order import BankOrder
from qirsh.domain.limits import BANK_LOADING_MS

StatementState = Literal["loading", "imported", "undone"]
How = Literal["auto", "hand"]


class HouseBankFormat(msgspec.Struct, frozen=True):
    """How the bank writes its files about one house account."""

    house: int
    format: str  # A `BankFormat` as JSON.
    changed_by: int
    changed_at: int


class BankStatement(msgspec.Struct, frozen=True):
    """One file. Its lines count while it is imported, and go with it if no other file has them."""

    id: str
    house: int
    name: str  # Of the file.
    digest: bytes  # The same.
    imported_by: int
    imported_at: int  # When it began.
    first_day: str
    last_day: str
    lines: int
    closing: str  # By currency, in minor units, as JSON: what the bank says was left at the end of the last day.
    time_zone: str  # Of the bank's day.
    state: StatementState = "loading"
    stored: int = 0  # Lines that are there: all of them when it is imported, and none when the undoing is done.


class BankLine(msgspec.Struct, frozen=True):
    """A movement on the bank account, however many files tell of it."""

    house: int
    digest: bytes
    day: str
    amount: int  # Above zero: money that came in.
    currency: str
    reference: str
    text_sealed: bytes
    added_at: int
    files: int = 1  # Statements that have it.
    matched: str | None = None  # The reference of the bank order that it shows.


class BankStatementLine(msgspec.Struct, frozen=True):
    """That a statement has a line."""

    statement: str
    line: bytes
    house: int
    number: int  # In the file.


class BankMatch(msgspec.Struct, frozen=True):
    """A bank order that the bank tells of, by one line and no other. It moves no money."""

    house: int
    reference: str
    line: bytes
    matched_by: int
    matched_at: int
    how: How


def is_being_loaded(statement: BankStatement, now: int) -> bool:
    """Whether its import is most likely running. One that takes longer was interrupted."""
    return statement.state == "loading" and now - statement.imported_at < BANK_LOADING_MS


def line_digest(line: FileLine) -> bytes:
    """What a line is known by: two files that overlap have the same, and equal lines of one file have others."""
    told = (line.day, line.amount, line.currency, line.reference, line.text, line.occurrence)
    return hashlib.sha256(msgspec.json.encode(told)).digest()


def bank_amount(order: BankOrder) -> int:
    """What the bank's own line of an order says: a deposit has come in there."""
    return order.amount if order.kind == "deposit" else -order.amount


def is_shown_by(order: BankOrder, line: BankLine) -> bool:
    """Whether a line may be that of an order: house, currency, amount and direction."""
    return (order.house, order.currency, bank_amount(order)) == (line.house, line.currency, line.amount)
