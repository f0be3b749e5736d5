"""What a person says of who they are, as it lies in the database: encrypted, for operators and for themselves."""

from typing import Final

import msgspec

from qirsh.engine.keyring import Keyring

_FACTS: Final = b"identity"
_PICTURE: Final = b"identity image"


class Facts(msgspec.Struct, frozen=True):
    """As it stands on the document."""

    given_names: str
    family_name: str
    birth_date: str  # YYYY-MM-DD
    document: str
    document_number: str


def seal_facts(keyring: Keyring, facts: Facts) -> bytes:
    """For the database."""
    return keyring.seal(msgspec.json.encode(facts), _FACTS)


def unseal_facts(keyring: Keyring, sealed: bytes) -> Facts | None:
    """None if the secret that it was sealed under is no longer known."""
    plain = keyring.unseal(sealed, _FACTS)
    return None if plain is None else msgspec.json.decode(plain, type=Facts)


def seal_picture(keyring: Keyring, picture: bytes) -> bytes:
    """For the database."""
    return keyring.seal(picture, _PICTURE)


def unseal_picture(keyring: Keyring, sealed: bytes) -> bytes | None:
    """As `unseal_facts`."""
    return keyring.unseal(sealed, _PICTURE)
