"""How a till's poster looks: a large code on white, and the same few words in every language of the service."""

from typing import Final

from qirsh.language.catalog import LANGUAGES, language, text
from qirsh.language.figures import currency_name, money
from qirsh.web.documents.bidi_text import Written, one_line, plain
from qirsh.web.documents.page_canvas import BRASS, BRASS_SOFT, GREEN, INK, SOFT, Face, PageCanvas
from qirsh.web.documents.poster import PAPERS, Poster

# Places and sizes are those of A4; on other paper all of it is smaller.
_WIDTH: Final = 210.0
_INNER: Final = 178.0
_QR: Final = 150.0
_NAME: Final = Face(34, INK, is_bold=True)
_TILL: Final = Face(18, SOFT)
_AMOUNT: Final = Face(40, INK, is_bold=True)
_CURRENCY: Final = Face(20, SOFT, is_bold=True)
_CALL: Final = Face(22, GREEN, is_bold=True)
_TEST: Final = Face(14, BRASS, is_bold=True)
_MARK: Final = Face(13, SOFT, is_bold=True)
_ADDRESS: Final = Face(9.5, SOFT)
_LAST: Final = 288.0  # Where the address stands, above what printers leave white.


def drawn(poster: Poster, code: str, paper: str) -> bytes:
    """The file."""
    return _Drawing(poster, code, paper).finished()


class _Drawing:
    """One sheet. Its direction is that of no language: everything stands in the middle."""

    def __init__(self, poster: Poster, code: str, paper: str) -> None:
        size = PAPERS[paper]
        title = f"{plain(poster.payee)}, {plain(poster.till)}"
        self._canvas = PageCanvas("en", title=title, size=size, made_at=poster.made_at)
        self._canvas.set_lang(code)
        self._scale = size[0] / _WIDTH
        self._poster, self._code = poster, code

    def finished(self) -> bytes:
        poster, canvas = self._poster, self._canvas
        canvas.add_page()
        y = self._test_band() if poster.is_test else 12.0
        y = self._words(poster.payee, y, _NAME, most=2)
        y = self._words(poster.till, y, _TILL, most=2)
        if poster.amount_minor is not None:
            y = self._amount(poster.amount_minor, y)
        calls = [(each, text(each, "Scan to pay")) for each in LANGUAGES]
        end = _LAST - 14 - len(calls) * _CALL.height
        # The code is as large as what stands above it lets it be.
        side = min(_QR, end - y - 4)
        left = (_WIDTH - side) / 2
        y += (end - y - side) / 2
        canvas.qr(poster.url, left * self._scale, y * self._scale, side * self._scale)
        canvas.link(left * self._scale, y * self._scale, side * self._scale, side * self._scale, link=poster.url)
        y = end + 7
        for each, words in calls:
            self._centred(one_line(words, is_rtl=language(each).direction == "rtl"), y, _CALL)
            y += _CALL.height
        self._centred(one_line(plain(poster.service_name), is_rtl=False), _LAST - 6, _MARK)
        self._centred(one_line(poster.url, is_rtl=False), _LAST, _ADDRESS)
        return canvas.finished()

    def _test_band(self) -> float:
        """Like the call to scan, in every language: who stands before it may read only one."""
        y = _TEST.height + 2
        self._canvas.fill(0, 0, self._canvas.w, (y + len(LANGUAGES) * _TEST.height) * self._scale, BRASS_SOFT)
        for each in LANGUAGES:
            words = text(each, "Test mode: no real money moves here.")
            self._centred(one_line(words, is_rtl=language(each).direction == "rtl"), y, _TEST)
            y += _TEST.height
        return y + 4

    def _words(self, words: str, y: float, face: Face, *, most: int) -> float:
        """The shop's own words in the middle; where they end."""
        for line in self._canvas.wrapped(plain(words), _INNER * self._scale, self._scaled(face), most=most):
            y += face.height
            self._centred(line, y, face)
        return y + face.height * 0.25

    def _amount(self, amount_minor: int, y: float) -> float:
        """As who prints it writes it: digits, and after them the currency."""
        currency, is_rtl = self._poster.currency, language(self._code).direction == "rtl"
        digits = one_line(money(amount_minor, currency, self._code), is_rtl=False)
        name, small = one_line(currency_name(currency, self._code), is_rtl=is_rtl), self._scaled(_CURRENCY)
        gap = 4 * self._scale
        taken = gap + self._canvas.width_of(name, small)
        face = self._scaled(_AMOUNT)
        face = face._replace(
            size=face.size * min(1.0, (_INNER * self._scale - taken) / self._canvas.width_of(digits, face))
        )
        left, y = (self._canvas.w - taken - self._canvas.width_of(digits, face)) / 2, y + _AMOUNT.height * 0.85
        pieces = [(digits, face), (name, small)]
        for line, used in pieces[::-1] if is_rtl else pieces:
            left += gap + self._canvas.put_line(line, left, y * self._scale, used)
        return y + _AMOUNT.height * 0.3

    def _centred(self, line: Written, y: float, face: Face) -> None:
        """As small as it must be to fit."""
        fitting = self._scaled(face)
        wide = self._canvas.width_of(line, fitting)
        if wide > _INNER * self._scale:
            fitting = fitting._replace(size=fitting.size * _INNER * self._scale / wide)
            wide = _INNER * self._scale
        self._canvas.put_line(line, (self._canvas.w - wide) / 2, y * self._scale, fitting)

    def _scaled(self, face: Face) -> Face:
        return face._replace(size=face.size * self._scale)
