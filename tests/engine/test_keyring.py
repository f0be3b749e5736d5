"""Tokens of forms: made for exactly one thing, and good while the secret that they were made under is named."""

import pytest

from qirsh.engine.entropy import SeededEntropy
from qirsh.engine.keyring import Keyring

OLD, NEW = b"o" * 32, b"n" * 32


def keyring(*secrets: bytes) -> Keyring:
    return Keyring(list(secrets), SeededEntropy(1))


def test_a_form_is_known_again() -> None:
    keys = keyring(OLD)
    token = keys.form_token("confirm", "قرش", "")
    assert keys.is_form_token(token, "confirm", "قرش", "")
    assert keyring(OLD).is_form_token(token, "confirm", "قرش", "")


@pytest.mark.parametrize(
    "bound_to",
    [
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
    ],
)
def test_no_two_things_share_a_token(bound_to: tuple[str, ...]) -> None:
    keys = keyring(OLD)
    assert not keys.is_form_token(keys.form_token("ab", "c"), *bound_to)


@pytest.mark.parametrize("token", ["", "0", "é", "0" * 64])
def test_what_is_no_token_is_none(token: str) -> None:
    assert not keyring(OLD).is_form_token(token, "a")


def test_forms_outlive_a_rotation_and_no_other_secret_makes_them() -> None:
    token = keyring(OLD).form_token("a")
    assert keyring(NEW, OLD).is_form_token(token, "a")
    assert keyring(NEW, OLD).form_token("a") != token
    assert not keyring(NEW).is_form_token(token, "a")
