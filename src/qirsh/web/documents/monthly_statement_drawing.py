"""How a monthly statement of a business looks: what came and went, then each day, and who has checked it."""

from typing import Final

from qirsh.domain.report import Report, ReportDay
from qirsh.language.catalog import text, text_in
from qirsh.language.figures import currency_name, date_name, day_and_time, grouped, money, time_zone_name, whole
from qirsh.web.documents.bidi_text import figure, isolated, plain
from qirsh.web.documents.monthly_statement import MonthlyStatement
from qirsh.web.documents.page_canvas import BRASS, GREEN, GREEN_SOFT, INK, LINE, PAPER, SOFT, Face, PageCanvas

_SIZE: Final = (210.0, 297.0)  # A4.
_EDGE: Final = 16.0
_INNER: Final = _SIZE[0] - 2 * _EDGE
_END: Final = _SIZE[0] - _EDGE
# The sums, one below the other.
_SUMS_TOP: Final = 52.0
_SUM_HEIGHT: Final = 5.6
_SUM_FIGURES: Final = _END - 46
_SUM_FIGURES_WIDTH: Final = 42.0
# The days: a month has room for all of them below the sums.
_DAYS_TOP: Final = 106.0
_DAY_HEIGHT: Final = 5.2
_DAY_WIDTH: Final = 33.0
_COLUMN: Final = (_INNER - _DAY_WIDTH) / 6
_GAP: Final = 1.5

_SMALL: Final = Face(7.5, SOFT)
_HEAD: Final = Face(7, SOFT, is_bold=True)
_WORD: Final = Face(8)


def drawn(statement: MonthlyStatement, code: str) -> bytes:
    """The file, of one page."""
    canvas = PageCanvas(code, title=_title(statement, code), size=_SIZE, made_at=statement.made_at)
    canvas.add_page()
    _head(canvas, statement, code)
    _sums(canvas, statement.report, code)
    y = _days(canvas, statement.report, code)
    canvas.put(text(code, "Checked against the ledger: both balances agree."), _EDGE, y + 6, Face(8, GREEN))
    _foot(canvas, statement, code)
    return canvas.finished()


def _title(statement: MonthlyStatement, code: str) -> str:
    return text(code, "Statement of account %(account)s", account=statement.account)


def _head(canvas: PageCanvas, statement: MonthlyStatement, code: str) -> None:
    canvas.fill(0, 0, _SIZE[0], 46, PAPER)
    canvas.fill(0, 46, _SIZE[0], 0.8, BRASS)
    canvas.mark(plain(statement.service_name), _EDGE, 18, Face(15, is_bold=True))
    canvas.put(text(code, "Monthly statement"), _END, 18, Face(15, GREEN, is_bold=True), to_end=True)
    name = Face(12, is_bold=True)
    for number, written in enumerate(canvas.wrapped(plain(statement.holder), 88, name, most=2)):
        canvas.put_line(written, _EDGE, 31 + number * name.height, name)
    word = Face(9, SOFT)
    account = text(code, "Account %(account)s", account=figure(grouped(statement.account)))
    currency = isolated(currency_name(statement.report.currency, code))
    canvas.put(f"{account} · {currency}", _END, 29, word, to_end=True)
    canvas.put(_period(statement, code), _END, 35, word, to_end=True)
    notes = [
        words
        for words, is_so in (
            (text(code, "Test money"), statement.is_test),
            (text(code, "So far: this month is not over."), statement.is_so_far),
        )
        if is_so
    ]
    if notes:
        canvas.put(" · ".join(notes), _END, 41, Face(9, BRASS, is_bold=True), to_end=True)


def _period(statement: MonthlyStatement, code: str) -> str:
    days = statement.report.days
    first, last = isolated(date_name(days[0].day, code)), isolated(date_name(days[-1].day, code))
    zone = isolated(time_zone_name(statement.time_zone, code))
    return text(code, "%(first)s to %(last)s (%(zone)s)", first=first, last=last, zone=zone)


def _sums(canvas: PageCanvas, report: Report, code: str) -> None:
    """From the opening balance to the closing one, each with how many transactions made it."""
    sums = report.sums
    lines: tuple[tuple[str, int | None, str], ...] = (
        (text(code, "Opening balance"), None, money(report.opening, report.currency, code)),
        (text(code, "Taken"), sums.taken_count, _signed(sums.taken, report.currency, code)),
        (text_in(code, "column", "Refunded"), sums.refunded_count, _signed(-sums.refunded, report.currency, code)),
        (text(code, "Fees"), sums.fees_count, _signed(-sums.fees, report.currency, code)),
        (text(code, "Paid out"), sums.paid_out_count, _signed(-sums.paid_out, report.currency, code)),
        (text(code, "Paid in"), sums.paid_in_count, _signed(sums.paid_in, report.currency, code)),
        (text(code, "Corrections"), sums.corrected_count, _signed(sums.corrected, report.currency, code)),
        (text(code, "Closing balance"), None, money(report.closing, report.currency, code)),
    )
    for number, (words, count, digits) in enumerate(lines):
        y, is_edge = _SUMS_TOP + number * _SUM_HEIGHT, number in {0, len(lines) - 1}
        if number == len(lines) - 1:
            canvas.fill(_EDGE, y, _INNER, _SUM_HEIGHT, GREEN_SOFT)
        canvas.put(words, _EDGE + 2, y + 4, Face(9, GREEN if is_edge else INK, is_bold=is_edge))
        if count is not None:
            canvas.put(figure(whole(count, code)), _EDGE + 92, y + 4, Face(9, SOFT))
        face = Face(9.5, GREEN if is_edge else INK, is_bold=True)
        canvas.put_in_column(digits, _SUM_FIGURES, y + 4, face, width=_SUM_FIGURES_WIDTH)
        canvas.rule(_EDGE, y + _SUM_HEIGHT, _INNER)


def _days(canvas: PageCanvas, report: Report, code: str) -> float:
    """The table; where it ends."""
    canvas.put(text(code, "Day"), _EDGE, _DAYS_TOP, _HEAD)
    for number, words in enumerate(
        (
            text(code, "Opening balance"),
            text(code, "Taken"),
            text_in(code, "column", "Refunded"),
            text(code, "Paid out"),
            text(code, "Other"),
            text(code, "Closing balance"),
        )
    ):
        x = _column(number)
        canvas.put(words, x if canvas.is_rtl else x + _COLUMN - _GAP, _DAYS_TOP, _HEAD, to_end=not canvas.is_rtl)
    canvas.rule(_EDGE, _DAYS_TOP + 2, _INNER, GREEN)
    y = _DAYS_TOP + 2
    for each in report.days:
        _day(canvas, each, report.currency, code, y)
        y += _DAY_HEIGHT
    return y


def _day(canvas: PageCanvas, each: ReportDay, currency: str, code: str, y: float) -> None:
    sums = each.sums
    canvas.put(date_name(each.day, code), _EDGE, y + 3.7, _WORD)
    amounts = (
        money(each.opening, currency, code),
        _signed(sums.taken, currency, code),
        _signed(-sums.refunded, currency, code),
        _signed(-sums.paid_out, currency, code),
        _signed(sums.paid_in - sums.fees + sums.corrected, currency, code),
        money(each.closing, currency, code),
    )
    for number, digits in enumerate(amounts):
        canvas.put_in_column(digits, _column(number), y + 3.7, _WORD, width=_COLUMN - _GAP)
    canvas.rule(_EDGE, y + _DAY_HEIGHT, _INNER, LINE)


def _column(number: int) -> float:
    return _EDGE + _DAY_WIDTH + number * _COLUMN


def _foot(canvas: PageCanvas, statement: MonthlyStatement, code: str) -> None:
    canvas.rule(_EDGE, 284, _INNER)
    at = isolated(day_and_time(statement.made_at, code, statement.time_zone))
    canvas.put(text(code, "Made on %(time)s", time=at), _EDGE, 289, _SMALL)
    page = text(code, "Page %(page)s of %(pages)s", page=figure("1"), pages=figure("1"))
    canvas.put(page, _END, 289, _SMALL, to_end=True)


def _signed(amount_minor: int, currency: str, code: str) -> str:
    """With its sign in front in every language; nothing has none."""
    sign = "" if amount_minor == 0 else "+" if amount_minor > 0 else "−"  # noqa: RUF001 - as wide as the plus
    return sign + money(abs(amount_minor), currency, code)
