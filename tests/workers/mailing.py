"""Letters that a world has to send, posted through the engine as faces post them."""

from typing import Final

from qirsh.domain.commands.login_credentials import StartChallenge
from qirsh.engine.entropy import system_entropy
from qirsh.engine.keyring import Keyring
from qirsh.engine.mail_crypto import Envelope, letter
from tests.live import InProcess

CODE: Final = "482913"
LINK: Final = "https://pay.example/reset/h3gTQ0yZpEJp"


def post(
    world: InProcess,
    to: str,
    kind: str = "reset_password",
    language: str = "ar",
    *,
    keyring: Keyring | None = None,
    words: dict[str, str | int] | None = None,
    is_urgent: bool = False,
) -> str:
    """The id of a letter that waits from now on."""
    command, mail_id = posting(world, to, kind, language, keyring=keyring, words=words, is_urgent=is_urgent)
    world.run(world.context.engine.submit(command))
    return mail_id


def posting(
    world: InProcess,
    to: str,
    kind: str = "reset_password",
    language: str = "ar",
    *,
    keyring: Keyring | None = None,
    words: dict[str, str | int] | None = None,
    is_urgent: bool = False,
) -> tuple[StartChallenge, str]:
    """A command that brings a letter along, and its id."""
    envelope = Envelope(to, language, kind, words if words is not None else {"url": LINK, "code": CODE})
    made = letter(keyring or world.context.keyring, system_entropy, envelope, is_urgent=is_urgent)
    return StartChallenge("reset", to, None, system_entropy(32), b"", (made,)), made.id


def waiting(world: InProcess) -> dict[str, tuple[int, int]]:
    """Id -> when it is due, and how often it was tried."""
    with world.books() as books:
        rows = books.select("SELECT id, due_at, attempts FROM mail")
    return {mail_id: (due_at, attempts) for mail_id, due_at, attempts in rows}
