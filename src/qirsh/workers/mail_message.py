"""A mail as it goes over the line: headers, and a body that every mail program can read, in whichever letters.

It is put together by hand: the library's own `EmailMessage` loses blanks between the words of a long Arabic subject.
"""

import base64
import quopri
import re
from email.header import Header
from email.headerregistry import Address
from email.utils import formatdate
from typing import Final

# Without quotation marks and the like, which each mail program reads in its own way.
_ADDRESS: Final = re.compile(r"[^\s@\"(),:;<>\[\]\\]{1,64}@[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?")


class NoAddress(Exception):
    """Nobody can be reached by this."""


def message_of(*, mail_id: str, sender: Address, to: str, language: str, at: int, subject: str, body: str) -> bytes:
    """The same bytes each time: a mail that is sent twice is the same mail."""
    if not _ADDRESS.fullmatch(to):
        raise NoAddress
    encoding, content = _seven_bits(body.encode())
    headers = {
        "From": _from(sender),
        "To": to,
        "Subject": _words(subject, "Subject"),
        "Date": formatdate(at // 1000),
        "Message-ID": f"<{mail_id}@{sender.domain}>",
        "Auto-Submitted": "auto-generated",
        "MIME-Version": "1.0",
        "Content-Language": language,
        "Content-Type": 'text/plain; charset="utf-8"',
        "Content-Transfer-Encoding": encoding,
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    # A line break that is not followed by a blank would begin another header.
    assert len(re.findall(r"\n(?! )", head)) == len(headers)
    return head.encode() + b"\r\n" + content.replace(b"\n", b"\r\n")


def _from(sender: Address) -> str:
    name = sender.display_name
    if _is_plain(name):
        return str(sender)
    return f"{_words(name, 'From')} <{sender.addr_spec}>"


def _words(text: str, header: str) -> str:
    """As it stands, or encoded, also where a person's text only looks like what a mail program would decode."""
    if _is_plain(text):
        return text
    return Header(text, "utf-8", header_name=header).encode(linesep="\r\n")


def _is_plain(text: str) -> bool:
    return text.isascii() and text.isprintable() and "=?" not in text


def _seven_bits(body: bytes) -> tuple[str, bytes]:
    """Any server takes these. Latin letters stay readable, Arabic ones take no more room than they must."""
    quoted, packed = quopri.encodestring(body), base64.encodebytes(body)
    return ("quoted-printable", quoted) if len(quoted) <= len(packed) else ("base64", packed)
