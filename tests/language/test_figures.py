"""Sums digit by digit, and days and spans of time, in each language."""

from typing import Final
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from qirsh.domain.limits import AMOUNT_MAX
from qirsh.domain.money import CURRENCIES
from qirsh.language.catalog import LANGUAGES
from qirsh.language.figures import currency_name, day, day_and_time, duration, money, time_zone_name
from qirsh.language.local_time import UTC_ZONE
from tests.each import each

MOMENT: Final = 1_794_233_100_999  # 2026-11-09 14:05:00.999 UTC
MINUTE: Final = 60_000
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR


@each(
    ("amount", "english", "turkish"),
    [
        (0, "0.00", "0,00"),
        (5, "0.05", "0,05"),
        (-5, "-0.05", "-0,05"),
        (10098, "100.98", "100,98"),
        (123450, "1,234.50", "1.234,50"),
        (-123450, "-1,234.50", "-1.234,50"),
        (100_000_000, "1,000,000.00", "1.000.000,00"),
        (AMOUNT_MAX, "9,999,999,999,999.99", "9.999.999.999.999,99"),
    ],
)
def test_a_sum_is_written_as_the_language_does(amount: int, english: str, turkish: str) -> None:
    # The pound has two decimals in every language, whatever other tables say.
    for currency in CURRENCIES:
        assert [money(amount, currency, code) for code in LANGUAGES] == [english, english, turkish]


@given(amount=st.integers(-(10**18), 10**18), code=st.sampled_from(LANGUAGES), currency=st.sampled_from([*CURRENCIES]))
def test_no_digit_of_a_sum_is_lost(amount: int, code: str, currency: str) -> None:
    shown = money(amount, currency, code)
    assert shown.isascii()
    assert int("".join(digit for digit in shown if digit in "-0123456789")) == amount
    assert shown[-3] in ".,"


def test_a_currency_is_named_as_people_write_it() -> None:
    assert [currency_name("SYP", code) for code in LANGUAGES] == ["SYP", "ليرة سورية", "SYP"]
    assert [currency_name("TRY", code) for code in LANGUAGES] == ["TRY", "ليرة تركية", "TRY"]


def test_currencies_have_one_form_in_a_language() -> None:
    assert [currency for currency in CURRENCIES if currency_name(currency, "ar").isascii()] == []
    assert [code for code in ("en", "tr") for currency in CURRENCIES if currency_name(currency, code) != currency] == []


def test_a_day_has_the_names_of_months_that_are_used_here() -> None:
    assert [day(MOMENT, code, UTC_ZONE) for code in LANGUAGES] == [
        "9 November 2026",
        "9 تشرين الثاني 2026",
        "9 Kasım 2026",
    ]


def test_a_time_of_day_names_its_zone() -> None:
    assert [day_and_time(MOMENT, code, UTC_ZONE) for code in LANGUAGES] == [
        "9 November 2026, 14:05\N{NO-BREAK SPACE}UTC",
        "9 تشرين الثاني 2026، 14:05\N{NO-BREAK SPACE}UTC",
        "9 Kasım 2026 14:05\N{NO-BREAK SPACE}UTC",
    ]
    assert [day_and_time(MOMENT, code, ZoneInfo("Asia/Damascus")) for code in LANGUAGES] == [
        "9 November 2026, 17:05 (Damascus time)",
        "9 تشرين الثاني 2026، 17:05 (بتوقيت دمشق)",
        "9 Kasım 2026 17:05 (Şam saati)",
    ]
    assert [
        time_zone_name(ZoneInfo(key), "en") for key in ("Etc/UTC", "Etc/GMT-3", "America/Argentina/Buenos_Aires")
    ] == ["UTC", "Etc/GMT-3", "Buenos Aires time"]


def test_a_moment_lies_in_the_day_of_its_zone() -> None:
    evening = MOMENT + 8 * HOUR
    assert [day(evening, "en", ZoneInfo(key)) for key in ("UTC", "Asia/Damascus")] == [
        "9 November 2026",
        "10 November 2026",
    ]


@each(
    ("milliseconds", "english", "arabic", "turkish"),
    [
        (-5, "less than a minute", "أقل من دقيقة", "bir dakikadan az"),
        (MINUTE - 1, "less than a minute", "أقل من دقيقة", "bir dakikadan az"),
        (MINUTE, "1 minute", "دقيقة واحدة", "1 dakika"),
        (HOUR - 1, "59 minutes", "59 دقيقة", "59 dakika"),
        (HOUR, "1 hour", "ساعة واحدة", "1 saat"),
        (2 * HOUR + 5 * MINUTE, "2 hours and 5 minutes", "ساعتان و5 دقائق", "2 saat 5 dakika"),
        (DAY + 5 * MINUTE, "1 day", "يوم واحد", "1 gün"),
        (3 * DAY + HOUR + 5 * MINUTE, "3 days and 1 hour", "3 أيام وساعة واحدة", "3 gün 1 saat"),
    ],
)
def test_a_span_of_time_is_told_by_its_two_largest_units(
    milliseconds: int, english: str, arabic: str, turkish: str
) -> None:
    assert [duration(milliseconds, code) for code in LANGUAGES] == [english, arabic, turkish]
