"""Letters as they lie in the database: whom they are for and what they say is sealed, so that only we can read it."""

import msgspec

from qirsh.domain.mail import Letter
from qirsh.engine.entropy import Entropy
from qirsh.engine.keyring import Keyring, row_purpose

_PURPOSE = "mail"
_ID_BYTES = 16


class Envelope(msgspec.Struct, frozen=True):
    """What a mail is made from when it is sent. `language/mail_templates.py` knows the kinds and their words."""

    to: str
    language: str
    kind: str
    words: dict[str, str | int]


def letter(keyring: Keyring, entropy: Entropy, envelope: Envelope, *, is_urgent: bool = False) -> Letter:
    """The envelope, closed, for the command that causes it."""
    mail_id = entropy(_ID_BYTES).hex()
    return Letter(mail_id, keyring.seal(msgspec.json.encode(envelope), row_purpose(_PURPOSE, mail_id)), is_urgent)


def opened(keyring: Keyring, sealed: bytes, mail_id: str) -> Envelope | None:
    """What was closed; None if it is another mail's, was closed under a secret not ours, or holds something else."""
    plain = keyring.unseal(sealed, row_purpose(_PURPOSE, mail_id))
    if plain is None:
        return None
    try:
        return msgspec.json.decode(plain, type=Envelope)
    except msgspec.DecodeError:
        return None
