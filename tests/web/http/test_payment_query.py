"""What was typed to find payments is taken for what it is, and says so."""

# Arabic, Turkish and Greek letters are what this is about, also those that look like others.
# ruff: noqa: RUF001

from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qirsh.domain.identifier import Identifiers
from qirsh.domain.limits import AMOUNT_MAX, SEARCH_CHARACTERS_MAX, SEARCH_WORDS_MAX
from qirsh.engine.entropy import SeededEntropy
from qirsh.language.figures import money
from qirsh.web.http.payment_query import PaymentQuery, read_payment_query

IDENTIFIERS: Final = Identifiers(SeededEntropy(1)(32))
PAYMENT: Final = IDENTIFIERS.payment_id(7)
PAYER: Final = str(IDENTIFIERS.account_number(7))
REFUND: Final = f"rf_{'0a' * 12}"
EVENT: Final = "evt_0_123456789012_17"


def asked(text: str, *, may_see_payers: bool = True) -> PaymentQuery:
    return read_payment_query(text, IDENTIFIERS, may_see_payers=may_see_payers)


def by_fours(digits: str, between: str) -> str:
    return between.join(digits[start : start + 4] for start in range(0, len(digits), 4))


def arabic(digits: str) -> str:
    return digits.translate(str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩"))


# Names of things.


@pytest.mark.parametrize("between", ["", " ", "-", "\N{NO-BREAK SPACE}", "\N{EN DASH}", " - ", "\u200f", "\t"])
@pytest.mark.parametrize(("digits", "kind"), [(PAYMENT, "payment"), (PAYER, "payer")])
def test_a_number_is_known_however_it_is_pasted(digits: str, kind: str, between: str) -> None:
    for typed in (by_fours(digits, between), f"  {by_fours(digits, between)} ", arabic(by_fours(digits, between))):
        found = asked(typed)
        assert (found.kind, found.value) == (kind, digits)


@pytest.mark.parametrize("digits", [PAYMENT, PAYER])
def test_a_number_with_a_wrong_digit_is_a_word(digits: str) -> None:
    for place in range(len(digits)):
        wrong = f"{digits[:place]}{(int(digits[place]) + 1) % 10}{digits[place + 1 :]}"
        assert (asked(wrong).kind, asked(wrong).words) == ("words", (wrong,))


def test_who_may_not_see_payers_does_not_find_by_them() -> None:
    assert asked(PAYER, may_see_payers=False).kind == "words"
    assert asked(by_fours(PAYER, " "), may_see_payers=False).kind == "words"
    assert asked(PAYMENT, may_see_payers=False).kind == "payment"


def test_ids_of_refunds_and_events_are_known(subtests: pytest.Subtests) -> None:
    for text, kind in [
        (REFUND, "refund"),
        (f" {REFUND}\n", "refund"),
        (REFUND.upper(), "words"),
        (REFUND[:-1], "words"),
        (EVENT, "event"),
        ("evt_0_123456789012_0", "words"),
        ("evt_x", "words"),
    ]:
        with subtests.test(text=text, kind=kind):
            assert asked(text).kind == kind
            if kind != "words":
                assert asked(text).value == text.strip()


def test_in_quotes_everything_is_words() -> None:
    for text in (PAYMENT, PAYER, REFUND, EVENT, "12.50", "cart:c-1", "coffee"):
        for quoted in (f'"{text}"', f"“{text}”", f"«{text}»", f' "{text}" '):
            assert asked(quoted).kind == "words"
    assert asked(f'"{PAYER}"').words == (PAYER,)
    assert asked('"').words == asked('""').words == ()


# Amounts.


def test_an_amount_is_read_as_people_of_each_language_type_it(subtests: pytest.Subtests) -> None:
    for text, amount, currency in [
        ("12.50", 1250, None),
        ("12,50", 1250, None),
        ("12.5", 1250, None),
        ("0.01", 1, None),
        ("1.234,56", 123456, None),
        ("1,234.56", 123456, None),
        ("1 234,56", 123456, None),
        ("1\N{NO-BREAK SPACE}234.56", 123456, None),
        ("1.234", 123400, None),
        ("1,234", 123400, None),
        ("1.234.567", 123456700, None),
        ("1,234,567.8", 123456780, None),
        ("١٢٫٥٠", 1250, None),
        ("١٬٢٣٤٫٥٦", 123456, None),
        ("۱۲٫۵", 1250, None),
        ("12 USD", 1200, "USD"),
        ("USD 12", 1200, "USD"),
        ("usd12.50", 1250, "USD"),
        ("12,50 try", 1250, "TRY"),
        ("$12", 1200, "USD"),
        ("12€", 1200, "EUR"),
        ("₺ 1.234,56", 123456, "TRY"),
        ("250 TL", 25000, "TRY"),
        ("1500 ل.س", 150000, "SYP"),
        ("١٥٠٠ SYP", 150000, "SYP"),
        ("9999999999999.99", AMOUNT_MAX, None),
    ]:
        with subtests.test(text=text, amount=amount, currency=currency):
            found = asked(text)
            assert (found.kind, found.amount, found.currency) == ("amount", amount, currency)


def test_what_is_not_exactly_an_amount_is_words(subtests: pytest.Subtests) -> None:
    for text in [
        *("0.00", "0", "0 USD", "-12.50", "12.5055", "1.23.45", "1,23,456", "12..50", ".50", "12.", "12.50.00"),
        *("99999999999999.99", "12.50 GBP", "USD 12 EUR", "12 50", "12.50 and tea", "$", "USD", "1.234,567"),
        "1'234.50",
    ]:
        with subtests.test(text=text):
            assert asked(text).kind == "words"


@pytest.mark.parametrize(("text", "amount"), [("1042", 104200), ("7", 700), ("00042", 4200), ("١٠٤٢", 104200)])
def test_a_whole_number_is_a_word_and_says_that_it_may_be_an_amount(text: str, amount: int) -> None:
    found = asked(text)
    assert (found.kind, found.amount, found.currency) == ("words", amount, None)
    assert len(found.words) == 1


def test_a_word_that_is_no_number_is_no_amount() -> None:
    assert asked("coffee").amount is None
    assert asked("1042 coffee").amount is None
    assert asked("0").amount is None


@given(st.integers(1, AMOUNT_MAX), st.sampled_from(["en", "ar", "tr"]), st.sampled_from(["SYP", "USD", "TRY", "EUR"]))
def test_an_amount_that_a_page_shows_is_found_again_when_it_is_pasted(amount: int, code: str, currency: str) -> None:
    shown = money(amount, currency, code)
    assert (asked(shown).kind, asked(shown).amount) == ("amount", amount)
    named = asked(f"{shown} {currency}")
    assert (named.kind, named.amount, named.currency) == ("amount", amount, currency)


# Metadata.


def test_a_key_and_a_value_are_metadata(subtests: pytest.Subtests) -> None:
    for text, key, value in [
        ("cart:c-5581", "cart", "c-5581"),
        ("city:New York", "city", "New York"),
        ("a.b:1:2", "a.b", "1:2"),
        ("مدينة:دمشق", "مدينة", "دمشق"),
        ("order:12.50", "order", "12.50"),
        ("k2:12", "k2", "12"),
    ]:
        with subtests.test(text=text, key=key, value=value):
            found = asked(text)
            assert (found.kind, found.key, found.value) == ("metadata", key, value)


def test_other_colons_are_words(subtests: pytest.Subtests) -> None:
    for text in [
        *("https://shop.example/x", "Note: bring cash", "cart :c-1", ":c-1", "cart:", "12:30", "two words:x", "a: b"),
        f"{'k' * 65}:v",
    ]:
        with subtests.test(text=text):
            assert asked(text).kind == "words"


# Words.


def test_words_are_folded_and_so_many_at_most() -> None:
    assert asked("İki  KAHVE, iki kahve").words == ("iki", "kahve")
    assert asked("!!!").words == asked("").words == asked("a b").words == ()
    assert asked(" ".join(f"word{n}" for n in range(20))).words == tuple(f"word{n}" for n in range(SEARCH_WORDS_MAX))


@given(st.text(max_size=300))
def test_whatever_was_typed_is_something(text: str) -> None:
    found = asked(text)
    assert len(found.value) <= SEARCH_CHARACTERS_MAX
    assert "\0" not in found.value + found.key
    assert (found.kind == "words") or not found.words
    assert (found.kind == "amount") <= (found.amount is not None)
    if found.kind == "words":
        assert asked(" ".join(found.words)).kind in {"words", "payment", "payer"}
