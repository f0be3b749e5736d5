"""Tills: standing codes at a counter or on a printed bill, at which customers make payments themselves."""

import re
from typing import Final

import msgspec

from qirsh.domain.limits import AMOUNT_MAX
from qirsh.domain.money import is_amount

_ID: Final = re.compile(r"till_[0-9a-f]{18}")
_METADATA: Final = re.compile(r'\{"till":"(till_[0-9a-f]{18})"\}')


class Till(msgspec.Struct, frozen=True):
    """It is printed, so what it takes never changes: it is closed, and another one takes its place."""

    id: str  # Nobody can guess it.
    account: int  # Live or test.
    name: str  # What the shop calls it. Customers read it.
    currency: str
    amount: int | None  # None: the customer enters one,
    minimum: int | None  # between these two.
    maximum: int | None
    note: str  # Of each payment.
    created_by: int
    created_at: int
    closed_at: int | None


def is_till_id(text: str) -> bool:
    """Whether a till could have this id."""
    return _ID.fullmatch(text) is not None


def till_metadata(till_id: str) -> str:
    """What a payment that is made at a till says of it."""
    return f'{{"till":"{till_id}"}}'


def till_named_in(metadata: str) -> str | None:
    """The id of the till that a payment's metadata names. Shops may write the same: it proves nothing."""
    found = _METADATA.fullmatch(metadata)
    return None if found is None else found[1]


def is_takeable(amount: int | None, minimum: int | None, maximum: int | None) -> bool:
    """Whether a till may take this: one amount, or what lies between two."""
    if amount is not None:
        return is_amount(amount) and minimum is None and maximum is None
    return minimum is not None and maximum is not None and 1 <= minimum <= maximum <= AMOUNT_MAX


def takes(till: Till, amount: int) -> bool:
    """Whether a payment of this much can be made there."""
    if till.amount is not None:
        return amount == till.amount
    assert till.minimum is not None
    assert till.maximum is not None
    return till.minimum <= amount <= till.maximum
