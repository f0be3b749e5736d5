"""Receipts, statements and posters. What draws them is loaded at the first: the library takes a third of a second."""

from functools import cache
from importlib import import_module
from typing import Any

from qirsh.web.documents.monthly_statement import MonthlyStatement
from qirsh.web.documents.poster import Poster
from qirsh.web.documents.receipt import Receipt
from qirsh.web.documents.statement import Statement


def receipt_pdf(receipt: Receipt, language: str) -> bytes:
    """On A5, longer only if the note asks for it. It takes some tenths of a second: call it in a thread."""
    drawn: bytes = _drawing("receipt").drawn(receipt, language)
    return drawn


def statement_pdf(statement: Statement, language: str) -> bytes:
    """On A4. It takes up to a millisecond a line: call it in a thread."""
    drawn: bytes = _drawing("statement").drawn(statement, language)
    return drawn


def poster_pdf(poster: Poster, language: str, paper: str) -> bytes:
    """One sheet, in all languages; in this one, what is said once. It takes some tenths of a second, as a receipt."""
    drawn: bytes = _drawing("poster").drawn(poster, language, paper)
    return drawn


def monthly_statement_pdf(statement: MonthlyStatement, language: str) -> bytes:
    """On A4. It takes some tenths of a second: call it in a thread."""
    drawn: bytes = _drawing("monthly_statement").drawn(statement, language)
    return drawn


@cache
def _drawing(of: str) -> Any:  # noqa: ANN401 - a module, whose one function is typed above
    return import_module(f"qirsh.web.documents.{of}_drawing")
