"""How a bank writes the CSV files of one house account: chosen once, and then every file is read so."""

from typing import Any, Final, Literal, NamedTuple, get_args

import msgspec

from qirsh.domain.limits import BANK_ACCOUNT_CHARACTERS_MAX, BANK_COLUMNS_MAX, BANK_SKIPPED_MAX, NAME_CHARACTERS_MAX
from qirsh.domain.money import CURRENCIES

Encoding = Literal["utf-8", "utf-8-sig", "windows-1254", "iso-8859-9", "windows-1256", "utf-16"]
Separator = Literal[",", ";", "tab", "|"]
DecimalSign = Literal[".", ","]
DateForm = Literal[
    "YYYY-MM-DD",
    "YYYY/MM/DD",
    "YYYY.MM.DD",
    "YYYYMMDD",
    "DD.MM.YYYY",
    "DD/MM/YYYY",
    "DD-MM-YYYY",
    "DD.MM.YY",
    "DD/MM/YY",
    "MM/DD/YYYY",
]

ENCODINGS: Final[tuple[Encoding, ...]] = get_args(Encoding)
SEPARATORS: Final[tuple[Separator, ...]] = get_args(Separator)
DECIMAL_SIGNS: Final[tuple[DecimalSign, ...]] = get_args(DecimalSign)
DATE_FORMS: Final[tuple[DateForm, ...]] = get_args(DateForm)


class BankFormat(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Columns are named as the file's own header names them, or by their number from 1; "" where there is none."""

    encoding: Encoding
    separator: Separator
    decimal: DecimalSign
    date: DateForm
    day_column: str
    amount_column: str = ""  # With its sign,
    debit_column: str = ""  # or what left,
    credit_column: str = ""  # and what came in.
    reference_column: str = ""
    text_column: str = ""
    currency_column: str = ""
    currency: str = ""  # Of all lines, where no column tells.
    balance_column: str = ""
    skipped: int = 0  # Lines above the table. Where a column is known by its name, the next one is the header.
    account: str = ""  # The number or IBAN that a file must name: in this column, or in a line above the table.
    account_column: str = ""
    time_zone: str = "UTC"  # Of the bank's day.


COLUMNS: Final = tuple(name for name in BankFormat.__struct_fields__ if name.endswith("_column"))


def written_format(chosen: BankFormat) -> str:
    """As its row keeps it."""
    return msgspec.json.encode(chosen).decode()


def read_format(text: str) -> BankFormat:
    """The inverse."""
    return msgspec.json.decode(text, type=BankFormat)


class FormatFault(NamedTuple):
    """A field that cannot be so, and why."""

    field: str
    what: str
    most: int = 0  # What it may have.


def format_fault(chosen: BankFormat) -> FormatFault | None:
    """The field that cannot be so, and why; None if files can be read. Whether there is the time zone, others know."""
    columns = {name: getattr(chosen, name) for name in COLUMNS}
    for name, column in columns.items():
        if len(column) > NAME_CHARACTERS_MAX or not column.isprintable():
            return FormatFault(name, "name", NAME_CHARACTERS_MAX)
        if column.isdecimal() and not 1 <= int(column) <= BANK_COLUMNS_MAX:
            return FormatFault(name, "number", BANK_COLUMNS_MAX)
    if not chosen.day_column:
        return FormatFault("day_column", "missing")
    given: list[Any] = [column for column in columns.values() if column]
    if twice := next((name for name, column in columns.items() if column and given.count(column) > 1), None):
        return FormatFault(twice, "twice")
    return _fault_of_money(chosen) or _fault_of_account(chosen)


def _fault_of_money(chosen: BankFormat) -> FormatFault | None:
    has_both = bool(chosen.debit_column) and bool(chosen.credit_column)
    if bool(chosen.amount_column) == has_both or bool(chosen.debit_column) != bool(chosen.credit_column):
        return FormatFault("amount_column", "amount")
    if bool(chosen.currency_column) == bool(chosen.currency):
        return FormatFault("currency", "currency")
    if chosen.currency and chosen.currency not in CURRENCIES:
        return FormatFault("currency", "unknown_currency")
    return None


def _fault_of_account(chosen: BankFormat) -> FormatFault | None:
    if not 0 <= chosen.skipped <= BANK_SKIPPED_MAX:
        return FormatFault("skipped", "skipped", BANK_SKIPPED_MAX)
    if len(chosen.account) > BANK_ACCOUNT_CHARACTERS_MAX or not chosen.account.isprintable():
        return FormatFault("account", "account", BANK_ACCOUNT_CHARACTERS_MAX)
    if chosen.account_column and not account_sign(chosen.account):
        return FormatFault("account", "no_account")
    if chosen.account and not chosen.account_column and not chosen.skipped:
        return FormatFault("account_column", "no_account_column")
    return None


def account_sign(text: str) -> str:
    """Of an account number, only what tells it from others."""
    return "".join(filter(str.isalnum, text)).upper()
