"""Signatures, held against the vector of the standard and against the library that receivers verify with."""

import base64
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook, WebhookVerificationError

from qirsh.outbound.signature import BadSecret, SigningKey, make_secret, read_secret, sign, signature_fault

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
    now_s = int(datetime.now(UTC).timestamp())
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
    now_s = int(datetime.now(UTC).timestamp())
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


def test_what_is_no_secret_is_refused_and_not_repeated(subtests: pytest.Subtests) -> None:
    for text in [
        *("", " ", "whsec_", "whsec_ ", "changeme", "None", "whsec_!!!", "whsec_Ä", SECRET.removeprefix("whsec_")),
        *(SECRET + "\n", SECRET[:-1], "WHSEC_" + SECRET[6:], secret_of(23), secret_of(65)),
    ]:
        with subtests.test(str(text)):
            with pytest.raises(BadSecret) as refused:
                SigningKey(text)
            assert len(text) < 7 or text not in str(refused.value)


def test_secrets_of_the_standards_lengths_are_read(subtests: pytest.Subtests) -> None:
    for count in [24, 64]:
        with subtests.test(str(count)):
            assert read_secret(secret_of(count)) == b"k" * count


def test_nothing_is_signed_without_a_key_or_ambiguously(subtests: pytest.Subtests) -> None:
    for message_id, keys in [("evt_1", 0), ("evt_1", 3), ("a.1", 1), ("", 1)]:
        with subtests.test(f"{message_id!r} {keys!r}"), pytest.raises(AssertionError):
            sign(message_id, 1, b"", [SigningKey(SECRET)] * keys)


# What a receiver makes of it.

NOW_S = 1_800_000_000
BODY = b'{"data":{"type":"remote_payment.paid"}}'


def received(secret: str = SECRET, at: int = NOW_S) -> tuple[bytes, dict[bytes, bytes]]:
    headers = {
        b"webhook-id": b"evt_1",
        b"webhook-timestamp": b"%d" % at,
        b"webhook-signature": sign("evt_1", at, BODY, [SigningKey(secret)]).encode(),
    }
    return BODY, headers


def fault_of(body: bytes, headers: dict[bytes, bytes]) -> str | None:
    return signature_fault(headers, body, SigningKey(SECRET), now_s=NOW_S)


def test_a_signature_holds_for_the_bytes_that_were_signed_and_no_others() -> None:
    body, headers = received()
    assert fault_of(body, headers) is None
    for other in (body + b" ", body.replace(b":", b": "), b"", body[:-1]):
        assert fault_of(other, headers) == "wrong"
    assert fault_of(*received(secret=OTHER)) == "wrong"


def test_without_one_of_its_headers_it_is_no_webhook(subtests: pytest.Subtests) -> None:
    for name in ["id", "timestamp", "signature"]:
        with subtests.test(str(name)):
            body, headers = received()
            assert fault_of(body, headers | {f"webhook-{name}".encode(): b""}) == "missing"
            del headers[f"webhook-{name}".encode()]
            assert fault_of(body, headers) == "missing"


def test_what_was_changed_on_its_way_does_not_hold(subtests: pytest.Subtests) -> None:
    for changed in [
        {"id": b"evt_2"},
        {"timestamp": b"%d" % (NOW_S + 1)},
        *({"timestamp": text} for text in (b"soon", b"-1", b"0", b"1e9", b"\xd9\xa1", b"9" * 400, b"%d.0" % NOW_S)),
        *({"signature": text} for text in (b"v1", b"v1,", b"v1,AAAA", b"\xff", b" ", b"v1," + b"=" * 5000)),
    ]:
        with subtests.test(str(changed)):
            body, headers = received()
            changes = {f"webhook-{name}".encode(): value for name, value in changed.items()}
            assert fault_of(body, headers | changes) == "wrong"


def test_the_version_of_a_signature_counts() -> None:
    body, headers = received()
    for version in (b"v1a,", b"v2,", b"V1,", b""):
        changed = version + headers[b"webhook-signature"].removeprefix(b"v1,")
        assert fault_of(body, headers | {b"webhook-signature": changed}) == "wrong"


def test_one_of_many_signatures_is_enough() -> None:
    body, headers = received()
    many = b" ".join([b"v1,AAAA", b"v1a,x", headers[b"webhook-signature"], b""])
    assert fault_of(body, headers | {b"webhook-signature": many}) is None


def test_a_signature_holds_five_minutes_both_ways(subtests: pytest.Subtests) -> None:
    for shift_s, fault in [(-301, "time"), (-300, None), (0, None), (300, None), (301, "time")]:
        with subtests.test(f"{shift_s!r} {fault!r}"):
            assert fault_of(*received(at=NOW_S + shift_s)) == fault


def test_what_could_be_read_in_two_ways_does_not_hold() -> None:
    signed = b"evt_1.%d.%d.{}" % (NOW_S, NOW_S)
    signature = SigningKey(SECRET).sign(signed).encode()
    fields = {b"webhook-timestamp": b"%d" % NOW_S, b"webhook-signature": signature}
    assert fault_of(b"%d.{}" % NOW_S, fields | {b"webhook-id": b"evt_1"}) is None
    assert fault_of(b"{}", fields | {b"webhook-id": b"evt_1.%d" % NOW_S}) == "wrong"


@given(body=st.binary(max_size=200), entropy=st.binary(min_size=32, max_size=32))
def test_what_the_independent_library_signs_holds(body: bytes, entropy: bytes) -> None:
    secret, now = make_secret(lambda count: entropy[:count]), datetime.now(UTC)
    text = body.decode("latin-1")
    headers = {
        b"webhook-id": b"msg_1",
        b"webhook-timestamp": b"%d" % now.timestamp(),
        b"webhook-signature": Webhook(secret).sign("msg_1", now, text).encode(),
    }
    now_s = int(now.timestamp())
    assert signature_fault(headers, text.encode(), SigningKey(secret), now_s=now_s) is None
