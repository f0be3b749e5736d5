"""Passkeys: what a browser is asked for, and what its answer proves. Nothing is kept here.

A challenge carries its own end and is tied by a MAC to who is asked and what for, so no server has to remember it
before it is answered. That it is answered once, the rules see to: a sign-in keeps its hash, a payment is paid once,
and a passkey is added once, with a proof that is good for one.
"""

import hashlib
import hmac
from collections.abc import Iterable
from ipaddress import ip_address
from typing import Final, Protocol
from urllib.parse import urlsplit

import msgspec
from webauthn import (
    generate_authentication_options,
    generate_registration_options,
    options_to_json,
    verify_authentication_response,
    verify_registration_response,
)
from webauthn.helpers import (
    base64url_to_bytes,
    parse_attestation_object,
    parse_authentication_credential_json,
    parse_client_data_json,
    parse_registration_credential_json,
)
from webauthn.helpers.cose import COSEAlgorithmIdentifier
from webauthn.helpers.structs import (
    AttestationFormat,
    AuthenticatorSelectionCriteria,
    PublicKeyCredentialDescriptor,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)

from qirsh.domain.limits import PASSKEY_CHALLENGE_MS, PASSKEY_ID_BYTES_MAX
from qirsh.web.http.context import Context

_NAME: Final = "Qirsh"
_ALGORITHMS: Final = [
    COSEAlgorithmIdentifier.ECDSA_SHA_256,
    COSEAlgorithmIdentifier.RSASSA_PKCS1_v1_5_SHA_256,
    COSEAlgorithmIdentifier.EDDSA,
]
# We ask for no attestation; a browser may leave one that a key has signed for itself.
_FORMATS: Final = frozenset({AttestationFormat.NONE, AttestationFormat.PACKED})
_EXPIRY_BYTES: Final = 8
_RANDOM_BYTES: Final = 16


class NewPasskey(msgspec.Struct, frozen=True):
    """What is kept of one that was made."""

    id: bytes
    public_key: bytes
    sign_count: int


class Known(Protocol):
    """What is kept of the passkey that is used."""

    @property
    def id(self) -> bytes: ...
    @property
    def person(self) -> int: ...
    @property
    def public_key(self) -> bytes: ...
    @property
    def sign_count(self) -> int: ...


class PasskeyAssertion(msgspec.Struct, frozen=True):
    """The passkey that was used, and how often it says that it has been. The latter must be kept."""

    id: bytes
    sign_count: int
    challenge: bytes  # The hash of what it has answered. Where an answer must count only once, the rule keeps it.


class Purpose(msgspec.Struct, frozen=True):
    """What an answer is good for. Its check names the same."""

    tie: tuple[str, ...]
    is_of_stranger: bool = False  # Nobody has said who they are, so the passkey must.


def adding(session: str, person: int, proof: str) -> Purpose:
    """Make one, by who is signed in and has just proved who they are."""
    return Purpose(("add", session, str(person), proof))


def signing_in(visitor: str) -> Purpose:
    """Sign in, in the browser that has this visitor's cookie."""
    return Purpose(("sign-in", visitor), is_of_stranger=True)


def confirming(session: str, agreed: tuple[str, ...]) -> Purpose:
    """Pay exactly what is agreed to, in this session."""
    return Purpose(("confirm", session, *agreed))


def signing_in_and_paying(visitor: str, agreed: tuple[str, ...]) -> Purpose:
    """Sign in and pay exactly what is agreed to, in the browser that has this visitor's cookie."""
    return Purpose(("sign-in-and-pay", visitor, *agreed), is_of_stranger=True)


def can_be_used(context: Context) -> bool:
    """Browsers make passkeys for a name, over https or on the same machine, and never for a number."""
    url = urlsplit(context.base_url)
    host = url.hostname or ""
    try:
        ip_address(host)
    except ValueError:
        return url.scheme == "https" or host == "localhost"
    return False


def creation_options(
    context: Context, purpose: Purpose, *, person: int, email: str, name: str, known: Iterable[bytes]
) -> str:
    """For the page on which one is made, as JSON. Authenticators that hold a known one are left out."""
    options = generate_registration_options(
        rp_id=_host(context),
        rp_name=_NAME,
        user_id=context.identifiers.person_handle(person),
        user_name=email,
        user_display_name=name,
        challenge=_challenge(context, purpose),
        timeout=PASSKEY_CHALLENGE_MS,
        authenticator_selection=AuthenticatorSelectionCriteria(
            resident_key=ResidentKeyRequirement.REQUIRED, user_verification=UserVerificationRequirement.REQUIRED
        ),
        exclude_credentials=[PublicKeyCredentialDescriptor(id=one) for one in known],
        supported_pub_key_algs=_ALGORITHMS,
    )
    return options_to_json(options)


def request_options(context: Context, purpose: Purpose, known: Iterable[bytes] = ()) -> str:
    """For a page on which one is used, as JSON: one of these, or whichever the person has."""
    options = generate_authentication_options(
        rp_id=_host(context),
        challenge=_challenge(context, purpose),
        timeout=PASSKEY_CHALLENGE_MS,
        allow_credentials=[PublicKeyCredentialDescriptor(id=one) for one in known],
        user_verification=UserVerificationRequirement.REQUIRED,
    )
    return options_to_json(options)


def new_passkey(context: Context, purpose: Purpose, answer: str) -> NewPasskey | None:
    """The passkey that was made, if it was made here, now and for this."""
    try:
        credential = parse_registration_credential_json(answer)
        if parse_attestation_object(credential.response.attestation_object).fmt not in _FORMATS:
            return None
        verified = verify_registration_response(
            credential=credential,
            expected_challenge=_own_challenge(context, purpose, credential.response.client_data_json),
            expected_rp_id=_host(context),
            expected_origin=context.base_url,
            require_user_verification=True,
            supported_pub_key_algs=_ALGORITHMS,
        )
        if verified.credential_id != credential.raw_id or len(credential.raw_id) > PASSKEY_ID_BYTES_MAX:
            return None
    except Exception:  # noqa: BLE001 - the library fails in many ways on what no browser sends
        return None
    return NewPasskey(verified.credential_id, verified.credential_public_key, verified.sign_count)


def passkey_id(answer: str) -> bytes | None:
    """Which passkey was used, as it says: to look it up, and to prove afterwards."""
    try:
        found = msgspec.json.decode(answer, type=_Named).id
        return base64url_to_bytes(found) if len(found) <= PASSKEY_ID_BYTES_MAX * 2 else None
    except (ValueError, msgspec.MsgspecError):
        return None


def verify_assertion(context: Context, purpose: Purpose, answer: str, known: Known) -> PasskeyAssertion | None:
    """That the person who has this passkey used it here, now and for this, and was recognised by their device.

    A count that does not grow tells of a copy, but for those that do not count and always say 0.
    """
    try:
        credential = parse_authentication_credential_json(answer)
        challenge = _own_challenge(context, purpose, credential.response.client_data_json)
        verified = verify_authentication_response(
            credential=credential,
            expected_challenge=challenge,
            expected_rp_id=_host(context),
            expected_origin=context.base_url,
            credential_public_key=known.public_key,
            credential_current_sign_count=known.sign_count,
            require_user_verification=True,
        )
    except Exception:  # noqa: BLE001 - the library fails in many ways on what no browser sends
        return None
    handle = credential.response.user_handle
    own = context.identifiers.person_handle(known.person)
    is_theirs = handle == own if handle is not None else not purpose.is_of_stranger
    if verified.credential_id != known.id or not is_theirs:
        return None
    return PasskeyAssertion(known.id, verified.new_sign_count, hashlib.sha256(challenge).digest())


class _Named(msgspec.Struct):
    id: str


class _NotOurs(Exception):
    """A challenge that was not made for this, or too long ago."""


def _challenge(context: Context, purpose: Purpose) -> bytes:
    until = context.clock() + PASSKEY_CHALLENGE_MS
    signed = until.to_bytes(_EXPIRY_BYTES, "big") + context.entropy(_RANDOM_BYTES)
    return signed + context.keyring.passkey_macs("challenge", signed.hex(), *purpose.tie)[0]


def _own_challenge(context: Context, purpose: Purpose, client_data_json: bytes) -> bytes:
    """The challenge that is answered, if it is one of ours for this and its time is not over."""
    client_data = parse_client_data_json(client_data_json)
    challenge = client_data.challenge
    signed, mac = challenge[: _EXPIRY_BYTES + _RANDOM_BYTES], challenge[_EXPIRY_BYTES + _RANDOM_BYTES :]
    macs = context.keyring.passkey_macs("challenge", signed.hex(), *purpose.tie)
    if True not in [hmac.compare_digest(mac, own) for own in macs]:
        raise _NotOurs
    until = int.from_bytes(signed[:_EXPIRY_BYTES], "big")
    if context.clock() >= until or client_data.cross_origin:
        raise _NotOurs
    return challenge


def _host(context: Context) -> str:
    return urlsplit(context.base_url).hostname or ""
