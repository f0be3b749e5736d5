"""The contract of the two documented calls: shapes, statuses, headers, fields and their order, waiting, fidelity."""

import asyncio
import json
import re
from datetime import UTC, datetime
from typing import Any, Final

import httpx2
import pytest

from tests.live import (
    ORIGIN,
    PAYMENTS,
    START,
    Call,
    InProcess,
    Live,
    create,
    field_errors,
    in_process,
    pay,
    post,
    refused,
    retrieve,
    see,
)
from tests.postgres import PostgresServer
from tests.web.long_polls import begun, skip, skipping, wait_for_news_alone, woken

DOCUMENTED: Final = ["_id", "amount", "currency", "status", "to", "from", "note", "metadata"]
FURTHER: Final = [
    *("reference", "refundedAmount", "createdAt", "updatedAt", "expiresAt", "paidAt", "cancelledAt"),
    *("payUrl", "returnUrl", "cancelUrl", "livemode", "version"),
]


def metadata_text(answer: httpx2.Response) -> bytes:
    """The bytes between the documented name before the metadata and the first further name."""
    found = re.search(rb'"note":"(?:[^"\\]|\\.)*","metadata":(.*),"reference":', answer.content, re.DOTALL)
    assert found
    return found[1]


def test_create_answers_201_with_the_id_and_nothing_else(world: Live) -> None:
    body = {"amount": 10098, "currency": "SYP", "note": "Order 1", "metadata": {"order": "1"}}
    answer = world.send(create(world.merchants[0].key, body))
    assert answer.status_code == 201
    assert re.fullmatch(rb'\{"data":\{"id":"[1-9][0-9]{15}"\}\}', answer.content)
    payment_id = answer.json()["data"]["id"]
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["location"] == f"{world.settings.base_url}{PAYMENTS}/{payment_id}"
    assert answer.headers["link"] == f'<{world.settings.base_url}/pay/{payment_id}>; rel="payment"'
    assert "idempotency-replayed" not in answer.headers


def test_retrieve_shows_the_documented_fields_first_and_in_their_order(world: Live) -> None:
    merchant = world.merchants[0]
    payment_id = world.payment(merchant, amount=10098, currency="SYP", note="Order 1", metadata={"order": "1"})
    answer = world.send(retrieve(merchant.key, payment_id))
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert list(answer.json()) == ["data"]
    data = answer.json()["data"]
    assert list(data) == DOCUMENTED + FURTHER
    created_at = data["createdAt"]
    assert data == {
        "_id": payment_id,
        "amount": 10098,
        "currency": "SYP",
        "status": "pending",
        "to": merchant.account,
        "from": None,
        "note": "Order 1",
        "metadata": {"order": "1"},
        "reference": None,
        "refundedAmount": 0,
        "createdAt": created_at,
        "updatedAt": created_at,
        "expiresAt": data["expiresAt"],
        "paidAt": None,
        "cancelledAt": None,
        "payUrl": f"{world.settings.base_url}/pay/{payment_id}",
        "returnUrl": None,
        "cancelUrl": None,
        "livemode": True,
        "version": 1,
    }


def test_a_bare_payment_has_an_empty_note_and_empty_metadata(world: Live) -> None:
    data = world.data(retrieve(world.merchants[0].key, world.payment(world.merchants[0])))
    assert (data["note"], data["metadata"]) == ("", {})


def test_once_paid_the_payment_names_its_payer(world: Live) -> None:
    merchant, customer = world.merchants[0], world.customer()
    payment_id = world.payment(merchant)
    before = world.data(retrieve(merchant.key, payment_id))
    world.data(pay(customer, payment_id))
    after = world.data(retrieve(merchant.key, payment_id))
    assert list(after) == DOCUMENTED + FURTHER
    changed = {name for name in after if after[name] != before[name]}
    assert changed == {"status", "from", "paidAt", "updatedAt", "version"}
    assert (after["status"], after["from"], after["version"]) == ("paid", customer.account, 2)
    assert after["paidAt"] == after["updatedAt"] >= after["createdAt"]


def test_every_field_that_can_be_sent_comes_back(world: Live) -> None:
    body: dict[str, Any] = {
        "amount": 5,
        "currency": "TRY",
        "note": "ملاحظة\n\tİstanbul 🧿",
        "metadata": {"a": [1, {"b": None}]},
        "reference": "ORD-1/ä",
        "returnUrl": f"{ORIGIN}/back?order=1#top",
        "cancelUrl": f"{ORIGIN}/cancel",
    }
    data = world.data(retrieve(world.merchants[0].key, world.payment(world.merchants[0], body)))
    assert {name: data[name] for name in body} == body


def test_times_are_utc_with_milliseconds_and_expiry_follows_creation(still: InProcess) -> None:
    merchant = still.merchants[0]
    still.clock.now = START + 125
    default = still.data(retrieve(merchant.key, still.payment(merchant)))
    shortest = still.data(retrieve(merchant.key, still.payment(merchant, expiresIn=300)))
    longest = still.data(retrieve(merchant.key, still.payment(merchant, expiresIn=604_800)))
    assert default["createdAt"] == "2027-01-15T08:00:00.125Z"
    assert default["expiresAt"] == "2027-01-15T09:00:00.125Z"
    assert shortest["expiresAt"] == "2027-01-15T08:05:00.125Z"
    assert longest["expiresAt"] == "2027-01-22T08:00:00.125Z"


def test_the_servers_own_clock_is_in_the_times(world: Live) -> None:
    before = datetime.now(UTC)
    data = world.data(retrieve(world.merchants[0].key, world.payment(world.merchants[0])))
    created_at = datetime.fromisoformat(data["createdAt"])
    assert -1 < (created_at - before).total_seconds() < 10
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", data["createdAt"])


def test_ids_are_sixteen_digits_unique_and_the_same_on_retrieval(still: InProcess) -> None:
    key = still.merchants[0].key
    ids = []
    for _ in range(20):
        answers = still.together(create(key) for _ in range(50))
        ids += [answer.json()["data"]["id"] for answer in answers]
    assert all(re.fullmatch("[1-9][0-9]{15}", payment_id, re.ASCII) for payment_id in ids)
    assert len(set(ids)) == 1000
    assert ids != sorted(ids)
    seen = still.together(retrieve(key, payment_id) for payment_id in ids[::20])
    assert [answer.json()["data"]["_id"] for answer in seen] == ids[::20]


AS_SENT: Final = {
    "nothing": b"{}",
    "nothing with room": b"{ \n\t }",
    "odd order": b'{"z":1,"a":2,"m":{"y":1,"b":2},"10":1,"9":2}',
    "one point zero and one": b'{"a":1.0,"b":1,"c":1.10,"d":1e2,"e":1E+2,"f":-0,"g":-0.0,"h":0.1}',
    "big integers": b'{"a":1152921504606846976,"b":9007199254740993,"c":-9223372036854775808,"d":18446744073709551616}',
    "a very long integer": b'{"a":' + b"7" * 4000 + b"}",
    "long fractions": b'{"a":3.14159265358979323846264338327950288,"b":1e-320}',
    "nulls and booleans": b'{"a":null,"b":[null,true,false],"c":{"d":null}}',
    "empty things": b'{"":"","a":{},"b":[],"c":""}',
    "names of other languages": b'{"__proto__":{"x":1},"constructor":1,"a.b":1,"$where":1,"_id":1,"amount":5}',
    "emoji and scripts": '{"🛒":"👩‍👩‍👧","سلة":"قرش","kuruş":"İı","cafe\u0301":"café"}'.encode(),
    "escapes": b'{"a":"\\u0041\\/\\"\\\\\\b\\f\\n\\r\\t","\\u0062":"\\ud83d\\uded2"}',
    "white space": b'{ "a" :\t[ 1 , 2 ] ,\r\n "b" : { } }',
    "markup and templates": b'{"a":"{{7*7}}${7*7}%s{0.__class__}<script>\'; DROP TABLE payment; --"}',
    "colons and quotes": b'{"a:b":"c:d","e":"\\":","f":["::",{"g:":":"}]}',
    "as deep as allowed": b'{"a":[[[[1]]]],"b":{"c":{"d":{"e":{}}}}}',
}


def test_metadata_comes_back_byte_for_byte(world: Live, subtests: pytest.Subtests) -> None:
    for name, text in AS_SENT.items():
        with subtests.test(name):
            merchant = world.merchants[0]
            body = b'{"amount":100,"metadata":%b,"currency":"USD"}' % text
            answer = world.send(retrieve(merchant.key, world.payment(merchant, body)))
            assert metadata_text(answer) == text
            assert list(answer.json()["data"]) == DOCUMENTED + FURTHER


def test_the_payer_never_sees_the_metadata(world: Live) -> None:
    payment_id = world.payment(world.merchants[0], metadata={"margin": "secret of the shop"})
    assert b"secret" not in world.send(see(world.customer(), payment_id)).content


NOTES: Final = {
    "empty": "",
    "longest": "x" * 500,
    "longest in emoji": "🧿" * 500,
    "combining": "e\u0301" * 250,
    "arabic": "دفعة مقابل الطلب رقم ٤٢",
    "lines and tabs": "one\ntwo\tthree",
    "templates": "{{7*7}} ${7*7} {0.__class__} %s <b>",
    "quotes": "'\"`\\; --",
    "marks and joiners": "\u200fabc\u200d\u200e",
    "lines as Windows ends them": "one\r\ntwo\r\n",
    "ten lines": "\n" * 9,
}


def test_notes_come_back_untouched(world: Live, subtests: pytest.Subtests) -> None:
    for name, note in NOTES.items():
        with subtests.test(name):
            merchant = world.merchants[0]
            payment_id = world.payment(merchant, note=note)
            assert world.data(retrieve(merchant.key, payment_id))["note"] == note
            assert world.data(see(world.customers[0], payment_id))["note"] == note


def test_amounts_come_back_digit_exact(world: Live, subtests: pytest.Subtests) -> None:
    for amount in (1, 2, 10098, 2**31, 2**32 + 1, 2**49 + 1, 999_999_999_999_998, 999_999_999_999_999):
        with subtests.test(str(amount)):
            merchant = world.merchants[0]
            answer = world.send(retrieve(merchant.key, world.payment(merchant, amount=amount)))
            assert b'"amount":%d,' % amount in answer.content


def test_each_currency_is_taken(world: Live, subtests: pytest.Subtests) -> None:
    for currency in ("SYP", "USD", "TRY", "EUR"):
        with subtests.test(currency):
            payment_id = world.payment(world.merchants[0], currency=currency)
            assert world.data(retrieve(world.merchants[0].key, payment_id))["currency"] == currency


RETURNS: Final = {
    f"{ORIGIN}": None,
    f"{ORIGIN}/": None,
    f"{ORIGIN}/a/b?c=d&e=f#g": None,
    "https://SHOP.example/back": None,
    "https://shop.example:443/": None,
    "https://shop.example:8443/": "url_not_registered",
    "https://shop.example.evil.example/": "url_not_registered",
    "https://evil.example/https://shop.example": "url_not_registered",
    "https://evilshop.example/": "url_not_registered",
    "https://www.shop.example/": "url_not_registered",
    "https://shop.example./": "url_not_registered",
    "http://localhost/back": "url_not_registered",
    "http://shop.example/": "invalid_url",
    "https://shop.example@evil.example/": "invalid_url",
    "https://user:word@shop.example/": "invalid_url",
    "https://shop.example\\@evil.example/": "invalid_url",
    "//shop.example/": "invalid_url",
    "/back": "invalid_url",
    "shop.example": "invalid_url",
    "https:/shop.example": "invalid_url",
    "https:///shop.example": "invalid_url",
    "https://shop.example:port/": "invalid_url",
    "https://shop.example:99999/": "invalid_url",
    "https://[shop.example/": "invalid_url",
    "javascript:alert(1)": "invalid_url",
    "javascript://shop.example/%0aalert(1)": "invalid_url",
    "data:text/html,x": "invalid_url",
    "ftp://shop.example/": "invalid_url",
    "https://shop.example/\r\nLocation: https://evil.example": "invalid_url",
    " https://shop.example/": "invalid_url",
    "https://shop.example/ ": "invalid_url",
    "https://shop.exämple/": "invalid_url",
    "": "invalid_url",
    f"{ORIGIN}/{'x' * 2048}": "too_long",
}


def test_customers_are_sent_back_only_to_registered_origins(world: Live, subtests: pytest.Subtests) -> None:
    for field in ("returnUrl", "cancelUrl"):
        for url, wrong in RETURNS.items():
            with subtests.test(f"{field} {url}"):
                merchant = world.merchants[0]
                answer = world.send(create(merchant.key, **{field: url}))
                if wrong is None:
                    assert answer.status_code == 201
                    assert world.data(retrieve(merchant.key, answer.json()["data"]["id"]))[field] == url
                else:
                    assert field_errors(answer) == {field: wrong}


def test_two_unregistered_addresses_are_named_together(world: Live) -> None:
    elsewhere = "https://evil.example/"
    answer = world.send(create(world.merchants[0].key, returnUrl=elsewhere, cancelUrl=elsewhere))
    assert field_errors(answer) == {"returnUrl": "url_not_registered", "cancelUrl": "url_not_registered"}


def test_live_customers_are_sent_back_by_https_unless_all_is_one_machine(engine: PostgresServer | None) -> None:
    with in_process(engine, shops=1, people=0) as still:
        here = "http://localhost:8000"
        asked = still.act("account request", account=still.merchants[0].personal, name="Till", returnOrigins=here)
        still.act("account approve", account=asked["account"])
        live = still.act("key issue", account=asked["account"])["key"]
        trial = still.act("key issue", account=asked["account"], test=True)["key"]
        back = {"returnUrl": f"{here}/paid", "cancelUrl": f"{here}/left"}
        for key in (live, trial):  # The service of this world is on this machine.
            assert still.send(create(key, **back)).status_code == 201
        still.change(base_url="https://pay.example")
        assert still.send(create(trial, **back)).status_code == 201
        assert field_errors(still.send(create(live, **back))) == dict.fromkeys(back, "invalid_url")
        assert still.send(create(live)).status_code == 201


def test_the_test_account_has_the_origins_of_its_shop(world: Live) -> None:
    test_key = world.merchants[0].test_key
    payment_id = world.data(create(test_key, returnUrl=f"{ORIGIN}/back"))["id"]
    assert world.data(retrieve(test_key, payment_id))["returnUrl"] == f"{ORIGIN}/back"
    assert field_errors(world.send(create(test_key, returnUrl="https://evil.example/"))) == {
        "returnUrl": "url_not_registered"
    }


def test_an_optional_field_that_is_null_is_as_good_as_absent(world: Live) -> None:
    merchant = world.merchants[0]
    optional = ("note", "metadata", "reference", "returnUrl", "cancelUrl", "expiresIn")
    bare = world.data(retrieve(merchant.key, world.data(create(merchant.key))["id"]))
    for names in (*((name,) for name in optional), optional):
        shown = world.data(retrieve(merchant.key, world.data(create(merchant.key, **dict.fromkeys(names)))["id"]))
        for name in ("note", "metadata", "reference", "returnUrl", "cancelUrl"):
            assert shown[name] == bare[name]
    # What GET returned can be sent again.
    again = {name: shown[name] for name in ("amount", "currency", "note", "metadata", "reference", "returnUrl")}
    assert world.send(create(merchant.key, again)).status_code == 201
    # A null hides no other fault, and is none for a field that must be there.
    assert field_errors(world.send(create(merchant.key, amount=None, note=None))) == {"amount": "wrong_type"}
    payment_id = world.paid(merchant, world.customer())
    refunding = post(f"{PAYMENTS}/{payment_id}/refunds", merchant.key, dict.fromkeys(("amount", "note", "metadata")))
    assert world.send(refunding).status_code == 201


def test_a_body_that_cannot_be_read_is_explained_in_our_words(world: Live) -> None:
    key = world.merchants[0].key
    for text, detail in (
        (b'{"metadata":' + b"[" * 100_000, "nested too deeply"),
        (b'{"note":"\xff"}', "not UTF-8"),
        (b"", "empty"),
        (b'{"note":"\\ud800"}', "half of a surrogate pair"),
    ):
        answer = world.send(create(key, text))
        refused(answer, 400, "invalid_json")
        assert detail in answer.json()["detail"]
        assert "recursion" not in answer.text
    answer = world.send(create(key, returnUrl=f"{ORIGIN}/\u0634\u0643\u0631\u0627"))
    assert "percent-encode" in answer.json()["errors"][0]["detail"]


def test_all_field_errors_are_told_at_once(world: Live) -> None:
    body = {
        "amount": "100",
        "note": "x" * 501,
        "metadata": [],
        "reference": 7,
        "returnUrl": "nowhere",
        "cancelUrl": 7,
        "expiresIn": 1,
    }
    wrong = {
        "amount": "wrong_type",
        "currency": "required",
        "note": "too_long",
        "metadata": "wrong_type",
        "reference": "wrong_type",
        "returnUrl": "invalid_url",
        "cancelUrl": "wrong_type",
        "expiresIn": "out_of_range",
    }
    key = world.merchants[0].key
    assert field_errors(world.send(create(key, body))) == wrong
    # An unknown field beside them hides none of them, wherever it stands.
    assert field_errors(world.send(create(key, {"status": "paid", **body}))) == {"status": "unknown_field", **wrong}
    assert field_errors(world.send(create(key, {**body, "status": "paid"}))) == {"status": "unknown_field", **wrong}


def test_an_unknown_field_does_not_hide_metadata_that_is_too_long(world: Live) -> None:
    metadata = {f"{number}": "x" * 900 for number in range(10)}
    answer = world.send(create(world.merchants[0].key, metadata=metadata, metdata={}))
    assert field_errors(answer) == {"metadata": "too_long", "metdata": "unknown_field"}


# Waiting.


def test_a_wait_ends_when_somebody_pays(still: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many may wait for one payment."""
    wait_for_news_alone(monkeypatch)
    merchant, customer = still.merchants[0], still.customer()
    payment_id = still.payment(merchant)
    answer = woken(still, retrieve(merchant.key, payment_id, "?wait=30"), pay(customer, payment_id))
    assert (answer["data"]["status"], answer["data"]["from"]) == ("paid", customer.account)
    payment_id = still.payment(merchant)

    async def scene() -> list[str]:
        tasks = await begun(still, *[retrieve(merchant.key, payment_id, "?wait=30")] * 20)
        assert (await still.sent(pay(customer, payment_id))).status_code == 200
        return [answer.json()["data"]["status"] for answer in await asyncio.gather(*tasks)]

    assert still.run(scene()) == ["paid"] * 20


def test_a_wait_for_nothing_ends_in_time_with_the_pending_payment() -> None:
    with skipping() as world:
        payment_id = world.payment(world.merchants[0])

        async def scene() -> str:
            [task] = await begun(world, retrieve(world.merchants[0].key, payment_id, "?wait=30"))
            skip(30)
            return str((await task).json()["data"]["status"])

        assert world.run(scene()) == "pending"


def test_what_cannot_change_is_not_waited_for(still: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is final, and what is somebody else's."""
    wait_for_news_alone(monkeypatch)
    merchant, customer = still.merchants[0], still.customer()
    payment_id, pending_id = still.payment(merchant), still.payment(merchant)
    still.data(pay(customer, payment_id))
    assert still.data(retrieve(merchant.key, payment_id, "?wait=30"))["status"] == "paid"
    assert still.data(retrieve(merchant.key, pending_id, "?wait=0"))["status"] == "pending"
    refused(still.send(retrieve(still.merchants[1].key, pending_id, "?wait=30")), 404, "not_found")


def test_a_wait_ends_when_the_payment_expires(still: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    wait_for_news_alone(monkeypatch)
    merchant = still.merchants[0]
    payment_id = still.payment(merchant, expiresIn=300)

    async def scene() -> str:
        [task] = await begun(still, retrieve(merchant.key, payment_id, "?wait=30"))
        still.clock.advance(300_000)
        await still.expired_due()
        return str((await task).json()["data"]["status"])

    assert still.run(scene()) == "expired"


BAD_QUERIES: Final = (
    *("?wait=31", "?wait=-1", "?wait=+1", "?wait=1.5", "?wait=", "?wait", "?wait=abc", "?wait=1e1"),
    *("?wait=0x1", "?wait=100", "?wait=999999999999999999999", "?wait=1&wait=2", "?wait=1&status=paid", "?Wait=1"),
    *("?status=paid", "?_method=DELETE", "?account=1", "?wait=%D9%A1", "?wait=1%00", "?=", "?wait=1;"),
)


def test_a_query_is_a_wait_of_0_to_30_seconds_or_refused(world: Live, subtests: pytest.Subtests) -> None:
    for query in BAD_QUERIES:
        with subtests.test(query):
            merchant = world.merchants[0]
            answer = world.send(retrieve(merchant.key, world.payment(merchant), query))
            assert field_errors(answer)


# Reading what was written.


def test_what_was_acknowledged_is_there_at_once(world: Live) -> None:
    merchant, customer = world.merchants[0], world.customer()

    async def create_pay_look() -> list[str]:
        created = await world.sent(create(merchant.key, amount=1))
        payment_id = created.json()["data"]["id"]
        before = await world.sent(retrieve(merchant.key, payment_id))
        await world.sent(pay(customer, payment_id))
        after = await world.sent(retrieve(merchant.key, payment_id))
        return [before.json()["data"]["status"], after.json()["data"]["status"]]

    async def many() -> list[list[str]]:
        return await asyncio.gather(*(create_pay_look() for _ in range(50)))

    assert world.run(many()) == [["pending", "paid"]] * 50


# Addresses and methods.


def test_a_payment_that_is_not_ones_own_looks_like_none_at_all(world: Live) -> None:
    mine, other = world.merchants[0], world.merchants[1]
    own, foreign = world.payment(mine), world.payment(other)
    assert world.send(retrieve(mine.key, own)).status_code == 200
    # The own id with its digits moved on is mistyped; a valid id that was never given out comes from another world.
    mistyped = own[:-1] + str((int(own[-1]) + 1) % 10)
    calls = [
        retrieve(mine.key, foreign),
        retrieve(mine.key, mistyped),
        retrieve(mine.key, "1234567890123456"),
        retrieve(mine.test_key, own),
        retrieve(other.key, own),
        retrieve(mine.key, world.data(create(mine.test_key))["id"]),
        retrieve(mine.key, "nothing"),
    ]
    bodies = set()
    for call in calls:
        answer = world.send(call)
        request_id = refused(answer, 404, "not_found")["requestId"]
        assert answer.headers.keys() == world.send(calls[0]).headers.keys()
        bodies.add(answer.content.replace(request_id.encode(), b""))
    assert len(bodies) == 1


IDS: Final = (
    *("0", "123456789012345", "12345678901234567", "+123456789012345", "-123456789012345", "1234 56789012345"),
    *("abcdefghijklmnop", "1" * 4000, "%00", "%00" * 16, "..%2F..%2Fetc%2Fpasswd", "' OR 1=1 --"),
    *(
        "1234567890123456;",
        "\uff11" * 16,
        "\u0661" * 16,
        "%ff%fe",
    ),
    *("1e15", "0x1234567890123", "1_34567890123456", "*", "{id}", "%2A", "null", "NaN", "1234567890123456%0a"),
)


def test_an_id_that_is_none_is_not_found(world: Live, subtests: pytest.Subtests) -> None:
    for payment_id in IDS:
        with subtests.test(payment_id):
            refused(world.send(Call("GET", f"{PAYMENTS}/{payment_id}", world.merchants[0].key)), 404, "not_found")


ADDRESSES: Final = (
    *("/api", "/api/v1", "/api/v1/", "/api/v2/remote-payments", "/api/v1/remote-payment", f"{PAYMENTS}/../.."),
    *(f"{PAYMENTS}/", f"{PAYMENTS}//cancel", f"{PAYMENTS}/1234567890123456/", f"{PAYMENTS}/1234567890123456/cancel/x"),
)


def test_an_unknown_address_is_told_from_an_unknown_payment(world: Live, subtests: pytest.Subtests) -> None:
    for path in ADDRESSES:
        for method in ("GET", "POST", "DELETE"):
            with subtests.test(f"{path} {method}"):
                refused(world.send(Call(method, path, world.merchants[0].key)), 404, "unknown_address")


def test_another_method_names_those_that_are_allowed(world: Live, subtests: pytest.Subtests) -> None:
    for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "REPORT"):
        with subtests.test(method):
            payment_id = world.payment(world.merchants[0])
            for path, allow in ((PAYMENTS, "HEAD, POST, GET"), (f"{PAYMENTS}/{payment_id}", "HEAD, GET")):
                if method in allow.split(", "):
                    continue
                answer = world.send(Call(method, path, world.merchants[0].key))
                refused(answer, 405, "method_not_allowed")
                assert answer.headers["allow"] == allow


def test_head_is_get_without_its_body(world: Live) -> None:
    merchant = world.merchants[0]
    call = retrieve(merchant.key, world.payment(merchant))
    got, head = world.send(call), world.send(call._replace(method="HEAD"))
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == str(len(got.content))
    only_posted = Call("HEAD", f"{PAYMENTS}/1/cancel", merchant.key)
    for refused_call, status in ((only_posted, 405), (Call("HEAD", call.path), 401)):
        answer = world.send(refused_call)
        assert (answer.status_code, answer.content) == (status, b"")
    # The connection is still in step: the next answer is the next request's.
    assert world.send(call).content == got.content


def test_nothing_beside_the_method_changes_what_is_done(world: Live) -> None:
    merchant = world.merchants[0]
    payment_id = world.payment(merchant)
    call = retrieve(merchant.key, payment_id)
    for name in ("x-http-method-override", "x-http-method", "x-method-override"):
        assert world.send(call.with_header(name, "DELETE")).status_code == 200
    refused(world.send(post(f"{PAYMENTS}/{payment_id}", merchant.key, {})), 405, "method_not_allowed")


def test_the_body_of_a_retrieval_is_ignored(world: Live) -> None:
    merchant = world.merchants[0]
    call = retrieve(merchant.key, world.payment(merchant))._replace(content=json.dumps({"status": "paid"}).encode())
    assert world.data(call)["status"] == "pending"
