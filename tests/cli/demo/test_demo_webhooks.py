"""The shop's two webhook endpoints in the demo: their past week, what arrives, and that they follow the demo's port."""

import json
import re
import urllib.error
import urllib.request
from datetime import datetime
from itertools import pairwise
from typing import Any

import pytest

from qirsh.cli.demo.webhooks import own_address
from qirsh.domain.limits import BODY_BYTES_MAX, WEBHOOK_FAILURES_MAX
from qirsh.domain.webhook_schedule import WAITS_MS
from tests.cli.conftest import LAST_LINE
from tests.cli.program import House, Running
from tests.live import free_port
from tests.waiting import wait_until

ENDPOINTS = "/api/v1/webhook-endpoints"
FAILS = "This receiver of the demo fails on purpose.\n"
PATIENCE_S = 30


def page(running: Running) -> str:
    with urllib.request.urlopen(f"{running.url}/demo/webhooks") as answer:  # noqa: S310 - our own
        text: str = answer.read().decode()
    return text


def arrivals(running: Running) -> list[str]:
    return re.findall(r"<article.*?</article>", page(running), re.DOTALL)


def call(running: Running, method: str, path: str, key: str, body: dict[str, Any] | None = None) -> Any:  # noqa: ANN401 - JSON is anything
    content = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
    request = urllib.request.Request(f"{running.url}{path}", content, headers, method=method)  # noqa: S310 - our own
    with urllib.request.urlopen(request) as answer:  # noqa: S310 - our own
        return json.load(answer)["data"]


def both(house: House, running: Running) -> tuple[dict[str, Any], dict[str, Any]]:
    """The working one, and the failing one."""
    demo = house.demo()
    found = {one["id"]: one for one in running.get(ENDPOINTS, demo["apiKey"])["data"]["items"]}
    return found[demo["webhookEndpoint"]], found[demo["failingEndpoint"]]


def deliveries(house: House, running: Running, endpoint: str) -> list[dict[str, Any]]:
    found = running.get(f"{ENDPOINTS}/{endpoint}/deliveries?limit=100", house.demo()["apiKey"])
    items: list[dict[str, Any]] = found["data"]["items"]
    return items


def milliseconds(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)


def tries_of(house: House, running: Running, of: list[dict[str, Any]]) -> list[int]:
    """When each try of these was made, in order."""
    key = house.demo()["apiKey"]
    found = [running.get(f"/api/v1/deliveries/{one['id']}", key)["data"]["tries"] for one in of]
    return sorted(milliseconds(each["at"]) for tries in found for each in tries)


def happen(house: House, running: Running) -> str:
    """An event of the shop's; its payment."""
    key = house.demo()["apiKey"]
    payment: str = running.post("/api/v1/remote-payments", {"amount": 100, "currency": "USD"}, key)["data"]["id"]
    running.post(f"/api/v1/remote-payments/{payment}/cancel", {}, key)
    return payment


def shown(running: Running, payment: str) -> str:
    """What the page shows of the payment's event, once it has come."""
    found: list[str] = []

    def has_come() -> bool:
        found[:] = [one for one in arrivals(running) if payment in one]
        return bool(found)

    wait_until(has_come)
    return found[0]


def refused(running: Running, body: bytes) -> int:
    """The status with which the receiver turns it away."""
    request = urllib.request.Request(f"{running.url}/demo/webhooks", body)  # noqa: S310 - our own
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request)  # noqa: S310 - our own
    with caught.value as answer:
        return answer.code


def test_an_event_arrives_and_its_signature_holds(served: tuple[House, Running]) -> None:
    house, running = served
    assert f"Webhooks                {running.url}/demo/webhooks\n" in running.printed
    article = shown(running, happen(house, running))
    assert "Signature valid" in article
    assert ">remote_payment.cancelled<" in article
    [delivery_id] = re.findall(rf'"/business/{house.demo()["shopAccount"]}/deliveries/(dlv_\w+)"', article)

    def is_recorded() -> bool:
        found = deliveries(house, running, house.demo()["webhookEndpoint"])
        told = [(one["state"], one["excerpt"]) for one in found if one["id"] == delivery_id]
        return told == [("delivered", "ok\n")]

    wait_until(is_recorded)


def test_what_is_forged_or_too_large_is_turned_away(served: tuple[House, Running]) -> None:
    _, running = served
    assert refused(running, b'{"data":{"type":"forged.by.hand"}}') == 400
    [article] = [one for one in arrivals(running) if "forged.by.hand" in one]
    assert "Signature not valid" in article
    assert refused(running, b" " * (BODY_BYTES_MAX + 1)) == 413


def test_its_past_week_has_been_delivered_and_the_failing_endpoint_rests(empty: House) -> None:
    with empty.serving("demo", until=LAST_LINE, QIRSH_PORT=str(free_port())) as running:
        working, failing = both(empty, running)
        assert (working["url"], failing["url"]) == (
            f"{running.url}/demo/webhooks",
            f"{running.url}/demo/webhooks/failing",
        )
        assert {working["state"], failing["state"]} == {"enabled"}
        listed = running.get(ENDPOINTS, empty.demo()["apiKey"])["data"]["items"]
        assert [one["id"] for one in listed] == [working["id"], failing["id"]], "the samples use the first"
        assert working["restingSince"] is None
        past = deliveries(empty, running, working["id"])
        events = running.get("/api/v1/events?limit=100", empty.demo()["apiKey"])["data"]["items"]
        assert [one["eventId"] for one in past] == [event["id"] for event in reversed(events)]
        assert {one["state"] for one in past} == {"delivered"}
        assert sorted(one["attempts"] for one in past)[-2:] == [1, 2]
        assert all(one["happenedAt"] <= one["triedAt"] for one in past)
        failed = deliveries(empty, running, failing["id"])
        assert [one["eventId"] for one in failed] == [one["eventId"] for one in past[:WEBHOOK_FAILURES_MAX]]
        assert {(one["state"], one["status"], one["reason"], one["excerpt"]) for one in failed} == {
            ("waiting", 500, "status", FAILS)
        }
        tries = tries_of(empty, running, failed)
        resting = [at for at in tries if at > milliseconds(failing["restingSince"])]
        assert len(tries) > len(resting) + WEBHOOK_FAILURES_MAX, "before it rested, each was tried again"
        waits = [later - earlier for earlier, later in pairwise([*resting, milliseconds(failing["nextTryAt"])])]
        assert [wait // 1000 for wait in waits] == [wait // 1000 for wait in WAITS_MS[1 : len(waits) + 1]]
        assert len(waits) > 2
        assert arrivals(running) == [], "what arrived before is not sent again"


def test_at_another_port_both_lead_there(house: House) -> None:
    urls = []
    for port in (free_port(), free_port()):
        with house.serving("demo", until=LAST_LINE, QIRSH_PORT=str(port)) as running:
            payment = happen(house, running)
            assert "Signature valid" in shown(running, payment)
            working, failing = both(house, running)
            urls += [working["url"], failing["url"]]

            def has_failed(payment: str = payment, failing: str = failing["id"], running: Running = running) -> bool:
                found = [one for one in deliveries(house, running, failing) if one["paymentId"] == payment]
                return bool(found) and found[0]["excerpt"] == FAILS

            wait_until(has_failed)
        assert urls[-2:] == [f"http://127.0.0.1:{port}/demo/webhooks", f"http://127.0.0.1:{port}/demo/webhooks/failing"]


def test_forced_to_listen_anywhere_it_sends_to_itself_by_loopback(house: House) -> None:
    with house.serving("demo", "--force", until=LAST_LINE, QIRSH_HOST="0.0.0.0") as running:  # noqa: S104 - to see what it does
        assert "Signature valid" in shown(running, happen(house, running))
        assert both(house, running)[0]["url"].startswith("http://127.0.0.1:")


def test_what_the_owner_did_to_an_endpoint_stays(house: House) -> None:
    demo = house.demo()
    key, elsewhere = demo["apiKey"], "http://127.0.0.1:9/hooks"
    paths = {name: f"{ENDPOINTS}/{demo[name]}" for name in ("webhookEndpoint", "failingEndpoint")}
    with house.serving("demo", until=LAST_LINE) as running:
        call(running, "PATCH", paths["webhookEndpoint"], key, {"state": "paused"})
        call(running, "PATCH", paths["failingEndpoint"], key, {"url": elsewhere})
    with house.serving("demo", until=LAST_LINE) as running:
        working, failing = both(house, running)
        assert (working["state"], working["url"]) == ("paused", f"{running.url}/demo/webhooks")
        assert (failing["state"], failing["url"]) == ("enabled", elsewhere)
        for path in paths.values():
            call(running, "DELETE", path, key)
    with house.serving("demo", until=LAST_LINE) as running:
        assert running.get(ENDPOINTS, key)["data"]["items"] == []
        assert page(running)
    assert house.demo() == demo


def test_a_demo_of_before_gets_its_endpoints_at_the_next_start(house: House) -> None:
    demo = house.demo()
    older = {name: value for name, value in demo.items() if "ndpoint" not in name and name != "webhookSecret"}
    assert len(older) == len(demo) - 3
    (house.folder / "demo.json").write_text(json.dumps(older))
    with house.serving("demo", until=LAST_LINE) as running:
        assert "Signature valid" in shown(running, happen(house, running))
        made = house.demo()
        assert made["webhookEndpoint"] != demo["webhookEndpoint"]
    with house.serving("demo", until=LAST_LINE) as running:
        assert house.demo() == made
        assert len(running.get(ENDPOINTS, made["apiKey"])["data"]["items"]) == 4


def test_a_rotated_secret_is_taken_over_at_the_next_start(house: House) -> None:
    before = house.demo()
    with house.serving("demo", until=LAST_LINE) as running:
        rotate = f"{ENDPOINTS}/{before['webhookEndpoint']}/rotate"
        secret = call(running, "POST", rotate, before["apiKey"], {"overlapHours": 0})["secret"]
        assert "Signature not valid" in shown(running, happen(house, running))
    with house.serving("demo", until=LAST_LINE) as running:
        assert house.demo() == before | {"webhookSecret": secret}
        assert "Signature valid" in shown(running, happen(house, running))


@pytest.mark.parametrize(
    ("listening", "reached"),
    [
        ("http://0.0.0.0:8420", "http://127.0.0.1:8420"),
        ("http://[::]:8420", "http://[::1]:8420"),
        ("http://[::1]:1", "http://[::1]:1"),
        ("http://127.0.0.2:1", "http://127.0.0.2:1"),
        ("http://192.0.2.7:1", "http://192.0.2.7:1"),
        ("http://localhost:0", "http://localhost:0"),
    ],
)
def test_it_reaches_itself_where_it_listens(listening: str, reached: str) -> None:
    assert own_address(listening) == reached
