"""Tokens of API keys and sessions: whole or not, and never the same twice."""

import string
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from qirsh.domain.api_key import is_token, key_kind, make_token, token_hash
from tests.each import each

CHARACTERS: Final = string.ascii_letters + string.digits + "_-. \n\u0661"

entropies = st.binary(min_size=32, max_size=32)
kinds = st.sampled_from(["qk_live", "qk_test", "qs"])


@given(kinds, entropies)
def test_a_token_that_was_made_is_whole(kind: str, entropy: bytes) -> None:
    token = make_token(kind, entropy)
    assert is_token(token)
    assert token.startswith(f"{kind}_")
    assert token.replace("_", "").isalnum()


@given(entropies, st.data())
def test_any_one_changed_character_is_noticed(entropy: bytes, data: st.DataObject) -> None:
    token = make_token("qk_live", entropy)
    place = data.draw(st.integers(0, len(token) - 1))
    for character in CHARACTERS:
        if character != token[place]:
            assert not is_token(token[:place] + character + token[place + 1 :])


@given(entropies, st.data())
def test_a_lost_or_added_character_is_noticed(entropy: bytes, data: st.DataObject) -> None:
    token = make_token("qk_live", entropy)
    place = data.draw(st.integers(0, len(token) - 1))
    assert not is_token(token[:place])
    assert not is_token(token[:place] + token[place + 1 :])
    assert not is_token(token[:place] + "x" + token[place:])


@given(st.sets(entropies, min_size=2, max_size=2))
def test_two_entropies_never_give_the_same_token(pair: set[bytes]) -> None:
    assert len({make_token("qk_live", entropy) for entropy in pair}) == 2


@each("place", range(45))
def test_every_place_of_the_entropy_counts(place: int) -> None:
    # The alphabet has 54 characters: a token that is too short would lose the highest places.
    assert make_token("qk_live", bytes(32)) != make_token("qk_live", (54**place).to_bytes(32, "big"))


@given(entropies)
def test_a_test_key_is_not_turned_into_a_live_key_by_hand(entropy: bytes) -> None:
    test = make_token("qk_test", entropy)
    assert not is_token(test.replace("qk_test", "qk_live"))
    assert token_hash(test.encode()) != token_hash(make_token("qk_live", entropy).encode())


@each("text", ["", "_", "qk_live_", "qk_live", "x" * 51, "_" * 60, "qk_live_" + "0" * 51])
def test_a_text_that_nobody_made_is_no_token(text: str) -> None:
    assert not is_token(text)


@each("text", ["qk_live_" + "0" * 44 + "\ud800" + "0" * 6, "\ud800_" + "0" * 51])
def test_broken_unicode_is_no_token(text: str) -> None:
    assert not is_token(text)


def test_a_key_starts_with_its_mode() -> None:
    assert (key_kind("live"), key_kind("test")) == ("qk_live", "qk_test")


def test_a_key_is_found_by_the_same_hash_for_ever() -> None:
    assert token_hash(b"abc").hex() == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
