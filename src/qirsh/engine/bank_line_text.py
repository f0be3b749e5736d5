"""What a bank writes beside a line names people: it is sealed, and bound to its line."""

from qirsh.domain.bank_statement import BankLine
from qirsh.engine.keyring import Keyring, row_purpose


def line_purpose(house: int, digest: bytes) -> bytes:
    """What the text of a line is sealed for."""
    return row_purpose("bank line", str(house), digest.hex())


def sealed_text(keyring: Keyring, text: str, house: int, digest: bytes) -> bytes:
    """For one line, and for no other."""
    return keyring.seal(text.encode(), line_purpose(house, digest))


def text_of(keyring: Keyring, line: BankLine) -> str:
    """As the bank wrote it; nothing if it was sealed under a secret that is gone."""
    plain = keyring.unseal(line.text_sealed, line_purpose(line.house, line.digest))
    return "" if plain is None else plain.decode()
