"""Refunds over HTTP: what goes back, what does not and why, and that money, payment, event and refund agree."""

from typing import Any, Final

import httpx2
import pytest

from tests.live import (
    FUNDS,
    PAYMENTS,
    START,
    Call,
    InProcess,
    Live,
    Merchant,
    World,
    cancel,
    create,
    field_errors,
    pay,
    post,
    refund,
    refused,
    retrieve,
    see,
    sign_in,
    trial,
)

MAX: Final = 999_999_999_999_999


def seen(world: World, key: str, refund_id: str) -> dict[str, Any]:
    return world.data(Call("GET", f"/api/v1/refunds/{refund_id}", key))


def refunds_of(world: World, key: str, payment_id: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = world.data(Call("GET", f"{PAYMENTS}/{payment_id}/refunds?limit=100", key))["items"]
    return items


def events_of(world: World, key: str, payment_id: str) -> list[dict[str, Any]]:
    """Those of one payment, oldest first."""
    found, cursor = [], ""
    while True:
        page = world.data(Call("GET", f"/api/v1/events?limit=100{cursor}", key))
        for event in page["items"]:
            payment = event["data"].get("payment", event["data"])
            found += [event] if payment["_id"] == payment_id else []
        if not page["hasMore"]:
            return found
        cursor = f"&cursor={page['nextCursor']}"


def transfers_of(world: World, payment_id: str) -> list[tuple[Any, ...]]:
    with world.books() as books:
        return books.select(
            "SELECT kind, debit, credit, amount, currency FROM transfer WHERE payment = ? ORDER BY id",
            books.payment_number(payment_id),
        )


# What goes back.


@pytest.mark.both_engines
def test_a_refund_brings_both_balances_back_exactly(world: Live) -> None:
    merchant, customer = world.merchants[0], world.customer()
    till = world.held(merchant.account)
    payment_id = world.paid(merchant, customer, amount=12_345)
    assert (world.balance(customer), world.held(merchant.account)) == (FUNDS - 12_345, till + 12_345)
    before = world.counts()
    answer = world.send(refund(merchant.key, payment_id, note="sorry", metadata={"a": 1.0}))
    assert answer.status_code == 201
    refund_id = answer.json()["data"]["id"]
    assert answer.content == f'{{"data":{{"id":"{refund_id}"}}}}'.encode()
    assert answer.headers["location"] == f"{world.settings.base_url}/api/v1/refunds/{refund_id}"
    assert (world.balance(customer), world.held(merchant.account)) == (FUNDS, till)
    after = world.counts()
    grown = {table: after[table] - before[table] for table in after if after[table] != before[table]}
    assert grown == {"refund": 1, "transfer": 1, "event": 1}

    shown = world.data(Call("GET", answer.headers["location"].removeprefix(world.settings.base_url), merchant.key))
    expected = {"id": refund_id, "paymentId": payment_id, "amount": 12_345, "currency": "USD", "note": "sorry"}
    assert {name: shown[name] for name in expected} == expected
    assert (shown["metadata"], shown["livemode"]) == ({"a": 1.0}, True)
    assert transfers_of(world, payment_id) == [
        ("pay", int(customer.account), int(merchant.account), 12_345, "USD"),
        ("refund", int(merchant.account), int(customer.account), 12_345, "USD"),
    ]


@pytest.mark.both_engines
def test_part_and_part_and_the_rest_are_all_of_it(world: Live) -> None:
    merchant, customer = world.merchants[0], world.customer()
    payment_id = world.paid(merchant, customer, amount=1000, currency="SYP")
    ids, gone = [], 0
    for amount, asked in ((1, {"amount": 1}), (399, {"amount": 399}), (600, {})):
        ids.append(world.data(refund(merchant.key, payment_id, **asked))["id"])
        gone += amount
        shown = world.data(retrieve(merchant.key, payment_id))
        # A refund never hides that it was paid.
        assert (shown["status"], shown["refundedAmount"], shown["version"]) == ("paid", gone, 2 + len(ids))
        assert (shown["from"], shown["amount"]) == (customer.account, 1000)
        assert world.balance(customer, "SYP") == FUNDS - 1000 + gone
        assert seen(world, merchant.key, ids[-1])["amount"] == amount
    for asked in ({}, {"amount": 1}):
        refused(world.send(refund(merchant.key, payment_id, **asked)), 409, "refund_exceeds")
    listed = refunds_of(world, merchant.key, payment_id)
    assert [one["id"] for one in listed] == ids
    assert [seen(world, merchant.key, one["id"]) for one in listed] == listed

    events = events_of(world, merchant.key, payment_id)
    assert [event["type"] for event in events] == ["remote_payment.paid", *["refund.created"] * 3]
    assert [event["data"]["refund"] for event in events[1:]] == listed
    payments = [events[0]["data"], *(event["data"]["payment"] for event in events[1:])]
    assert [payment["version"] for payment in payments] == [2, 3, 4, 5]
    assert [payment["refundedAmount"] for payment in payments] == [0, 1, 400, 1000]
    assert payments[-1] == world.data(retrieve(merchant.key, payment_id))
    assert [row[0] for row in transfers_of(world, payment_id)] == ["pay", *["refund"] * 3]
    assert world.violations() == []


def test_the_payer_still_sees_what_they_paid(world: Live) -> None:
    merchant, customer = world.merchants[0], world.customer()
    payment_id = world.paid(merchant, customer)
    world.data(refund(merchant.key, payment_id))
    assert world.data(see(customer, payment_id))["status"] == "paid"
    refused(world.send(pay(customer, payment_id)), 409, "already_paid")
    refused(world.send(cancel(merchant.key, payment_id)), 409, "already_paid")


def test_what_came_back_can_be_spent_again(world: Live) -> None:
    merchant, customer = world.merchant(), world.customer()
    for _ in range(3):
        payment_id = world.paid(merchant, customer, amount=FUNDS)
        refused(world.send(pay(customer, world.payment(merchant))), 409, "insufficient_funds")
        world.data(refund(merchant.key, payment_id))
    assert (world.balance(customer), world.held(merchant.account)) == (FUNDS, 0)


def test_the_smallest_and_the_largest_payment_go_back(world: Live, subtests: pytest.Subtests) -> None:
    for amount in (1, 2, MAX - 1, MAX):
        with subtests.test(str(amount)):
            merchant, customer = world.merchant(), world.customer()
            world.deposit(customer.account, MAX - FUNDS)
            payment_id = world.paid(merchant, customer, amount=amount)
            if amount < MAX:
                left_alone(world, refund(merchant.key, payment_id, amount=amount + 1), 409, "refund_exceeds")
            world.data(refund(merchant.key, payment_id, amount=amount))
            assert (world.balance(customer), world.held(merchant.account)) == (MAX, 0)


# What does not.


def left_alone(world: World, call: Call, status: int, code: str) -> None:
    before = world.counts()
    refused(world.send(call), status, code)
    assert world.counts() == before


def test_what_was_not_paid_cannot_go_back(still: InProcess) -> None:
    merchant = still.merchants[0]
    still.clock.now = START
    pending, cancelled, due = (still.payment(merchant, expiresIn=300) for _ in range(3))
    left_alone(still, refund(merchant.key, pending), 409, "not_paid")
    still.data(cancel(merchant.key, cancelled))
    left_alone(still, refund(merchant.key, cancelled), 409, "cancelled")
    still.clock.advance(300_000)
    # The clock decides, whether the worker has been by or not.
    left_alone(still, refund(merchant.key, due), 409, "expired")
    still.expire_due()
    left_alone(still, refund(merchant.key, due), 409, "expired")
    assert still.data(retrieve(merchant.key, due))["refundedAmount"] == 0
    still.clock.now = START


def test_more_than_was_paid_cannot_go_back(world: Live, subtests: pytest.Subtests) -> None:
    for too_much in (101, 200, MAX):
        with subtests.test(str(too_much)):
            merchant, customer = world.merchants[0], world.customers[0]
            world.paid(merchant, customer, amount=1000)  # The shop has enough.
            payment_id = world.paid(merchant, customer, amount=100)
            left_alone(world, refund(merchant.key, payment_id, amount=too_much), 409, "refund_exceeds")
            world.data(refund(merchant.key, payment_id, amount=60))
            left_alone(world, refund(merchant.key, payment_id, amount=41), 409, "refund_exceeds")
            world.data(refund(merchant.key, payment_id, amount=40))


def test_money_that_the_shop_has_spent_cannot_go_back_until_there_is_some_again(world: Live) -> None:
    merchant, customer = world.merchant(), world.customer()
    payment_id = world.paid(merchant, customer, amount=1000)
    world.withdraw(merchant.account, 999)
    left_alone(world, refund(merchant.key, payment_id), 409, "merchant_balance_short")
    left_alone(world, refund(merchant.key, payment_id, amount=2), 409, "merchant_balance_short")
    world.data(refund(merchant.key, payment_id, amount=1))
    assert world.held(merchant.account) == 0
    # Money of another currency is no help; money of another customer is.
    world.paid(merchant, customer, amount=5000, currency="EUR")
    left_alone(world, refund(merchant.key, payment_id), 409, "merchant_balance_short")
    world.paid(merchant, world.customers[0], amount=999)
    world.data(refund(merchant.key, payment_id))
    assert (world.balance(customer), world.held(merchant.account)) == (FUNDS, 0)


def test_more_than_was_paid_is_told_before_the_shops_balance(world: Live) -> None:
    merchant, customer = world.merchant(), world.customers[0]
    payment_id = world.paid(merchant, customer, amount=1000)
    world.withdraw(merchant.account, 1000)
    left_alone(world, refund(merchant.key, payment_id, amount=1001), 409, "refund_exceeds")


def test_a_suspended_shop_gives_nothing_back_and_a_suspended_payer_gets_it_back(world: Live) -> None:
    merchant, customer = world.merchant(), world.customer()
    payment_id = world.paid(merchant, customer, amount=100)
    world.act("account suspend", account=merchant.account)
    left_alone(world, refund(merchant.key, payment_id), 403, "account_suspended")
    world.act("account resume", account=merchant.account)
    world.act("account suspend", account=customer.account)
    world.data(refund(merchant.key, payment_id))
    assert world.held(customer.account) == FUNDS


# Bodies.


@pytest.fixture(scope="module")
def paid(world: Live) -> tuple[Merchant, str]:
    """One that nobody gives back."""
    merchant = world.merchants[1]
    return merchant, world.paid(merchant, world.customer(), amount=10_000)


WRONG_BODIES: Final = [
    ({"amount": 0}, {"amount": "out_of_range"}),
    ({"amount": -1}, {"amount": "out_of_range"}),
    ({"amount": -(2**63)}, {"amount": "out_of_range"}),
    ({"amount": MAX + 1}, {"amount": "out_of_range"}),
    ({"amount": 2**63}, {"amount": "out_of_range"}),
    ({"amount": 10**30}, {"amount": "out_of_range"}),
    ({"amount": "1"}, {"amount": "wrong_type"}),
    ({"amount": 1.0}, {"amount": "wrong_type"}),
    ({"amount": 1.5}, {"amount": "wrong_type"}),
    ({"amount": True}, {"amount": "wrong_type"}),
    ({"amount": [1]}, {"amount": "wrong_type"}),
    ({"amount": {}}, {"amount": "wrong_type"}),
    ({"note": 1}, {"note": "wrong_type"}),
    ({"note": "x" * 501}, {"note": "too_long"}),
    ({"note": "a\x00b"}, {"note": "control_character"}),
    ({"metadata": []}, {"metadata": "wrong_type"}),
    ({"metadata": "{}"}, {"metadata": "wrong_type"}),
    ({"currency": "USD"}, {"currency": "unknown_field"}),
    ({"amuont": 1}, {"amuont": "unknown_field"}),
    ({"amount": "x", "note": 1, "to": 1}, {"amount": "wrong_type", "note": "wrong_type", "to": "unknown_field"}),
    ([], {"": "wrong_type"}),
    (1, {"": "wrong_type"}),
    (None, {"": "wrong_type"}),
    ("", {"": "wrong_type"}),
]


def test_a_wrong_body_is_named_field_by_field_and_gives_nothing_back(
    world: Live, paid: tuple[Merchant, str], subtests: pytest.Subtests
) -> None:
    for body, errors in WRONG_BODIES:
        with subtests.test(repr(body)):
            merchant, payment_id = paid
            before = world.counts()
            call = post(f"{PAYMENTS}/{payment_id}/refunds", merchant.key, body)
            for one in (call, call.once("wrong body")):
                assert field_errors(world.send(one)) == errors
            assert world.counts() == before


UNREADABLE_BODIES: Final = [
    (b"{", 400),
    (b" ", 400),
    (b"\xff", 400),
    (b'\xef\xbb\xbf{"amount":1}', 400),
    (b'{"amount":1,"amount":2}', 400),
    (b'{"amount":1,"\\u0061mount":2}', 400),
    (b'{"amount":NaN}', 400),
    (b'{"amount":1e400}', 400),
    (b'{"note":"\\ud800"}', 400),
    (b'{"metadata":{"a":1,"a":2}}', 400),
    (b'{"amount":1} {"amount":2}', 400),
    (b'{"metadata":' + b"[" * 60_000, 400),
    (b'{"amount":' + b"1" * 5000 + b"}", 422),
    (b'{"note":"' + b"x" * 140_000 + b'"}', 413),
]


def test_what_cannot_be_read_gives_nothing_back(
    world: Live, paid: tuple[Merchant, str], subtests: pytest.Subtests
) -> None:
    for content, status in UNREADABLE_BODIES:
        with subtests.test(f"{content!r:.60}"):
            merchant, payment_id = paid
            before = world.counts()
            answer = world.send(post(f"{PAYMENTS}/{payment_id}/refunds", merchant.key, content))
            assert answer.status_code == status, answer.text
            assert world.counts() == before


def test_without_a_body_all_that_is_left_goes_back_whatever_the_content_type_says(world: Live) -> None:
    merchant, customer = world.merchants[0], world.customers[0]
    for content, content_type in (
        (None, None),
        (b"", None),
        (b"", "application/json"),
        (b"", "text/plain"),
        (b"{}", "application/json; charset=utf-8"),
    ):
        payment_id = world.paid(merchant, customer, amount=70)
        call = Call("POST", f"{PAYMENTS}/{payment_id}/refunds", merchant.key, content)
        call = call.with_header("content-type", content_type) if content_type else call
        assert seen(world, merchant.key, world.data(call)["id"])["amount"] == 70


def test_a_body_that_is_not_said_to_be_json_is_not_read(
    world: Live, paid: tuple[Merchant, str], subtests: pytest.Subtests
) -> None:
    for content_type in ("", "text/plain", "application/x-www-form-urlencoded", "application/json; charset=utf-16"):
        with subtests.test(content_type):
            merchant, payment_id = paid
            call = Call("POST", f"{PAYMENTS}/{payment_id}/refunds", merchant.key, b'{"amount":1}')
            left_alone(
                world,
                call.with_header("content-type", content_type) if content_type else call,
                415,
                "unsupported_media_type",
            )


ECHOED_METADATA: Final = [
    b"{}",
    b'{"b":1,"a":1.0,"c":1152921504606846976}',
    b'{"__proto__":null,"a.b":{"c":[1,{"d":[]}]}}',
    '{"مفتاح":"قرش 💸"}'.encode(),
    b'{ "spaced" : "\\u00e9" }',
]


def test_metadata_and_note_come_back_as_sent(world: Live, subtests: pytest.Subtests) -> None:
    for metadata in ECHOED_METADATA:
        with subtests.test(f"{metadata!r:.60}"):
            merchant = world.merchants[0]
            payment_id = world.paid(merchant, world.customers[0], amount=10)
            note = "قرش\n\tليرة 💸"
            body = b'{"amount":1,"metadata":%b,"note":"%b"}' % (metadata, note.replace("\n\t", "\\n\\t").encode())
            refund_id = world.data(post(f"{PAYMENTS}/{payment_id}/refunds", merchant.key, body))["id"]
            for path in (f"/api/v1/refunds/{refund_id}", f"{PAYMENTS}/{payment_id}/refunds"):
                answer = world.send(Call("GET", path, merchant.key))
                assert b'"metadata":%b,' % metadata in answer.content
                told = answer.json()["data"]
                assert (told if "note" in told else told["items"][0])["note"] == note


# The test account has all of it too.


def test_a_test_payment_goes_back_within_the_test_account(world: Live) -> None:
    merchant = world.merchant()
    payment_id = world.data(create(merchant.test_key, amount=500))["id"]
    left_alone(world, refund(merchant.test_key, payment_id), 409, "not_paid")
    payer = world.data(trial(merchant.test_key, "pay", payment_id))["from"]
    funds, till = world.held(payer), world.held(merchant.test_account)
    left_alone(world, refund(merchant.key, payment_id), 404, "not_found")
    refund_id = world.data(refund(merchant.test_key, payment_id, amount=200))["id"]
    shown = seen(world, merchant.test_key, refund_id)
    assert (shown["amount"], shown["livemode"]) == (200, False)
    refused(world.send(Call("GET", f"/api/v1/refunds/{refund_id}", merchant.key)), 404, "not_found")
    assert (world.held(payer), world.held(merchant.test_account)) == (funds + 200, till - 200)
    events = events_of(world, merchant.test_key, payment_id)
    assert [event["type"] for event in events] == ["remote_payment.paid", "refund.created"]
    assert world.held(merchant.account) == 0
    world.act("account suspend", account=merchant.account)
    left_alone(world, refund(merchant.test_key, payment_id), 403, "account_suspended")


# Once.


def is_replay(answer: httpx2.Response) -> bool:
    return answer.headers.get("idempotency-replayed") == "true"


@pytest.mark.both_engines
def test_the_same_refund_under_the_same_key_is_made_once(anywhere: World) -> None:
    merchant, customer = anywhere.merchant(), anywhere.customer()
    payment_id = anywhere.paid(merchant, customer, amount=100)
    call = refund(merchant.key, payment_id, amount=10).once("refund")
    answers = anywhere.together([call] * 20)
    assert {answer.status_code for answer in answers} == {201}
    assert len({(answer.content, answer.headers["location"]) for answer in answers}) == 1
    assert sum(is_replay(answer) for answer in answers) == 19
    assert anywhere.data(retrieve(merchant.key, payment_id))["refundedAmount"] == 10
    # Another amount under this key is another request; under another key the same is.
    left_alone(anywhere, refund(merchant.key, payment_id, amount=11).once("refund"), 422, "idempotency_key_reused")
    left_alone(anywhere, refund(merchant.key, payment_id).once("refund"), 422, "idempotency_key_reused")
    anywhere.data(refund(merchant.key, payment_id, amount=10).once("another refund"))
    assert anywhere.data(retrieve(merchant.key, payment_id))["refundedAmount"] == 20


def test_an_empty_body_and_an_empty_object_are_the_same_request(world: Live) -> None:
    merchant = world.merchants[0]
    payment_id = world.paid(merchant, world.customers[0], amount=10)
    first = world.send(Call("POST", f"{PAYMENTS}/{payment_id}/refunds", merchant.key).once("empty"))
    again = world.send(refund(merchant.key, payment_id).once("empty"))
    assert (first.status_code, again.status_code, again.content) == (201, 201, first.content)
    assert is_replay(again)


def test_a_key_of_one_payments_refund_does_not_refund_another(world: Live) -> None:
    merchant = world.merchants[0]
    first, second = (world.paid(merchant, world.customers[0], amount=10) for _ in range(2))
    world.data(refund(merchant.key, first).once("of the first"))
    left_alone(world, refund(merchant.key, second).once("of the first"), 422, "idempotency_key_reused")
    left_alone(world, cancel(merchant.key, second).once("of the first"), 422, "idempotency_key_reused")
    left_alone(world, create(merchant.key).once("of the first"), 422, "idempotency_key_reused")


def test_a_refund_that_was_refused_is_not_remembered(world: Live) -> None:
    merchant, customer = world.merchant(), world.customer()
    payment_id = world.payment(merchant, amount=10)
    call = refund(merchant.key, payment_id).once("later")
    left_alone(world, call, 409, "not_paid")
    world.data(pay(customer, payment_id))
    first, again = world.send(call), world.send(call)
    assert (first.status_code, is_replay(first), is_replay(again)) == (201, False, True)
    assert world.balance(customer) == FUNDS


def test_a_refund_is_replayed_when_it_could_not_be_made_any_more(still: InProcess) -> None:
    merchant, customer = still.merchant(), still.customer()
    customer = customer._replace(token=still.data(sign_in(customer.email))["token"])
    call = refund(merchant.key, still.paid(merchant, customer, amount=10)).once("before the fall")
    first = still.send(call)
    still.act("account suspend", account=merchant.account)
    again = still.send(call)
    assert (again.status_code, is_replay(again), again.content) == (201, True, first.content)
    assert again.headers["location"] == first.headers["location"]
