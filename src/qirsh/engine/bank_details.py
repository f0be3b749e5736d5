"""Where a payout goes. Outside the form that it is typed into, it is sealed, and only operators read it."""

import re
from typing import Final

import msgspec

from qirsh.domain.bank_account import BankAccount
from qirsh.domain.limits import BANK_ACCOUNT_CHARACTERS_MAX, BANK_ACCOUNT_CHARACTERS_MIN, BANK_HINT_CHARACTERS
from qirsh.engine.keyring import Keyring, row_purpose
from qirsh.language.figures import grouped, latin_digits

_PURPOSE: Final = "payout"
_LIKE_IBAN: Final = re.compile(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}", re.ASCII)
_WHOLE: Final = 97  # ISO 13616.


class BankDetails(msgspec.Struct, frozen=True):
    """Whose account it is, at which bank, and its number there: an IBAN, or what that bank has instead."""

    holder: str
    bank: str
    account: str

    @property
    def shown_account(self) -> str:
        """An IBAN by fours, to be compared; any other number as it was typed."""
        return grouped(self.account) if _LIKE_IBAN.fullmatch(self.account) else self.account

    @property
    def hint(self) -> str:
        """The last of the number: enough to tell it from others of its owner."""
        return "".join(filter(str.isalnum, self.account))[-BANK_HINT_CHARACTERS:]


def sealed(keyring: Keyring, details: BankDetails, payout_id: str) -> bytes:
    """For the payout, and for no other."""
    return keyring.seal(msgspec.json.encode(details), row_purpose(_PURPOSE, payout_id))


def unsealed(keyring: Keyring, sealed_details: bytes, payout_id: str) -> BankDetails | None:
    """What was sealed; None once it is over, when nothing is kept."""
    return _opened(keyring, sealed_details, row_purpose(_PURPOSE, payout_id))


def bank_account_purpose(bank_account: str) -> bytes:
    """What the details of a business's bank account are sealed for."""
    return row_purpose("bank account", bank_account)


def sealed_for_bank_account(keyring: Keyring, details: BankDetails, bank_account: str) -> bytes:
    """For a bank account of a business, and for no other."""
    return keyring.seal(msgspec.json.encode(details), bank_account_purpose(bank_account))


def details_of(keyring: Keyring, bank_account: BankAccount) -> BankDetails | None:
    """Of a business's bank account; None if it was sealed under a secret that is gone."""
    return _opened(keyring, bank_account.details_sealed, bank_account_purpose(bank_account.id))


def _opened(keyring: Keyring, sealed_details: bytes, purpose: bytes) -> BankDetails | None:
    plain = keyring.unseal(sealed_details, purpose) if sealed_details else None
    return None if plain is None else msgspec.json.decode(plain, type=BankDetails)


def normal_account(typed: str) -> tuple[str, str]:
    """The number as it is kept, and a code for what is wrong with it. An IBAN loses its spaces, and must check."""
    text = " ".join(latin_digits(typed).split())
    compact = text.replace(" ", "").upper()
    if _LIKE_IBAN.fullmatch(compact):
        return (compact, "") if is_iban(compact) else (text, "iban_mistyped")
    if not text:
        return text, "empty"
    if len(text) > BANK_ACCOUNT_CHARACTERS_MAX or not text.isprintable():
        return text, "too_long"
    if sum(map(str.isalnum, text)) < BANK_ACCOUNT_CHARACTERS_MIN:
        return text, "too_short"
    return text, ""


def is_iban(compact: str) -> bool:
    """Whether the two check digits fit the rest: one wrong sign, or two that changed places, do not."""
    turned = compact[4:] + compact[:4]
    return int("".join(str(int(sign, 36)) for sign in turned)) % _WHOLE == 1
