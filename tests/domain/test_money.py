"""Amounts as people type and read them."""

from hypothesis import given
from hypothesis import strategies as st

from qirsh.domain.limits import AMOUNT_MAX
from qirsh.domain.money import CURRENCIES, format_amount, is_amount, parse_amount
from tests.each import each

amounts = st.integers(1, AMOUNT_MAX)
currencies = st.sampled_from(sorted(CURRENCIES))


def test_the_four_currencies_have_two_decimals_each() -> None:
    assert {code: row.exponent for code, row in CURRENCIES.items()} == {"SYP": 2, "USD": 2, "TRY": 2, "EUR": 2}
    assert all(code == row.code for code, row in CURRENCIES.items())


def test_only_the_new_syrian_pound_is_held() -> None:
    assert CURRENCIES["SYP"].since == "2026-01-01"


@each(
    ("amount", "expected"),
    [
        (-(2**63), False),
        (-1, False),
        (0, False),
        (1, True),
        (AMOUNT_MAX, True),
        (AMOUNT_MAX + 1, False),
        (2**63 - 1, False),
        (2**63, False),
        (10**30, False),
    ],
)
def test_an_amount_lies_between_one_coin_and_the_limit(amount: int, expected: bool) -> None:  # noqa: FBT001
    assert is_amount(amount) is expected


@each(
    ("amount", "text"),
    [
        (10_098, "100.98"),
        (1, "0.01"),
        (10, "0.10"),
        (99, "0.99"),
        (100, "1.00"),
        (0, "0.00"),
        (-5, "-0.05"),
        (-12_345, "-123.45"),
        (AMOUNT_MAX, "9999999999999.99"),
        (999_999_999_999_999_999, "9999999999999999.99"),
    ],
)
@each("currency", sorted(CURRENCIES))
def test_an_amount_is_shown_digit_by_digit(amount: int, text: str, currency: str) -> None:
    assert format_amount(amount, currency) == text


@given(amounts, currencies)
def test_what_is_shown_can_be_typed_back(amount: int, currency: str) -> None:
    assert parse_amount(format_amount(amount, currency), currency) == amount


@given(st.integers(1, AMOUNT_MAX // 100), currencies)
def test_whole_units_need_no_decimals(units: int, currency: str) -> None:
    assert parse_amount(str(units), currency) == units * 100


@given(st.text("0123456789.,-+eE_ \u0660\u0669\u00b2", max_size=24), currencies)
def test_a_text_is_read_as_what_it_shows_or_not_at_all(text: str, currency: str) -> None:
    amount = parse_amount(text, currency)
    if amount is not None:
        typed = text if "." in text else f"{text}.00"
        assert format_amount(amount, currency) == typed.lstrip("0").rjust(4, "0")


@each(
    "text",
    [
        *("", " ", ".", "1.", ".5", ".50", "1.5", "1.234", "1.00.00", "-1", "+1", "-1.00", " 1", "1 ", "1\n"),
        *("1,00", "1,000.00", "1e3", "1_000", "0x10", "NaN", "Infinity", "one", "1.0a", "1.-5", "1. 5"),
        *("\u0661\u0660", "1.\u0660\u0660", "\u00b2", "\uff11", "1\u200b", "\u221e"),
        *("0", "0.00", "000", "10000000000000.00", "9999999999999999", "1" * 5000, "1." + "0" * 5000),
    ],
)
@each("currency", sorted(CURRENCIES))
def test_what_is_not_exactly_an_amount_is_not_read(text: str, currency: str) -> None:
    assert parse_amount(text, currency) is None
