"""Bad input: each kind gets its documented refusal, leaves nothing behind, and is never a server error."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.live import (
    PAYMENTS,
    PIN,
    SESSIONS,
    WALLET,
    Call,
    Live,
    create,
    field_errors,
    post,
    refused,
    retrieve,
    sign_in,
)

MAX: Final = 999_999_999_999_999
INVALID_JSON: Final = "invalid_json"

Wrong = dict[str, str] | str


@contextmanager
def nothing_left_behind(world: Live) -> Iterator[None]:
    """Input that keeps the server busy for good fails too: no answer is waited for longer than `tests/live.py` says."""
    before = world.counts()
    yield
    assert world.counts() == before


def check(answer: httpx2.Response, wrong: Wrong) -> None:
    """Unreadable JSON, or exactly these field errors."""
    assert b"NaN" not in answer.content.replace(b"duplicate keys or NaN", b"").replace(b"NaN is not", b"")
    assert b"Infinity" not in answer.content.replace(b"Infinity is not", b"")
    if isinstance(wrong, str):
        refused(answer, 400, wrong)
    else:
        assert field_errors(answer) == wrong


def body(**fields: bytes) -> bytes:
    """A JSON object whose values are taken as they are."""
    texts = {"amount": b"100", "currency": b'"USD"', **fields}
    return b"{%b}" % b",".join(b'"%b":%b' % (name.encode(), text) for name, text in texts.items())


AMOUNTS: Final[dict[bytes, str]] = {
    **dict.fromkeys((b"null", b"[]", b"{}", b"[100]", b'"abc"', b'"100"', b'""', b"true", b"false"), "wrong_type"),
    **dict.fromkeys((b"100.5", b"100.0", b"1e2", b"1E2", b"1e-2", b"-0.0", b"1e15"), "wrong_type"),
    **dict.fromkeys((b"0", b"-0", b"-1", b"-100", b"-9223372036854775808"), "out_of_range"),
    **dict.fromkeys(
        [b"%d" % number for number in (MAX + 1, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 10**30, -(10**30))],
        "out_of_range",
    ),
    **dict.fromkeys((b"9" * 4300, b"9" * 4301, b"9" * 5000, b"-" + b"9" * 5000, b"9" * 100_000), "out_of_range"),
    **dict.fromkeys((b"NaN", b"Infinity", b"-Infinity", b"nan", b"inf", b"1e400", b"-1e400"), INVALID_JSON),
    **dict.fromkeys(
        (b"+1", b"0100", b".5", b"1.", b"0x10", b"1_000", b"1e", b"--1", b"1 0", b"", b"yes"), INVALID_JSON
    ),
}


def named(value: object) -> str:
    """A short name of a parameter for the list of tests, and its length where it is cut."""
    text = value.decode(errors="replace") if isinstance(value, bytes) else str(value)
    return text if len(text) < 50 else f"{text[:50]}... ({len(text)})"


def test_an_amount_is_a_json_integer_in_its_bounds(world: Live, subtests: pytest.Subtests) -> None:
    for amount, wrong in AMOUNTS.items():
        with subtests.test(named(amount)), nothing_left_behind(world):
            answer = world.send(create(world.merchants[0].key, body(amount=amount)))
            check(answer, wrong if wrong == INVALID_JSON else {"amount": wrong})


def test_amounts_at_the_bounds_are_taken_digit_exact(world: Live, subtests: pytest.Subtests) -> None:
    for amount in (1, 2, MAX - 1, MAX):
        with subtests.test(str(amount)):
            payment_id = world.payment(world.merchants[0], body(amount=b"%d" % amount))
            assert world.data(retrieve(world.merchants[0].key, payment_id))["amount"] == amount


def test_amount_and_currency_are_required(world: Live) -> None:
    with nothing_left_behind(world):
        key = world.merchants[0].key
        check(world.send(create(key, {})), {"amount": "required", "currency": "required"})
        check(world.send(create(key, {"currency": "USD"})), {"amount": "required"})
        check(world.send(create(key, {"amount": 1})), {"currency": "required"})


CURRENCIES: Final[dict[bytes, str]] = {
    **dict.fromkeys(
        [
            json.dumps(text).encode()
            for text in ("usd", "Usd", "USD ", " USD", "US\u200bD", "\uff35SD", "XXX", "BTC", "US", "USDT", "", "840")
        ],
        "unknown_value",
    ),
    # What upper-casing in Turkish and elsewhere would make of other letters.
    **dict.fromkeys(
        [json.dumps(text).encode() for text in ("try", "TRY\u0307", "eur\u0131", "\u017fYP")], "unknown_value"
    ),
    **dict.fromkeys((b"null", b"840", b'["USD"]', b'{"code":"USD"}', b"true"), "wrong_type"),
}


def test_a_currency_is_exactly_one_of_four_codes(world: Live, subtests: pytest.Subtests) -> None:
    for currency, wrong in CURRENCIES.items():
        with subtests.test(f"{currency!r:.60}"), nothing_left_behind(world):
            check(world.send(create(world.merchants[0].key, body(currency=currency))), {"currency": wrong})


def keys(count: int) -> bytes:
    return json.dumps(dict.fromkeys(map(str, range(count)), 1)).encode()


def nested(depth: int, opening: bytes = b"[", closing: bytes = b"]") -> bytes:
    return opening * depth + closing * depth


FIELDS: Final[dict[str, tuple[bytes, Wrong]]] = {
    "note one too long": (body(note=b'"%b"' % (b"x" * 501)), {"note": "too_long"}),
    "note one emoji too long": (body(note=json.dumps("🧿" * 501).encode()), {"note": "too_long"}),
    "Arabic note one too long": (body(note=json.dumps("ق" * 501, ensure_ascii=False).encode()), {"note": "too_long"}),
    "note of combining marks": (body(note=json.dumps("e\u0301" * 250 + "e").encode()), {"note": "too_long"}),
    **{
        f"note with {character!r}": (body(note=json.dumps(f"a{character}b").encode()), {"note": "control_character"})
        for character in "\0\1\x08\x0b\x0c\r\x1b\x1f\x7f"
    },
    "note with a raw control character": (body(note=b'"a\x01b"'), INVALID_JSON),
    "note with a raw line break": (body(note=b'"a\nb"'), INVALID_JSON),
    "note with a direction that is turned": (body(note='"a\u202eb"'.encode()), {"note": "direction_control"}),
    "note with a direction that is set apart": (body(note=b'"\\u2066b"'), {"note": "direction_control"}),
    "note of eleven lines": (body(note=b'"' + b"\\n" * 10 + b'"'), {"note": "too_many_lines"}),
    "note with a line that C1 ends": (body(note=b'"a\\u0085b"'), {"note": "control_character"}),
    "note with a separator of lines": (body(note=b'"a\\u2028b"'), {"note": "control_character"}),
    "reference with a control of C1": (body(reference=b'"a\\u0085b"'), {"reference": "control_character"}),
    "reference that is turned around": (body(reference=b'"\\u202ex"'), {"reference": "direction_control"}),
    "note with a carriage return alone": (body(note=b'"a\\rb"'), {"note": "control_character"}),
    "note that is a number": (body(note=b"1"), {"note": "wrong_type"}),
    "note that is a list": (body(note=b'["a"]'), {"note": "wrong_type"}),
    "reference that is empty": (body(reference=b'""'), {"reference": "too_short"}),
    "reference one too long": (body(reference=b'"%b"' % (b"x" * 65)), {"reference": "too_long"}),
    "reference with a line break": (body(reference=b'"a\\nb"'), {"reference": "control_character"}),
    "reference that is a number": (body(reference=b"17"), {"reference": "wrong_type"}),
    **{
        f"expiresIn {text.decode()[:20]}": (body(expiresIn=text), {"expiresIn": wrong})
        for text, wrong in {
            **dict.fromkeys((b"299", b"604801", b"0", b"-1", b"9223372036854775808", b"9" * 50), "out_of_range"),
            **dict.fromkeys((b'"3600"', b"3600.0", b"true", b"[]", b'"1h"'), "wrong_type"),
        }.items()
    },
    # Metadata.
    **{
        f"metadata {text.decode()[:20]}": (body(metadata=text), {"metadata": "wrong_type"})
        for text in (b"[]", b'"{}"', b"1", b"true", b"1.5", b'[{"a":1}]')
    },
    "metadata with 51 keys": (body(metadata=keys(51)), {"metadata": "too_many_keys"}),
    "metadata with a key of 65": (body(metadata=b'{"%b":1}' % (b"k" * 65)), {"metadata": "key_too_long"}),
    "metadata, inner key of 65": (body(metadata=b'{"a":[{"%b":1}]}' % (b"k" * 65)), {"metadata": "key_too_long"}),
    "metadata one byte too long": (body(metadata=b'{"a":"%b"}' % (b"x" * (8193 - 8))), {"metadata": "too_long"}),
    "metadata too long in spaces": (body(metadata=b"{%b}" % (b" " * 8191)), {"metadata": "too_long"}),
    "metadata six deep": (body(metadata=b'{"a":[[[[[]]]]]}'), {"metadata": "too_deep"}),
    "metadata six deep in objects": (body(metadata=b'{"a":{"a":{"a":{"a":{"a":{}}}}}}'), {"metadata": "too_deep"}),
    "NUL in a metadata value": (body(metadata=b'{"a":"x\\u0000y"}'), {"metadata": "control_character"}),
    "NUL in a metadata key": (body(metadata=b'{"x\\u0000y":1}'), {"metadata": "control_character"}),
    "NUL in an inner metadata key": (body(metadata=b'{"a":[{"\\u0000":1}]}'), {"metadata": "control_character"}),
    "NUL in a metadata list": (body(metadata=b'{"a":["\\u0000"]}'), {"metadata": "control_character"}),
    **{
        f"metadata with {text.decode()[:20]}": (body(metadata=b'{"a":[%b]}' % text), INVALID_JSON)
        for text in (b"NaN", b"Infinity", b"-Infinity", b"1e400", b"-1e99999", b"9" * 5000, b"01", b"'a'", b"1,")
    },
}  # fmt: skip


def test_each_field_has_its_limits(world: Live, subtests: pytest.Subtests) -> None:
    for case in FIELDS:
        with subtests.test(case):
            text, wrong = FIELDS[case]
            with nothing_left_behind(world):
                check(world.send(create(world.merchants[0].key, text)), wrong)


AT_THE_LIMIT: Final[dict[str, bytes]] = {
    "note of 500": body(note=b'"%b"' % (b"x" * 500)),
    "note of 500 emoji, each escaped": body(note=json.dumps("🧿" * 500).encode()),
    "reference of 64": body(reference=b'"%b"' % (b"x" * 64)),
    "metadata with 50 keys": body(metadata=keys(50)),
    "metadata with a key of 64": body(metadata=json.dumps({"ق" * 64: 1}, ensure_ascii=False).encode()),
    "metadata of 8192 bytes": body(metadata=b'{"a":"%b"}' % (b"x" * (8192 - 8))),
    "metadata five deep": body(metadata=b'{"a":[[[[]]]]}'),
    "expiresIn 300": body(expiresIn=b"300"),
    "expiresIn 604800": body(expiresIn=b"604800"),
    "a body of 128 KiB": body().ljust(131_072),
}


def test_what_reaches_a_limit_exactly_is_taken(world: Live, subtests: pytest.Subtests) -> None:
    for case in AT_THE_LIMIT:
        with subtests.test(case):
            merchant = world.merchants[0]
            sent = json.loads(AT_THE_LIMIT[case])
            sent.pop("expiresIn", None)
            data = world.data(retrieve(merchant.key, world.payment(merchant, AT_THE_LIMIT[case])))
            assert {name: data[name] for name in sent} == sent


UNREADABLE: Final[dict[str, bytes]] = {
    "nothing": b"",
    "white space": b" \n ",
    "half an object": b'{"amount":100,"currency":"USD"',
    "two objects": body() + body(),
    "text after it": body() + b"x",
    "a comment": body() + b"// paid",
    "a trailing comma": b'{"amount":100,"currency":"USD",}',
    "single quotes": b"{'amount':100,'currency':'USD'}",
    "a form": b"amount=100&currency=USD",
    "XML": b"<payment><amount>100</amount></payment>",
    "a byte order mark": b"\xef\xbb\xbf" + body(),
    "UTF-16": body().decode().encode("utf-16"),
    "UTF-16 without a mark": body().decode().encode("utf-16-le"),
    "a NUL": body() + b"\0",
    "bad UTF-8 in a note": body(note=b'"\xff"'),
    "bad UTF-8 in a currency": body(currency=b'"US\xc3"'),
    "overlong UTF-8": body(note=b'"\xc0\xaf"'),
    "a surrogate in UTF-8": body(note=b'"\xed\xa0\x80"'),
    "beyond Unicode": body(note=b'"\xf4\x90\x80\x80"'),
    "bad UTF-8 in a name": b'{"\xff":1}',
    "bad UTF-8 in a metadata key": body(metadata=b'{"\xff":1}'),
    "bad UTF-8 in a metadata value": body(metadata=b'{"a":"\xff"}'),
    "bad UTF-8 deep in metadata": body(metadata=b'{"a":[{"b":"\xc3\x28"}]}'),
    "a lone surrogate in a note": body(note=b'"\\ud800"'),
    "a lone low surrogate": body(note=b'"\\udc00"'),
    "surrogates in the wrong order": body(note=b'"\\udc00\\ud800"'),
    "a lone surrogate after a colon": body(note=b'"a:\\ud800"'),
    "a lone surrogate in a metadata key": body(metadata=b'{"\\ud800":1}'),
    "a lone surrogate in a metadata value": body(metadata=b'{"a":"\\ud800"}'),
    "a lone surrogate in a name": b'{"\\ud800":1}',
    "an unknown escape": body(note=b'"\\x41"'),
    "half an escape": body(note=b'"\\u00"'),
    "the same field twice": b'{"amount":100,"amount":100,"currency":"USD"}',
    "the same field twice, once escaped": b'{"amount":100,"\\u0061mount":1,"currency":"USD"}',
    "metadata twice": b'{"amount":100,"currency":"USD","metadata":{},"metadata":{}}',
    "the same key twice in metadata": body(metadata=b'{"a":1,"a":1}'),
    "the same key twice, once escaped, in metadata": body(metadata=b'{"a":1,"\\u0061":2}'),
    "the same key twice deep in metadata": body(metadata=b'{"a":[{"b":{"c":1,"c":2}}]}'),
    "the same key twice in a wrong amount": body(amount=b'{"a":1,"a":2}'),
    "100,000 brackets": b"[" * 100_000,
    "100,000 brackets, closed": nested(60_000),
    "100,000 brackets in metadata": body(metadata=b'{"a":' + b"[" * 100_000),
    "60,000 brackets in metadata, closed": body(metadata=b'{"a":%b}' % nested(60_000)),
    "20,000 objects in metadata": body(metadata=nested(20_000, b'{"a":', b"}").replace(b":}", b":1}")),
    "60,000 brackets in a note": body(note=nested(60_000)),
    "60,000 brackets in an unknown field": body(extra=nested(60_000)),
}  # fmt: skip


def test_what_is_not_json_is_told_so(world: Live, subtests: pytest.Subtests) -> None:
    for case in UNREADABLE:
        with subtests.test(case), nothing_left_behind(world):
            check(world.send(create(world.merchants[0].key, UNREADABLE[case])), INVALID_JSON)


def test_no_depth_of_nesting_is_a_server_error(world: Live, subtests: pytest.Subtests) -> None:
    for depth in (6, 50, 200, 400, 480, 495, 500, 600, 800, 900, 950, 980, 990, 1000, 2000):
        for opening, closing in ((b"[", b"]"), (b'{"a":', b"}"), (b'[{"a":', b"}]")):
            with subtests.test(f"{depth} {opening!r:.60}"):
                inner = opening * depth + b"1" + closing * depth
                with nothing_left_behind(world):
                    for text in (body(metadata=b'{"a":%b}' % inner), body(note=inner), body(extra=inner), inner):
                        answer = world.send(create(world.merchants[0].key, text))
                        assert answer.status_code in {400, 422}, answer.text
                        refused(answer, answer.status_code, answer.json()["code"])


SURROGATES: Final = (
    b'{"x":1,"\\ud800":1}',
    b'{"x":1,"note":"\\ud800"}',
    b'{"x":1,"metadata":{"\\ud800":"\\udfff"}}',
    b'["\\ud800"]',
)


def test_a_lone_surrogate_after_another_mistake_is_no_server_error(world: Live, subtests: pytest.Subtests) -> None:
    for text in SURROGATES:
        with subtests.test(f"{text!r:.60}"), nothing_left_behind(world):
            for answer in (
                world.send(create(world.merchants[0].key, text)),
                world.send(post(SESSIONS, None, text)),
                world.send(post(f"{WALLET}/1234567890123456/pay", world.customers[0].token, text)),
            ):
                assert answer.status_code in {400, 422}, answer.text
                refused(answer, answer.status_code, answer.json()["code"])


def test_a_body_is_an_object(world: Live, subtests: pytest.Subtests) -> None:
    for text in (b"[]", b"[{}]", b"null", b"true", b"1", b'"amount"', b"100.5", b'[["amount",1]]'):
        with subtests.test(f"{text!r:.60}"), nothing_left_behind(world):
            check(world.send(create(world.merchants[0].key, text)), {"": "wrong_type"})


UNKNOWN: Final = (
    *("status", "from", "to", "_id", "id", "created_at", "createdAt", "merchant", "account", "expires_at", "expiresAt"),
    *(
        "version",
        "livemode",
        "refundedAmount",
        "paidAt",
        "payer",
        "metdata",
        "Amount",
        "AMOUNT",
        "amount ",
        "amount\u200b",
    ),
    *("return_url", "cancel_url", "expires_in", "returnurl", "__proto__", "constructor", "", "$set", "mode", "fee"),
)


def test_an_unknown_field_is_never_lost_in_silence(world: Live, subtests: pytest.Subtests) -> None:
    for name in UNKNOWN:
        with subtests.test(name), nothing_left_behind(world):
            for value in ("paid", None, {"a": 1}):
                answer = world.send(create(world.merchants[0].key, **{name: value}))
                check(answer, {name: "unknown_field"})


def test_a_very_long_unknown_name_is_not_sent_back_whole(world: Live) -> None:
    answer = world.send(create(world.merchants[0].key, **{"x" * 10_000: 1}))
    check(answer, {"x" * 64: "unknown_field"})


# Content types and sizes.

JSON_TYPES: Final = (
    *("application/json", "application/json; charset=utf-8", "application/json;charset=utf-8"),
    *("application/json; charset=UTF-8", "Application/JSON", 'application/json; charset="utf-8"'),
    *("application/json; charset=utf8", "application/json ; profile=x; charset = UTF-8", "application/json;"),
)
OTHER_TYPES: Final = (
    *(
        "text/plain",
        "text/plain; charset=utf-8",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
    ),
    *(
        "application/json; charset=utf-16",
        "application/json; charset=latin-1",
        "application/jsonp",
        "application/json-seq",
    ),
    *(
        "application/problem+json",
        "text/json",
        "application/xml",
        "json",
        "*/*",
        "application/json, text/plain",
        "x" * 9000,
    ),
    *(
        "application/json;" * 500,
        'application/json; charset="utf-16"',
        "application/json; charset=utf-8; charset=utf-7",
    ),
)


def test_json_is_taken_in_its_usual_spellings(world: Live, subtests: pytest.Subtests) -> None:
    for content_type in JSON_TYPES:
        with subtests.test(content_type):
            call = Call("POST", PAYMENTS, world.merchants[0].key, body(), (("content-type", content_type),))
            assert world.send(call).status_code == 201


def test_another_content_type_is_refused(world: Live, subtests: pytest.Subtests) -> None:
    for content_type in OTHER_TYPES:
        with subtests.test(named(content_type)):
            merchant, customer = world.merchants[0], world.customers[0]
            headers = (("content-type", content_type),)
            payment_id = world.payment(merchant)
            with nothing_left_behind(world):
                for path, token, text in (
                    (PAYMENTS, merchant.key, body()),
                    (SESSIONS, None, json.dumps({"email": customer.email, "password": "x"}).encode()),
                    (f"{WALLET}/{payment_id}/pay", customer.token, json.dumps({"pin": PIN}).encode()),
                ):
                    refused(world.send(Call("POST", path, token, text, headers)), 415, "unsupported_media_type")


def test_no_content_type_is_refused(world: Live) -> None:
    with nothing_left_behind(world):
        answer = world.send(Call("POST", PAYMENTS, world.merchants[0].key, body()))
        refused(answer, 415, "unsupported_media_type")


def test_a_compressed_body_is_not_unpacked(world: Live, subtests: pytest.Subtests) -> None:
    for coding in ("gzip", "deflate", "br", "identity, gzip", "x"):
        with subtests.test(coding), nothing_left_behind(world):
            call = create(world.merchants[0].key, body()).with_header("content-encoding", coding)
            refused(world.send(call), 415, "unsupported_media_type")


def test_a_body_over_the_limit_is_refused(world: Live, subtests: pytest.Subtests) -> None:
    for size in (131_073, 200_000, 5_000_000):
        with subtests.test(str(size)), nothing_left_behind(world):
            answer = world.send(create(world.merchants[0].key, body().ljust(size)))
            assert answer.status_code == 413
            assert answer.json()["code"] == "body_too_large"


def test_a_body_in_chunks_is_counted_too(world: Live) -> None:
    head = (
        f"POST {PAYMENTS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {world.merchants[0].key}\r\n"
        "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    ).encode()
    chunk = b"2000\r\n%b\r\n" % (b" " * 0x2000)
    with nothing_left_behind(world), socket.create_connection(("127.0.0.1", world.settings.port), 10) as line:
        line.sendall(head + chunk * 17)
        assert line.recv(100).startswith(b"HTTP/1.1 413 ")


# The other bodies.

SIGN_INS: Final[dict[bytes, Wrong]] = {
    b"{}": {"email": "required", "password": "required"},
    b'{"email":"a@b.example"}': {"password": "required"},
    b'{"email":1,"password":true,"totp":2}': {"email": "wrong_type", "password": "wrong_type", "totp": "wrong_type"},
    b'{"email":["a@b.example"],"password":{"$ne":""}}': {"email": "wrong_type", "password": "wrong_type"},
    b'{"email":null,"password":null}': {"email": "wrong_type", "password": "wrong_type"},
    b'{"email":"%b@b.example","password":"x"}' % (b"a" * 50_000): {"email": "too_long"},
    b'{"email":"a@b.example","password":"%b"}' % (b"a" * 1025): {"password": "too_long"},
    b'{"email":"a\\u0000","password":"\\u0000"}': {"email": "control_character", "password": "control_character"},
    b'{"email":"a@b.example","password":"x","totp":"%b"}' % (b"1" * 17): {"totp": "too_long"},
    b'{"email":"a@b.example","password":"x","operator":true}': {"operator": "unknown_field"},
    b'{"email":"a@b.example","email":"c@d.example","password":"x"}': INVALID_JSON,
    b"[]": {"": "wrong_type"},
    b"": INVALID_JSON,
}  # fmt: skip


def test_signing_in_takes_only_what_it_asks_for(world: Live, subtests: pytest.Subtests) -> None:
    for text, wrong in SIGN_INS.items():
        with subtests.test(named(text)), nothing_left_behind(world):
            check(world.send(post(SESSIONS, None, text)), wrong)


ADDRESSES: Final = (
    "a" * 250,
    "a@" * 120,
    "@" * 254,
    "a" * 64 + "@" + "b." * 90,
    "a@" + "-" * 240,
    " " * 254,
    "a@b.example" + "\u200b",
)


def test_a_strange_address_is_only_a_wrong_one(world: Live, subtests: pytest.Subtests) -> None:
    for email in ADDRESSES:
        with subtests.test(named(email)):
            before = world.counts()
            refused(world.send(sign_in(email)), 401, "wrong_credentials")
            # That somebody tried is written down, unless there is enough of this address already; nothing else is.
            after = world.counts()
            assert after["audit"] - before["audit"] in {0, 1}
            assert after == before | {"audit": after["audit"]}


PINS: Final[dict[bytes, Wrong]] = {
    b"{}": {"pin": "required"},
    b'{"pin":null}': {"pin": "wrong_type"},
    b'{"pin":246813}': {"pin": "wrong_type"},
    b'{"pin":["246813"]}': {"pin": "wrong_type"},
    b'{"pin":true}': {"pin": "wrong_type"},
    b'{"pin":""}': {"pin": "invalid"},
    b'{"pin":"24681"}': {"pin": "invalid"},
    b'{"pin":"2468135"}': {"pin": "invalid"},
    b'{"pin":"24681\\u0000"}': {"pin": "invalid"},
    b'{"pin":"%b"}' % (b"1" * 100_000): {"pin": "invalid"},
    b'{"pin":"246813","PIN":"246813"}': {"PIN": "unknown_field"},
    b'{"pin":"246813","pin":"246813"}': INVALID_JSON,
    b'{"pin":"246813"': INVALID_JSON,
    b"246813": {"": "wrong_type"},
    b"": INVALID_JSON,
}


def test_a_pin_is_a_string_of_six_digits(world: Live, subtests: pytest.Subtests) -> None:
    for text, wrong in PINS.items():
        with subtests.test(named(text)):
            payment_id = world.payment(world.merchants[0])
            with nothing_left_behind(world):
                check(world.send(post(f"{WALLET}/{payment_id}/pay", world.customers[0].token, text)), wrong)


def test_an_idempotency_key_is_printable_and_at_most_255_long(world: Live, subtests: pytest.Subtests) -> None:
    for key in ("", "x" * 256, "x" * 4000, "é", "a\u200bb", "a\tb"):
        with subtests.test(key):
            payment_id = world.payment(world.merchants[0])
            with nothing_left_behind(world):
                for call in (
                    create(world.merchants[0].key),
                    post(f"{WALLET}/{payment_id}/pay", world.customers[0].token, {"pin": PIN}),
                ):
                    check(world.send(call.once(key)), {"Idempotency-Key": "invalid"})


def test_nothing_of_a_path_becomes_a_header(world: Live, subtests: pytest.Subtests) -> None:
    for path in ("%0d%0aset-cookie:%20a=b", "%0d%0a%0d%0a<script>", "%E0%80%8D%E0%80%8Aa:b"):
        with subtests.test(path):
            answer = world.send(Call("GET", f"{PAYMENTS}/{path}", world.merchants[0].key))
            refused(answer, 404, "not_found")
            assert "set-cookie" not in answer.headers
            assert b"script" not in answer.content


# Whatever comes.

NAMES: Final = ("amount", "currency", "note", "metadata", "reference", "returnUrl", "cancelUrl", "expiresIn", "status")
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.integers(1, 1000)
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["USD", "EUR", "https://shop.example/", "", "\0", "a:b"])
)
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
objects = st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=6), anything, max_size=8)
near_misses = st.fixed_dictionaries(
    {"amount": st.integers(1, MAX) | anything, "currency": st.sampled_from(["USD", "SYP", "TRY", "EUR"])},
    optional={
        "note": st.text(max_size=40),
        "metadata": st.dictionaries(st.text(max_size=8), anything, max_size=5),
        "reference": st.text(max_size=10),
        "expiresIn": st.integers(0, 700_000),
    },
)


def check_whatever(world: Live, text: bytes) -> None:
    """Refused as documented with nothing written, or taken and given back as it was sent."""
    key = world.merchants[0].key
    before = world.counts()
    answer = world.send(create(key, text))
    if answer.status_code == 201:
        sent: dict[str, Any] = json.loads(text)
        shown = world.send(retrieve(key, answer.json()["data"]["id"])).json()["data"]
        sent.pop("expiresIn", None)
        assert {name: shown[name] for name in sent} == sent
        assert world.counts()["payment"] == before["payment"] + 1
    else:
        assert (answer.status_code, answer.json()["code"]) in {(400, INVALID_JSON), (422, "validation_failed")}
        refused(answer, answer.status_code, answer.json()["code"])
        assert world.counts() == before


@given(value=near_misses | objects | anything, ascii_only=st.booleans(), indent=st.sampled_from([None, 1]))
def test_any_json_is_taken_as_sent_or_refused_as_documented(
    world: Live, value: object, *, ascii_only: bool, indent: int | None
) -> None:
    check_whatever(world, json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode(errors="surrogatepass"))


# Objects as lists of pairs, in which a key may come twice, written with and without escapes.
few_keys = st.sampled_from(["a", "b", ":", "a:", 'q"', "é"])
doubtful = st.recursive(
    st.integers(0, 9) | few_keys,
    lambda inner: st.lists(inner, max_size=3) | st.lists(st.tuples(few_keys, inner), max_size=3).map(tuple),
    max_leaves=8,
)


def written(value: object, *, ascii_only: bool) -> tuple[str, bool]:
    """JSON text, and whether a key comes twice in one of its objects."""
    if isinstance(value, tuple):
        context = [
            (json.dumps(name, ensure_ascii=ascii_only), written(inner, ascii_only=ascii_only)) for name, inner in value
        ]
        is_twice = len({name for name, _ in value}) < len(value) or any(twice for _, (_, twice) in context)
        return "{" + ",".join(f"{name}:{text}" for name, (text, _) in context) + "}", is_twice
    if isinstance(value, list):
        items = [written(inner, ascii_only=ascii_only) for inner in value]
        return "[" + ",".join(text for text, _ in items) + "]", any(twice for _, twice in items)
    return json.dumps(value, ensure_ascii=ascii_only), False


@given(pairs=st.lists(st.tuples(few_keys, doubtful), max_size=3).map(tuple), note=few_keys, ascii_only=st.booleans())
def test_a_key_that_comes_twice_anywhere_is_always_noticed(
    world: Live, pairs: tuple[tuple[str, object], ...], note: str, *, ascii_only: bool
) -> None:
    metadata, is_twice = written(pairs, ascii_only=ascii_only)
    text = body(note=json.dumps(note).encode(), metadata=metadata.encode())
    answer = world.send(create(world.merchants[0].key, text))
    if is_twice:
        check(answer, INVALID_JSON)
    else:
        assert answer.status_code in {201, 422}


@given(text=st.binary(max_size=200))
def test_any_bytes_are_refused_as_documented(world: Live, text: bytes) -> None:
    check_whatever(world, text)


@given(data=st.data())
def test_a_broken_body_is_refused_as_documented(world: Live, data: st.DataObject) -> None:
    """A valid body with some bytes replaced: nearer to what a bad line or a bad client sends than random bytes."""
    text = bytearray(body(note=b'"a\\u0041"', metadata=b'{"k":[1.0,{"l":null}]}', expiresIn=b"300"))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text) - 1))
        text[at : at + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=2))
    check_whatever(world, bytes(text))


@given(value=objects | st.fixed_dictionaries({"pin": anything}), names=st.sampled_from(["pay", "session"]))
def test_the_other_bodies_withstand_anything_too(world: Live, value: object, names: str) -> None:
    customer = world.customers[0]
    path = SESSIONS if names == "session" else f"{WALLET}/1234567890123456/pay"
    before = world.counts()
    answer = world.send(post(path, customer.token, json.dumps(value).encode()))
    assert (answer.status_code, answer.json()["code"]) in {
        (400, INVALID_JSON),
        (422, "validation_failed"),
        (404, "not_found"),
    }
    assert world.counts() == before
