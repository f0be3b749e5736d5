"""Receivers of webhooks on this machine: each connection plays what a test says, over TLS or without."""

import asyncio
import contextlib
import datetime as dt
import functools
import ipaddress
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any, Final

import pytest
import uvloop
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from qirsh.outbound.guard import Guard
from qirsh.outbound.line_pool import LinePool, make_tls_context
from qirsh.outbound.post import Outcome, Poster
from qirsh.outbound.target import Target, read_target
from tests.waiting import NEVER_S

LOOPBACK: Final = (IPv4Network("127.0.0.0/8"),)
LOOPS: Final = {"uvloop": uvloop.new_event_loop, "asyncio": asyncio.new_event_loop}
# The service runs on uvloop.
ON_LOOPS: Final = pytest.mark.parametrize("loop", ["uvloop", pytest.param("asyncio", marks=pytest.mark.slow)])
HEADERS: Final = {"content-type": "application/json", "webhook-id": "evt_1"}
BODY: Final = b'{"id":"evt_1"}'
OK: Final = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"

Play = Callable[["Visit"], Awaitable[None]]


class Visit:
    """One connection as the receiver sees it."""

    def __init__(self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.number = number  # Of the connections to this receiver, from 1.
        self.writer = writer
        self._reader = reader

    async def request(self) -> bytes:
        """The next whole request; empty if the sender has closed."""
        try:
            head = await self._reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            return b""
        size = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        return head + await self._reader.readexactly(size)

    async def say(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    def reset(self) -> None:
        """The line is torn."""
        self.writer.transport.abort()


class Receiver:
    def __init__(self, play: Play) -> None:
        self.play = play
        self.port = 0
        self.visits = 0
        self._visiting: set[asyncio.Task[Any]] = set()

    async def visit(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.visits += 1
        task = asyncio.current_task()
        assert task is not None
        self._visiting.add(task)
        try:
            with contextlib.suppress(ConnectionError, ssl.SSLError, asyncio.CancelledError):
                await self.play(Visit(self.visits, reader, writer))
        finally:
            self._visiting.discard(task)
            writer.transport.abort()

    async def end(self) -> None:
        while self._visiting:
            for task in list(self._visiting):
                task.cancel()
            await asyncio.sleep(0)


@contextlib.asynccontextmanager
async def receiving(
    play: Play, *, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1", port: int = 0
) -> AsyncIterator[Receiver]:
    """Open on a free port, unless one is named."""
    receiver = Receiver(play)
    server = await asyncio.start_server(receiver.visit, host, port, ssl=tls)
    receiver.port = server.sockets[0].getsockname()[1]
    try:
        yield receiver
    finally:
        server.close()
        for _ in range(5):  # Whoever has just been let in comes as far as a visit.
            await asyncio.sleep(0)
        await receiver.end()


def saying(*answers: bytes) -> Play:
    """One after the other, each to a request, over however many connections; the last again and again."""
    left = list(answers)

    async def play(visit: Visit) -> None:
        while await visit.request():
            await visit.say(left.pop(0) if len(left) > 1 else left[0])

    return play


def then_hanging(first: bytes) -> Play:
    """A request is read, something is said, and then nothing more."""

    async def play(visit: Visit) -> None:
        await visit.request()
        await visit.say(first)
        await asyncio.sleep(3600)

    return play


def then_closing(first: bytes) -> Play:
    """A request is read, something is said, and the connection closed in order."""

    async def play(visit: Visit) -> None:
        await visit.request()
        await visit.say(first)
        visit.writer.close()
        await visit.writer.wait_closed()

    return play


# To read all authorities of the machine takes longer than most tests.
_usual_tls = functools.cache(make_tls_context)


class Sender:
    """All of the room together, as a worker would have it."""

    def __init__(
        self,
        *,
        tls: ssl.SSLContext | None = None,
        names: dict[str, list[str]] | None = None,
        lookup_kept_s: float = 0,
        **bounds: Any,  # noqa: ANN401 - those of the pool
    ) -> None:
        self.names = names or {}
        self.guard = Guard(networks=LOOPBACK, resolve=self._resolve, lookup_s=NEVER_S, kept_s=lookup_kept_s)
        self.lines = LinePool(tls=tls or _usual_tls(), **{"connect_s": NEVER_S, "answer_s": NEVER_S} | bounds)
        self.poster = Poster(self.guard, self.lines, now_ms=lambda: 1_700_000_000_000)

    def _resolve(self, name: str) -> list[str]:
        return self.names.get(name, [])

    async def post(self, url: str, body: bytes = BODY) -> Outcome:
        return await self.poster.post(target_of(url), HEADERS, body)

    def heard_bytes(self) -> int:
        """Of the answer that is under way, on the only connection."""
        return sum(line._wire_bytes for line in self.lines._lines)  # noqa: SLF001 - nothing else tells of half an answer

    async def to(self, receiver: Receiver) -> Outcome:
        return await self.post(f"http://127.0.0.1:{receiver.port}/hooks")


def target_of(url: str) -> Target:
    target = read_target(url, networks=LOOPBACK)
    assert isinstance(target, Target), target
    return target


def run(loop: str, play: Coroutine[Any, Any, None]) -> None:
    """To its end. A callback that fails would only be logged."""
    faults: list[dict[str, Any]] = []
    with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
        runner.get_loop().set_exception_handler(lambda _loop, fault: faults.append(fault))
        runner.run(play)
    assert faults == [], faults


class Authority:
    """Signs certificates, and is trusted by whoever takes `client()`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "An authority")])
        self._made = self._sign("An authority", self._key, [], days=10, is_authority=True)

    def client(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cadata=self._made.public_bytes(serialization.Encoding.PEM).decode())
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        return context

    def server(self, *names: str, days: int = 10) -> ssl.SSLContext:
        """With a certificate for these names or addresses, which is good until some days from now."""
        key = ec.generate_private_key(ec.SECP256R1())
        made = self._sign(names[0], key, list(names), days=days, is_authority=False)
        file = self._folder / f"{names[0]}-{days}.pem"
        file.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
            + made.public_bytes(serialization.Encoding.PEM)
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context

    def _sign(
        self, name: str, key: ec.EllipticCurvePrivateKey, names: list[str], *, days: int, is_authority: bool
    ) -> x509.Certificate:
        now = dt.datetime.now(dt.UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(days=20))
            .not_valid_after(now + dt.timedelta(days=days))
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
        )
        if is_authority:
            builder = builder.add_extension(_SIGNS_CERTIFICATES, critical=True)
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(list(map(_general, names))), critical=False)
        return builder.sign(self._key, hashes.SHA256())


_SIGNS_CERTIFICATES: Final = x509.KeyUsage(
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
