"""Sums, days and spans of time as people of a language write them.

The digits are the Latin ones everywhere: they are what people type here and read out to each other. No sum passes
through a float, and the decimals are the currency's own in `domain.money`, whatever other tables say.
"""

import re
from datetime import date
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

from babel.dates import format_date, format_datetime, get_timezone_location

from qirsh.domain.money import CURRENCIES, format_amount, parse_amount
from qirsh.language.catalog import language, plural, text
from qirsh.language.local_time import local_day, local_moment

# Between thousands, and before the decimals.
_SIGNS: Final = {"en": (",", "."), "ar": (",", "."), "tr": (".", ",")}
# In Arabic all by their names: an abbreviation beside codes would be two forms.
_NAMES: Final = {
    ("SYP", "ar"): "ليرة سورية",
    ("TRY", "ar"): "ليرة تركية",
    ("USD", "ar"): "دولار أمريكي",
    ("EUR", "ar"): "يورو",
}
_DAY: Final = "d MMMM y"
_MONTH: Final = "LLLL y"
_DAY_AND_TIME: Final = {"en": "d MMMM y, HH:mm", "ar": "d MMMM y، HH:mm", "tr": "d MMMM y HH:mm"}
_TIME_ZONE: Final = {"en": "({zone})", "ar": "(ب{zone})", "tr": "({zone})"}
_UTC: Final = "UTC"
_MINUTE_MS: Final = 60_000
# As a keyboard set to Arabic or Persian types them.
_LATIN_DIGITS: Final = str.maketrans("٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹", "01234567890123456789")
_LATIN_SIGNS: Final = str.maketrans("٬\N{ARABIC DECIMAL SEPARATOR}", ",.")


def latin_digits(text: str) -> str:
    """The same with the digits that numbers are kept in, whichever a keyboard has typed."""
    return text.translate(_LATIN_DIGITS)


def money(amount_minor: int, currency: str, code: str) -> str:
    """The digits alone: `1,234.50`, or `1.234,50` in Turkish."""
    thousands, point = _SIGNS[code]
    whole, dot, rest = format_amount(abs(amount_minor), currency).partition(".")
    sign = "-" if amount_minor < 0 else ""
    return f"{sign}{f'{int(whole):,}'.replace(',', thousands)}{point if dot else ''}{rest}"


def typed_amount(typed: str, currency: str, code: str) -> int | None:
    """What a person typed as an amount, in minor units: `1,234.50`, or `1.234,50` in Turkish. Never a guess.

    None for anything else, and above all for the signs of the other way: they would make it a thousand times as much.
    """
    # Blanks may stand between thousands, and nowhere else.
    text = " ".join(typed.split())
    thousands, point = _SIGNS[code]
    if code == "ar":
        text = latin_digits(text).translate(_LATIN_SIGNS)
    decimals = CURRENCIES[currency].exponent
    grouped = "|".join(rf"[1-9]\d{{0,2}}(?:{re.escape(sign)}\d{{3}})+" for sign in (thousands, " "))
    found = re.fullmatch(rf"(\d+|{grouped})(?:{re.escape(point)}(\d{{1,{decimals}}}))?", text, re.ASCII)
    if found is None:
        return None
    whole, fraction = found[1].replace(thousands, "").replace(" ", ""), (found[2] or "").ljust(decimals, "0")
    return parse_amount(f"{whole}.{fraction}" if decimals else whole, currency)


def currency_name(currency: str, code: str) -> str:
    """As it is written beside a sum."""
    return _NAMES.get((currency, code), currency)


def day(milliseconds: int, code: str, zone: ZoneInfo) -> str:
    """The day that it was in the zone."""
    return date_name(local_day(milliseconds, zone), code)


@lru_cache(maxsize=4096)  # A report has a line for each day of a year, and naming it costs more than all else there.
def date_name(date: date, code: str) -> str:
    """A day of the calendar."""
    return format_date(date, _DAY, locale=language(code).locale)


def month_name(date: date, code: str) -> str:
    """The month that it lies in, and its year."""
    return format_date(date, _MONTH, locale=language(code).locale)


def whole(number: int, code: str) -> str:
    """A count of things."""
    return f"{number:,}".replace(",", _SIGNS[code][0])


def day_and_time(milliseconds: int, code: str, zone: ZoneInfo) -> str:
    """To the minute, with the zone named: readers may live in another."""
    written = format_datetime(local_moment(milliseconds, zone), _DAY_AND_TIME[code], locale=language(code).locale)
    name = time_zone_name(zone, code)
    # It stays on the line of the hour.
    if name == _UTC:
        return f"{written}\N{NO-BREAK SPACE}{name}"
    return f"{written} {_TIME_ZONE[code].format(zone=name)}"


@lru_cache(maxsize=64)
def time_zone_name(zone: ZoneInfo, code: str) -> str:
    """By its city: `Damascus time`. A zone without one has the name that the setting gave it."""
    area, _, city = zone.key.partition("/")
    if zone.key == _UTC or area == "Etc" or not city:
        return _UTC if zone.key in {_UTC, "Etc/UTC"} else zone.key
    city = get_timezone_location(zone, locale=language(code).locale, return_city=True)
    return text(code, "%(city)s time", city=city.rpartition("/")[2])


def duration(milliseconds: int, code: str) -> str:
    """The two largest units of it: nobody counts the minutes of the third day."""
    hours, minutes = divmod(max(0, milliseconds) // _MINUTE_MS, 60)
    days, hours = divmod(hours, 24)
    units = [
        plural(code, "%(n)d day", "%(n)d days", days) if days else "",
        plural(code, "%(n)d hour", "%(n)d hours", hours) if hours else "",
        plural(code, "%(n)d minute", "%(n)d minutes", minutes) if minutes and not days else "",
    ]
    parts = [part for part in units if part]
    if not parts:
        return text(code, "less than a minute")
    if len(parts) == 1:
        return parts[0]
    larger, smaller = parts
    return text(code, "%(larger)s and %(smaller)s", larger=larger, smaller=smaller)


def grouped(number: str | int) -> str:
    """By fours, as people read long numbers to each other."""
    digits = str(number)
    return " ".join(digits[start : start + 4] for start in range(0, len(digits), 4))
