"""Webhook endpoints over HTTP: who hears the secret, where they may lead, what changes and what ends."""

import base64
import contextlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, Final

import pytest

from qirsh.domain import limits
from qirsh.domain.event import TYPES
from qirsh.domain.tables import Tables
from qirsh.engine.entropy import system_entropy
from qirsh.engine.keyring import Keyring
from qirsh.engine.webhook_secrets import WebhookSecrets
from qirsh.outbound.guard import Guard
from qirsh.outbound.outbound import Outbound
from qirsh.settings import read_settings
from qirsh.web.http import webhooks
from tests.live import START, Call, InProcess, Live, World, field_errors, post, refused
from tests.postgres import PostgresServer
from tests.web.webhooks import (
    ENDPOINTS,
    NOBODY,
    act,
    create_endpoint,
    endpoints,
    last_event,
    new_endpoint,
    queue_of,
    remove,
    see,
    stored,
    update,
)

DAY_MS: Final = 24 * 3600 * 1000


def secrets_of(world: InProcess, endpoint: str) -> tuple[str, ...] | None:
    return world.context.webhook_secrets.opened(stored(world, endpoint), now=world.now_ms())


def audited(world: World, endpoint: str) -> list[tuple[Any, ...]]:
    with world.books() as books:
        return books.select(
            "SELECT actor, action FROM audit WHERE subject = ? ORDER BY id", f"webhook endpoint {endpoint}"
        )


# Creating one.


def test_a_new_endpoint_tells_its_secret_once(still: InProcess) -> None:
    merchant = still.merchant()
    answer = still.send(create_endpoint(merchant.key, types=["remote_payment.paid"], description="orders"))
    assert answer.status_code == 201, answer.text
    made = answer.json()["data"]
    assert list(made) == ["id", "secret"]
    assert answer.headers["location"].endswith(f"{ENDPOINTS}/{made['id']}")
    assert len(base64.b64decode(made["secret"].removeprefix("whsec_"), validate=True)) == 32
    assert secrets_of(still, made["id"]) == (made["secret"],)
    shown = still.send(see(merchant.key, made["id"]))
    assert made["secret"] not in shown.text
    assert shown.json()["data"] == {
        "id": made["id"],
        "url": NOBODY,
        "types": ["remote_payment.paid"],
        "description": "orders",
        "state": "enabled",
        "reason": None,
        "restingSince": None,
        "nextTryAt": None,
        "replayRunning": False,
        "oldSecretUntil": None,
        "createdAt": "2027-01-15T08:00:00.000Z",
        "updatedAt": "2027-01-15T08:00:00.000Z",
        "livemode": True,
    }
    assert endpoints(still, merchant.key) == [shown.json()["data"]]
    assert audited(still, made["id"]) == [(f"key {merchant.key_id}", "webhook_endpoint.created")]


def test_it_begins_with_the_next_event(still: InProcess) -> None:
    merchant = still.merchant()
    assert queue_of(still, new_endpoint(still, merchant.key)).next == 1
    still.paid(merchant, still.customers[0])
    assert queue_of(still, new_endpoint(still, merchant.key)).next == 2


def test_live_and_test_keys_have_endpoints_of_their_own(still: InProcess) -> None:
    merchant = still.merchant()
    live, test = new_endpoint(still, merchant.key), new_endpoint(still, merchant.test_key)
    assert [(one["id"], one["livemode"]) for one in endpoints(still, merchant.key)] == [(live, True)]
    assert [(one["id"], one["livemode"]) for one in endpoints(still, merchant.test_key)] == [(test, False)]


def test_without_types_every_type_is_sent(still: InProcess) -> None:
    merchant = still.merchant()
    for body in ({"url": NOBODY}, {"url": NOBODY, "types": None, "description": None}):
        made = still.data(post(ENDPOINTS, merchant.key, body))["id"]
        assert still.data(see(merchant.key, made))["types"] is None
        assert stored(still, made).types == ""


def test_a_secret_is_not_shown_again_under_its_key(anywhere: World) -> None:
    merchant = anywhere.merchant()
    call = create_endpoint(merchant.key).once("one endpoint")
    answers = anywhere.together([call] * 8)
    statuses = sorted(answer.status_code for answer in answers)
    assert statuses == [201] + [409] * 7
    [first] = [answer.json()["data"] for answer in answers if answer.status_code == 201]
    for answer in answers:
        if answer.status_code == 409:
            problem = refused(answer, 409, "secret_already_shown")
            assert first["id"] in problem["detail"]
            assert answer.headers["idempotency-replayed"] == "true"
            assert first["secret"] not in answer.text
    assert [one["id"] for one in endpoints(anywhere, merchant.key)] == [first["id"]]
    turning = act(merchant.key, first["id"], "rotate").once("one secret")
    turned = anywhere.data(turning)["secret"]
    again = anywhere.send(turning)
    refused(again, 409, "secret_already_shown")
    assert turned not in again.text
    refused(
        anywhere.send(create_endpoint(merchant.key, description="x").once("one endpoint")),
        422,
        "idempotency_key_reused",
    )


def test_a_repeat_is_answered_as_before_when_the_name_leads_nowhere_any_more(still: InProcess) -> None:
    merchant, url = still.merchant(), "https://shop.example/hooks"
    call = create_endpoint(merchant.key, url=url).once("while the name was known")
    with closed(still, NAMES):
        made = still.data(call)["id"]
    with closed(still, {}):
        again = still.send(call)
        assert made in refused(again, 409, "secret_already_shown")["detail"]
        assert again.headers["idempotency-replayed"] == "true"
        other = create_endpoint(merchant.key, url=url, description="x").once("while the name was known")
        refused(still.send(other), 422, "idempotency_key_reused")
        assert field_errors(still.send(call.once("another key"))) == {"url": "url_not_allowed"}
        still.clock.advance(limits.IDEMPOTENCY_KEPT_MS)
        assert field_errors(still.send(call)) == {"url": "url_not_allowed"}
    still.clock.now = START
    assert [one["id"] for one in endpoints(still, merchant.key)] == [made]


def test_no_secret_lies_in_the_data_or_the_log(world: Live) -> None:
    merchant = world.merchant()
    made = world.data(create_endpoint(merchant.key).once("a webhook key to remember"))
    turned = world.data(act(merchant.key, made["id"], "rotate", overlapHours=72).once("another key to remember"))
    world.data(act(merchant.key, made["id"], "ping"))
    files = {file for file in world.settings.data_dir.iterdir() if file.is_file()} | {*world.database.files()}
    assert any(b"another key to remember" in file.read_bytes() for file in files)
    for secret in (made["secret"], turned["secret"]):
        plain = base64.b64decode(secret.removeprefix("whsec_"))
        for file in files:
            text = file.read_bytes()
            assert secret[6:30].encode() not in text, file.name
            assert plain[:16] not in text, file.name


# Where it may lead.


@contextlib.contextmanager
def closed(world: InProcess, names: dict[str, list[str]], networks: str = "") -> Iterator[None]:
    """Meanwhile the service may post to these networks and to the public ones, and knows these names."""
    before = world.context.outbound
    told = {"QIRSH_WEBHOOK_NETWORKS": networks} if networks else {}

    def resolve(name: str) -> list[str]:
        if name not in names:
            raise OSError(name)
        return names[name]

    world.change(outbound=Outbound(Guard(networks=read_settings(told).webhook_networks, resolve=resolve, kept_s=0)))
    yield
    world.change(outbound=before)


NAMES: Final = {
    "shop.example": ["93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946"],
    "xn--bcher-kva.example": ["93.184.216.34"],
    "inner.example": ["10.0.0.5"],
    "half.example": ["93.184.216.34", "127.0.0.1"],
    "metadata.example": ["169.254.169.254"],
    "mapped.example": ["::ffff:10.0.0.1"],
}
REFUSED: Final = (
    *("http://shop.example/", "ftp://shop.example/", "file:///etc/passwd", "shop.example", "//shop.example/", "", " "),
    *("https://user@shop.example/", "https://user:pass@shop.example/", "https://shop.example/#part", "https://"),
    *("https://2130706433/", "https://0x7f.1/", "https://0177.0.0.1/", "https://127.1/", "https://127.0.0.1/"),
    *("https://[::1]/", "https://[::ffff:93.184.216.34]/", "https://[fe80::1%25eth0]/", "https://169.254.169.254/"),
    *("https://shop.example:80/", "https://shop.example:8080/", "https://shop.example:0443/", "https://shop.example:0/"),
    *("https://unknown.example/", "https://inner.example/", "https://half.example/", "https://metadata.example/"),
    *("https://mapped.example/", "https://shop.example\\@inner.example/", "https://shop.example/a b"),
    *("https://shop.example/\t", "https://shop.example/%zz", "https://shop.example/" + "x" * 2028),
)  # fmt: skip


def test_whatever_is_wrong_with_a_url_the_answer_is_the_same(still: InProcess) -> None:
    merchant = still.merchant()
    with closed(still, NAMES):
        endpoint = still.data(create_endpoint(merchant.key, url="https://shop.example/hooks"))["id"]
        before, told = still.counts(), set()
        for url in REFUSED:
            for call in (create_endpoint(merchant.key, url=url), update(merchant.key, endpoint, url=url)):
                answer = still.send(call)
                assert field_errors(answer) == {"url": "url_not_allowed"}, url
                told.add(answer.text.replace(answer.headers["x-request-id"], ""))
        assert len(told) == 1
        assert still.counts() == before


KEPT_URLS: Final = [
    ("https://shop.example", "https://shop.example/"),
    ("HTTPS://Shop.Example:443/Hooks?a=b&c", "https://shop.example/Hooks?a=b&c"),
    ("https://shop.example:8443/hooks", "https://shop.example:8443/hooks"),
    ("https://b\u00fccher.example/\u00e4", "https://xn--bcher-kva.example/%C3%A4"),
    ("https://93.184.216.34/", "https://93.184.216.34/"),
    ("https://shop.example/" + "x" * 2027, "https://shop.example/" + "x" * 2027),
]


def test_a_url_is_kept_as_it_is_used(still: InProcess, subtests: pytest.Subtests) -> None:
    for url, kept in KEPT_URLS:
        with subtests.test(url):
            merchant = still.merchants[0]
            with closed(still, NAMES):
                made = new_endpoint(still, merchant.key, url=url)
                assert still.data(see(merchant.key, made))["url"] == kept


def test_http_and_any_port_are_for_networks_that_the_operator_named(still: InProcess) -> None:
    merchant = still.merchants[0]
    with closed(still, {"inner.example": ["10.0.0.5"], "shop.example": NAMES["shop.example"]}, "10.0.0.0/24"):
        for url in ("http://inner.example:3000/", "https://inner.example:1/", "http://10.0.0.9/"):
            new_endpoint(still, merchant.key, url=url)
        for url in ("http://shop.example/", "https://shop.example:1/", "http://10.0.1.1/", "http://127.0.0.1/"):
            assert field_errors(still.send(create_endpoint(merchant.key, url=url))) == {"url": "url_not_allowed"}


# What else is wrong.


BODY_WRONG_CASES_2: Final = [
    ({}, {"url": "required"}),
    ({"url": None}, {"url": "wrong_type"}),
    ({"url": 5}, {"url": "wrong_type"}),
    ({"url": NOBODY, "types": []}, {"types": "too_short"}),
    ({"url": NOBODY, "types": ["remote_payment.paid", "remote_payment.paid"]}, {"types": "repeated"}),
    ({"url": NOBODY, "types": ["remote_payment.paid", "ping"]}, {"types": "unknown_value"}),
    ({"url": NOBODY, "types": ["*"]}, {"types": "unknown_value"}),
    ({"url": NOBODY, "types": [TYPES[0], *TYPES]}, {"types": "repeated"}),
    ({"url": NOBODY, "types": "remote_payment.paid"}, {"types": "wrong_type"}),
    ({"url": NOBODY, "types": [None]}, {"types": "wrong_type"}),
    ({"url": NOBODY, "description": "x" * 201}, {"description": "too_long"}),
    ({"url": NOBODY, "description": "a\nb"}, {"description": "control_character"}),
    ({"url": NOBODY, "description": "a\u202eb"}, {"description": "direction_control"}),
    ({"url": NOBODY, "secret": "x", "state": "paused"}, {"secret": "unknown_field", "state": "unknown_field"}),
    (
        {"url": 5, "types": [], "description": 1},
        {"url": "wrong_type", "types": "too_short", "description": "wrong_type"},
    ),
]


def test_a_wrong_field_is_named(still: InProcess, subtests: pytest.Subtests) -> None:
    for body, wrong in BODY_WRONG_CASES_2:
        with subtests.test(f"{body!r:.60}"):
            merchant = still.merchants[0]
            before = still.counts()
            assert field_errors(still.send(post(ENDPOINTS, merchant.key, body))) == wrong
            assert still.counts() == before


def test_an_account_has_sixteen_and_removed_ones_do_not_count(still: InProcess) -> None:
    merchant = still.merchant()
    made = [still.data(create_endpoint(merchant.key))["id"] for _ in range(limits.WEBHOOK_ENDPOINTS_MAX)]
    refused(still.send(create_endpoint(merchant.key)), 409, "too_many")
    still.data(create_endpoint(merchant.test_key))
    still.data(remove(merchant.key, made[0]))
    still.data(create_endpoint(merchant.key))
    refused(still.send(create_endpoint(merchant.key)), 409, "too_many")


# Changing one.


def test_what_a_change_leaves_out_stays(still: InProcess) -> None:
    merchant = still.merchant()
    endpoint = new_endpoint(still, merchant.key, types=[TYPES[0]], description="orders")
    shown = still.data(see(merchant.key, endpoint))
    still.clock.advance(1000)
    changes: dict[str, object] = {
        "url": "http://127.0.0.1:10/",
        "types": [TYPES[3], TYPES[1]],
        "description": "",
        "state": "paused",
    }
    for name, value in changes.items():
        shown = {**shown, name: value, "updatedAt": "2027-01-15T08:00:01.000Z"}
        assert still.data(update(merchant.key, endpoint, **{name: value})) == shown
    assert still.data(update(merchant.key, endpoint)) == shown
    assert still.data(update(merchant.key, endpoint, url=None, state=None)) == shown
    assert still.data(see(merchant.key, endpoint)) == shown
    actions = [action.partition(".")[2] for _, action in audited(still, endpoint)]
    assert actions == ["created", "updated", "updated", "updated", "paused"]
    still.clock.now = START


def test_null_in_a_change_means_every_type_and_no_description(still: InProcess, subtests: pytest.Subtests) -> None:
    for beside in ({}, {"url": None, "state": None}):
        with subtests.test(f"{beside!r:.60}"):
            merchant = still.merchants[0]
            endpoint = new_endpoint(still, merchant.key, types=[TYPES[0]], description="orders")
            shown = still.data(see(merchant.key, endpoint))
            shown["types"] = None
            assert still.data(update(merchant.key, endpoint, types=None, **beside)) == shown
            assert stored(still, endpoint).types == ""
            shown["description"] = ""
            assert still.data(update(merchant.key, endpoint, description=None, **beside)) == shown
            assert still.data(see(merchant.key, endpoint)) == shown


WRONG_CHANGES: Final[list[tuple[dict[str, object], dict[str, str]]]] = [
    ({"state": "stopped"}, {"state": "unknown_value"}),
    ({"state": "removed"}, {"state": "unknown_value"}),
    ({"resumeFrom": "now"}, {"resumeFrom": "invalid"}),
    ({"state": "paused", "resumeFrom": "now"}, {"resumeFrom": "invalid"}),
    ({"state": "enabled", "resumeFrom": "yesterday"}, {"resumeFrom": "unknown_value"}),
    ({"types": []}, {"types": "too_short"}),
    ({"types": "null"}, {"types": "wrong_type"}),
    ({"types": [None]}, {"types": "wrong_type"}),
    ({"types": None, "description": 5}, {"description": "wrong_type"}),
    ({"types": [TYPES[0], TYPES[0]]}, {"types": "repeated"}),
    ({"description": "a\nb"}, {"description": "control_character"}),
    ({"secret": "whsec_x"}, {"secret": "unknown_field"}),
]


def test_a_wrong_change_changes_nothing(still: InProcess, subtests: pytest.Subtests) -> None:
    for body, wrong in WRONG_CHANGES:
        with subtests.test(f"{body!r:.60}"):
            merchant = still.merchants[0]
            endpoint = new_endpoint(still, merchant.key)
            before = stored(still, endpoint)
            assert field_errors(still.send(update(merchant.key, endpoint, **body))) == wrong
            assert stored(still, endpoint) == before


def test_an_endpoint_goes_on_where_it_stopped_or_from_now_on(still: InProcess) -> None:
    merchant, customer = still.merchant(), still.customer()
    kept, skipped = new_endpoint(still, merchant.key), new_endpoint(still, merchant.key)
    for endpoint in (kept, skipped):
        still.data(update(merchant.key, endpoint, state="paused"))
    for _ in range(3):
        still.paid(merchant, customer)
    assert still.data(update(merchant.key, kept, state="enabled"))["state"] == "enabled"
    still.data(update(merchant.key, skipped, state="enabled", resumeFrom="now"))
    assert (queue_of(still, kept).next, queue_of(still, skipped).next) == (1, 4)
    # Enabled as it is, nothing is passed by.
    still.paid(merchant, customer)
    still.data(update(merchant.key, kept, state="enabled", resumeFrom="now"))
    assert queue_of(still, kept).next == 1


def test_what_is_older_than_ninety_days_is_passed_by(still: InProcess) -> None:
    merchant, customer = still.merchant(), still.customer()
    endpoint = new_endpoint(still, merchant.key)
    still.data(update(merchant.key, endpoint, state="paused"))
    still.paid(merchant, customer)
    still.clock.advance(1)
    still.paid(merchant, customer)
    still.clock.now = START + 90 * DAY_MS + 1
    still.data(update(merchant.key, endpoint, state="enabled", resumeFrom="stopped"))
    assert queue_of(still, endpoint).next == 2
    still.clock.now = START


# Removing one.


@pytest.mark.both_engines
@pytest.mark.parametrize("word", ["remove", "rotate"])
def test_other_processes_have_heard_before_the_answer(
    still: InProcess, engine: PostgresServer | None, monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    """What they send under is taken away first, then they are given time. On SQLite there are none."""
    key = still.merchant().key
    endpoint = new_endpoint(still, key)
    before = stored(still, endpoint).secret_sealed
    waits = []

    async def sleep(seconds: float) -> None:
        row = await still.context.store.find(Tables.webhook_endpoints, endpoint)
        assert row is not None
        waits.append((seconds, row.secret_sealed != before, row.old_secret_sealed))

    monkeypatch.setattr(webhooks, "asyncio", SimpleNamespace(sleep=sleep))
    still.data(remove(key, endpoint) if word == "remove" else act(key, endpoint, "rotate", overlapHours=0))
    assert waits == ([] if engine is None else [(limits.WEBHOOK_OTHERS_HEAR_S, True, b"")])


def test_a_removed_endpoint_is_gone_for_every_call(still: InProcess) -> None:
    merchant = still.merchant()
    still.paid(merchant, still.customers[0])
    endpoint = new_endpoint(still, merchant.key)
    removed = still.data(remove(merchant.key, endpoint))
    assert removed == {"id": endpoint, "removedAt": "2027-01-15T08:00:00.000Z"}
    assert (stored(still, endpoint).secret_sealed, stored(still, endpoint).old_secret_sealed) == (b"", b"")
    assert endpoints(still, merchant.key) == []
    told = set()
    for call in (
        see(merchant.key, endpoint),
        update(merchant.key, endpoint, state="paused"),
        remove(merchant.key, endpoint),
        act(merchant.key, endpoint, "rotate"),
        act(merchant.key, endpoint, "ping"),
        act(merchant.key, endpoint, "replay", **{"from": "2027-01-15T00:00:00Z"}),
        Call("GET", f"{ENDPOINTS}/{endpoint}/deliveries", merchant.key),
        Call("GET", f"/api/v1/deliveries/dlv_{endpoint[3:]}_1", merchant.key),
        Call("POST", f"/api/v1/deliveries/dlv_{endpoint[3:]}_1/resend", merchant.key),
        see(merchant.key, "we_" + "0" * 24),
        see(merchant.key, "we_1"),
        see(still.merchants[0].key, endpoint),
    ):
        answer = still.send(call)
        refused(answer, 404, "not_found")
        told.add(answer.text.replace(answer.headers["x-request-id"], ""))
    assert len(told) == 1


def test_a_suspended_shop_removes_endpoints_and_changes_none(still: InProcess) -> None:
    merchant = still.merchant()
    endpoint = new_endpoint(still, merchant.key)
    still.act("account suspend", account=merchant.account)
    for call in (create_endpoint(merchant.key), update(merchant.key, endpoint), act(merchant.key, endpoint, "rotate")):
        refused(still.send(call), 403, "account_suspended")
    still.data(remove(merchant.key, endpoint))
    assert endpoints(still, merchant.key) == []


# Its secret.


def test_both_secrets_sign_while_they_overlap(still: InProcess) -> None:
    merchant = still.merchant()
    made = still.data(create_endpoint(merchant.key))
    endpoint = made["id"]
    turned = still.data(act(merchant.key, endpoint, "rotate"))
    assert list(turned) == ["secret"]
    assert secrets_of(still, endpoint) == (turned["secret"], made["secret"])
    assert still.data(see(merchant.key, endpoint))["oldSecretUntil"] == "2027-01-16T08:00:00.000Z"
    still.clock.now = START + DAY_MS
    assert still.data(see(merchant.key, endpoint))["oldSecretUntil"] is None
    still.clock.now = START
    once_more = still.data(act(merchant.key, endpoint, "rotate", overlapHours=72))
    assert secrets_of(still, endpoint) == (once_more["secret"], turned["secret"])
    assert still.data(see(merchant.key, endpoint))["oldSecretUntil"] == "2027-01-18T08:00:00.000Z"


def test_without_an_overlap_the_old_secret_ends_at_once(still: InProcess) -> None:
    merchant = still.merchants[0]
    endpoint = new_endpoint(still, merchant.key)
    turned = still.data(act(merchant.key, endpoint, "rotate", overlapHours=0))
    assert secrets_of(still, endpoint) == (turned["secret"],)
    assert still.data(see(merchant.key, endpoint))["oldSecretUntil"] is None


def test_an_overlap_has_its_bounds(still: InProcess, subtests: pytest.Subtests) -> None:
    for hours, code in ((-1, "out_of_range"), (73, "out_of_range"), (1.5, "wrong_type"), ("24", "wrong_type")):
        with subtests.test(f"{hours!r:.60}"):
            merchant = still.merchants[0]
            endpoint = new_endpoint(still, merchant.key)
            before = stored(still, endpoint)
            answer = still.send(act(merchant.key, endpoint, "rotate", overlapHours=hours))
            assert field_errors(answer) == {"overlapHours": code}
            assert stored(still, endpoint) == before


def test_a_secret_that_cannot_be_opened_is_rotated_away(still: InProcess) -> None:
    merchant = still.merchants[0]
    endpoint = new_endpoint(still, merchant.key)
    own = still.context.webhook_secrets
    other = WebhookSecrets(Keyring([b"another secret of the service, thirty-two"], system_entropy))
    still.change(webhook_secrets=other)
    refused(still.send(act(merchant.key, endpoint, "ping")), 409, "move_not_allowed")
    turned = still.data(act(merchant.key, endpoint, "rotate"))["secret"]
    # Nothing is kept of what would keep the new one from signing.
    assert secrets_of(still, endpoint) == (turned,)
    assert still.data(act(merchant.key, endpoint, "ping"))["reason"] == "no_connection"
    still.change(webhook_secrets=own)


# Sending once more.


def test_a_replay_begins_with_the_first_event_of_its_time(still: InProcess) -> None:
    merchant, customer = still.merchant(), still.customer()
    still.paid(merchant, customer)
    still.clock.now = START + 5000
    for _ in range(3):
        still.paid(merchant, customer)
    endpoint = new_endpoint(still, merchant.key)
    asked = act(merchant.key, endpoint, "replay", **{"from": "2027-01-15T11:00:05+03:00"})
    assert still.data(asked)["replayRunning"] is True
    assert (queue_of(still, endpoint).replay_next, queue_of(still, endpoint).replay_until) == (2, 4)
    assert still.data(see(merchant.key, endpoint))["replayRunning"] is True
    refused(still.send(asked), 409, "replay_running")
    still.clock.now = START


WRONG_MOMENTS: Final = [
    ("2026-10-17T07:59:59.999Z", "out_of_range"),
    ("1970-01-01T00:00:00Z", "out_of_range"),
    ("2027-01-15", "invalid"),
    ("2027-01-15T08:00:00", "invalid"),
    ("yesterday", "invalid"),
    (1_800_000_000, "wrong_type"),
]


def test_a_replay_goes_back_ninety_days_at_most(still: InProcess, subtests: pytest.Subtests) -> None:
    for moment, code in WRONG_MOMENTS:
        with subtests.test(f"{moment!r:.60}"):
            merchant = still.merchants[0]
            endpoint = new_endpoint(still, merchant.key)
            assert field_errors(still.send(act(merchant.key, endpoint, "replay", **{"from": moment}))) == {"from": code}
            assert queue_of(still, endpoint).replay_next is None
            assert field_errors(still.send(act(merchant.key, endpoint, "replay"))) == {"from": "required"}


def test_a_replay_of_nothing_does_not_run(still: InProcess) -> None:
    merchant = still.merchant()
    endpoint = new_endpoint(still, merchant.key)
    for moment in ("2026-10-17T08:00:00.000Z", "2027-01-15T08:00:00Z", "2100-01-01T00:00:00Z"):
        shown = still.data(act(merchant.key, endpoint, "replay", **{"from": moment}))
        assert shown["replayRunning"] is False
    # What has not had its first turn comes anyway.
    still.paid(merchant, still.customers[0])
    assert last_event(still, merchant.key).endswith("_1")
    assert (
        still.data(act(merchant.key, endpoint, "replay", **{"from": "2027-01-15T00:00:00Z"}))["replayRunning"] is False
    )


def test_a_replay_is_answered_as_before_when_its_time_is_too_long_ago_by_now(still: InProcess) -> None:
    merchant = still.merchant()
    still.paid(merchant, still.customers[0])
    endpoint = new_endpoint(still, merchant.key)
    call = act(merchant.key, endpoint, "replay", **{"from": "2026-10-17T08:00:00.000Z"}).once("all of it")
    first = still.send(call)
    assert first.json()["data"]["replayRunning"] is True
    still.clock.advance(1)
    again = still.send(call)
    assert (again.status_code, again.content) == (200, first.content)
    assert again.headers["idempotency-replayed"] == "true"
    still.clock.now = START
