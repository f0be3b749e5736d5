"""Posted forms that carry files: multipart/form-data as browsers send it, and nothing more that RFC 7578 allows.

The whole body has arrived and is bounded by then. Nothing is believed of what is said about a file.
"""

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from qirsh.domain.limits import FORM_BYTES_MAX, PART_HEAD_BYTES_MAX
from qirsh.web.html.forms import not_the_form, refuse_strangers
from qirsh.web.http.context import Context
from qirsh.web.http.message import Request
from qirsh.web.http.problems import Problem

_BOUNDARY: Final = r"[0-9A-Za-z'()+_,./:=? -]{0,69}[0-9A-Za-z'()+_,./:=?-]"
_TYPE: Final = re.compile(
    rf'multipart/form-data *; *boundary=(?:"({_BOUNDARY})"|([0-9A-Za-z\'+_.-]{{1,70}}))'.encode(), re.IGNORECASE
)
# Browsers write the quotation marks and line ends of a name as %22, %0D and %0A.
_DISPOSITION: Final = re.compile(rb'form-data; name="([^"]*)"(?:; filename="([^"]*)")?', re.IGNORECASE)
_TEXT_TYPES: Final = frozenset({b"", b"text/plain", b"text/plain;charset=utf-8"})
_END: Final = frozenset({b"--", b"--\r\n"})
_END_BYTES_MAX: Final = max(map(len, _END))


class File(msgspec.Struct, frozen=True):
    """A file as it was sent: what its sender calls it, what kind they say it is, and its bytes."""

    name: str
    content_type: str
    data: bytes


class Sent(msgspec.Struct, frozen=True):
    """Texts by name, empty if they were not sent. Files by name; an input without a choice sends none."""

    texts: dict[str, str]
    files: dict[str, File]


def read_multipart(context: Context, request: Request, texts: tuple[str, ...], files: tuple[str, ...]) -> Sent:
    """What was sent under these names. Nothing else may be sent, and nothing twice: so there are few parts."""
    refuse_strangers(context, request)
    content_type = _TYPE.fullmatch(request.headers.get(b"content-type", b""))
    if content_type is None or b"content-encoding" in request.headers:
        raise Problem("unsupported_media_type", detail="Send `Content-Type: multipart/form-data` with its boundary.")
    sent = Sent(dict.fromkeys(texts, ""), {})
    names: set[str] = set()
    text_bytes = 0
    for head, data in _parts(request.body, content_type[1] or content_type[2]):
        name, file_name, kind = _read_head(head)
        if name in names or name not in (texts if file_name is None else files):
            raise not_the_form()
        names.add(name)
        if file_name is not None:
            if file_name or data:
                sent.files[name] = File(file_name, kind.decode("latin-1"), data)
            continue
        text_bytes += len(data)
        if text_bytes > FORM_BYTES_MAX:
            raise Problem("body_too_large", detail="The form is too large.")
        if kind.lower().replace(b" ", b"") not in _TEXT_TYPES:
            raise not_the_form()
        sent.texts[name] = _decoded(data)
    return sent


def _parts(body: bytes, boundary: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Head and content of each. Nothing may stand before the first, between two, or after the last."""
    opening = b"--" + boundary
    at = len(opening)  # After a delimiter.
    if not body.startswith(opening):
        raise not_the_form()
    while not (len(body) - at <= _END_BYTES_MAX and body[at:] in _END):
        end = body.find(b"\r\n" + opening, at)
        start = body.find(b"\r\n\r\n", at, at + PART_HEAD_BYTES_MAX)
        if end < 0 or not at < start < end or not body.startswith(b"\r\n", at):
            raise not_the_form()
        yield body[at + 2 : start], body[start + 4 : end]
        at = end + 2 + len(opening)


def _read_head(head: bytes) -> tuple[str, str | None, bytes]:
    """The part's name, its file's name if it is a file, and what kind it is said to be."""
    fields: dict[bytes, bytes] = {}
    for line in head.split(b"\r\n"):
        name, colon, value = line.partition(b": ")
        if not colon or name.lower() in fields or b"\r" in value or b"\n" in value or b"\0" in value:
            raise not_the_form()
        fields[name.lower()] = value
    disposition = _DISPOSITION.fullmatch(fields.pop(b"content-disposition", b""))
    kind = fields.pop(b"content-type", b"")
    # Context within a part, and what no browser sends: two readers could disagree on what these mean.
    if disposition is None or fields or kind.lower().startswith(b"multipart/"):
        raise not_the_form()
    return _decoded(disposition[1]), None if disposition[2] is None else _decoded(disposition[2]), kind


def _decoded(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise not_the_form() from None
