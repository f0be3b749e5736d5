"""Deliveries over HTTP: lists with filters, one with every try, and sending once more."""

from typing import Any, Final

import pytest

from qirsh.domain.commands.webhook import RecordWebhookResults
from qirsh.domain.event import TYPES
from qirsh.domain.refusal import Refused
from qirsh.domain.webhook import WebhookResult
from tests.live import PAYMENTS, START, Call, InProcess, Merchant, cancel, field_errors, refund, refused
from tests.web.webhooks import DELIVERIES, ENDPOINTS, new_endpoint, remove, resend, update


def tried(
    world: InProcess, endpoint: str, sequence: int, status: int | None, *, at: int = 0, excerpt: str = ""
) -> None:
    """The sender has tried, and somebody or nobody has answered."""
    reason: Any = "no_connection" if status is None else "" if status == 200 else "status"
    result = WebhookResult(endpoint, sequence, START + at, 7, status, reason, excerpt)
    outcome = world.run(world.context.engine.submit(RecordWebhookResults((result,), ((endpoint, sequence + 1, ""),))))
    assert not isinstance(outcome, Refused)


def listed(world: InProcess, key: str, endpoint: str, query: str = "") -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = world.data(Call("GET", f"{ENDPOINTS}/{endpoint}/deliveries{query}", key))["items"]
    return items


def sequences(items: list[dict[str, Any]]) -> list[int]:
    return [int(item["id"].rpartition("_")[2]) for item in items]


def shop_with_events(world: InProcess) -> tuple[Merchant, str, list[str]]:
    """A shop, an endpoint, and three payments: one paid, one cancelled, one paid and refunded. Four events."""
    merchant, customer = world.merchant(), world.customer()
    endpoint = new_endpoint(world, merchant.key)
    first = world.paid(merchant, customer)
    second = world.payment(merchant)
    world.data(cancel(merchant.key, second))
    third = world.paid(merchant, customer)
    world.data(refund(merchant.key, third, amount=1))
    return merchant, endpoint, [first, second, third]


def test_a_list_has_the_newest_event_first_and_filters(still: InProcess) -> None:
    merchant, endpoint, payments = shop_with_events(still)
    for sequence, status in ((1, 200), (2, 500), (3, 200), (4, None)):
        tried(still, endpoint, sequence, status)
    assert sequences(listed(still, merchant.key, endpoint)) == [4, 3, 2, 1]
    assert sequences(listed(still, merchant.key, endpoint, "?state=waiting")) == [4, 2]
    assert sequences(listed(still, merchant.key, endpoint, "?state=delivered")) == [3, 1]
    assert sequences(listed(still, merchant.key, endpoint, "?state=failed")) == []
    assert sequences(listed(still, merchant.key, endpoint, "?type=remote_payment.paid")) == [3, 1]
    assert sequences(listed(still, merchant.key, endpoint, f"?paymentId={payments[2]}")) == [4, 3]
    both = f"?paymentId={payments[2]}&state=delivered&type=remote_payment.paid"
    assert sequences(listed(still, merchant.key, endpoint, both)) == [3]
    other = still.payment(still.merchants[0])
    for nobodys in (other, "1234567890123456", "9" * 16):
        assert listed(still, merchant.key, endpoint, f"?paymentId={nobodys}") == []


def test_pages_hold_each_delivery_once(still: InProcess) -> None:
    merchant, endpoint, _ = shop_with_events(still)
    for sequence in (1, 2, 3):
        tried(still, endpoint, sequence, 200)
    path = f"{ENDPOINTS}/{endpoint}/deliveries"
    first = still.data(Call("GET", f"{path}?limit=2", merchant.key))
    tried(still, endpoint, 4, 200)
    rest = still.data(Call("GET", f"{path}?limit=2&cursor={first['nextCursor']}", merchant.key))
    assert (sequences(first["items"]), first["hasMore"]) == ([3, 2], True)
    assert (sequences(rest["items"]), rest["hasMore"], rest["nextCursor"]) == ([1], False, None)


WRONG_QUERIES: Final = [
    ("?state=sent", {"state": "unknown_value"}),
    ("?type=ping", {"type": "unknown_value"}),
    ("?paymentId=1", {"paymentId": "invalid"}),
    ("?paymentId=", {"paymentId": "invalid"}),
    ("?cursor=x", {"cursor": "invalid"}),
    ("?cursor=cC4x", {"cursor": "invalid"}),
    ("?limit=101", {"limit": "out_of_range"}),
    ("?endpoint=x", {"endpoint": "unknown_parameter"}),
]


def test_a_wrong_parameter_is_named(still: InProcess, subtests: pytest.Subtests) -> None:
    for query, wrong in WRONG_QUERIES:
        with subtests.test(query):
            merchant = still.merchants[0]
            endpoint = new_endpoint(still, merchant.key)
            answer = still.send(Call("GET", f"{ENDPOINTS}/{endpoint}/deliveries{query}", merchant.key))
            assert field_errors(answer) == wrong


def test_a_delivery_tells_of_every_try(still: InProcess) -> None:
    merchant, endpoint, payments = shop_with_events(still)
    tried(still, endpoint, 1, 503, at=1000, excerpt="restarting")
    tried(still, endpoint, 1, None, at=7000)
    delivery = f"dlv_{endpoint[3:]}_1"
    waiting = still.data(Call("GET", f"{DELIVERIES}/{delivery}", merchant.key))
    assert (waiting["state"], waiting["nextTryAt"]) == ("waiting", "2027-01-15T08:05:07.007Z")
    tried(still, endpoint, 1, 200, at=400_000, excerpt="ok")
    shown = still.data(Call("GET", f"{DELIVERIES}/{delivery}", merchant.key))
    [event] = still.data(Call("GET", "/api/v1/events?limit=1", merchant.key))["items"]
    tries = shown.pop("tries")
    assert shown == {
        "id": delivery,
        "endpointId": endpoint,
        "eventId": event["id"],
        "type": "remote_payment.paid",
        "paymentId": payments[0],
        "state": "delivered",
        "attempts": 3,
        "happenedAt": event["createdAt"],
        "createdAt": "2027-01-15T08:00:00.000Z",
        "triedAt": "2027-01-15T08:06:40.000Z",
        "tookMs": 7,
        "status": 200,
        "reason": None,
        "excerpt": "ok",
        "nextTryAt": None,
    }
    assert [tuple(one.values()) for one in tries] == [
        (3, "2027-01-15T08:06:40.000Z", 7, 200, None, "ok"),
        (2, "2027-01-15T08:00:07.000Z", 7, None, "no_connection", ""),
        (1, "2027-01-15T08:00:01.000Z", 7, 503, "status", "restarting"),
    ]
    assert listed(still, merchant.key, endpoint) == [shown]


def test_a_resent_delivery_waits_anew_and_keeps_its_tries(still: InProcess) -> None:
    merchant, endpoint, _ = shop_with_events(still)
    tried(still, endpoint, 1, 200, at=0, excerpt="ok")
    delivery = f"dlv_{endpoint[3:]}_1"
    call = resend(merchant.key, delivery).once("send again")
    first, again = still.send(call), still.send(call)
    assert first.status_code == 200, first.text
    assert (again.content, again.headers["idempotency-replayed"]) == (first.content, "true")
    shown = first.json()["data"]
    assert (shown["state"], shown["attempts"], shown["nextTryAt"]) == ("waiting", 1, "2027-01-15T08:00:00.000Z")
    tried(still, endpoint, 1, 200, at=5000, excerpt="twice")
    after = still.data(Call("GET", f"{DELIVERIES}/{delivery}", merchant.key))
    assert (after["state"], after["attempts"]) == ("delivered", 2)
    assert [one["excerpt"] for one in after["tries"]] == ["twice", "ok"]
    with still.books() as books:
        actions = books.select("SELECT action FROM audit WHERE subject = ? ORDER BY id", f"webhook endpoint {endpoint}")
    assert [action for (action,) in actions] == ["webhook_endpoint.created", "webhook_endpoint.resent"]


def test_what_was_passed_by_can_be_sent_and_what_has_not_had_its_turn_cannot(still: InProcess) -> None:
    merchant, customer = still.merchant(), still.customer()
    still.paid(merchant, customer)
    endpoint = new_endpoint(still, merchant.key)
    still.paid(merchant, customer)
    passed, coming, never = (f"dlv_{endpoint[3:]}_{sequence}" for sequence in (1, 2, 3))
    refused(still.send(Call("GET", f"{DELIVERIES}/{passed}", merchant.key)), 404, "not_found")
    shown = still.data(resend(merchant.key, passed))
    assert (shown["state"], shown["attempts"], shown["triedAt"], shown["tookMs"]) == ("waiting", 0, None, None)
    assert still.data(Call("GET", f"{DELIVERIES}/{passed}", merchant.key))["tries"] == []
    for delivery in (coming, never):
        refused(still.send(resend(merchant.key, delivery)), 404, "not_found")
    assert sequences(listed(still, merchant.key, endpoint)) == [1]


def test_a_type_that_the_endpoint_does_not_want_is_not_resent(still: InProcess) -> None:
    merchant, endpoint, _ = shop_with_events(still)
    for sequence in (1, 2):
        tried(still, endpoint, sequence, 500)
    still.data(update(merchant.key, endpoint, types=[TYPES[0]]))
    still.data(resend(merchant.key, f"dlv_{endpoint[3:]}_1"))
    before = listed(still, merchant.key, endpoint)
    answer = still.send(resend(merchant.key, f"dlv_{endpoint[3:]}_2"))
    assert field_errors(answer) == {"id": "type_not_wanted"}
    assert listed(still, merchant.key, endpoint) == before


def test_a_payment_tells_what_became_of_its_events_everywhere(still: InProcess) -> None:
    merchant, endpoint, payments = shop_with_events(still)
    path = f"{PAYMENTS}/{payments[2]}/deliveries"
    assert still.data(Call("GET", path, merchant.key)) == {"items": [], "nextCursor": None, "hasMore": False}
    for sequence in (1, 2, 3, 4):
        tried(still, endpoint, sequence, 200)
    still.clock.advance(1)
    other = new_endpoint(still, merchant.key)
    still.data(resend(merchant.key, f"dlv_{other[3:]}_3"))
    still.clock.now = START
    found = still.data(Call("GET", path, merchant.key))["items"]
    assert [(one["endpointId"], one["type"]) for one in found] == [
        (endpoint, "refund.created"),
        (endpoint, "remote_payment.paid"),
        (other, "remote_payment.paid"),
    ]
    assert {one["paymentId"] for one in found} == {payments[2]}
    still.data(remove(merchant.key, endpoint))
    assert [one["endpointId"] for one in still.data(Call("GET", path, merchant.key))["items"]] == [other]
    refused(still.send(Call("GET", path, merchant.test_key)), 404, "not_found")
    answer = still.send(Call("GET", f"{path}?limit=1", merchant.key))
    assert field_errors(answer) == {"limit": "unknown_parameter"}


def test_a_resend_is_answered_as_before_when_the_type_is_not_wanted_any_more(still: InProcess) -> None:
    merchant, endpoint, _ = shop_with_events(still)
    tried(still, endpoint, 1, 200)
    call = resend(merchant.key, f"dlv_{endpoint[3:]}_1").once("while it was wanted")
    first = still.send(call)
    assert first.status_code == 200
    still.data(update(merchant.key, endpoint, types=["refund.created"]))
    again = still.send(call)
    assert (again.status_code, again.content) == (200, first.content)
    assert again.headers["idempotency-replayed"] == "true"


def test_the_next_try_is_not_before_the_end_of_a_rest_and_none_while_nothing_is_sent(still: InProcess) -> None:
    merchant, endpoint, [first, *_] = shop_with_events(still)
    for sequence in range(1, 5):
        tried(still, endpoint, sequence, 500)
    still.data(cancel(merchant.key, still.payment(merchant)))
    tried(still, endpoint, 5, 500)  # The fifth in a row.
    tried(still, endpoint, 1, 500, at=6000)
    rested = still.data(Call("GET", f"{ENDPOINTS}/{endpoint}", merchant.key))["nextTryAt"]

    def told() -> set[str | None]:
        one = still.data(Call("GET", f"{DELIVERIES}/{listed(still, merchant.key, endpoint)[0]['id']}", merchant.key))
        of_payment = still.data(Call("GET", f"{PAYMENTS}/{first}/deliveries", merchant.key))["items"]
        return {each["nextTryAt"] for each in [one, *listed(still, merchant.key, endpoint)[:3], *of_payment]}

    assert min(filter(None, told())) >= rested
    still.data(update(merchant.key, endpoint, state="paused"))
    assert told() == {None}
