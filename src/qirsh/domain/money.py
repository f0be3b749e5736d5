"""Currencies and amounts: whole minor units, never floats. Balances and transfers live in `ledger`."""

from typing import Any, Final, Literal

import msgspec

from qirsh.domain.limits import AMOUNT_MAX


class Currency(msgspec.Struct, frozen=True):
    """One row of the table: the minor unit is fixed by `exponent` from the day `since` on."""

    code: str
    exponent: int
    since: str


# Data, not code: a stored amount is never reinterpreted. Syria took two zeros off the pound on 2026-01-01, and
# CLDR gives SYP no decimals; here it has two, and only the new pound is held.
CURRENCIES: Final[dict[str, Currency]] = {
    currency.code: currency
    for currency in (
        Currency("SYP", 2, "2026-01-01"),
        Currency("USD", 2, "1792-04-02"),
        Currency("TRY", 2, "2005-01-01"),
        Currency("EUR", 2, "1999-01-01"),
    )
}
# The same codes as a type, for what reads them.
CurrencyCode: Any = Literal[tuple(CURRENCIES)]


def is_amount(amount_minor: int) -> bool:
    """Whether this much can be asked for or moved at once."""
    return 1 <= amount_minor <= AMOUNT_MAX


def format_amount(amount_minor: int, currency: str) -> str:
    """Digits with the currency's own decimals: 10098 USD is `100.98`. For people and exports, not for arithmetic."""
    exponent = CURRENCIES[currency].exponent
    digits = f"{abs(amount_minor):0{exponent + 1}d}"
    sign = "-" if amount_minor < 0 else ""
    return f"{sign}{digits[:-exponent]}.{digits[-exponent:]}" if exponent else f"{sign}{digits}"


def parse_amount(text: str, currency: str) -> int | None:
    """The inverse of `format_amount` for a person's typing; None when the text is not exactly an amount."""
    exponent = CURRENCIES[currency].exponent
    whole, point, fraction = text.partition(".")
    if not (whole.isascii() and whole.isdigit()) or len(whole) > len(str(AMOUNT_MAX)):
        return None
    if point and not (fraction.isascii() and fraction.isdigit() and len(fraction) == exponent):
        return None
    amount_minor = int(whole + fraction.ljust(exponent, "0"))
    return amount_minor if is_amount(amount_minor) else None
