"""Commands about statements of the bank. Files are stored, removed and matched some hundred lines at a time."""

import msgspec

from qirsh.domain.bank_statement import BankMatch, BankStatement, HouseBankFormat
from qirsh.domain.command import Command


class SetBankFormat(Command[HouseBankFormat], frozen=True):
    """An operator says how the bank writes its files. The outcome is what is kept of it."""

    house: int
    format: str
    operator: int
    actor: str


class BeginBankStatement(Command[BankStatement], frozen=True):
    """A file that was understood is going to be stored. The outcome is the statement, whose lines do not count yet."""

    id: str
    house: int
    name: str
    digest: bytes
    first_day: str
    last_day: str
    lines: int
    closing: str
    time_zone: str
    operator: int
    actor: str


class NewBankLine(msgspec.Struct, frozen=True):
    """A line on its way in."""

    digest: bytes
    number: int
    day: str
    amount: int
    currency: str
    reference: str
    text_sealed: bytes


class AddBankLines(Command[int], frozen=True):
    """Some lines of a file. The outcome is how many of them no other file had."""

    statement: str
    house: int
    lines: tuple[NewBankLine, ...]
    operator: int
    actor: str


class FinishBankStatement(Command[BankStatement], frozen=True):
    """All lines are there, and count from now on. The outcome is the statement."""

    id: str
    operator: int
    actor: str


class UndoBankStatement(Command[BankStatement], frozen=True):
    """An operator takes a file back, finished or not: from now on it does not count. The outcome is the statement."""

    id: str
    operator: int
    actor: str


class GoneLine(msgspec.Struct, frozen=True):
    """A line of a file that was taken back, and another statement that counts and has it too."""

    digest: bytes
    matched: str | None
    other: str | None = None


class RemoveBankLines(Command[int], frozen=True):
    """Some lines of a file that was taken back, with their matches. The outcome is how many of these matches ended."""

    statement: str
    house: int
    lines: tuple[GoneLine, ...]
    operator: int
    actor: str


class Pair(msgspec.Struct, frozen=True):
    """A line, a statement that counts and has it, and the order that it may show."""

    line: bytes
    statement: str
    reference: str


class MatchBankLines(Command[int], frozen=True):
    """What fits by reference, amount, currency and direction. The outcome is how many of the pairs still did."""

    house: int
    pairs: tuple[Pair, ...]
    operator: int
    actor: str


class MatchBankLine(Command[BankMatch], frozen=True):
    """An operator says which order a line shows. The outcome is the match."""

    house: int
    pair: Pair
    operator: int
    actor: str


class UnmatchBankLine(Command[BankMatch], frozen=True):
    """An operator takes a match back. The outcome is what it was."""

    house: int
    reference: str
    line: bytes
    operator: int
    actor: str
