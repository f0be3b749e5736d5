"""A till's poster as a record."""

from typing import Final

import msgspec

PAPERS: Final = {"a4": (210.0, 297.0), "a6": (105.0, 148.0)}  # In millimetres.


class Poster(msgspec.Struct, frozen=True, kw_only=True):
    """What hangs at a counter or lies on a table: whom a customer pays by the code on it."""

    service_name: str
    payee: str
    till: str
    amount_minor: int | None  # None: the customer enters it.
    currency: str
    url: str
    made_at: int  # Milliseconds since 1970.
    is_test: bool = False
