"""Commands about who people are, and about forgetting them."""

from qirsh.domain.challenge import Purpose
from qirsh.domain.command import Command
from qirsh.domain.identity import Because, Identity, Side
from qirsh.domain.mail import Letter
from qirsh.domain.person import Person


class SubmitIdentity(Command[Identity], frozen=True):
    """A person says and shows who they are. The outcome is the identity check."""

    person: int
    account: int
    facts_sealed: bytes
    images: tuple[tuple[Side, bytes], ...]
    document_mac: bytes = b""


class RejectIdentity(Command[Identity], frozen=True):
    """An operator has looked, and says why it is not enough. The outcome is the identity check."""

    account: int
    reason: str
    operator: int
    actor: str
    letters: tuple[Letter, ...] = ()
    because: Because = "other"
    seen: int | None = None  # When what the operator has seen was sent; None: they do not say.


class ForgetImages(Command[int], frozen=True):
    """The pictures of a document have been kept for long enough. The outcome is how many there were."""

    person: int


class ErasePerson(Command[Person], frozen=True):
    """Nothing is to tell any more who a person was. Their part of the ledger stays. The outcome is the person."""

    person: int
    account: int
    email: str
    # What else is theirs, as it was found a moment ago. It must be all that there is.
    passkeys: tuple[bytes, ...]
    businesses: tuple[int, ...]
    actor: str
    challenges: tuple[tuple[Purpose, str], ...] = ()
    sessions: tuple[bytes, ...] = ()  # Those that were found; the identity cleaner finds the rest.
    jobs: tuple[int, ...] = ()  # The businesses of others at which they work: again all that there are.
    notes: tuple[str, ...] = ()  # About them; the identity cleaner finds the rest.


class ForgetSessions(Command[int], frozen=True):
    """Sessions that an erased person has left behind go. The outcome is how many there were."""

    person: int
    sessions: tuple[bytes, ...]
