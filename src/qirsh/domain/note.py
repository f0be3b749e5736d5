"""Notes: what operators write down for each other about a person, an account or a payment."""

from typing import Final, Literal

import msgspec

About = Literal["account", "payment", "person"]
ABOUT: Final[tuple[About, ...]] = ("account", "payment", "person")


class Note(msgspec.Struct, frozen=True):
    """What was written stays as it was, encrypted: only operators read it. It goes when its person is erased."""

    id: str
    subject: str  # As audit entries name it: `person 7`; of a payment, the number inside.
    person: int  # The operator who wrote it.
    text_sealed: bytes  # Empty once the person whom it is about is erased.
    at: int


def note_subject(about: About, number: int) -> str:
    """What a note is about, as it is kept."""
    return f"{about} {number}"
