"""What goes over the line, as a mail program reads it: every mail in every language, and no header of anybody else."""

import email
import re
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import compat32, default

import pytest

from qirsh.language.catalog import LANGUAGES
from qirsh.language.local_time import UTC_ZONE
from qirsh.language.mail_templates import KINDS
from qirsh.language.mail_text import compose
from qirsh.workers.mail_message import NoAddress, message_of
from tests.language.letters import BASE_URL, EVERY_LETTER

AT = 1_800_000_000_000
FROM = Address("قرش, Qirsh", "qirsh", "pay.example")
HEADERS = [
    *("From", "To", "Subject", "Date", "Message-ID", "Auto-Submitted", "Content-Language"),
    *("Content-Type", "Content-Transfer-Encoding", "MIME-Version"),
]


def made(kind: str, language: str, to: str = "sara@home.example", **changes: str | int) -> tuple[str, str, bytes]:
    subject, body = compose(kind, language, {**EVERY_LETTER[kind], **changes}, at=AT, base_url=BASE_URL, zone=UTC_ZONE)
    sent = message_of(mail_id="0f", sender=FROM, to=to, language=language, at=AT, subject=subject, body=body)
    return subject, body, sent


def read(sent: bytes) -> EmailMessage:
    message = email.message_from_bytes(sent, policy=default)
    assert isinstance(message, EmailMessage)
    return message


def content_of(message: EmailMessage) -> str:
    content = message.get_content()
    assert isinstance(content, str)
    return content.replace("\r\n", "\n")


def test_every_mail_comes_out_as_it_went_in(subtests: pytest.Subtests) -> None:
    for language in LANGUAGES:
        for kind in KINDS:
            with subtests.test(f"{kind!r} {language!r}"):
                subject, body, sent = made(
                    kind, language, payee="مؤسسة النور للتجارة العامة والمواد الغذائية المحدودة في دمشق"
                )
                assert sent.isascii()
                assert b"\r\n.\r\n" not in sent
                assert max(map(len, sent.split(b"\r\n"))) <= 998
                assert sent.count(b"\n") == sent.count(b"\r\n")
                message = read(sent)
                assert sorted(message.keys()) == sorted(HEADERS)
                assert message["Subject"] == subject
                assert content_of(message) == body
                assert message["From"].addresses == (FROM,)
                # Also for programs that know encoded words only by the letter of the standard.
                [(raw, charset), *rest] = email.header.decode_header(
                    email.message_from_bytes(sent, policy=compat32)["Subject"]
                )
                if not rest:
                    decoded = raw if isinstance(raw, str) else raw.decode(charset or "ascii")
                    assert re.sub(r"\r?\n", "", decoded) == subject


def test_nobody_writes_headers_with_their_name(subtests: pytest.Subtests) -> None:
    for name in [
        *("Eve\r\nBcc: all@evil.example", "Eve\nBcc: all@evil.example", "Eve\rBcc: x", "Eve\x85Bcc: x", "Eve\u2028B"),
        *("=?utf-8?q?Eve=0D=0ABcc:_all@evil.example?=", "Eve\x00\x0b\x0c", "=?utf-8?b?RXZlDQpCY2M6IHg=?="),
    ]:
        with subtests.test(str(name)):
            subject, body, sent = made("paid", "ar", payee=name)
            message = read(sent)
            assert sorted(message.keys()) == sorted(HEADERS)
            assert message["Bcc"] is None
            assert not re.search(rb"(?im)^(bcc|cc|reply-to):", sent)
            assert "\n" not in subject
            assert content_of(message) == body


def test_the_same_mail_is_the_same_bytes() -> None:
    assert made("sign_up_code", "tr") == made("sign_up_code", "tr")


def test_an_address_with_other_letters_is_written_as_it_is() -> None:
    _, body, sent = made("sign_up_code", "ar", to="سارة@home.example")
    assert "To: سارة@home.example".encode() in sent
    assert content_of(read(sent)) == body


def test_what_is_no_address_is_refused(subtests: pytest.Subtests) -> None:
    for address in ["", "a", "a@b@c", "a\r\nBcc: x@evil.example", "a b@c", "a,b@c", "<a>@c", "a@c\n"]:
        with subtests.test(str(address)), pytest.raises(NoAddress):
            made("sign_up_code", "en", to=address)
