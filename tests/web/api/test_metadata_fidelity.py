"""Metadata comes back as it was sent, byte for byte, wherever it is shown."""

import json
import re
from typing import Final
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qirsh.web.openapi.document import document
from qirsh.web.routes import ROUTES
from tests.live import PAYMENTS, Call, InProcess, Merchant, create, pay, post, retrieve
from tests.web.lists import EVENTS, asking, try_out

TEXTS: Final = (
    b"{}",
    b"{ }",
    b'{"z":1,"a":2,"m":3}',
    b'{"10":1,"9":2,"1":3}',
    b'{"one":1.0,"int":1,"exp":1E2,"Exp":1e+02,"neg":-0,"negf":-0.0,"tiny":1e-300,"long":0.1000000000000000055511151231}',
    b'{"big":1152921504606846976,"bigger":123456789012345678901234567890,"edge":9007199254740993}',
    b'{"null":null,"true":true,"false":false,"empty":{},"list":[],"nested":{"a":{"b":{"c":null}}}}',
    b'{"__proto__":{"admin":true},"constructor":1,"a.b":2,"a":{"b":3},"$ref":"#","":"empty"}',
    '{"emoji":"🧿👩‍👩‍👧","rtl":"مرحبا","combining":"é vs é","zero":"\u200b\ufeff","line":"\u2028"}'.encode(),
    b'{"escaped":"\\u0041\\u00e9\\ud83e\\uddff","slash":"a\\/b","quote":"\\"\\\\","control":"\\u0001\\n\\t\\u007f"}',
    b'{"\\u0061":"key escaped","colon":"a:b:c","brace":"}{][,","json":"{\\"a\\":1}"}',
    b'{\n  "indented" : [ 1 ,\t2 ],\r\n  "more":"x"\n}',
    b'{"html":"<script>alert(1)</script>&amp;","sql":"\'; DROP TABLE payment; --","percent":"%s %00"}',
)


def created(world: InProcess, key: str, metadata: bytes) -> str:
    answer = world.send(post(PAYMENTS, key, b'{"amount":5,"currency":"USD","metadata":' + metadata + b',"note":"n"}'))
    assert answer.status_code == 201, answer.text
    payment_id: str = answer.json()["data"]["id"]
    return payment_id


def assert_shown(world: InProcess, call: Call, metadata: bytes, times: int = 1) -> None:
    """Between the names that stand beside it, and nowhere changed."""
    content = world.send(call).content
    assert content.count(b'"metadata":' + metadata + b',"') == times, content
    json.loads(content)


def assert_faithful(world: InProcess, merchant: Merchant, metadata: bytes) -> None:
    key = merchant.test_key
    payment_id = created(world, key, metadata)
    assert_shown(world, retrieve(key, payment_id), metadata)
    assert_shown(world, asking(key, PAYMENTS, {"limit": "1"}), metadata)
    assert_shown(world, try_out(key, payment_id), metadata)
    body = b'{"amount":2,"metadata":' + metadata + b"}"
    refund_id = world.data(post(f"{PAYMENTS}/{payment_id}/refunds", key, body))["id"]
    assert_shown(world, Call("GET", f"/api/v1/refunds/{refund_id}", key), metadata)
    assert_shown(world, Call("GET", f"{PAYMENTS}/{payment_id}/refunds", key), metadata)
    last = world.data(asking(key, EVENTS, {"limit": "100", "cursor": newest_event(world, merchant, 2)}))["items"]
    assert [event["type"] for event in last] == ["remote_payment.paid", "refund.created"]
    assert_shown(world, asking(key, f"{EVENTS}/{last[0]['id']}"), metadata)
    assert_shown(world, asking(key, f"{EVENTS}/{last[1]['id']}"), metadata, times=2)
    assert_shown(world, asking(key, PAYMENTS, {"paidAfter": "1970-01-01T00:00:00Z", "limit": "1"}), metadata)


def newest_event(world: InProcess, merchant: Merchant, before: int) -> str:
    """The id of the event that was the last one so many events ago; of none before the first, the first itself."""
    with world.books() as books:
        [(last,)] = books.select("SELECT last FROM event_counter WHERE account = ?", int(merchant.test_account))
    return f"evt_0_{merchant.test_account}_{last - before}"


@pytest.fixture(scope="module")
def shop(still: InProcess) -> Merchant:
    """With an event before all others, so that there is always a cursor."""
    merchant = still.merchant()
    still.data(try_out(merchant.test_key, still.data(create(merchant.test_key))["id"], "cancel"))
    return merchant


@pytest.mark.both_engines
def test_metadata_comes_back_as_sent_from_every_call(
    still: InProcess, shop: Merchant, subtests: pytest.Subtests
) -> None:
    for metadata in TEXTS:
        with subtests.test(f"{metadata!r:.60}"):
            assert_faithful(still, shop, metadata)


_SCALARS: Final = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20),
)
_KEYS: Final = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=10)
_VALUES: Final = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3), max_leaves=6
)


@pytest.mark.both_engines
@given(
    value=st.dictionaries(_KEYS, st.one_of(_SCALARS, st.lists(_SCALARS, max_size=3), _VALUES), max_size=5),
    is_ascii=st.booleans(),
    indent=st.sampled_from([None, 0, 1]),
)
def test_any_metadata_comes_back_as_sent(
    still: InProcess, shop: Merchant, *, value: dict[str, object], is_ascii: bool, indent: int | None
) -> None:
    metadata = json.dumps(value, ensure_ascii=is_ascii, indent=indent).encode()
    if _depth(value) <= 5:
        assert_faithful(still, shop, metadata)


def _depth(value: object) -> int:
    if isinstance(value, dict):
        return 1 + max(map(_depth, value.values()), default=0)
    return 1 + max(map(_depth, value), default=0) if isinstance(value, list) else 0


def test_a_live_payment_keeps_its_metadata_through_pay_and_the_payer_never_sees_it(still: InProcess) -> None:
    merchant, customer = still.merchant(), still.customer()
    for metadata in TEXTS:
        payment_id = created(still, merchant.key, metadata)
        assert b"metadata" not in still.send(pay(customer, payment_id)).content
        assert_shown(still, retrieve(merchant.key, payment_id), metadata)
        assert_shown(still, asking(merchant.key, PAYMENTS, {"limit": "1", "status": "paid"}), metadata)


def test_what_may_be_asked_for_is_what_the_description_says(
    still: InProcess, shop: Merchant, subtests: pytest.Subtests
) -> None:
    for text in ("plain", "", "two\nlines", "v\u00ef\x14", "L\x9e", "\u2028", "nul\0"):
        with subtests.test(text):
            [described] = [
                parameter["schema"]["additionalProperties"]
                for parameter in document(ROUTES, "https://pay.example")["paths"][PAYMENTS]["get"]["parameters"]
                if parameter["name"] == "metadata"
            ]
            asked = still.send(Call("GET", f"{PAYMENTS}?{urlencode({'metadata[k]': text})}", shop.key))
            assert asked.status_code == (200 if re.search(described["pattern"], text) else 422)
