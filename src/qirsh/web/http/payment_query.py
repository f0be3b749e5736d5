"""What somebody typed to find payments: read for what it is, so that a page can say what was looked for.

An exact name of something comes first, then an amount, then `key:value`; all else is words. In quotes it is words, too:
an order number may look like a payer's account.
"""

import re
from typing import Final, Literal

import msgspec
from msgspec.structs import replace

from qirsh.domain.event import parse_event_id
from qirsh.domain.identifier import Identifiers, is_account_number
from qirsh.domain.limits import (
    METADATA_FILTER_CHARACTERS_MAX,
    METADATA_KEY_CHARACTERS_MAX,
    SEARCH_CHARACTERS_MAX,
    SEARCH_WORDS_MAX,
)
from qirsh.domain.money import CURRENCIES
from qirsh.domain.payment_word import words_in
from qirsh.domain.refund import is_refund_id
from qirsh.domain.tables import Tables
from qirsh.language.figures import latin_digits, typed_amount
from qirsh.store.reads import events
from qirsh.store.reads.payment_search import PaymentFilter
from qirsh.web.http.context import Context

QueryKind = Literal["payment", "payer", "refund", "event", "amount", "metadata", "words"]

# An amount without a currency is one number of minor units, because all have as many decimals.
assert len({currency.exponent for currency in CURRENCIES.values()}) == 1
_ANY_CURRENCY: Final = next(iter(CURRENCIES))
# As people write them beside a sum, apart from the codes.
_SIGNS: Final = {"$": "USD", "€": "EUR", "₺": "TRY", "TL": "TRY", "ل.س": "SYP"}
_NAMES: Final = {**{code: code for code in CURRENCIES}, **_SIGNS}
_NAME: Final = "|".join(map(re.escape, _NAMES))
_AMOUNT: Final = re.compile(
    rf"(?P<before>{_NAME})?\s*(?P<sum>\d[\d.,\u066b\u066c\s]*?)\s*(?P<after>{_NAME})?", re.IGNORECASE
)
_WHOLE: Final = re.compile(r"[0-9]+")
# How numbers are read out and pasted: by fours, with spaces or dashes, and with marks of direction that nobody sees.
_BETWEEN_DIGITS: Final = re.compile(r"[\s\u200e\u200f\u2010-\u2015-]+")
_PAIR: Final = re.compile(r"(?P<key>[^\s:]+):(?P<value>[^\s:/].*)", re.DOTALL)
_QUOTES: Final = ('""', "\N{LEFT DOUBLE QUOTATION MARK}\N{RIGHT DOUBLE QUOTATION MARK}", "«»")


class PaymentQuery(msgspec.Struct, frozen=True):
    """What was looked for."""

    kind: QueryKind
    value: str  # A number without spaces, an id, the text under a key of the metadata, or else what was typed.
    key: str = ""  # Of the metadata.
    words: tuple[str, ...] = ()  # Folded. None of them may have been long enough.
    amount: int | None = None  # Also of a whole number, which is looked for as a word and may be either.
    currency: str | None = None  # Of an amount, if one was named.


def read_payment_query(text: str, identifiers: Identifiers, *, may_see_payers: bool) -> PaymentQuery:
    """What was typed, and for whom: who may not see payers does not find payments by them either."""
    text = text[:SEARCH_CHARACTERS_MAX].replace("\0", " ").strip()
    for quotes in _QUOTES:
        if len(text) > 1 and text[0] + text[-1] == quotes:
            return _words(text[1:-1])
    digits = _BETWEEN_DIGITS.sub("", latin_digits(text))
    if identifiers.payment_number(digits) is not None:
        return PaymentQuery("payment", digits)
    if is_account_number(digits) and may_see_payers:
        return PaymentQuery("payer", digits)
    if is_refund_id(text):
        return PaymentQuery("refund", text)
    if parse_event_id(text) is not None:
        return PaymentQuery("event", text)
    return _amount(text) or _pair(text) or _words(text)


async def narrow_by_query(context: Context, query: PaymentQuery, wanted: PaymentFilter) -> PaymentFilter | None:
    """What else is asked for together with what was typed; None if there is surely nothing to be found."""
    found: PaymentFilter | None = None
    if query.kind == "payer":
        found = replace(wanted, payer=int(query.value))
    elif query.kind == "metadata":
        found = replace(wanted, metadata=(*wanted.metadata, (query.key, query.value)))
    elif query.kind == "amount":
        if query.currency is None or wanted.currency in {None, query.currency}:
            found = replace(wanted, amount=query.amount, currency=query.currency or wanted.currency)
    elif query.kind == "words":
        if query.words:
            found = replace(wanted, words=query.words)
    elif (number := await _payment_number(context, query, wanted.merchant)) is not None:
        found = replace(wanted, number=number)
    return found


async def _payment_number(context: Context, query: PaymentQuery, merchant: int) -> int | None:
    """Of the payment that was named, itself or by a refund or an event. Whose it is, the search sees in the payment."""
    if query.kind == "payment":
        return context.identifiers.payment_number(query.value)
    if query.kind == "refund":
        refund = await context.store.find(Tables.refunds, query.value)
        return None if refund is None else refund.payment
    named = parse_event_id(query.value)
    if named is None or named[0] != merchant:
        return None
    rows = await context.store.select(events.EVENT_PAYMENT, *named)
    return rows[0][0] if rows else None


def _amount(text: str) -> PaymentQuery | None:
    """A sum as people of any of our languages type it. A bare whole number is a word: order numbers are."""
    found = _AMOUNT.fullmatch(text)
    if found is None or (found["before"] and found["after"]):
        return None
    amount = _minor_units(found["sum"])
    name = found["before"] or found["after"]
    if amount is None or (name is None and _WHOLE.fullmatch(latin_digits(text))):
        return None
    currency = _NAMES[name.upper()] if name else None
    return PaymentQuery("amount", text, amount=amount, currency=currency)


def _minor_units(text: str) -> int | None:
    """What one language takes for thousands and another for decimals has three digits behind it or at most two."""
    text = latin_digits(text)
    for language in ("ar", "tr"):  # Arabic reads the signs of English, too.
        if (amount := typed_amount(text, _ANY_CURRENCY, language)) is not None:
            return amount
    return None


def _pair(text: str) -> PaymentQuery | None:
    found = _PAIR.fullmatch(text)
    if found is None or found["key"].isdigit():  # A time of day.
        return None
    if len(found["key"]) > METADATA_KEY_CHARACTERS_MAX or len(found["value"]) > METADATA_FILTER_CHARACTERS_MAX:
        return None
    return PaymentQuery("metadata", found["value"], key=found["key"])


def _words(text: str) -> PaymentQuery:
    amount = _minor_units(text) if _WHOLE.fullmatch(latin_digits(text)) else None
    return PaymentQuery("words", text, words=tuple(words_in(text)[:SEARCH_WORDS_MAX]), amount=amount)
