"""Counters: numbers that are handed out in order, and how many there are of what a rule bounds, under a lock."""

from typing import Final

import msgspec

PERSON: Final = "person"
ACCOUNT: Final = "account"
ADMIN: Final = "admin"  # How many operators appoint others.
PAYMENT: Final = "payment"
NOTIFIED: Final = "notified"  # The last seal of whose transfers people were told.
TOTALLED: Final = "totalled"  # The last seal whose transfers the totals of accounts have.
REVOCATION: Final = "revocation"  # Grows when a key, a session or an account loses a right; processes poll it.


class Counter(msgspec.Struct, frozen=True):
    """The last number given, or how many there are."""

    name: str
    last: int


def open_payouts(account: int) -> str:
    """How many of an account are asked for or ordered."""
    return f"open payouts of account {account}"


def passkeys(person: int) -> str:
    """How many a person has."""
    return f"passkeys of person {person}"


def api_keys(account: int) -> str:
    """How many of an account work."""
    return f"keys of account {account}"


def businesses(personal: int) -> str:
    """How many the owner of a personal account has ever asked for."""
    return f"businesses of account {personal}"


def bank_accounts(account: int) -> str:
    """How many a business has."""
    return f"bank accounts of account {account}"


def open_tills(account: int) -> str:
    """How many of an account are not closed."""
    return f"open tills of account {account}"


def members(account: int) -> str:
    """How many work at a business, without its owner."""
    return f"members of account {account}"


def jobs(person: int) -> str:
    """At how many businesses a person works that are not their own."""
    return f"jobs of person {person}"


def invitations(account: int) -> str:
    """How many of a business are neither answered nor taken back."""
    return f"invitations of account {account}"


def messages_in_a_row(account: int) -> str:
    """How many the owner of a business has written since operators wrote last."""
    return f"messages of account {account}"


def reversals(house: int, reference: str) -> str:
    """How often a bank order was taken back: once at most."""
    return f"reversals of {house} {reference}"


def house_accounts(name: str) -> str:
    """How many house accounts have a name, however it is written: one at most."""
    return f"house accounts named {name.casefold()}"


def webhook_endpoints(account: int) -> str:
    """How many an account has that are not removed."""
    return f"webhook endpoints of account {account}"
