"""Cursors: where a list goes on. Opaque to callers, and of no use for anything but the list that gave it."""

import base64
import binascii

from qirsh.domain.money import CURRENCIES
from qirsh.store.reads import account_entries
from qirsh.store.reads.account_entries import Cursor
from qirsh.web.http.problems import FieldError, Problem


def encode_cursor(*values: int | str) -> str:
    """The place after these, as text for an address."""
    return base64.urlsafe_b64encode(".".join(map(str, values)).encode()).decode().rstrip("=")


def numbers_of(text: str, kind: str, count: int) -> list[int]:
    """The numbers of a cursor of this kind, or a problem."""
    try:
        decoded = base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True).decode("ascii")
    except (binascii.Error, ValueError):
        raise bad_cursor() from None
    found, *numbers = decoded.split(".")
    if found != kind or len(numbers) != count or not all(n.isascii() and n.isdigit() and len(n) < 19 for n in numbers):  # noqa: PLR2004 - of 64 bits
        raise bad_cursor()
    return [int(number) for number in numbers]


def bad_cursor() -> Problem:
    """A cursor that no list of this kind gave."""
    detail = "Must be the nextCursor of an earlier page of this list."
    return Problem("validation_failed", errors=[FieldError("cursor", "invalid", detail)])


def read_cursor(kind: str, text: str | None, currency: str | None) -> Cursor:
    """Where the list begins: at a cursor, or at the top."""
    cursor = account_entries.newest(currency)
    if text is not None:
        cursor = {
            code: position
            for code, position in zip(CURRENCIES, numbers_of(text, kind, len(CURRENCIES)), strict=True)
            if code in cursor
        }
    return cursor


def cursor_of(kind: str, cursor: Cursor) -> str:
    """A place for each currency, in the order of the table."""
    return encode_cursor(kind, *(cursor.get(code, 0) for code in CURRENCIES))
