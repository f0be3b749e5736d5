"""How a statement looks: totals first, then a table that repeats its head on every page."""

from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from qirsh.domain.ledger import Kind
from qirsh.language.catalog import mark as _
from qirsh.language.catalog import text
from qirsh.language.figures import currency_name, date_name, day, grouped, money, time_zone_name
from qirsh.language.local_time import local_moment, midnight_ms
from qirsh.web.documents.bidi_text import Written, figure, isolated, one_line, plain
from qirsh.web.documents.page_canvas import BRASS, GREEN, GREEN_SOFT, INK, LINE, PAPER, SOFT, Face, PageCanvas
from qirsh.web.documents.statement import Line, Statement

KINDS: Final[dict[Kind, str]] = {
    "pay": _("Payment"),
    "refund": _("Refund"),
    "fee": _("Fee"),
    "deposit": _("Deposit"),
    "withdrawal": _("Payout"),
    "mint": _("New money"),
    "reversal": _("Reversal"),
    "correction": _("Correction"),
}

_SIZE: Final = (210.0, 297.0)  # A4.
_EDGE: Final = 16.0
_INNER: Final = _SIZE[0] - 2 * _EDGE
_FOOT: Final = 280.0  # Nothing of the table stands below it.
# Where each column begins, and how wide it is.
_DETAILS: Final = _EDGE + 37
_DETAILS_WIDTH: Final = 76.0
_AMOUNT: Final = _EDGE + 116
_BALANCE: Final = _EDGE + 148
_FIGURES_WIDTH: Final = 30.0
_END: Final = _SIZE[0] - _EDGE

_SMALL: Final = Face(7.5, SOFT)
_HEAD: Final = Face(8, SOFT, is_bold=True)
_WORD: Final = Face(8.5)
_STRONG: Final = Face(8.5, is_bold=True)


class _Row(NamedTuple):
    """A line of the statement, broken to fit its columns."""

    line: Line
    moment: list[Written]
    details: list[tuple[Written, Face]]
    height: float


def drawn(statement: Statement, code: str) -> bytes:
    """The file."""
    made_at = midnight_ms(statement.to_day, statement.time_zone)
    canvas = PageCanvas(code, title=_title(statement.account, code), size=_SIZE, made_at=made_at)
    pages = _pages([_row(canvas, line, code, statement.time_zone) for line in statement.lines])
    for number, rows in enumerate(pages, start=1):
        canvas.add_page()
        y = _first_head(canvas, statement, code) if number == 1 else _next_head(canvas, statement, code)
        y = _table_head(canvas, statement, code, y)
        for row in rows:
            y = _draw_row(canvas, row, statement.currency, code, y)
        if not statement.lines:
            canvas.put(text(code, "No transactions in this period."), _EDGE, y + 8, Face(9.5, SOFT))
        _foot(canvas, code, number, len(pages))
    return canvas.finished()


def _title(account: str, code: str) -> str:
    return text(code, "Statement of account %(account)s", account=account)


def _days(statement: Statement, code: str) -> str:
    first, last = isolated(date_name(statement.from_day, code)), isolated(date_name(statement.to_day, code))
    zone = isolated(time_zone_name(statement.time_zone, code))
    return text(code, "%(first)s to %(last)s (%(zone)s)", first=first, last=last, zone=zone)


def _pages(rows: list[_Row]) -> list[list[_Row]]:
    """At least one; the heads of the first and of the others leave different room."""
    pages: list[list[_Row]] = [[]]
    room = _FOOT - 97
    for row in rows:
        if row.height > room:
            pages.append([])
            room = _FOOT - 36
        pages[-1].append(row)
        room -= row.height
    return pages


def _row(canvas: PageCanvas, line: Line, code: str, zone: ZoneInfo) -> _Row:
    name = plain(line.other_name)
    parts: list[tuple[str, Face, int]] = [(text(code, KINDS[line.what]), _STRONG, 1), (name, _WORD, 2)]
    numbers = []
    if line.other_account:
        numbers.append(text(code, "Account %(account)s", account=figure(grouped(line.other_account))))
    if line.payment_id:
        numbers.append(text(code, "Payment %(payment)s", payment=figure(grouped(line.payment_id))))
    parts.append((" · ".join(numbers), _SMALL, 2))
    parts.append((plain(line.note), _SMALL, 2))
    details = [
        (written, face)
        for words, face, most in parts
        if words
        for written in canvas.wrapped(words, _DETAILS_WIDTH, face, most=most)
    ]
    moment = canvas.wrapped(day(line.at, code, zone), _DETAILS - _EDGE - 3, _WORD, most=2)
    moment = [*moment, one_line(f"{local_moment(line.at, zone):%H:%M}", is_rtl=False)]
    height = max(len(moment) * _WORD.height, sum(face.height for _, face in details)) + 3
    return _Row(line, moment, details, height)


def _first_head(canvas: PageCanvas, statement: Statement, code: str) -> float:
    canvas.fill(0, 0, _SIZE[0], 50, PAPER)
    canvas.fill(0, 50, _SIZE[0], 0.8, BRASS)
    canvas.mark(plain(statement.service_name), _EDGE, 21, Face(15, is_bold=True))
    canvas.put(text(code, "Statement"), _END, 21, Face(15, GREEN, is_bold=True), to_end=True)
    name = Face(12, is_bold=True)
    for number, written in enumerate(canvas.wrapped(plain(statement.holder), 98, name, most=2)):
        canvas.put_line(written, _EDGE, 35 + number * name.height, name)
    word = Face(9, SOFT)
    account = text(code, "Account %(account)s", account=figure(grouped(statement.account)))
    canvas.put(account, _END, 35, word, to_end=True)
    canvas.put(_days(statement, code), _END, 41, word, to_end=True)
    _totals(canvas, statement, code)
    return 86


def _totals(canvas: PageCanvas, statement: Statement, code: str) -> None:
    totals = (
        (text(code, "Opening balance"), money(statement.opening_minor, statement.currency, code)),
        (text(code, "Money in"), _signed(statement.in_minor, statement.currency, code)),
        (text(code, "Money out"), _signed(statement.out_minor, statement.currency, code)),
        (text(code, "Closing balance"), money(statement.closing_minor, statement.currency, code)),
    )
    gap = 3.0
    width = (_INNER - 3 * gap) / 4
    for number, (word, digits) in enumerate(totals):
        x = _EDGE + number * (width + gap)
        is_last = number == len(totals) - 1
        canvas.fill(x, 57, width, 20, GREEN_SOFT if is_last else PAPER)
        canvas.put(word, x + 3, 63.5, Face(8, SOFT))
        face = Face(12, GREEN if is_last else INK, is_bold=True)
        canvas.put_figure(digits, x + 3, 71.5, face, width=width - 6)


def _next_head(canvas: PageCanvas, statement: Statement, code: str) -> float:
    canvas.mark(plain(statement.service_name), _EDGE, 16, Face(10, is_bold=True))
    title = _title(figure(grouped(statement.account)), code)
    canvas.put(f"{title} · {_days(statement, code)}", _END, 16, Face(8, SOFT), to_end=True)
    return 25


def _table_head(canvas: PageCanvas, statement: Statement, code: str, y: float) -> float:
    currency = currency_name(statement.currency, code)
    canvas.put(text(code, "Date and time"), _EDGE, y + 4, _HEAD)
    canvas.put(text(code, "Description"), _DETAILS, y + 4, _HEAD)
    for words, x in (
        (text(code, "Amount, %(currency)s", currency=isolated(currency)), _AMOUNT),
        (text(code, "Balance, %(currency)s", currency=isolated(currency)), _BALANCE),
    ):
        canvas.put(words, x if canvas.is_rtl else x + _FIGURES_WIDTH, y + 4, _HEAD, to_end=not canvas.is_rtl)
    canvas.rule(_EDGE, y + 7, _INNER, GREEN)
    return y + 8


def _draw_row(canvas: PageCanvas, row: _Row, currency: str, code: str, y: float) -> float:
    line = row.line
    for number, written in enumerate(row.moment):
        canvas.put_line(written, _EDGE, y + 4.5 + number * _WORD.height, _WORD)
    at = y + 4.5
    for written, face in row.details:
        canvas.put_line(written, _DETAILS, at, face)
        at += face.height
    amount = _signed(line.amount_minor, currency, code)
    balance = money(line.balance_after_minor, currency, code)
    face = Face(8.5, GREEN if line.amount_minor > 0 else INK, is_bold=True)
    canvas.put_in_column(amount, _AMOUNT, y + 4.5, face, width=_FIGURES_WIDTH)
    canvas.put_in_column(balance, _BALANCE, y + 4.5, _WORD, width=_FIGURES_WIDTH)
    canvas.rule(_EDGE, y + row.height, _INNER, LINE)
    return y + row.height


def _foot(canvas: PageCanvas, code: str, number: int, count: int) -> None:
    canvas.rule(_EDGE, 284, _INNER)
    words = text(code, "Page %(page)s of %(pages)s", page=figure(str(number)), pages=figure(str(count)))
    canvas.put(words, _END, 289, _SMALL, to_end=True)


def _signed(amount_minor: int, currency: str, code: str) -> str:
    """With its sign in front in every language; nothing has none."""
    sign = "" if amount_minor == 0 else "+" if amount_minor > 0 else "−"  # noqa: RUF001 - as wide as the plus
    return sign + money(abs(amount_minor), currency, code)
