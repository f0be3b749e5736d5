"""The pages about webhook endpoints: what an owner sees and changes, what is shown once, and whose it is."""

import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from qirsh.domain.limits import RECENT_PROOF_MS, WEBHOOK_ENDPOINTS_MAX
from qirsh.engine.entropy import system_entropy
from qirsh.engine.keyring import Keyring
from qirsh.engine.webhook_secrets import WebhookSecrets
from qirsh.web.http.rate_limit import RateLimits
from tests.guest import Guest
from tests.live import PASSWORD, InProcess, World, create, pay, refund, trial
from tests.web.business.webhook_pages import (
    ALL_TYPES,
    BUSINESS,
    HOUR_MS,
    SECRET,
    add,
    at_home,
    delivery,
    last_sequence,
    last_sequence_after,
    owner,
    record,
)
from tests.web.webhooks import NOBODY, create_endpoint, new_endpoint, queue_of, see, stored


class ShopServer(BaseHTTPRequestHandler):
    """Says what a test wants it to, and keeps what it heard."""

    status = 200
    heard: list[dict[str, str]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.heard.append({**{name.lower(): value for name, value in self.headers.items()}, "body": body.decode()})
        self.send_response(self.status)
        self.end_headers()
        self.wfile.write(b"<b>said</b>")

    def log_message(self, *_: object) -> None:
        """The test tells enough."""


@pytest.fixture
def shop_server() -> Iterator[tuple[str, type[ShopServer]]]:
    handler = type("Handler", (ShopServer,), {"heard": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/hooks", handler
        server.shutdown()
        thread.join()


# Endpoints.


def test_a_business_without_endpoints_reads_what_to_do_next(still: InProcess) -> None:
    guest, merchant = owner(still)
    guest.open(f"{BUSINESS}/{merchant.account}")
    assert f'href="{BUSINESS}/{merchant.account}/webhooks"' in guest.page
    assert "No endpoints yet" in guest.read(f"{BUSINESS}/{merchant.account}/webhooks")
    assert f'href="{BUSINESS}/{merchant.account}/webhooks/new"' in guest.page


def test_a_business_that_is_not_approved_has_no_webhooks_yet(still: InProcess) -> None:
    person = still.person(verified=True)
    guest = Guest(still).signed_in(person.email)
    account = still.act("account request", account=person.account, name="New")["account"]
    for path in ("webhooks", "webhooks/new"):
        assert guest.open(f"{BUSINESS}/{account}/{path}").headers["location"] == f"{BUSINESS}/{account}"


@pytest.mark.parametrize("mode", ["live", "test"])
def test_a_secret_is_shown_once_signs_and_is_nowhere_else(still: InProcess, mode: str) -> None:
    guest, merchant = owner(still)
    account = merchant.account if mode == "live" else merchant.test_account
    path = f"{BUSINESS}/{account}/webhooks/new"
    guest.open(path)
    call = guest.posting(path, url=NOBODY, description="<Orders>", password=PASSWORD, **ALL_TYPES)
    answer = guest.seen(still.send(call))
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
    [secret] = set(SECRET.findall(guest.page))
    [endpoint] = set(re.findall(r"/webhooks/(we_\w+)", guest.page))
    found = stored(still, endpoint)
    assert still.context.webhook_secrets.opened(found, now=still.now_ms()) == (secret,)
    assert found.account == int(account)
    assert (found.types, found.description, found.state) == ("", "<Orders>", "enabled")
    again = guest.seen(still.send(call))
    assert (again.status_code, again.headers["location"]) == (303, f"/business/{account}/webhooks/{endpoint}")
    guest.follow(again)
    assert "was already shown" in guest.text
    assert not SECRET.search(guest.page)
    assert ("Test mode" in guest.text) == (mode == "test")
    assert "<Orders>" in guest.text
    guest.open(f"{BUSINESS}/{account}/webhooks")
    assert NOBODY in guest.text
    with still.books() as books:
        rows = books.select(
            "SELECT actor FROM audit WHERE action = 'webhook_endpoint.created' AND subject = ?",
            f"webhook endpoint {endpoint}",
        )
    assert [actor.split()[0] for (actor,) in rows] == ["person"]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"url": "ftp://shop.example/"}, "Enter an https address"),
        ({"url": "https://user@shop.example/"}, "Enter an https address"),
        ({"url": "https://10.0.0.1/"}, "Enter an https address"),
        ({"url": ""}, "Enter an https address"),
        ({"description": "x" * 201}, "shorter description"),
        (dict.fromkeys(ALL_TYPES, ""), "at least one event"),
        ({"password": "not the password"}, "Incorrect password"),
    ],
)
def test_no_endpoint_is_made_of_a_form_with_faults(still: InProcess, changes: dict[str, str], says: str) -> None:
    merchant = still.merchants[1]
    guest = at_home(still, merchant)
    still.clock.advance(RECENT_PROOF_MS + 1)
    path = f"{BUSINESS}/{merchant.account}/webhooks/new"
    guest.open(path)
    fields = {"url": NOBODY, "password": PASSWORD, **ALL_TYPES, **changes}
    assert guest.post(path, **fields).status_code == 422
    assert says in guest.text
    assert not SECRET.search(guest.page)
    assert "No endpoints yet" in guest.read(f"{BUSINESS}/{merchant.account}/webhooks")


def test_one_endpoint_too_many_is_refused_in_words(still: InProcess) -> None:
    guest, merchant = owner(still)
    for number in range(WEBHOOK_ENDPOINTS_MAX):
        still.data(create_endpoint(merchant.key, url=f"{NOBODY}/{number}"))
    path = f"{BUSINESS}/{merchant.account}/webhooks/new"
    guest.open(path)
    assert guest.post(path, url=NOBODY, password=PASSWORD, **ALL_TYPES).status_code == 422
    assert "You have 16 endpoints" in guest.text


@pytest.mark.both_engines
def test_an_endpoint_is_changed_paused_enabled_and_removed(still: InProcess) -> None:
    guest, merchant = owner(still)
    endpoint = add(guest, merchant.account)
    page = f"/business/{merchant.account}/webhooks/{endpoint}"
    guest.open(f"{page}/edit")
    assert guest.value("url") == NOBODY
    chosen = {"url": f"{NOBODY}/new", "description": "Orders", "remote_payment-paid": "yes", "password": PASSWORD}
    guest.follow(guest.post(f"{page}/edit", **chosen))
    assert "Your changes were saved" in guest.text
    found = stored(still, endpoint)
    assert (found.url, found.types, found.description) == (f"{NOBODY}/new", "remote_payment.paid", "Orders")
    guest.follow(guest.post(f"{page}/state"))
    assert "You paused this endpoint" in guest.text
    assert stored(still, endpoint).state == "paused"
    guest.follow(guest.post(f"{page}/state", resume="stopped"))
    assert "Events are sent as they happen" in guest.text
    guest.open(f"{page}/remove")
    answer = guest.post(f"{page}/remove")
    guest.follow(answer)
    assert "The endpoint was removed" in guest.text
    assert NOBODY not in guest.text
    assert guest.open(page).status_code == 404


def test_where_webhooks_go_is_changed_with_the_password_only(still: InProcess) -> None:
    guest, merchant = owner(still)
    endpoint = add(guest, merchant.account)
    path = f"/business/{merchant.account}/webhooks/{endpoint}/edit"
    still.clock.advance(RECENT_PROOF_MS + 1)
    guest.open(path)
    assert guest.post(path, url=f"{NOBODY}/thief", password="wrong", **ALL_TYPES).status_code == 422
    assert stored(still, endpoint).url == NOBODY


@pytest.mark.parametrize(("resume", "is_now"), [("stopped", False), ("now", True)])
def test_an_endpoint_goes_on_from_where_it_stopped_or_from_now(still: InProcess, resume: str, *, is_now: bool) -> None:
    guest, merchant = owner(still)
    endpoint = add(guest, merchant.account)
    page = f"/business/{merchant.account}/webhooks/{endpoint}"
    guest.open(page)
    guest.post(f"{page}/state")
    begun = queue_of(still, endpoint).next
    for _ in range(3):
        still.paid(merchant, still.customers[0])
    text = guest.read(page)
    assert "Not sent yet 3 since" in text
    guest.follow(guest.post(f"{page}/state", resume=resume))
    assert queue_of(still, endpoint).next == (begun + 3 if is_now else begun)


@pytest.mark.both_engines
def test_what_waits_is_counted_by_the_types_that_are_wanted(still: InProcess) -> None:
    guest, merchant = owner(still)
    only = {**dict.fromkeys(ALL_TYPES, ""), "refund-created": "yes"}
    endpoint = add(guest, merchant.account, **only)
    payment_id = still.paid(merchant, still.customers[0])
    assert "Not sent yet" not in guest.read(f"/business/{merchant.account}/webhooks/{endpoint}")
    still.data(refund(merchant.key, payment_id, amount=1))
    assert "Not sent yet 1 since" in guest.read(f"/business/{merchant.account}/webhooks/{endpoint}")


def test_a_rotated_secret_is_shown_once_and_the_old_one_signs_for_as_long_as_was_chosen(still: InProcess) -> None:
    guest, merchant = owner(still)
    endpoint = add(guest, merchant.account)
    [old] = set(SECRET.findall(guest.page))
    path = f"/business/{merchant.account}/webhooks/{endpoint}/rotate"
    still.clock.advance(RECENT_PROOF_MS + 1)
    guest.open(path)
    assert guest.post(path, overlap="24", password="wrong").status_code == 422
    assert not SECRET.search(guest.page)
    assert guest.post(path, overlap="9999", password=PASSWORD).status_code == 422
    call = guest.posting(path, overlap="24", password=PASSWORD)
    answer = guest.seen(still.send(call))
    assert answer.status_code == 200
    [new] = set(SECRET.findall(guest.page))
    assert still.context.webhook_secrets.opened(stored(still, endpoint), now=still.now_ms()) == (new, old)
    guest.follow(guest.seen(still.send(call)))
    assert "was already shown" in guest.text
    assert "The old secret ends on" in guest.text
    assert still.context.webhook_secrets.opened(stored(still, endpoint), now=still.now_ms()) == (new, old)
    guest.open(path)
    assert guest.post(path, overlap="0", password=PASSWORD).status_code == 200
    [newest] = set(SECRET.findall(guest.page))
    assert still.context.webhook_secrets.opened(stored(still, endpoint), now=still.now_ms()) == (newest,)


def test_a_secret_that_cannot_be_opened_is_told_and_rotated_away(still: InProcess) -> None:
    guest, merchant = owner(still)
    endpoint = add(guest, merchant.account)
    page = f"/business/{merchant.account}/webhooks/{endpoint}"
    before = still.context.webhook_secrets
    still.change(webhook_secrets=WebhookSecrets(Keyring([b"another secret key of the service"], system_entropy)))
    try:
        assert "We can no longer read the signing secret" in guest.read(page)
        guest.follow(guest.post(f"{page}/ping"))
        assert "We can no longer read the signing secret" in guest.text
        guest.open(f"{page}/rotate")
        assert guest.post(f"{page}/rotate", overlap="72", password=PASSWORD).status_code == 200
        assert stored(still, endpoint).old_secret_until is None
        assert "We can no longer read" not in guest.read(page)
    finally:
        still.change(webhook_secrets=before)


# How it fares.


def test_how_an_endpoint_stands_is_told_in_words(still: InProcess) -> None:
    guest, merchant = owner(still)
    endpoint = add(guest, merchant.account)
    page = f"/business/{merchant.account}/webhooks/{endpoint}"
    assert "No deliveries" in guest.read(page)
    first = last_sequence_after(still, merchant, 6)
    record(still, endpoint, first)
    assert "100% ( 1 of 1 )" in guest.read(page)
    for number in range(1, 6):
        record(still, endpoint, first + number, status=None, reason="no_connection")
    text = guest.read(page)
    assert "Failing" in text
    assert "The last deliveries failed" in text
    assert "Waiting for another attempt 5 since" in text
    assert "16% ( 1 of 6 )" in text
    assert "Failing since" in text
    still.clock.advance(HOUR_MS)
    record(still, endpoint, first + 1, status=410, reason="status")
    text = guest.read(page)
    assert "Stopped" in text
    assert "answered 410" in text
    assert "Activate" in text


def test_a_suspended_business_reads_that_nothing_is_sent(still: InProcess) -> None:
    guest, merchant = owner(still)
    endpoint = add(guest, merchant.account)
    still.act("account suspend", account=merchant.account)
    guest.open(f"/business/{merchant.account}/webhooks/{endpoint}")
    assert "Nothing is sent while the business is suspended" in guest.text
    calls = [guest.posting(f"/business/{merchant.account}/webhooks/{endpoint}/{act}") for act in ("ping", "state")]
    assert [still.send(call).status_code for call in calls] == [403, 403]
    guest.open(f"{BUSINESS}/{merchant.account}/webhooks")
    assert "Add endpoint" not in guest.text


def test_a_ping_shows_what_the_receiver_said(still: InProcess, shop_server: tuple[str, type[ShopServer]]) -> None:
    url, handler = shop_server
    guest, merchant = owner(still)
    endpoint = add(guest, merchant.account, url=url)
    page = f"/business/{merchant.account}/webhooks/{endpoint}"
    guest.open(page)
    answer = guest.post(f"{page}/ping")
    assert answer.status_code == 200
    assert "Your server accepted the test event" in guest.text
    assert "<b>said</b>" in guest.text
    assert "<b>said" not in guest.page
    handler.status = 503
    guest.post(f"{page}/ping")
    assert "Your server did not accept the test event" in guest.text
    assert "status 503" in guest.text
    assert "Look in the log of your server" in guest.text
    assert len(handler.heard) == 2


def test_pings_by_hand_are_counted(still: InProcess) -> None:
    guest, merchant = owner(still)
    endpoint = add(guest, merchant.account)
    page = f"/business/{merchant.account}/webhooks/{endpoint}"
    guest.open(page)
    call = guest.posting(f"{page}/ping")
    still.limit(RateLimits(clock=lambda: 0))
    try:
        assert [still.send(call).status_code for _ in range(11)] == [200] * 10 + [429]
    finally:
        still.change(limits=None)


# Whose it is.


def test_what_is_anothers_is_answered_like_what_does_not_exist(still: InProcess) -> None:
    victim, intruder = still.merchant(), still.merchant()
    customer = still.customers[0]
    for key, account in ((victim.key, victim.account), (victim.test_key, victim.test_account)):
        endpoint = new_endpoint(still, key)
        if key == victim.key:
            still.paid(victim, customer)
        else:
            still.data(trial(key, "pay", still.data(create(key))["id"]))
        sequence = last_sequence(still, account)
        record(still, endpoint, sequence)
        guest, home = Guest(still).signed_in(intruder.email), Guest(still).signed_in(victim.email)
        own = add(guest, intruder.account)
        nothing = "we_" + "0" * 24
        pages = ["", "/edit", "/rotate", "/remove", "/verify", "/again", "/deliveries"]
        base = f"{BUSINESS}/{account}/webhooks/{endpoint}"
        for page in [*(f"{base}{page}" for page in pages), delivery(account, endpoint, sequence)]:
            assert home.open(page).status_code == 200, page
            refused = guest.open(page)
            unknown = guest.open(page.replace(endpoint.removeprefix("we_"), nothing.removeprefix("we_")))
            assert (refused.status_code, unknown.status_code) == (404, 404), page
            assert endpoint not in refused.text
        home_of_own = f"{BUSINESS}/{intruder.account}/webhooks"
        guest.open(f"{home_of_own}/{own}")
        form = guest.form(f"{home_of_own}/{own}/ping")
        for act in ("ping", "state", "edit", "rotate", "remove", "again"):
            assert guest.post(f"{base}/{act}", form).status_code == 404
            assert guest.post(f"{home_of_own}/{endpoint}/{act}", form).status_code == 404  # Under a shop of their own.
        for shop in (account, intruder.account):
            assert guest.post(f"{delivery(shop, endpoint, sequence)}/resend", form).status_code == 404
        assert still.data(see(key, endpoint))["state"] == "enabled"


def test_a_form_of_one_endpoint_does_nothing_to_another(still: InProcess) -> None:
    guest, merchant = owner(still)
    first, second = add(guest, merchant.account), add(guest, merchant.account)
    guest.open(f"/business/{merchant.account}/webhooks/{first}/remove")
    form = guest.form(f"/business/{merchant.account}/webhooks/{first}/remove")
    assert guest.post(f"/business/{merchant.account}/webhooks/{second}/remove", form).status_code == 403
    assert stored(still, second).state == "enabled"


def test_a_form_of_one_account_makes_no_endpoint_for_another(still: InProcess) -> None:
    guest, merchant = owner(still)
    path = f"{BUSINESS}/{merchant.account}/webhooks/new"
    guest.open(path)
    call = guest.posting(path, url=NOBODY, password=PASSWORD, **ALL_TYPES)
    elsewhere = f"{BUSINESS}/{merchant.test_account}/webhooks"
    assert still.send(call._replace(path=f"{elsewhere}/new")).status_code == 403
    assert "No endpoints yet" in guest.read(elsewhere)


def test_an_endpoint_is_found_below_its_own_account_only(still: InProcess) -> None:
    guest, merchant = owner(still)
    endpoint = add(guest, merchant.account)
    sequence = last_sequence_after(still, merchant, 1)
    record(still, endpoint, sequence)
    assert guest.open(delivery(merchant.account, endpoint, sequence)).status_code == 200
    for page in ("", "/edit", "/rotate", "/remove", "/verify", "/again", "/deliveries"):
        path = f"{BUSINESS}/{merchant.test_account}/webhooks/{endpoint}{page}"
        assert guest.open(path).status_code == 404, path
    assert guest.open(delivery(merchant.test_account, endpoint, sequence)).status_code == 404
    assert NOBODY not in guest.read(f"{BUSINESS}/{merchant.test_account}/webhooks")


def test_the_pages_work_on_every_engine(anywhere: World) -> None:
    merchant = anywhere.merchants[3]
    guest = Guest(anywhere).signed_in(merchant.email)
    endpoint = add(guest, merchant.account, description="Everywhere")
    payment_id = anywhere.payment(merchant)
    anywhere.data(pay(anywhere.customers[0], payment_id))
    for page in ("", "/edit", "/rotate", "/remove", "/verify", "/again", "/deliveries", "/deliveries?state=failed"):
        assert guest.open(f"/business/{merchant.account}/webhooks/{endpoint}{page}").status_code == 200, guest.text
    path = f"/business/{merchant.account}/webhooks/{endpoint}/again"
    guest.open(path)
    guest.follow(guest.post(path, what="failed", since="2026-01-01T00:00"))
    assert "nothing to send again" in guest.text


@pytest.mark.parametrize("code", ["ar", "tr"])
def test_the_pages_are_in_the_reader_s_language(still: InProcess, code: str) -> None:
    merchant = still.merchants[2]
    endpoint = new_endpoint(still, merchant.key)
    sequence = last_sequence_after(still, merchant, 1)
    record(still, endpoint, sequence, status=404, reason="status")
    english, reader = Guest(still).signed_in(merchant.email), Guest(still, code).signed_in(merchant.email)
    pages = ["", "/edit", "/rotate", "/remove", "/verify", "/again", "/deliveries"]
    base = f"{BUSINESS}/{merchant.account}/webhooks/{endpoint}"
    for page in [*(f"{base}{page}" for page in pages), delivery(merchant.account, endpoint, sequence)]:
        english.open(page)
        title = re.search(r"<h1>(.*?)</h1>", english.page)
        assert title
        reader.open(page)
        assert title[1] not in reader.page, page
