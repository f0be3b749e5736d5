"""The letters of a world that wait to be sent, read as whoever gets them reads them."""

from typing import Any

from qirsh.engine.mail_crypto import Envelope, opened
from tests.live import InProcess


def mails(world: InProcess) -> list[Envelope]:
    """All that wait and can be read, the oldest first."""
    with world.books() as books:
        rows = books.select("SELECT sealed, id FROM mail ORDER BY created_at, id")
    found = (opened(world.context.keyring, bytes(sealed), mail_id) for sealed, mail_id in rows)
    return [one for one in found if one is not None]


def mails_to(world: InProcess, address: str) -> list[Envelope]:
    return [one for one in mails(world) if one.to == address]


def last_mail(world: InProcess, address: str) -> Envelope:
    """Beside that of their sign-in on a new device, which may be of the same millisecond."""
    return [one for one in mails_to(world, address) if one.kind != "new_device"][-1]


def words_to(world: InProcess, address: str) -> dict[str, dict[str, Any]]:
    """What is said to somebody, by the kind of letter."""
    return {one.kind: one.words for one in mails_to(world, address)}


def word_of(mail: Envelope, name: str) -> str:
    return str(mail.words[name])


def link_of(world: InProcess, mail: Envelope) -> str:
    """The path of the link in it, which is on our own address."""
    url = word_of(mail, "url")
    assert url.startswith(f"{world.context.base_url}/")
    return url.removeprefix(world.context.base_url)
