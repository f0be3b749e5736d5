"""Signatures, held against the vector of the standard and against the library that receivers verify with."""

import base64
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook, WebhookVerificationError

from qirsh.outbound.signature import BadSecret, SigningKey, make_secret, read_secret, sign

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OTHER = "whsec_" + base64.b64encode(bytes(range(32))).decode()


def secret_of(count: int) -> str:
    return "whsec_" + base64.b64encode(b"k" * count).decode()


def test_the_vector_of_the_standard() -> None:
    value = sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}', [SigningKey(SECRET)])
    assert value == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@given(body=st.text().map(str.encode), entropy=st.binary(min_size=32, max_size=32))
def test_the_independent_library_verifies_what_is_signed(body: bytes, entropy: bytes) -> None:
    secret = make_secret(lambda count: entropy[:count])
    now_s = int(time.time())
    headers = {
        "webhook-id": "evt_1",
        "webhook-timestamp": str(now_s),
        "webhook-signature": sign("evt_1", now_s, body, [SigningKey(secret)]),
    }
    Webhook(secret).verify(body, headers, json_parse=False)
    with pytest.raises(WebhookVerificationError):
        Webhook(secret).verify(body + b" ", headers, json_parse=False)
    with pytest.raises(WebhookVerificationError):
        Webhook(OTHER if secret != OTHER else SECRET).verify(body, headers, json_parse=False)


def test_with_two_secrets_either_verifies() -> None:
    now_s = int(time.time())
    value = sign("evt_1", now_s, b"{}", [SigningKey(SECRET), SigningKey(OTHER)])
    headers = {"webhook-id": "evt_1", "webhook-timestamp": str(now_s), "webhook-signature": value}
    for secret in (SECRET, OTHER):
        Webhook(secret).verify(b"{}", headers)
    assert len(value.split(" ")) == 2


def test_a_key_signs_the_same_again() -> None:
    key = SigningKey(SECRET)
    first = key.sign(b"a")
    assert key.sign(b"b") != first
    assert key.sign(b"a") == first


def test_a_secret_is_made_of_32_bytes_and_read_back() -> None:
    text = make_secret(lambda count: bytes(range(count)))
    assert text == OTHER
    assert read_secret(text) == bytes(range(32))
    assert text not in repr(SigningKey(text))


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "whsec_", "whsec_ ", "changeme", "None", "whsec_!!!", "whsec_Ä", SECRET.removeprefix("whsec_")),
        *(SECRET + "\n", SECRET[:-1], "WHSEC_" + SECRET[6:], secret_of(23), secret_of(65)),
    ],
)
def test_what_is_no_secret_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(BadSecret) as refused:
        SigningKey(text)
    assert len(text) < 7 or text not in str(refused.value)


@pytest.mark.parametrize("count", [24, 64])
def test_secrets_of_the_standards_lengths_are_read(count: int) -> None:
    assert read_secret(secret_of(count)) == b"k" * count


@pytest.mark.parametrize(("message_id", "keys"), [("evt_1", 0), ("evt_1", 3), ("a.1", 1), ("", 1)])
def test_nothing_is_signed_without_a_key_or_ambiguously(message_id: str, keys: int) -> None:
    with pytest.raises(AssertionError):
        sign(message_id, 1, b"", [SigningKey(SECRET)] * keys)
