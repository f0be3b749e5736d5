"""Counters: ordered numbers that are handed out under a lock."""

from typing import Final

import msgspec

PERSON: Final = "person"
ACCOUNT: Final = "account"
OPERATOR: Final = "operator"
PAYMENT: Final = "payment"
NOTIFIED: Final = "notified"  # The last seal of whose transfers people were told.
REVOCATION: Final = "revocation"  # Grows when a key, a session or an account loses a right; processes poll it.


class Counter(msgspec.Struct, frozen=True):
    """The last number given."""

    name: str
    last: int
