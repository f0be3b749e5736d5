"""Tokens of forms and what is sealed: for exactly one thing, and good while the secret that made it is named."""

from collections.abc import Callable
from typing import Final

import pytest

from qirsh.engine import bank_details, identity_facts, mail_crypto
from qirsh.engine.bank_details import BankDetails
from qirsh.engine.entropy import SeededEntropy
from qirsh.engine.identity_facts import Facts
from qirsh.engine.keyring import Keyring
from qirsh.engine.mail_crypto import Envelope
from qirsh.web.auth.totp import seal_seed, unseal_seed

OLD, NEW = b"o" * 32, b"n" * 32


def keyring(*secrets: bytes) -> Keyring:
    return Keyring(list(secrets), SeededEntropy(1))


def test_a_form_is_known_again() -> None:
    keys = keyring(OLD)
    token = keys.form_token("confirm", "قرش", "")
    assert keys.is_form_token(token, "confirm", "قرش", "")
    assert keyring(OLD).is_form_token(token, "confirm", "قرش", "")


def test_no_two_things_share_a_token(subtests: pytest.Subtests) -> None:
    keys = keyring(OLD)
    for bound_to in (
        ("a", "bc"),
        ("ab", "c", ""),
        ("abc",),
        ("", "ab", "c"),
        ("c", "ab"),
        ("ab", "c "),
        ("AB", "c"),
        (),
        ("2:ab1:c",),
        ("ab1:c",),
    ):
        with subtests.test(str(bound_to)):
            assert not keys.is_form_token(keys.form_token("ab", "c"), *bound_to)


def test_what_is_no_token_is_none(subtests: pytest.Subtests) -> None:
    for token in ("", "0", "é", "0" * 64):
        with subtests.test(token):
            assert not keyring(OLD).is_form_token(token, "a")


def test_forms_outlive_a_rotation_and_no_other_secret_makes_them() -> None:
    token = keyring(OLD).form_token("a")
    assert keyring(NEW, OLD).is_form_token(token, "a")
    assert keyring(NEW, OLD).form_token("a") != token
    assert not keyring(NEW).is_form_token(token, "a")


KEYS: Final = keyring(OLD)
FACTS: Final = Facts("Nour", "Haddad", "1990-01-01", "passport", "1")
DETAILS: Final = BankDetails("Nour", "Bank", "123")
ENVELOPE: Final = Envelope("a@x.org", "en", "kind", {})
LETTER: Final = mail_crypto.letter(KEYS, SeededEntropy(2), ENVELOPE)
# What is sealed for one row: opened there, and in the place of others.
SEALED: Final[dict[str, tuple[Callable[[], object], list[Callable[[], object]]]]] = {
    "second factor": (
        lambda: unseal_seed(KEYS, seal_seed(KEYS, "SEED", "a@x.org"), "a@x.org"),
        [lambda: unseal_seed(KEYS, seal_seed(KEYS, "SEED", "a@x.org"), "b@x.org")],
    ),
    "bank details": (
        lambda: bank_details.unsealed(KEYS, bank_details.sealed(KEYS, DETAILS, "po_1"), "po_1"),
        [lambda: bank_details.unsealed(KEYS, bank_details.sealed(KEYS, DETAILS, "po_1"), "po_2")],
    ),
    "identity": (
        lambda: identity_facts.unseal_facts(KEYS, identity_facts.seal_facts(KEYS, FACTS, 7), 7),
        [lambda: identity_facts.unseal_facts(KEYS, identity_facts.seal_facts(KEYS, FACTS, 7), 8)],
    ),
    "picture": (
        lambda: identity_facts.unseal_picture(KEYS, identity_facts.seal_picture(KEYS, b"p", 7, "front"), 7, "front"),
        [
            lambda: identity_facts.unseal_picture(KEYS, identity_facts.seal_picture(KEYS, b"p", 7, "front"), 7, "back"),
            lambda: identity_facts.unseal_picture(
                KEYS, identity_facts.seal_picture(KEYS, b"p", 7, "front"), 8, "front"
            ),
        ],
    ),
    "mail": (
        lambda: mail_crypto.opened(KEYS, LETTER.sealed, LETTER.id),
        [lambda: mail_crypto.opened(KEYS, LETTER.sealed, "another")],
    ),
}


def test_what_is_sealed_for_a_row_does_not_open_in_another(subtests: pytest.Subtests) -> None:
    for name, (here, elsewhere) in SEALED.items():
        with subtests.test(name):
            assert here() in ["SEED", DETAILS, FACTS, b"p", ENVELOPE]
            assert [there() for there in elsewhere] == [None] * len(elsewhere)


def test_what_is_kept_of_a_pin_or_a_code_is_its_person_s_alone() -> None:
    assert KEYS.pin_mac(7, "123456") != KEYS.pin_mac(8, "123456")
    assert KEYS.code_mac("recovery", "7", "ABC") != KEYS.code_mac("recovery", "8", "ABC")
    assert KEYS.code_mac("pin", "a@x.org", "123") != KEYS.code_mac("pin", "b@x.org", "123")
