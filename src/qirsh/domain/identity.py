"""Identity checks: what a person says and shows of who they are, until an operator has decided."""

from typing import Final, Literal

import msgspec

State = Literal["submitted", "verified", "rejected"]
Side = Literal["front", "back"]
SIDES: Final[tuple[Side, ...]] = ("front", "back")
DOCUMENTS: Final = ("identity_card", "passport", "residence_permit", "driving_licence")


class Identity(msgspec.Struct, frozen=True):
    """The last form that a person has sent. What they wrote is encrypted: only operators read it."""

    person: int
    state: State
    facts_sealed: bytes
    reason: str  # Why it was rejected, for the person.
    submitted_at: int
    decided_at: int | None
    decided_by: int | None


class IdentityImage(msgspec.Struct, frozen=True):
    """A picture of the document, encrypted. It goes some days after the decision."""

    person: int
    side: Side
    sealed: bytes
