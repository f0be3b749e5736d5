"""Letters as they lie in the database: whom they are for and what they say is sealed, so that only we can read it."""

import msgspec

from qirsh.domain.mail import Letter
from qirsh.engine.entropy import Entropy
from qirsh.engine.keyring import Keyring

_PURPOSE = b"mail"
_ID_BYTES = 16


class Envelope(msgspec.Struct, frozen=True):
    """What a mail is made from when it is sent. `language/mail_templates.py` knows the kinds and their words."""

    to: str
    language: str
    kind: str
    words: dict[str, str | int]


def letter(keyring: Keyring, entropy: Entropy, envelope: Envelope) -> Letter:
    """The envelope, closed, for the command that causes it."""
    return Letter(entropy(_ID_BYTES).hex(), keyring.seal(msgspec.json.encode(envelope), _PURPOSE))


def opened(keyring: Keyring, sealed: bytes) -> Envelope | None:
    """What was closed; None if it was closed under a secret that is not ours, or holds something else."""
    plain = keyring.unseal(sealed, _PURPOSE)
    if plain is None:
        return None
    try:
        return msgspec.json.decode(plain, type=Envelope)
    except msgspec.DecodeError:
        return None
