"""How a receipt looks: a paper slip with a torn edge, on which the amount is the largest thing."""

from collections.abc import Callable
from typing import Final, NamedTuple

from qirsh.language.catalog import text
from qirsh.language.figures import currency_name, day_and_time, grouped, money
from qirsh.web.documents.bidi_text import figure, one_line, plain
from qirsh.web.documents.page_canvas import (
    BRASS,
    BRASS_SOFT,
    CARD,
    GREEN,
    GREEN_SOFT,
    INK,
    LINE,
    PAPER,
    SOFT,
    Colour,
    Face,
    PageCanvas,
)
from qirsh.web.documents.receipt import Receipt

_WIDTH: Final = 148.0  # A5.
_HEIGHT: Final = 210.0
_EDGE: Final = 10.0  # Around the slip.
_INSET: Final = 20.0  # Where the words on it begin.
_INNER: Final = _WIDTH - 2 * _INSET
_TOOTH: Final = 4.0
_QR: Final = 30.0

_SMALL: Final = Face(8, SOFT)
_WORD: Final = Face(9.5, SOFT)
_FACT: Final = Face(9.5)
_TITLE: Final = Face(15, GREEN, is_bold=True)
_NAME: Final = Face(15, is_bold=True)
_NOTE: Final = Face(10, SOFT)


class _Block(NamedTuple):
    """Something on the slip: how high it is, and how it is drawn from a height down."""

    height: float
    draw: Callable[[float], None]


def drawn(receipt: Receipt, code: str) -> bytes:
    """The file."""
    title = text(code, "Receipt %(payment)s", payment=receipt.payment_id)
    canvas = PageCanvas(code, title=title, size=(_WIDTH, _HEIGHT), made_at=receipt.paid_at)
    blocks = [
        _head(canvas, receipt, code),
        _payee(canvas, receipt),
        _amount(canvas, receipt, code),
        *_note(canvas, receipt),
        _facts(canvas, receipt, code),
        *_proof(canvas, receipt, code),
    ]
    needed = sum(block.height for block in blocks) + 2 * _EDGE + _TOOTH + 6
    canvas.add_page(format=(_WIDTH, max(_HEIGHT, needed)))
    _slip(canvas)
    y = _EDGE
    for block in blocks:
        block.draw(y)
        y += block.height
    return canvas.finished()


def _slip(canvas: PageCanvas) -> None:
    canvas.fill(0, 0, canvas.w, canvas.h, PAPER)
    bottom = canvas.h - _EDGE
    teeth = int((_WIDTH - 2 * _EDGE) / _TOOTH)
    corners = [(_EDGE, _EDGE), (_WIDTH - _EDGE, _EDGE), (_WIDTH - _EDGE, bottom)]
    for tooth in range(teeth):
        right = _WIDTH - _EDGE - tooth * _TOOTH
        corners += [(right - _TOOTH / 2, bottom - _TOOTH / 2), (right - _TOOTH, bottom)]
    canvas.set_fill_color(*CARD)
    canvas.set_draw_color(*LINE)
    canvas.set_line_width(0.2)
    canvas.polygon(corners, style="DF")


def _head(canvas: PageCanvas, receipt: Receipt, code: str) -> _Block:
    word, colour, ground = _state(receipt, code)
    face = Face(9, colour, is_bold=True)

    def draw(y: float) -> None:
        canvas.mark(plain(receipt.service_name), _INSET, y + 12, Face(14, is_bold=True))
        canvas.put_figure(receipt.base_url.partition("://")[2], _INSET, y + 17.5, _SMALL, width=70)
        width = canvas.width_of(one_line(word, is_rtl=canvas.is_rtl), face)
        canvas.fill(_WIDTH - _INSET - width - 6, y + 9, width + 6, 7, ground)
        canvas.put(word, _WIDTH - _INSET - 3, y + 13.7, face, to_end=True)
        if receipt.is_test:
            canvas.fill(_INSET, y + 21.5, _INNER, 7.5, BRASS_SOFT)
            canvas.put(
                text(code, "Test payment: no real money moved."), _INSET + 3, y + 26.5, Face(9, BRASS, is_bold=True)
            )
        canvas.rule(_INSET, y + (32 if receipt.is_test else 22), _INNER)
        canvas.put(text(code, "Receipt"), _INSET, y + (41 if receipt.is_test else 31), _TITLE)

    return _Block(44 if receipt.is_test else 34, draw)


def _state(receipt: Receipt, code: str) -> tuple[str, Colour, Colour]:
    if receipt.refunded_minor == receipt.amount_minor:
        return text(code, "Refunded"), BRASS, BRASS_SOFT
    if receipt.refunded_minor:
        return text(code, "Partly refunded"), BRASS, BRASS_SOFT
    return text(code, "Paid"), GREEN, GREEN_SOFT


def _payee(canvas: PageCanvas, receipt: Receipt) -> _Block:
    rows = canvas.wrapped(plain(receipt.payee), _INNER, _NAME)

    def draw(y: float) -> None:
        for number, row in enumerate(rows):
            canvas.put_line(row, _INSET, y + 7 + number * _NAME.height, _NAME)
        account = grouped(receipt.payee_account)
        canvas.put_figure(account, _INSET, y + 6 + len(rows) * _NAME.height, _SMALL, width=_INNER)

    return _Block(len(rows) * _NAME.height + 7, draw)


def _amount(canvas: PageCanvas, receipt: Receipt, code: str) -> _Block:
    digits = money(receipt.amount_minor, receipt.currency, code)

    def draw(y: float) -> None:
        width = canvas.put_figure(digits, _INSET, y + 14, Face(34, INK, is_bold=True), width=_INNER - 22)
        name = currency_name(receipt.currency, code)
        canvas.put(name, _INSET + width + 3, y + 14, Face(14, SOFT, is_bold=True))

    return _Block(20, draw)


def _note(canvas: PageCanvas, receipt: Receipt) -> list[_Block]:
    """The shop's own words, set apart so that they cannot be taken for the service's. Each line has its direction."""
    lines = [plain(line) for line in receipt.note.splitlines()]
    rows = [row for line in lines if line for row in canvas.wrapped(line, _INNER - 5, _NOTE)]
    height = len(rows) * _NOTE.height

    def draw(y: float) -> None:
        canvas.fill(_INSET, y, 0.9, height, LINE)
        for number, row in enumerate(rows):
            canvas.put_line(row, _INSET + 4, y + (number + 0.7) * _NOTE.height, _NOTE)

    return [_Block(height + 5, draw)] if rows else []


def _facts(canvas: PageCanvas, receipt: Receipt, code: str) -> _Block:
    refunded = ""
    if receipt.refunded_minor:
        refunded = (
            f"{figure(money(receipt.refunded_minor, receipt.currency, code))} {currency_name(receipt.currency, code)}"
        )
    facts = [
        (text(code, "Paid by"), plain(receipt.payer_name)),
        (text(code, "From account"), figure(grouped(receipt.payer_account)) if receipt.payer_account else ""),
        (text(code, "Paid on"), day_and_time(receipt.paid_at, code, receipt.time_zone)),
        (text(code, "Payment number"), figure(grouped(receipt.payment_id))),
        (text(code, "Shop's reference"), plain(receipt.reference)),
        (text(code, "Amount refunded"), refunded),
    ]
    rows = [(word, canvas.wrapped(fact, _INNER * 0.62, _FACT, most=4)) for word, fact in facts if fact]
    height = sum(len(fact) * _FACT.height + 1.6 for _, fact in rows)

    def draw(y: float) -> None:
        canvas.rule(_INSET, y, _INNER, is_dashed=True)
        y += 7
        for word, fact in rows:
            canvas.put(word, _INSET, y, _WORD)
            for line in fact:
                canvas.put_line(line, _WIDTH - _INSET, y, _FACT, to_end=True)
                y += _FACT.height
            y += 1.6

    return _Block(height + 6, draw)


def _proof(canvas: PageCanvas, receipt: Receipt, code: str) -> list[_Block]:
    """Paper can be forged: where a reader who doubts it finds the same receipt."""
    address = receipt.share_url
    if not address:
        return []
    words = text(code, "Is this receipt genuine? Scan the code or open this address, and compare.")
    explained = canvas.wrapped(words, _INNER - _QR - 6, _WORD, most=4)
    shown = canvas.wrapped(figure(address), _INNER - _QR - 6, _SMALL, most=5)

    def draw(y: float) -> None:
        canvas.rule(_INSET, y, _INNER, is_dashed=True)
        canvas.qr(address, _INSET - 2, y + 3, _QR)
        canvas.link(0, y + 3, canvas.w, _QR, link=address)
        y += 10
        for line in explained:
            canvas.put_line(line, _INSET + _QR + 3, y, _WORD)
            y += _WORD.height
        for line in shown:
            canvas.put_line(line, _INSET + _QR + 3, y + 1, _SMALL)
            y += _SMALL.height

    return [_Block(_QR + 6, draw)]
