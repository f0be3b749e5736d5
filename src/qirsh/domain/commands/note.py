"""Commands about what operators write down for each other."""

from qirsh.domain.command import Command
from qirsh.domain.note import About, Note


class AddNote(Command[Note], frozen=True):
    """An operator writes something down about a person, a business or a payment. The outcome is the note."""

    id: str  # One form, one note.
    about: About
    number: int  # Of the person, the live account or the payment.
    text_sealed: bytes
    operator: int
    actor: str


class ForgetNotes(Command[int], frozen=True):
    """What was written about an erased person goes. The outcome is how many notes there were."""

    person: int
    notes: tuple[str, ...]
