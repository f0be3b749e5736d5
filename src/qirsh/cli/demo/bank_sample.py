"""A file as a bank would write it, made from bank orders, for a demo and for tests: nobody's real statement."""

import csv
import io
from collections import Counter
from collections.abc import Sequence
from typing import Final
from zoneinfo import ZoneInfo

from qirsh.domain.bank_format import BankFormat
from qirsh.domain.bank_order import BankOrder
from qirsh.domain.bank_statement import bank_amount
from qirsh.domain.money import format_amount
from qirsh.language.local_time import local_day

SAMPLE_ACCOUNT: Final = "TR33 0006 1005 1978 6457 8413 26"
# A bank of Istanbul: its letters, decimal commas, and dates that begin with the day.
SAMPLE_FORMAT: Final = BankFormat(
    encoding="windows-1254",
    separator=";",
    decimal=",",
    date="DD.MM.YYYY",
    day_column="Tarih",
    amount_column="Tutar",
    reference_column="Fiş No",
    text_column="Açıklama",
    currency_column="Döviz",
    balance_column="Bakiye",
    skipped=2,
    account=SAMPLE_ACCOUNT,
    time_zone="Europe/Istanbul",
)
_HEADER: Final = ("Tarih", "Fiş No", "Açıklama", "Tutar", "Döviz", "Bakiye")
_TEXTS: Final = {"deposit": "Şubeden yatırılan", "withdrawal": "Giden havale"}


def sample_file(orders: Sequence[BankOrder], *, fee: int = 0, stranger: int = 0) -> bytes:
    """Lines of these orders, oldest first; a fee, and money of somebody unknown, that no order is about."""
    zone = ZoneInfo(SAMPLE_FORMAT.time_zone)
    rows = [
        (local_day(order.booked_at, zone), order.reference, _TEXTS[order.kind], bank_amount(order), order.currency)
        for order in sorted(orders, key=lambda order: (order.booked_at, order.reference))
    ]
    last, currency = (rows[-1][0], rows[-1][4]) if rows else (local_day(0, zone), "TRY")
    if fee:
        rows.append((last, "", "Hesap işletim ücreti", -fee, currency))
    if stranger:
        rows.append((last, "EFT 4711", "Gelen EFT: =İsimsiz gönderici", stranger, currency))
    written = io.StringIO(newline="")
    written.write(f"Hesap özeti\r\nIBAN: {SAMPLE_ACCOUNT}\r\n")
    table = csv.writer(written, delimiter=";")
    table.writerow(_HEADER)
    balances: Counter[str] = Counter()
    for day, reference, text, amount, code in rows:
        balances[code] += amount
        cells = (_turkish(amount, code), code, _turkish(balances[code], code))
        table.writerow((f"{day:%d.%m.%Y}", reference, text, *cells))
    return written.getvalue().encode("cp1254")


def _turkish(amount: int, currency: str) -> str:
    """As in 1.234,50."""
    whole, _, fraction = format_amount(abs(amount), currency).partition(".")
    return f"{'-' if amount < 0 else ''}{int(whole):,}".replace(",", ".") + f",{fraction}"
