"""Letters as the commands of faces take them along."""

from qirsh.domain.mail import Letter
from qirsh.engine import envelope
from qirsh.engine.envelope import Envelope
from qirsh.web.parts import Parts


def letter(parts: Parts, kind: str, *, to: str, language: str, **words: str | int) -> Letter:
    """A letter of a kind that `language.letter` knows, with the words that stand in it."""
    return envelope.letter(parts.keyring, parts.entropy, Envelope(to, language, kind, words))
