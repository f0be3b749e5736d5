"""A mail server of our own: it takes mails, refuses them, hangs, or hangs up, as a test says."""

import asyncio
import contextlib
import datetime as dt
import ipaddress
import ssl
from collections.abc import Awaitable, Callable, Iterator
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import default
from pathlib import Path
from typing import Final

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.live import free_port

USER: Final = "qirsh"
PASSWORD: Final = "a-long-mail-password"
Answer = Callable[[SMTP, str], Awaitable[str]]


class PostOffice:
    """What it answers to a recipient and to a mail may be set at any time. Both get the recipient's address."""

    def __init__(self) -> None:
        self.port = free_port()
        self.taken: list[EmailMessage] = []
        self.recipients: list[str] = []
        self.tried: list[str] = []  # Also those that were refused.
        self.lines: set[object] = set()
        self.at_recipient: Answer = _fine
        self.at_mail: Answer = _fine

    async def handle_RCPT(  # noqa: N802 - aiosmtpd's name for it
        self, server: SMTP, session: Session, envelope: Envelope, address: str, _options: list[str]
    ) -> str:
        self.lines.add(session.peer)
        self.tried.append(address)
        answer = await self.at_recipient(server, address)
        if answer.startswith("250"):
            envelope.rcpt_tos.append(address)
        return answer

    async def handle_DATA(self, server: SMTP, _session: Session, envelope: Envelope) -> str:  # noqa: N802 - aiosmtpd's
        assert isinstance(envelope.content, bytes)
        message = BytesParser(EmailMessage, policy=default).parsebytes(envelope.content)
        before = len(self.taken)
        self.taken.append(message)
        self.recipients += envelope.rcpt_tos
        answer = await self.at_mail(server, envelope.rcpt_tos[0])
        if not answer.startswith("250"):
            del self.taken[before:], self.recipients[before:]
        return answer


async def _fine(_server: SMTP, _address: str) -> str:
    return "250 OK"


def saying(answer: str) -> Answer:
    """Always the same."""

    async def said(_server: SMTP, _address: str) -> str:
        return answer

    return said


async def hanging(_server: SMTP, _address: str) -> str:
    """Nothing is said any more."""
    await asyncio.sleep(3600)
    return "250 OK"


async def hanging_up(server: SMTP, _address: str) -> str:
    """The line ends in the middle of a word."""
    assert isinstance(server.transport, asyncio.Transport)
    server.transport.abort()
    return "250 OK"


@contextlib.contextmanager
def post_office(
    *, certificate: "Certificate | None" = None, implicit: bool = False, auth: bool = False
) -> Iterator[PostOffice]:
    """Open on a port of this machine: without TLS, with STARTTLS, or with TLS from the first byte on."""
    office = PostOffice()
    context = certificate.context() if certificate is not None else None

    def prove(_server: SMTP, _session: Session, _envelope: Envelope, _how: str, proof: object) -> AuthResult:
        is_right = isinstance(proof, LoginPassword) and proof == LoginPassword(USER.encode(), PASSWORD.encode())
        return AuthResult(success=is_right, handled=False)

    controller = Controller(
        office,
        hostname="127.0.0.1",
        port=office.port,
        ssl_context=context if implicit else None,
        tls_context=None if implicit else context,
        require_starttls=context is not None and not implicit,
        auth_required=auth,
        # It knows of no line that is guarded from the first byte on.
        auth_require_tls=not implicit,
        authenticator=prove if auth else None,
        enable_SMTPUTF8=True,
    )
    controller.start()
    try:
        yield office
    finally:
        controller.stop()


class Certificate:
    """Of 127.0.0.1 and localhost, trusted by whoever is told its file."""

    def __init__(self, folder: Path) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
        now = dt.datetime.now(dt.UTC)
        names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        made = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(days=1))
            .not_valid_after(now + dt.timedelta(days=1))
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(key, hashes.SHA256())
        )
        self.file = folder / "certificate.pem"
        self._key = folder / "key.pem"
        self.file.write_bytes(made.public_bytes(serialization.Encoding.PEM))
        self._key.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )

    def context(self) -> ssl.SSLContext:
        """For a server that has it."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.file, self._key)
        return context
