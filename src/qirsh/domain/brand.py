"""How a business looks to its customers, and changes of that which an operator decides on."""

from typing import Literal

import msgspec

ChangeState = Literal["waiting", "approved", "refused", "withdrawn"]


class Brand(msgspec.Struct, frozen=True):
    """What customers see beside its name, at its live account and its test account."""

    account: int  # The live one.
    colour: str = ""  # As `#0f5c4d`; empty: that of the service.
    logo: str = ""  # The SHA-256 of its picture, in hexadecimal digits; empty: the initials of its name.
    picture: bytes = b""  # PNG.


class BrandChange(msgspec.Struct, frozen=True):
    """The last request for another name or logo: how the business is to look. A newer one takes its place."""

    account: int
    id: str  # Of the form that asked for it: operators decide on exactly what they have seen.
    name: str
    logo: str  # As that of the brand.
    picture: bytes  # Of a logo that customers do not see yet, while it waits.
    state: ChangeState
    reason: str  # Why it was refused, for the shop.
    asked_by: int
    asked_at: int
    decided_by: int | None = None  # The operator.
    decided_at: int | None = None


def is_waiting(change: BrandChange | None) -> bool:
    """Whether there is something for an operator to decide on."""
    return change is not None and change.state == "waiting"
