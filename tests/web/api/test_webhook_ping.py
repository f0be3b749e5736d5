"""A ping over HTTP: sent to a real receiver at once, signed, and answered with what that said."""

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest
from standardwebhooks import Webhook

from qirsh.domain import limits
from qirsh.domain.commands.webhook import RecordWebhookResults
from qirsh.domain.tables import Tables
from qirsh.domain.webhook import WebhookResult
from qirsh.outbound.guard import Guard
from qirsh.outbound.outbound import Outbound
from qirsh.store.reads.events import last_sequence
from qirsh.web.http.rate_limit import RateLimits
from tests.live import InProcess, Live, Merchant, World, cancel, create, in_process, live, refused
from tests.outbound.receiver import OK, Play, Visit, receiving, saying, then_closing
from tests.postgres import PostgresServer
from tests.web.webhooks import OWN_NETWORKS, act, create_endpoint, new_endpoint, queue_of, stored, update


@pytest.fixture(scope="module")
def small(engine: PostgresServer | None) -> Iterator[InProcess]:
    with in_process(engine, shops=2, people=1, more=OWN_NETWORKS) as held:
        yield held


@pytest.fixture(scope="module")
def served(engine: PostgresServer | None) -> Iterator[Live]:
    with live(engine, shops=2, people=1, more=OWN_NETWORKS) as world:
        yield world


class Heard:
    """What came to a receiver that answers with `ok`."""

    def __init__(self) -> None:
        self.requests: list[bytes] = []

    async def play(self, visit: Visit) -> None:
        while request := await visit.request():
            self.requests.append(request)
            await visit.say(OK)

    def parts(self, number: int = -1) -> tuple[str, dict[str, str], bytes]:
        """The request line, the headers and the body."""
        head, _, body = self.requests[number].partition(b"\r\n\r\n")
        line, *lines = head.decode().split("\r\n")
        return line, dict(one.split(": ", 1) for one in lines), body


def pinged(world: World, play: Play, *, rotates: bool = False) -> tuple[dict[str, Any], list[str]]:
    """What the first of two pings is answered with, and the secrets of the endpoint, the newest first."""
    key = world.merchants[0].key

    async def story() -> tuple[dict[str, Any], list[str]]:
        async with receiving(play) as receiver:
            made = (await world.sent(create_endpoint(key, url=f"http://127.0.0.1:{receiver.port}/hooks?a=b"))).json()
            endpoint, secrets = made["data"]["id"], [made["data"]["secret"]]
            if rotates:
                turned = await world.sent(act(key, endpoint, "rotate", overlapHours=1))
                secrets.insert(0, turned.json()["data"]["secret"])
            answer = await world.sent(act(key, endpoint, "ping"))
            assert answer.status_code == 200, answer.text
            data: dict[str, Any] = answer.json()["data"]
            # Nobody comes again by himself: the next to come is the next ping.
            assert receiver.visits <= 1
            assert (await world.sent(act(key, endpoint, "ping"))).status_code == 200
            assert receiver.visits <= 2
            await world.sent(
                act(key, endpoint, "ping")._replace(method="DELETE", path=f"/api/v1/webhook-endpoints/{endpoint}")
            )
            return data, secrets

    return world.run(story())


@pytest.mark.parametrize("rotates", [False, True])
def test_a_ping_is_signed_like_an_event(served: Live, *, rotates: bool) -> None:
    heard = Heard()
    said, secrets = pinged(served, heard.play, rotates=rotates)
    took_ms = said.pop("tookMs")
    assert said == {"delivered": True, "status": 200, "reason": None, "excerpt": "ok"}
    assert took_ms >= 0
    [_, _] = heard.requests
    line, headers, body = heard.parts(0)
    assert line == "POST /hooks?a=b HTTP/1.1"
    assert headers["content-type"] == "application/json"
    assert len(headers["webhook-signature"].split()) == len(secrets) == 1 + rotates
    for secret in secrets:
        told = Webhook(secret).verify(body, headers)["data"]
    assert list(told) == ["id", "type", "createdAt", "data", "livemode"]
    assert (told["type"], told["livemode"], told["id"]) == ("ping", True, headers["webhook-id"])
    assert list(told["data"]) == ["endpointId"]
    other = "whsec_" + base64.b64encode(bytes(32)).decode()
    with pytest.raises(Exception, match="No matching signature"):
        Webhook(other).verify(body, headers)


@pytest.mark.parametrize(
    ("play", "said"),
    [
        (saying(b"HTTP/1.1 500 Oh\r\ncontent-length: 5\r\n\r\nsorry"), (False, 500, "status", "sorry")),
        (
            saying(b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n"),
            (False, 302, "redirect", ""),
        ),
        (then_closing(b"hello"), (False, None, "bad_answer", "")),
        (saying(b"HTTP/1.1 204 No Content\r\n\r\n"), (True, 204, None, "")),
    ],
    ids=["status", "redirect", "nonsense", "empty"],
)
def test_a_ping_tells_what_the_receiver_said(small: InProcess, play: Play, said: tuple[Any, ...]) -> None:
    answer, _ = pinged(small, play)
    assert tuple(answer[name] for name in ("delivered", "status", "reason", "excerpt")) == said
    with small.books() as books:
        assert books.select("SELECT count(*) FROM webhook_delivery") == [(0,)]


def test_where_nobody_is_a_ping_says_so(small: InProcess) -> None:
    merchant = small.merchants[0]
    endpoint = new_endpoint(small, merchant.key)
    answer = small.data(act(merchant.key, endpoint, "ping"))
    assert (answer["delivered"], answer["status"], answer["reason"]) == (False, None, "no_connection")
    # The operator has closed the network since.
    before = small.context.outbound
    small.change(outbound=Outbound(Guard()))
    answer = small.data(act(merchant.key, endpoint, "ping"))
    assert answer == {"delivered": False, "status": None, "tookMs": 0, "reason": "no_public_address", "excerpt": ""}
    small.change(outbound=before)


def test_an_account_has_ten_pings_a_minute(small: InProcess) -> None:
    one, two = small.merchants[:2]
    now = [0]
    ids = {key: new_endpoint(small, key) for key in (one.key, one.test_key, two.key)}
    second = new_endpoint(small, one.key)
    small.limit(RateLimits(clock=lambda: now[0]))
    for number in range(limits.PINGS_PER_MINUTE):
        small.data(act(one.key, ids[one.key] if number % 2 else second, "ping"))
    answer = small.send(act(one.key, ids[one.key], "ping"))
    refused(answer, 429, "rate_limited")
    assert answer.headers["retry-after"] == "6"
    # Others have theirs, and what is not there costs nothing.
    for key in (one.test_key, two.key):
        small.data(act(key, ids[key], "ping"))
    refused(small.send(act(one.key, "we_" + "0" * 24, "ping")), 404, "not_found")
    now[0] += 6_000_000_000
    small.data(act(one.key, second, "ping"))
    small.change(limits=None)


def test_a_suspended_shop_pings_nobody(small: InProcess) -> None:
    merchant = small.merchants[1]
    endpoints = {key: new_endpoint(small, key) for key in (merchant.key, merchant.test_key)}
    small.act("account suspend", account=merchant.account)
    for key, endpoint in endpoints.items():
        refused(small.send(act(key, endpoint, "ping")), 403, "account_suspended")
    small.act("account resume", account=merchant.account)


def test_the_excerpt_is_inert_text(small: InProcess) -> None:
    body = "<b>\u202e\x00\x1b[31m".encode()
    answer, _ = pinged(small, saying(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)))
    assert json.dumps(answer["excerpt"]) == json.dumps("<b>\ufffd\ufffd\ufffd[31m")


async def resting(world: InProcess, merchant: Merchant, url: str) -> str:
    """The id of an endpoint to which one event after the other failed."""
    endpoint: str = (await world.sent(create_endpoint(merchant.key, url=url))).json()["data"]["id"]
    failures = []
    for _ in range(limits.WEBHOOK_FAILURES_MAX):
        payment = (await world.sent(create(merchant.key))).json()["data"]["id"]
        await world.sent(cancel(merchant.key, payment))
        last = await last_sequence(world.context.store, int(merchant.account))
        failures.append(
            WebhookResult(endpoint, last, world.now_ms(), took_ms=1, status=500, reason="status", excerpt="")
        )
    await world.context.engine.submit(RecordWebhookResults(tuple(failures)))
    queue = await world.context.store.find(Tables.webhook_queues, endpoint)
    assert queue is not None
    assert queue.due_at is not None
    return endpoint


@pytest.mark.parametrize("is_mended", [True, False])
def test_a_ping_that_arrives_ends_the_rest_of_an_endpoint(small: InProcess, *, is_mended: bool) -> None:
    merchant = small.merchants[0]
    answer = OK if is_mended else b"HTTP/1.1 500 Oh\r\ncontent-length: 0\r\n\r\n"

    async def story() -> str:
        async with receiving(saying(answer)) as receiver:
            endpoint = await resting(small, merchant, f"http://127.0.0.1:{receiver.port}/")
            await small.sent(act(merchant.key, endpoint, "ping"))
            return endpoint

    rests = queue_of(small, small.run(story())).due_at is not None
    assert rests != is_mended


def test_what_its_owner_pauses_while_a_ping_is_on_its_way_stays_paused(small: InProcess) -> None:
    merchant, made = small.merchants[0], list[str]()

    async def pause_first(visit: Visit) -> None:
        while await visit.request():
            assert (await small.sent(update(merchant.key, made[0], state="paused"))).status_code == 200
            await visit.say(OK)

    async def story() -> None:
        async with receiving(pause_first) as receiver:
            made.append(await resting(small, merchant, f"http://127.0.0.1:{receiver.port}/"))
            assert (await small.sent(act(merchant.key, made[0], "ping"))).json()["data"]["delivered"]

    small.run(story())
    assert stored(small, made[0]).state == "paused"
