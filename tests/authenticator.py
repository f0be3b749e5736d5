"""A passkey device made of software: it makes and uses keys as WebAuthn says, and lies where a test asks it to."""

import base64
import datetime as dt
import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import cbor2
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

ES256, EDDSA, RS256, ES512 = -7, -8, -257, -36
_PRESENT, _VERIFIED, _HAS_KEY = 1, 4, 64


def encoded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "===")


@dataclass
class Key:
    """One passkey in it."""

    sign: Callable[[bytes], bytes]
    public: bytes
    handle: bytes


def make_key(algorithm: int, handle: bytes) -> Key:
    """A new pair, the public half as COSE writes it."""
    if algorithm in {ES256, ES512}:
        private = ec.generate_private_key(ec.SECP256R1() if algorithm == ES256 else ec.SECP521R1())
        numbers, size = private.public_key().public_numbers(), (private.key_size + 7) // 8
        cose: dict[int, object] = {1: 2, 3: algorithm, -1: 1 if algorithm == ES256 else 3}
        cose |= {-2: numbers.x.to_bytes(size, "big"), -3: numbers.y.to_bytes(size, "big")}
        return Key(lambda data: private.sign(data, ec.ECDSA(SHA256())), cbor2.dumps(cose), handle)
    if algorithm == EDDSA:
        edwards = ed25519.Ed25519PrivateKey.generate()
        cose = {1: 1, 3: EDDSA, -1: 6, -2: edwards.public_key().public_bytes_raw()}
        return Key(edwards.sign, cbor2.dumps(cose), handle)
    large = rsa.generate_private_key(65537, 2048)
    cose = {1: 3, 3: RS256, -1: large.public_key().public_numbers().n.to_bytes(256, "big"), -2: b"\x01\x00\x01"}
    return Key(lambda data: large.sign(data, padding.PKCS1v15(), SHA256()), cbor2.dumps(cose), handle)


def _voucher(signed: bytes, public: bytes) -> dict[str, object]:
    """The statement of a maker's certificate that is right in itself, of a maker whom nobody knows."""
    maker = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "maker")])
    today = dt.datetime.now(dt.UTC)
    certificate = x509.CertificateBuilder(name, name, maker.public_key(), 1, today, today + dt.timedelta(days=1))
    cose = cbor2.loads(public)
    signature = maker.sign(b"\0" + signed + b"\4" + cose[-2] + cose[-3], ec.ECDSA(SHA256()))
    made = certificate.sign(maker, SHA256()).public_bytes(Encoding.DER)
    return {"x5c": [made], "sig": signature}


@dataclass
class Authenticator:
    """What it says of where it was asked, and whether it saw and knew a person, is for a test to change."""

    origin: str
    rp_id: str
    algorithm: int = ES256
    count: int = 0  # Of uses; None of them is counted while it is 0 and `is_counting` is not set.
    is_counting: bool = True
    is_present: bool = True
    is_verified: bool = True
    is_cross_origin: bool = False
    has_handle: bool = True
    format: str = "none"
    keys: dict[bytes, Key] = field(default_factory=dict)

    def create(self, options: str) -> str:
        """The answer to `navigator.credentials.create()`."""
        asked = json.loads(options)
        id = os.urandom(32)  # noqa: A001 - as the standard calls it
        self.keys[id] = key = make_key(self.algorithm, decoded(asked["user"]["id"]))
        data = self._data(bytes(16) + len(id).to_bytes(2, "big") + id + key.public)
        client_data = self._client_data("webauthn.create", asked)
        statement: dict[str, object] = {}
        if self.format == "packed":  # The key vouches for itself.
            signature = key.sign(data + hashlib.sha256(client_data).digest())
            statement = {"alg": self.algorithm, "sig": signature}
        if self.format == "fido-u2f":
            statement = _voucher(data[:32] + hashlib.sha256(client_data).digest() + id, key.public)
        told = cbor2.dumps({"fmt": self.format, "attStmt": statement, "authData": data})
        return self._answer(id, clientDataJSON=client_data, attestationObject=told)

    def get(self, options: str) -> str:
        """The answer to `navigator.credentials.get()`, with one of those that are allowed, or its first."""
        asked = json.loads(options)
        allowed = [decoded(known["id"]) for known in asked.get("allowCredentials", [])] or list(self.keys)
        id = next(one for one in allowed if one in self.keys)  # noqa: A001 - as the standard calls it
        self.count += self.is_counting
        data, client_data = self._data(), self._client_data("webauthn.get", asked)
        signature = self.keys[id].sign(data + hashlib.sha256(client_data).digest())
        handle = {"userHandle": self.keys[id].handle} if self.has_handle else {}
        return self._answer(id, clientDataJSON=client_data, authenticatorData=data, signature=signature, **handle)

    def _data(self, attested: bytes = b"") -> bytes:
        flags = _PRESENT * self.is_present | _VERIFIED * self.is_verified | (_HAS_KEY if attested else 0)
        return hashlib.sha256(self.rp_id.encode()).digest() + bytes([flags]) + self.count.to_bytes(4, "big") + attested

    def _client_data(self, kind: str, asked: dict[str, Any]) -> bytes:
        told = {"type": kind, "challenge": asked["challenge"], "origin": self.origin}
        return json.dumps({**told, "crossOrigin": self.is_cross_origin}).encode()

    def _answer(self, id: bytes, **response: bytes) -> str:  # noqa: A002 - as the standard calls it
        told = {name: encoded(value) for name, value in response.items()}
        return json.dumps({"id": encoded(id), "rawId": encoded(id), "type": "public-key", "response": told})
