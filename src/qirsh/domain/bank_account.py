"""Bank accounts of a business, to which its payouts go."""

import msgspec

from qirsh.domain.limits import BANK_ACCOUNT_NEW_MS


class BankAccount(msgspec.Struct, frozen=True):
    """Whose it is and where stays sealed. It never changes: another one takes its place."""

    id: str
    account: int  # The live one.
    details_sealed: bytes
    created_by: int
    created_at: int


def usable_at(bank_account: BankAccount) -> int:
    """A day after it was named, in which its owner has read of it: a thief's is found before money goes there."""
    return bank_account.created_at + BANK_ACCOUNT_NEW_MS
