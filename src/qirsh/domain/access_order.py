"""Access orders: what operators do to how a person signs in. One asks, another confirms."""

from typing import Final, Literal

import msgspec

Kind = Literal["sign-out", "block", "unblock", "remove-factors"]
KINDS: Final[tuple[Kind, ...]] = ("sign-out", "block", "unblock", "remove-factors")


class AccessOrder(msgspec.Struct, frozen=True):
    """One that waits for the second operator. It is gone when it is carried out; a new one takes its place."""

    person: int
    kind: Kind
    asked_by: int
    asked_at: int
    reason: str
