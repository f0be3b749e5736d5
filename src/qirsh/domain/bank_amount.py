"""Amounts as banks write them: with thousands, signs on either side or parentheses, in digits of several scripts."""

import re
from typing import Final, Literal

from qirsh.domain.limits import BALANCE_MAX
from qirsh.domain.money import CURRENCIES

# Spaces of all widths and the apostrophe stand between thousands wherever they stand at all.
_SPACES: Final = " \u00a0\u202f\u2009'\u2019\u066c"
_SIGNS: Final = frozenset("-\u2212+")


def _whole(thousands: str) -> re.Pattern[str]:
    between = re.escape(thousands + _SPACES)
    return re.compile(rf"\d{{1,20}}|\d{{1,3}}(?P<between>[{between}])\d{{3}}(?:(?P=between)\d{{3}})*", re.ASCII)


_WHOLE: Final = {".": _whole(","), ",": _whole(".")}
_FRACTION: Final = re.compile(r"\d+", re.ASCII)


class BadAmount(Exception):
    """It cannot be read as exactly one amount."""

    def __init__(self, why: Literal["amount", "decimals", "too_much"]) -> None:
        super().__init__(why)
        self.why: Literal["amount", "decimals", "too_much"] = why


def read_amount(text: str, currency: str, decimal: str) -> int:
    """In minor units. Nothing is guessed: thousands are by threes, and there are no more decimals than there are."""
    digits, is_negative = _sign(text.strip())
    if not digits.isascii():
        digits = "".join(str(int(sign)) if sign.isdecimal() else sign for sign in digits).replace("\u066b", decimal)
    whole, point, fraction = digits.partition(decimal)
    if not _WHOLE[decimal].fullmatch(whole) or (point and not _FRACTION.fullmatch(fraction)):
        raise BadAmount("amount")
    exponent = CURRENCIES[currency].exponent
    if len(fraction) > exponent:
        raise BadAmount("decimals")
    whole = whole if whole.isdecimal() else "".join(filter(str.isdecimal, whole))
    amount = int(whole + fraction.ljust(exponent, "0"))
    if amount > BALANCE_MAX:
        raise BadAmount("too_much")
    return -amount if is_negative else amount


def _sign(text: str) -> tuple[str, bool]:
    """What is between the signs. More than one sign is none of an amount."""
    if text.startswith("(") and text.endswith(")"):
        return text[1:-1].strip(), True
    if text[:1] in _SIGNS:
        return text[1:].strip(), text[0] != "+"
    if text[-1:] in _SIGNS:
        return text[:-1].strip(), text[-1] != "+"
    return text, False
