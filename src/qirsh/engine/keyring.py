"""Keys for every purpose from the one secret of the service, and what is done with them: MACs and sealing.

Stored values start with the id of the secret they are under, so that the setting can name a new and an old one.
"""

import hashlib
import hmac

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from qirsh.engine.entropy import Entropy

_ID_BYTES = 4
_NONCE_BYTES = 12


class Keyring:
    """The first secret is used for all that is new; the others still open what is old."""

    def __init__(self, secrets: list[bytes], entropy: Entropy) -> None:
        assert secrets
        self._ids = [hashlib.sha256(b"qirsh key id" + secret).digest()[:_ID_BYTES] for secret in secrets]
        # Keyed once: a copy of the state costs a fraction of a new one, and every pay needs it.
        self._pin = [hashlib.blake2b(key=_derive(secret, b"pin"), digest_size=32) for secret in secrets]
        self._seal = [AESGCM(_derive(secret, b"seal")) for secret in secrets]
        self._form = [_derive(secret, b"form") for secret in secrets]
        self._code = [_derive(secret, b"code") for secret in secrets]
        self._passkey = [_derive(secret, b"passkey") for secret in secrets]
        self._document = [_derive(secret, b"document") for secret in secrets]
        self._entropy = entropy
        self.ids = tuple(self._ids)  # What stored values begin with, the newest first.

    def pin_mac(self, person: int, pin: str) -> bytes:
        """What is stored of a PIN."""
        return self.pin_macs(person, pin)[0]

    def pin_macs(self, person: int, pin: str) -> tuple[bytes, ...]:
        """What may be stored of this PIN, one for each secret."""
        message = b"%d:%b" % (person, pin.encode())
        macs = []
        for key_id, keyed in zip(self._ids, self._pin, strict=True):
            mac = keyed.copy()
            mac.update(message)
            macs.append(key_id + mac.digest())
        return tuple(macs)

    def code_mac(self, *parts: str) -> bytes:
        """What is stored of a code that a person types: it is short, so a plain hash would be no secret."""
        return self.code_macs(*parts)[0]

    def code_macs(self, *parts: str) -> tuple[bytes, ...]:
        """What may be stored of this code, one for each secret. The parts before it say what it is for."""
        message = _message(parts)
        macs = [hmac.digest(key, message, "sha256") for key in self._code]
        return tuple(key_id + mac for key_id, mac in zip(self._ids, macs, strict=True))

    def form_token(self, *bound_to: str) -> str:
        """What a form carries to show that this service made it, for whom and for what."""
        return _form_token(self._form[0], bound_to)

    def is_form_token(self, token: str, *bound_to: str) -> bool:
        """Whether a form that was made for exactly this carries the token."""
        found = token.encode()
        return True in [hmac.compare_digest(found, _form_token(key, bound_to).encode()) for key in self._form]

    def passkey_macs(self, *bound_to: str) -> tuple[bytes, ...]:
        """What ties a passkey's challenge to exactly this, one for each secret; the first is for new ones."""
        return tuple(hmac.digest(key, _message(bound_to), "sha256") for key in self._passkey)

    def document_macs(self, *parts: str) -> tuple[bytes, ...]:
        """What may be stored of a document, one for each secret: it tells equal ones apart from others, and no more."""
        macs = [hmac.digest(key, _message(parts), "sha256") for key in self._document]
        return tuple(key_id + mac for key_id, mac in zip(self._ids, macs, strict=True))

    def seal(self, plain: bytes, purpose: bytes) -> bytes:
        """Encrypt for the database; the purpose must be named again to open it. That of a row is `row_purpose`."""
        nonce = self._entropy(_NONCE_BYTES)
        return self._ids[0] + nonce + self._seal[0].encrypt(nonce, plain, purpose)

    def unseal(self, sealed: bytes, purpose: bytes) -> bytes | None:
        """What was sealed; None if it was not sealed here for this purpose."""
        key_id, nonce, text = (
            sealed[:_ID_BYTES],
            sealed[_ID_BYTES:][:_NONCE_BYTES],
            sealed[_ID_BYTES + _NONCE_BYTES :],
        )
        for own_id, key in zip(self._ids, self._seal, strict=True):
            if own_id == key_id:
                try:
                    return key.decrypt(nonce, text, purpose)
                except InvalidTag:
                    return None
        return None

    def resealed(self, sealed: bytes, purpose: bytes) -> bytes | None:
        """The same under the newest secret; None if it does not open."""
        plain = self.unseal(sealed, purpose)
        return None if plain is None else self.seal(plain, purpose)


def totp_purpose(email: str) -> bytes:
    """Of the second factor of the login with this address."""
    return row_purpose("totp", email)


def row_purpose(kind: str, *key: str) -> bytes:
    """Binds what is sealed to its row: copied to another, it does not open."""
    return _message((kind, *key))


def _form_token(key: bytes, bound_to: tuple[str, ...]) -> str:
    return hmac.digest(key, _message(bound_to), "sha256").hex()


def _message(parts: tuple[str, ...]) -> bytes:
    """Each part with its length, so that no two lists of parts are the same message."""
    return b"".join(b"%d:%b" % (len(part), part) for part in map(str.encode, parts))


def _derive(secret: bytes, purpose: bytes) -> bytes:
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=b"qirsh " + purpose).derive(secret)
