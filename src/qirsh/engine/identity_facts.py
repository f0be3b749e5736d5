"""What a person says of who they are, as it lies in the database: encrypted, for operators and for themselves."""

import unicodedata
from typing import Final

import msgspec

from qirsh.engine.keyring import Keyring, row_purpose

_FACTS: Final = "identity"
_PICTURE: Final = "identity image"


class Facts(msgspec.Struct, frozen=True):
    """As it stands on the document."""

    given_names: str
    family_name: str
    birth_date: str  # YYYY-MM-DD
    document: str
    document_number: str


def facts_purpose(person: int) -> bytes:
    """What binds facts to their person."""
    return row_purpose(_FACTS, str(person))


def picture_purpose(person: int, side: str) -> bytes:
    """What binds a picture to its person and side."""
    return row_purpose(_PICTURE, str(person), side)


def seal_facts(keyring: Keyring, facts: Facts, person: int) -> bytes:
    """For the person's row."""
    return keyring.seal(msgspec.json.encode(facts), facts_purpose(person))


def unseal_facts(keyring: Keyring, sealed: bytes, person: int) -> Facts | None:
    """None if they are another's, or the secret that they were sealed under is no longer known."""
    plain = keyring.unseal(sealed, facts_purpose(person))
    return None if plain is None else msgspec.json.decode(plain, type=Facts)


def document_macs(keyring: Keyring, facts: Facts) -> tuple[bytes, ...]:
    """Of its kind and number, whatever else is written beside them: the first one is for what is new."""
    number = unicodedata.normalize("NFKC", facts.document_number).casefold()
    return keyring.document_macs(facts.document, "".join(letter for letter in number if letter.isalnum()))


def seal_picture(keyring: Keyring, picture: bytes, person: int, side: str) -> bytes:
    """For the person's row of this side of the document."""
    return keyring.seal(picture, picture_purpose(person, side))


def unseal_picture(keyring: Keyring, sealed: bytes, person: int, side: str) -> bytes | None:
    """As `unseal_facts`."""
    return keyring.unseal(sealed, picture_purpose(person, side))
