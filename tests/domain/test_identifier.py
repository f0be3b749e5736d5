"""Public numbers: hard to guess, hard to mistype, never a card number."""

import itertools
import random
from statistics import correlation
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qirsh.domain.identifier import Identifiers, Permutation, check_digit, is_account_number
from tests.each import each

IDENTIFIERS: Final = Identifiers(b"one key")
PAYMENTS: Final = 30_000_000**2
ACCOUNTS: Final = 300_000**2

payment_numbers = st.integers(0, PAYMENTS - 1)
account_ordinals = st.integers(0, ACCOUNTS - 1)

MANY: Final = pytest.mark.parametrize("count", [10_000, pytest.param(100_000, marks=pytest.mark.slow)])


def passes_luhn(text: str) -> bool:
    """As a card scanner looks at it."""
    digits = [int(digit) for digit in reversed(text)]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[1::2]]
    return (sum(digits[::2]) + sum(doubled)) % 10 == 0


def typos(text: str) -> list[str]:
    """Every text with one digit wrong."""
    return [
        text[:place] + digit + text[place + 1 :]
        for place, right in enumerate(text)
        for digit in "0123456789"
        if digit != right
    ]


@each("key", [b"one key", b"another", bytes(32)])
def test_every_number_goes_to_exactly_one_other_and_back(key: bytes) -> None:
    small = Permutation(key, half=30, purpose=b"small")
    public = [small.public(number) for number in range(900)]
    assert sorted(value // 10 for value in public) == list(range(100, 1000))
    assert [small.number(value) for value in public] == list(range(900))


def test_no_other_number_has_something_behind_it() -> None:
    small = Permutation(b"one key", half=30, purpose=b"small")
    assert sum(small.number(value) is not None for value in range(100_000)) == 900


def test_numbers_that_are_used_up_are_not_given_out() -> None:
    with pytest.raises(AssertionError, match="used up"):
        IDENTIFIERS.payment_id(PAYMENTS)
    with pytest.raises(AssertionError, match="used up"):
        IDENTIFIERS.account_number(ACCOUNTS)


@given(payment_numbers)
def test_a_payment_is_found_by_its_id(number: int) -> None:
    payment_id = IDENTIFIERS.payment_id(number)
    assert len(payment_id) == 16
    assert payment_id[0] in "123456789"
    assert IDENTIFIERS.payment_number(payment_id) == number


@given(account_ordinals)
def test_an_account_number_has_twelve_digits_that_check(ordinal: int) -> None:
    text = str(IDENTIFIERS.account_number(ordinal))
    assert len(text) == 12
    assert is_account_number(text)
    assert not passes_luhn(text)


@given(st.sets(account_ordinals, min_size=2, max_size=20))
def test_two_accounts_never_have_one_number(ordinals: set[int]) -> None:
    assert len({IDENTIFIERS.account_number(ordinal) for ordinal in ordinals}) == len(ordinals)


@MANY
def test_ids_are_unique_well_formed_and_no_card_numbers(count: int) -> None:
    ids = [IDENTIFIERS.payment_id(number) for number in range(1, count + 1)]
    assert len(set(ids)) == len(ids)
    for payment_id in ids:
        assert len(payment_id) == 16
        assert payment_id.isascii()
        assert payment_id.isdigit()
        assert payment_id[0] != "0"
        assert not passes_luhn(payment_id)


@given(payment_numbers)
def test_one_wrong_digit_in_a_payment_id_is_always_noticed(number: int) -> None:
    for typo in typos(IDENTIFIERS.payment_id(number)):
        assert IDENTIFIERS.payment_number(typo) is None


@given(account_ordinals)
def test_one_wrong_digit_in_an_account_number_is_always_noticed(ordinal: int) -> None:
    for typo in typos(str(IDENTIFIERS.account_number(ordinal))):
        assert not is_account_number(typo)


@given(payment_numbers)
def test_two_swapped_digits_are_noticed_unless_they_are_zero_and_nine(number: int) -> None:
    right = IDENTIFIERS.payment_id(number)
    for place in range(15):
        pair = right[place : place + 2]
        if pair[0] != pair[1] and set(pair) != {"0", "9"}:
            assert IDENTIFIERS.payment_number(right[:place] + pair[::-1] + right[place + 2 :]) is None


@given(st.integers(0, 10**16 - 1))
def test_the_check_digit_keeps_every_number_off_the_luhn_test(number: int) -> None:
    whole = number * 10 + check_digit(number)
    assert sum(passes_luhn(str(number * 10 + digit)) for digit in range(10)) == 1
    assert not passes_luhn(str(whole))


def test_neighbours_show_no_order() -> None:
    ids = [int(IDENTIFIERS.payment_id(number)) for number in range(1, 20_001)]
    rising = sum(after > before for before, after in itertools.pairwise(ids))
    assert 0.48 < rising / len(ids) < 0.52
    assert abs(correlation(range(len(ids)), ids)) < 0.03
    steps = [after - before for before, after in itertools.pairwise(ids)]
    assert len(set(steps)) == len(steps)
    first_digits = [str(value)[0] for value in ids]
    assert all(abs(first_digits.count(digit) / len(ids) - 1 / 9) < 0.02 for digit in "123456789")


@MANY
def test_random_guesses_hit_no_issued_payment(count: int) -> None:
    guess = random.Random(7)
    guesses = [str(guess.randrange(10**15, 10**16)) for _ in range(count)]
    hits = [IDENTIFIERS.payment_number(text) for text in guesses]
    assert not [number for number in hits if number is not None and number < 1_000_000]


def test_another_key_gives_other_numbers() -> None:
    other = Identifiers(b"another key")
    assert all(IDENTIFIERS.payment_id(number) != other.payment_id(number) for number in range(1000))
    assert all(IDENTIFIERS.account_number(number) != other.account_number(number) for number in range(1000))


def test_payments_and_accounts_are_permuted_differently_under_one_key() -> None:
    one = Permutation(b"one key", half=300_000, purpose=b"payment")
    assert all(one.public(number) != IDENTIFIERS.account_number(number) for number in range(1000))


def test_the_same_key_gives_the_same_ids_for_ever() -> None:
    # Written down once: a change here would orphan every id that was ever sent to a merchant.
    assert IDENTIFIERS.payment_id(1) == "3205118876409840"
    assert IDENTIFIERS.account_number(1) == 159_824_212_202


@given(st.text(max_size=20) | st.text("0123456789", min_size=14, max_size=18))
def test_a_text_that_has_a_payment_behind_it_is_the_id_of_that_payment(text: str) -> None:
    number = IDENTIFIERS.payment_number(text)
    if number is not None:
        assert IDENTIFIERS.payment_id(number) == text


def garbage(right: str) -> list[str]:
    """What else arrives where a number is expected, made from one that is right."""
    arabic_indic = right.translate({ord("0") + digit: 0x0660 + digit for digit in range(10)})
    full_width = right.translate({ord("0") + digit: 0xFF10 + digit for digit in range(10)})
    length = len(right)
    return [
        *("", " ", "0" * length, "9" * length, "x" * length, "-" + right[1:], "+" + right[1:], "\x00" * length),
        *(right[:-1], right + "0", "0" + right, f" {right}", f"{right} ", f"{right}\n", f"+{right}", f"-{right}"),
        *(arabic_indic, full_width, right[:-1] + "\u00b2", right[:4] + "_" + right[5:], right[:-2] + "e1"),
        *(right[:-3] + "%00", "../" + right[3:], right[:-2] + "';", "'" + right[1:-1] + "'", right[:-2] + ".0"),
        *(right[:-1] + "\ud800", "0x" + right[2:], "\u202e" + right[1:], "NaN".ljust(length)),
    ]


def test_garbage_is_no_payment_id() -> None:
    texts = garbage(IDENTIFIERS.payment_id(7))
    assert [text for text in texts if IDENTIFIERS.payment_number(text) is not None] == []


def test_garbage_is_no_account_number() -> None:
    texts = garbage(str(IDENTIFIERS.account_number(7)))
    assert [text for text in texts if is_account_number(text)] == []
