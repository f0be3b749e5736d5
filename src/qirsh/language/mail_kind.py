"""What a mail is made of: its subject, and what it says in which order."""

from typing import Final, NamedTuple

from qirsh.domain.challenge import Purpose
from qirsh.language.catalog import mark as _

WHEN: Final = _("This happened on %(time)s.")


class Alone(NamedTuple):
    """A word that stands on a line of its own: what is to be copied or opened, or a person's own text."""

    word: str


class Kind(NamedTuple):
    """The subject, and what is said in which order."""

    subject: str
    parts: tuple[str | Alone, ...]
    lasts: Purpose | None = None  # What the mail asks for can be done for as long as this.
