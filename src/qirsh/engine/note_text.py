"""What operators write down for each other: sealed outside the form that it is typed into, and only they read it."""

from qirsh.domain.note import Note
from qirsh.engine.keyring import Keyring, row_purpose


def note_purpose(note_id: str) -> bytes:
    """What the text of a note is sealed for."""
    return row_purpose("operator note", note_id)


def sealed_text(keyring: Keyring, text: str, note_id: str) -> bytes:
    """For the note, and for no other."""
    return keyring.seal(text.encode(), note_purpose(note_id))


def text_of(keyring: Keyring, note: Note) -> str | None:
    """What was written; None once it is gone, or if it was sealed under a secret that is not set any more."""
    plain = keyring.unseal(note.text_sealed, note_purpose(note.id)) if note.text_sealed else None
    return None if plain is None else plain.decode()
