"""A statement for spreadsheets and programs: RFC 4180, with the names of the columns in English for every reader."""

import csv
import io
import re
from datetime import date, timedelta
from decimal import Decimal
from typing import Final

from qirsh.domain.money import format_amount
from qirsh.language.figures import grouped
from qirsh.language.local_time import local_timestamp, midnight_ms
from qirsh.web.documents.statement import Statement

COLUMNS: Final = (
    *("time", "kind", "other_name", "other_account", "payment_id", "note"),
    *("amount", "balance", "currency"),
)

# Spreadsheets run a cell that begins so. Where the list separator is a semicolon or a tab, as in Turkish settings, a
# cell also begins after each of those, and quotes do not help.
_RUN: Final = re.compile(r"""(^|[;\t\r\n])(?=[\s"]*[=+\-@＝＋－＠])|^(?=[\t\r])""")  # noqa: RUF001 - wide signs run too
_MARK: Final = r"\1'"


def statement_csv(statement: Statement) -> bytes:
    """Opening and closing balances stand in rows of their own, whose amounts are empty.

    The opening balance and all amounts make the closing balance. Numbers of payments and accounts are grouped by
    fours, because a spreadsheet would read sixteen digits as a number and lose the last.
    """
    rows = io.StringIO()
    # Texts are quoted and amounts are not, so that they are numbers to every reader.
    write = csv.writer(rows, lineterminator="\r\n", quoting=csv.QUOTE_NONNUMERIC).writerow
    write(COLUMNS)

    def amount(minor: int) -> Decimal:
        return Decimal(format_amount(minor, statement.currency))

    def moment(at: int) -> str:
        return local_timestamp(at, statement.time_zone)

    def total(of: date, kind: str, minor: int) -> None:
        write(
            (moment(midnight_ms(of, statement.time_zone)), kind, "", "", "", "", "", amount(minor), statement.currency)
        )

    total(statement.from_day, "opening", statement.opening_minor)
    for line in statement.lines:
        write(
            (
                moment(line.at),
                line.what,
                harmless(line.other_name),
                grouped(line.other_account),
                grouped(line.payment_id),
                harmless(line.note),
                amount(line.amount_minor),
                amount(line.balance_after_minor),
                statement.currency,
            )
        )
    total(statement.to_day + timedelta(days=1), "closing", statement.closing_minor)
    return rows.getvalue().encode("utf-8-sig")


def harmless(cell: str) -> str:
    """The text, with an apostrophe before whatever a spreadsheet would run."""
    return _RUN.sub(_MARK, cell)
