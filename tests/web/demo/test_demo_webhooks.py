"""The demo's own receiver of webhooks: what it takes, what it turns away, and how both are shown."""

import re
from collections.abc import Iterator

import msgspec
import pytest

from qirsh.outbound.signature import SigningKey, make_secret, signed_headers
from qirsh.web.http.demo_inbox import DemoInbox
from qirsh.web.http.rate_limit import RateLimits
from tests.live import Call, InProcess, in_process
from tests.postgres import PostgresServer

SECRET = make_secret(lambda count: bytes(range(count)))
ENDPOINT, FAILING = f"we_{'a' * 24}", f"we_{'b' * 24}"
PAYMENT = "1234567890123456"
ACCOUNT = 123456789012
EVENT = "evt_0_123456789012_7"
PAGE = Call("GET", "/demo/webhooks")
BODY = msgspec.json.encode({"data": {"id": EVENT, "type": "remote_payment.paid", "note": "<b>قهوة</b>"}})


@pytest.fixture
def demo(engine: PostgresServer | None) -> Iterator[InProcess]:
    with in_process(engine, shops=0, people=0) as world:
        inbox = DemoInbox(secret=SECRET, account=ACCOUNT, endpoint=ENDPOINT, failing=FAILING, payment=PAYMENT)
        world.change(demo_inbox=inbox)
        yield world


def webhook(
    world: InProcess, body: bytes = BODY, *, secret: str = SECRET, webhook_id: str = EVENT, age_s: int = 0
) -> Call:
    """As it is sent."""
    headers = signed_headers(webhook_id, world.clock() // 1000 - age_s, body, [SigningKey(secret)])
    return Call("POST", PAGE.path, None, body, tuple(headers.items()))


def articles(world: InProcess, language: str = "en") -> list[str]:
    page = world.send(PAGE.with_header("accept-language", language))
    assert page.status_code == 200
    return re.findall(r"<article.*?</article>", page.text, re.DOTALL)


@pytest.mark.both_engines
def test_a_webhook_whose_signature_holds_is_taken_and_shown_with_its_delivery(demo: InProcess) -> None:
    answer = demo.send(webhook(demo))
    assert (answer.status_code, answer.text) == (200, "ok\n")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert "set-cookie" not in answer.headers
    [shown] = articles(demo)
    assert "Signature valid" in shown
    assert "Signature not valid" not in shown
    assert ">remote_payment.paid<" in shown
    assert shown.count(f">{EVENT}<") == 2  # The event, and the header.
    assert f'href="/business/{ACCOUNT}/deliveries/dlv_{"a" * 24}_7"' in shown
    assert "&lt;b&gt;قهوة&lt;/b&gt;" in shown
    assert "<b>" not in shown
    assert "\n    &#34;type&#34;: &#34;remote_payment.paid&#34;" in shown


def test_before_anything_has_come_the_page_says_what_to_do(demo: InProcess) -> None:
    page = demo.send(PAGE).text
    assert "No webhooks yet" in page
    assert f'href="/pay/{PAYMENT}"' in page
    assert f'href="/business/{ACCOUNT}/webhooks/{ENDPOINT}"' in page
    assert f'href="/business/{ACCOUNT}/webhooks/{FAILING}"' in page
    assert "curl http" in page


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"secret": make_secret(lambda count: b"x" * count)}, "No signature belongs to this body"),
        ({"age_s": 301}, "It was signed with the secret, but not within 5 minutes"),
        ({"age_s": -301}, "It was signed with the secret, but not within 5 minutes"),
    ],
    ids=["another secret", "old", "from the future"],
)
def test_what_does_not_hold_is_turned_away_and_shown_in_red(
    demo: InProcess, changed: dict[str, object], says: str
) -> None:
    answer = demo.send(webhook(demo, **changed))  # type: ignore[arg-type]
    assert answer.status_code == 400
    [shown] = articles(demo)
    assert 'class="badge failed">Signature not valid<' in shown
    assert says in shown
    assert "/deliveries/" not in shown


def test_what_anybody_posts_is_turned_away_and_shown_as_text(demo: InProcess) -> None:
    bodies = (
        b"",
        b"{}",
        b"[" * 100_000,
        b"\xff\xfe",
        b'{"data":{"id":7}}',
        b"<script>alert(1)</script>",
        b"\0\xe2\x80\xae",
    )
    for body in bodies:
        assert demo.send(Call("POST", PAGE.path, None, body)).status_code == 400
    shown = articles(demo)
    assert len(shown) == len(bodies)
    assert all("A header is missing" in one and "Unknown event" in one for one in shown)
    page = "".join(shown)
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in page
    assert len(page) < 20_000


def test_what_claims_to_be_an_event_leads_to_no_delivery(demo: InProcess) -> None:
    forged = Call("POST", PAGE.path, None, BODY, (("webhook-id", EVENT), ("content-type", "application/json")))
    demo.send(forged)
    [shown] = articles(demo)
    assert ">remote_payment.paid<" in shown
    assert "Signature not valid" in shown
    assert "/deliveries/" not in shown


def test_a_ping_and_what_is_no_json_are_shown_too_if_they_are_signed(demo: InProcess) -> None:
    ping = b'{"data":{"id":"ping_1","type":"ping"}}'
    assert demo.send(webhook(demo, ping, webhook_id="ping_1")).status_code == 200
    assert demo.send(webhook(demo, b"\xff not json")).status_code == 200
    no_json, shown = articles(demo)
    assert ">ping<" in shown
    assert "/deliveries/" not in shown
    assert "not json" in no_json


def test_the_last_fifty_are_kept_newest_first(demo: InProcess) -> None:
    for number in range(1, 56):
        demo.send(webhook(demo, webhook_id=f"evt_0_123456789012_{number}"))
    shown = [re.findall(r"evt_0_123456789012_(\d+)<", one)[-1] for one in articles(demo)]
    assert shown == [str(number) for number in range(55, 5, -1)]


def test_the_page_is_there_in_every_language(demo: InProcess) -> None:
    demo.send(webhook(demo))
    demo.send(Call("POST", PAGE.path, None, b"{}"))
    for language, good, bad in (("ar", "التوقيع صحيح", "التوقيع غير صحيح"), ("tr", "İmza geçerli", "İmza geçersiz")):
        forged, held = articles(demo, language)
        assert f">{good}<" in held
        assert f">{bad}<" in forged


def test_the_other_receiver_always_fails(demo: InProcess) -> None:
    failing = webhook(demo)._replace(path="/demo/webhooks/failing")
    answer = demo.send(failing)
    assert (answer.status_code, answer.text) == (500, "This receiver of the demo fails on purpose.\n")
    assert articles(demo) == []
    assert demo.send(failing._replace(method="GET", content=None)).headers["location"] == "/demo/webhooks"


def test_what_the_sender_posts_uses_up_nobodys_calls(demo: InProcess) -> None:
    demo.limit(RateLimits(clock=lambda: 0))
    for _ in range(1000):
        assert demo.send(webhook(demo)).status_code == 200
    assert demo.send(PAGE).status_code == 200
