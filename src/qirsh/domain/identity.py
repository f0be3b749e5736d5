"""Identity checks: what a person says and shows of who they are, until an operator has decided."""

from typing import Final, Literal, get_args

import msgspec

State = Literal["submitted", "verified", "rejected"]
Side = Literal["front", "back"]
SIDES: Final[tuple[Side, ...]] = ("front", "back")
Because = Literal["", "not_readable", "not_whole", "out_of_date", "other_details", "wrong_document", "other"]
# Why it was not accepted, but for the empty one: the person reads it in their language.
REASONS: Final[tuple[Because, ...]] = get_args(Because)[1:]
DOCUMENTS: Final = ("identity_card", "passport", "residence_permit", "driving_licence")


class Identity(msgspec.Struct, frozen=True):
    """The last form that a person has sent. What they wrote is encrypted: only operators read it."""

    person: int
    state: State
    facts_sealed: bytes
    reason: str  # Why it was rejected, in the operator's own words, for the person.
    submitted_at: int
    decided_at: int | None
    decided_by: int | None
    because: Because = ""  # The same, from the list.
    document_mac: bytes = b""  # Of the document's kind and number: tells whether it is on another account too.


class IdentityImage(msgspec.Struct, frozen=True):
    """A picture of the document, encrypted. It goes some days after the decision."""

    person: int
    side: Side
    sealed: bytes
