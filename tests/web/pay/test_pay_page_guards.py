"""What guards the pay page: sessions and cookies, tokens of forms, what a form may hold, headers, and the way out."""

import re
from typing import Final

import httpx2
import msgspec
import pytest

from qirsh.domain.account import Account
from qirsh.domain.api_key import token_hash
from qirsh.domain.limits import FORM_BYTES_MAX, SESSION_MS
from qirsh.domain.payment import Payment
from qirsh.engine.money_stop import MoneyStop
from qirsh.web.http.authentication import Callers
from qirsh.web.http.message import Request, Response
from qirsh.web.pay.return_address import after_leaving, after_paying, form_origin
from qirsh.web.routes import ROUTES
from qirsh.web.server.router import Router
from tests.altered import alter
from tests.guest import FORM
from tests.live import (
    BALANCES,
    FUNDS,
    ORIGIN,
    PASSWORD,
    PIN,
    Call,
    Customer,
    InProcess,
    Live,
    World,
    pay,
    retrieve,
)
from tests.visitor import Visitor
from tests.waiting import wait_until

EVIL: Final = "https://evil.example"
STEPS: Final = ("sign-in", "sign-out", "confirm")
SECURITY: Final = {
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


def at(world: World, **fields: object) -> Visitor:
    return Visitor(world, world.payment(world.merchants[0], **fields))


def filled(visitor: Visitor, step: str, customer: Customer) -> dict[str, str]:
    """A form that would be accepted."""
    rest = {"sign-in": {"email": customer.email, "password": PASSWORD}, "sign-out": {}, "confirm": {"pin": PIN}}
    return {**visitor.form(step), **rest[step]}


def before_step(world: World, step: str, customer: Customer) -> Visitor:
    """On the page that has the form."""
    visitor = at(world)
    if step == "sign-in":
        visitor.open()
        return visitor
    return visitor.signed_in(customer)


def refused_and_nothing_done(world: World, answer: httpx2.Response, before: dict[str, int], status: int = 403) -> None:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "set-cookie" not in answer.headers
    assert "location" not in answer.headers
    assert world.counts() == before


# Tokens of forms.


def test_a_form_that_is_as_it_was_sent_is_accepted(world: Live, subtests: pytest.Subtests) -> None:
    for step in STEPS:
        with subtests.test(step):
            customer = world.customer()
            visitor = before_step(world, step, customer)
            assert visitor.post(step, filled(visitor, step, customer)).status_code == 303
            done = {"sign-in": "Your payment PIN", "sign-out": "Sign in to pay", "confirm": "You can close this page."}
            visitor.open()
            assert done[step] in visitor.text


def test_a_form_without_its_token_does_nothing(world: Live, subtests: pytest.Subtests) -> None:
    for step in STEPS:
        for token in (None, "", "0" * 64, "x", "é", "last digit"):
            with subtests.test(f"{step} {token!r:.60}"):
                customer = world.customers[0]
                visitor = before_step(world, step, customer)
                form = filled(visitor, step, customer)
                right = form.pop("token")
                if token is not None:
                    form["token"] = token if token != "last digit" else right[:-1] + ("0" if right[-1] != "0" else "1")
                before = world.counts()
                refused_and_nothing_done(world, visitor.post(step, form), before)


def test_the_token_of_one_payment_is_none_for_another(world: Live, subtests: pytest.Subtests) -> None:
    for step in STEPS:
        with subtests.test(step):
            customer = world.customers[0]
            visitor = before_step(world, step, customer)
            other = visitor.elsewhere(world.payment(world.merchants[0]))
            other.open()
            foreign = filled(visitor, step, customer)["token"]
            before = world.counts()
            refused_and_nothing_done(
                world, other.post(step, {**filled(other, step, customer), "token": foreign}), before
            )


def test_the_token_of_one_browser_is_none_for_another(world: Live, subtests: pytest.Subtests) -> None:
    """Also of another session of the same person."""
    for step in STEPS:
        with subtests.test(step):
            customer = world.customer()
            mine = before_step(world, step, customer)
            theirs = mine.elsewhere(mine.payment_id)
            theirs.cookies = {}
            theirs.open()
            if step != "sign-in":
                theirs.signed_in(customer)
            before = world.counts()
            answer = mine.post(step, {**filled(mine, step, customer), "token": theirs.form(step)["token"]})
            refused_and_nothing_done(world, answer, before)


def test_the_token_of_one_form_is_none_for_another(world: Live) -> None:
    customer = world.customers[0]
    visitor = at(world)
    visitor.open()
    sign_in = visitor.form("sign-in")["token"]
    visitor.signed_in(customer)
    confirm, sign_out = visitor.form("confirm"), visitor.form("sign-out")["token"]
    before = world.counts()
    for step, token in (("confirm", sign_out), ("confirm", sign_in), ("confirm", confirm["shown"])):
        answer = visitor.elsewhere(visitor.payment_id).post(step, {**confirm, "pin": PIN, "token": token})
        refused_and_nothing_done(world, answer, before)
    answer = visitor.elsewhere(visitor.payment_id).post("sign-out", {"token": confirm["token"]})
    refused_and_nothing_done(world, answer, before)


def test_a_form_without_its_cookie_does_nothing(world: Live, subtests: pytest.Subtests) -> None:
    for step in STEPS:
        with subtests.test(step):
            customer = world.customers[0]
            visitor = before_step(world, step, customer)
            form = filled(visitor, step, customer)
            before = world.counts()
            for cookie in ("", "qirsh=; qirsh-visit=", "qirsh=qp_x; qirsh-visit=x", "qirsh-visit=" + "0" * 32):
                answer = Visitor(world, visitor.payment_id).post(step, form, {"cookie": cookie})
                refused_and_nothing_done(world, answer, before)


def test_no_form_outlives_the_sign_out(world: Live) -> None:
    customer = world.customer()
    visitor = at(world).signed_in(customer)
    forms = {step: filled(visitor, step, customer) for step in ("confirm", "sign-out")}
    cookies = dict(visitor.cookies)
    assert visitor.post("sign-out", forms["sign-out"]).status_code == 303
    assert "qirsh" not in visitor.cookies
    before = world.counts()
    for step, form in forms.items():
        late = Visitor(world, visitor.payment_id)
        late.cookies = dict(cookies)
        refused_and_nothing_done(world, late.post(step, form), before)
    # Nor is one of the new session the old one.
    visitor.signed_in(customer)
    before = world.counts()
    refused_and_nothing_done(world, visitor.post("confirm", forms["confirm"]), before)


FOREIGN_HEADERS: Final = [
    {"origin": EVIL},
    {"origin": ORIGIN},
    {"origin": "https://127.0.0.1"},
    {"sec_fetch_site": "cross-site"},
    {"sec_fetch_site": "same-site"},
    {"origin": "null", "sec_fetch_site": "cross-site"},
]


def test_a_form_from_another_site_does_nothing(world: Live, subtests: pytest.Subtests) -> None:
    for step in STEPS:
        for headers in FOREIGN_HEADERS:
            with subtests.test(f"{step} {headers!s}"):
                customer = world.customers[0]
                visitor = before_step(world, step, customer)
                form = filled(visitor, step, customer)
                before = world.counts()
                refused_and_nothing_done(world, visitor.post(step, form, headers), before)


def test_what_browsers_say_of_our_own_forms_is_accepted(world: Live, subtests: pytest.Subtests) -> None:
    for origin in ("own", "null"):
        with subtests.test(origin):
            customer = world.customer()
            visitor = at(world).signed_in(customer)
            said = {"origin": world.settings.base_url if origin == "own" else "null", "sec_fetch_site": "same-origin"}
            visitor.post("confirm", filled(visitor, "confirm", customer), said)
            assert visitor.has_paid()


def test_a_step_that_is_skipped_is_not_made(world: Live) -> None:
    visitor = at(world)
    visitor.open()
    token = visitor.form("sign-in")["token"]
    before = world.counts()
    for form in ({"pin": PIN}, {"pin": PIN, "token": token}, {"pin": PIN, "token": token, "shown": token}):
        refused_and_nothing_done(world, visitor.post("confirm", form), before)


# What was shown is what is paid.


@pytest.mark.parametrize("fact", ["amount", "currency", "payee", "name", "payment", "session", "nothing"])
def test_only_what_was_shown_is_paid(still: InProcess, fact: str) -> None:
    merchant, customer = still.merchants[0], still.customer()
    visitor = at(still, amount=500).signed_in(customer)
    other = "1234567890123456"
    was = {
        "session": token_hash(visitor.cookies["qirsh"].encode()).hex(),
        "payment": visitor.payment_id,
        "amount": "500",
        "currency": "USD",
        "payee": merchant.account,
        "name": "Shop",
    }
    now = {"session": "0" * 64, "payment": other, "amount": "50", "currency": "SYP", "payee": other, "name": "Shop "}
    seen = was | ({fact: now[fact]} if fact in now else {})
    shown = still.context.keyring.form_token("shown", *seen.values())
    before = still.counts()
    answer = visitor.confirm(shown=shown)
    if fact == "nothing":
        assert visitor.has_paid()
        return
    assert (answer.status_code, answer.headers["location"]) == (303, f"/pay/{visitor.payment_id}")
    assert still.counts() == before
    visitor.open()
    assert "This payment has changed since you opened it. Nothing was paid." in visitor.text
    # The page shows it anew, and that can be paid.
    visitor.confirm()
    assert visitor.has_paid()


def test_a_shop_that_is_renamed_meanwhile_is_shown_anew(still: InProcess) -> None:
    merchant, customer = still.merchant(), still.customer()
    visitor = Visitor(still, still.payment(merchant)).signed_in(customer)
    alter(still, merchant.account, name="Another shop")
    assert visitor.confirm().headers["location"] == f"/pay/{visitor.payment_id}"
    visitor.open()
    assert "has changed since you opened it" in visitor.text
    assert "Another shop" in visitor.text
    assert still.data(retrieve(merchant.key, visitor.payment_id))["status"] == "pending"


# Sessions.


def test_every_sign_in_has_a_new_token_and_ends_the_one_before(world: Live) -> None:
    customer, other = world.customer(), world.customer()
    visitor = at(world)
    visitor.open()
    form = visitor.form("sign-in")
    tokens = set()
    for who in (customer, customer, other):
        old = dict(visitor.cookies)
        visitor.post("sign-in", {**form, "email": who.email, "password": PASSWORD})
        tokens.add(visitor.cookies["qirsh"])
        late = visitor.elsewhere(visitor.payment_id)
        late.cookies = old
        late.open()
        assert "Your account" not in late.page
    assert len(tokens) == 3


def test_a_token_that_somebody_planted_is_never_the_session(world: Live) -> None:
    planted = at(world).signed_in(world.customer()).cookies["qirsh"]
    visitor = at(world)
    visitor.open()
    visitor.cookies["qirsh"] = planted
    form = {**visitor.form("sign-in"), "email": world.customer().email, "password": PASSWORD}
    visitor.post("sign-in", form)
    assert visitor.cookies["qirsh"] != planted


def test_a_session_ends_after_its_time(still: InProcess) -> None:
    visitor = at(still, expiresIn=86_400).signed_in(still.customer())
    form = visitor.form("confirm")
    still.clock.now += SESSION_MS - 1
    still.poll()
    visitor.open()
    assert "Sign in again to continue." in visitor.page
    still.clock.now += 1
    before = still.counts()
    refused_and_nothing_done(still, visitor.post("confirm", {**form, "pin": PIN}), before)
    visitor.open()
    assert "Sign in again to continue." not in visitor.page


def test_a_sign_out_is_heard_by_other_processes(still: InProcess) -> None:
    customer = still.customer()
    visitor = at(still).signed_in(customer)
    callers = Callers(still.context.store, still.context.clock, MoneyStop())
    context = msgspec.structs.replace(still.context, callers=callers)
    elsewhere = Router(context, ROUTES)
    still.run(context.callers.poll())
    request = Request(
        "1", "GET", f"/pay/{visitor.payment_id}", b"", {b"cookie": f"qirsh={visitor.cookies['qirsh']}".encode()}, b""
    )
    assert b"Your account" in still.run(elsewhere.answer(request)).body
    visitor.post("sign-out", visitor.form("sign-out"))
    still.run(context.callers.poll())
    assert b"Your account" not in still.run(elsewhere.answer(request)).body


def test_a_sign_out_is_soon_felt(world: Live) -> None:
    visitor = at(world).signed_in(world.customer())
    cookies = dict(visitor.cookies)
    visitor.post("sign-out", visitor.form("sign-out"))
    late = Visitor(world, visitor.payment_id)
    late.cookies = cookies
    wait_until(lambda: "Your account" not in late.open().text)


def test_a_bearer_is_no_cookie_and_a_cookie_is_no_bearer(world: Live) -> None:
    merchant, customer = world.merchants[0], world.customer()
    visitor = at(world).signed_in(customer)
    page_token = visitor.cookies["qirsh"]
    # Warm in the memory of the server, all of them.
    world.data(Call("GET", BALANCES, customer.token))
    world.data(retrieve(merchant.key, visitor.payment_id))
    for header in (("authorization", f"Bearer {page_token}"), ("cookie", f"qirsh={page_token}")):
        assert world.send(Call("GET", BALANCES, headers=(header,))).status_code == 401
        assert (
            world.send(Call("GET", f"/api/v1/remote-payments/{visitor.payment_id}", headers=(header,))).status_code
            == 401
        )
    for token in (customer.token, merchant.key, merchant.test_key, page_token.replace("qp_", "qs_")):
        stranger = Visitor(world, visitor.payment_id)
        stranger.cookies = {"qirsh": token}
        stranger.open(authorization=f"Bearer {token}")
        assert "Your account" not in stranger.page
    stranger = Visitor(world, visitor.payment_id)
    stranger.open(authorization=f"Bearer {page_token}")
    assert "Your account" not in stranger.page


def test_cookies_are_of_the_session_and_out_of_reach_of_scripts(world: Live) -> None:
    visitor = at(world)
    first, waiting = visitor.open().headers.get_list("set-cookie")
    form = {**visitor.form("sign-in"), "email": world.customer().email, "password": PASSWORD}
    second, device = visitor.post("sign-in", form).headers.get_list("set-cookie")
    assert re.fullmatch(r"qirsh-visit=[0-9a-f]{32}; Path=/; HttpOnly; SameSite=Lax", first)
    assert waiting == f"qirsh-payment={visitor.payment_id}; Path=/; HttpOnly; SameSite=Lax"
    assert re.fullmatch(r"qirsh=qp_\w{51}; Path=/; HttpOnly; SameSite=Lax", second)
    assert re.fullmatch(r"qirsh-device=[\w=-]+; Path=/; HttpOnly; SameSite=Lax; Max-Age=15552000", device)
    assert "set-cookie" not in visitor.open().headers
    gone = visitor.post("sign-out", visitor.form("sign-out")).headers.get_list("set-cookie")
    assert gone == [f"{name}=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0" for name in ("qirsh", "qirsh-used")]


def over_https(world: InProcess, method: str, path: str, body: bytes = b"", **headers: str) -> Response:
    """The same service, as a proxy with a certificate reaches it."""
    context = msgspec.structs.replace(world.context, base_url="https://pay.example")
    named = {name.replace("_", "-").encode(): value.encode() for name, value in headers.items()}
    return world.run(Router(context, ROUTES).answer(Request("req_1", method, path, b"", named, body)))


def test_over_https_cookies_belong_to_this_host_alone(still: InProcess) -> None:
    path = f"/pay/{still.payment(still.merchants[0])}"
    answer = over_https(still, "GET", path)
    given, waiting = [value.decode() for name, value in answer.headers if name == b"set-cookie"]
    assert waiting == f"__Host-qirsh-payment={path.rpartition('/')[2]}; Path=/; HttpOnly; SameSite=Lax; Secure"
    assert re.fullmatch(r"__Host-qirsh-visit=[0-9a-f]{32}; Path=/; HttpOnly; SameSite=Lax; Secure", given)
    [token] = re.findall(r'sign-in">\s*<input type="hidden" name="token" value="(\w+)"', answer.body.decode())
    form = f"token={token}&email={still.customer().email}&password={PASSWORD.replace(' ', '+')}".encode()
    visit = given.partition(";")[0]
    sent = {"content_type": FORM, "origin": "https://pay.example"}
    # Without the prefix anybody on a neighbouring host could have set it.
    assert (
        over_https(still, "POST", f"{path}/sign-in", form, cookie=visit.removeprefix("__Host-"), **sent).status == 403
    )
    answer = over_https(still, "POST", f"{path}/sign-in", form, cookie=visit, **sent)
    session, device = [value for name, value in answer.headers if name == b"set-cookie"]
    assert re.fullmatch(rb"__Host-qirsh=qp_\w{51}; Path=/; HttpOnly; SameSite=Lax; Secure", session)
    assert device.startswith(b"__Host-qirsh-device=")


def test_a_planted_word_shows_none_but_our_own_sentences(world: Live) -> None:
    visitor = at(world).signed_in(world.customer())
    for planted in ("<b>x", "same_account", "pin_locked", "insufficient_funds", "changed", "wrong_credentials", "."):
        visitor.cookies["qirsh-said"] = f"{visitor.payment_id}.{planted}"
        answer = visitor.open()
        assert answer.status_code == 200
        assert "<b>" not in visitor.page
        assert "qirsh-said" not in visitor.cookies
        # No hint can lock anybody out: what is true is read from the books.
        assert "Your PIN is locked" not in visitor.text
        assert "There is not enough money" not in visitor.text
    visitor.cookies["qirsh-said"] = "1234567890123456.changed"
    visitor.open()
    assert "has changed" not in visitor.text


def test_our_own_origin_is_known(still: InProcess, subtests: pytest.Subtests) -> None:
    for origin in ("https://pay.example", "https://pay.example:8443"):
        with subtests.test(origin):
            context = msgspec.structs.replace(still.context, base_url=origin)
            path = f"/pay/{still.payment(still.merchants[0])}/sign-out"
            for said, status in ((origin, 415), (f"{origin}0", 403), (origin.replace("pay", "play"), 403)):
                asked = Request("req_1", "POST", path, b"", {b"origin": said.encode()}, b"")
                assert still.run(Router(context, ROUTES).answer(asked)).status == status


# What a form may hold.


def test_only_forms_are_taken(world: Live, subtests: pytest.Subtests) -> None:
    for step in STEPS:
        for content_type in (
            "",
            "application/json",
            "text/plain",
            "multipart/form-data; boundary=x",
            f"{FORM}; charset=latin-1",
            "*/*",
        ):
            with subtests.test(f"{step} {content_type}"):
                customer = world.customers[0]
                visitor = before_step(world, step, customer)
                form = filled(visitor, step, customer)
                before = world.counts()
                refused_and_nothing_done(world, visitor.post(step, form, {"content_type": content_type}), before, 415)
                refused_and_nothing_done(world, visitor.post(step, form, {"content_encoding": "gzip"}), before, 415)


def test_a_charset_that_is_ours_may_be_named(world: Live) -> None:
    customer = world.customer()
    visitor = at(world).signed_in(customer)
    form = filled(visitor, "confirm", customer)
    visitor.post("confirm", form, {"content_type": f"{FORM}; charset=UTF-8"})
    assert visitor.has_paid()


def test_a_field_too_many_is_refused(world: Live, subtests: pytest.Subtests) -> None:
    for more in (
        b"&amount=1",
        b"&pin=246813",
        b"&token=x",
        b"&",
        b"&=",
        b"&a",
        b"&%70in=246813",
        b"&payer=1",
        b"&pin%00=1",
    ):
        with subtests.test(f"{more!r:.60}"):
            visitor = at(world).signed_in(world.customers[0])
            form = visitor.form("confirm")
            body = f"token={form['token']}&shown={form['shown']}&pin={PIN}".encode() + more
            before = world.counts()
            refused_and_nothing_done(world, visitor.post("confirm", body), before, 422)


def test_bytes_that_are_no_text_are_refused(world: Live, subtests: pytest.Subtests) -> None:
    for value in (b"%", b"%2", b"%zz", b"%ff", b"%ed%a0%80", b"\xff"):
        with subtests.test(f"{value!r:.60}"):
            visitor = at(world)
            visitor.open()
            token = visitor.form("sign-in")["token"].encode()
            before = world.counts()
            answer = visitor.post("sign-in", b"token=%b&email=a@b.example&password=%b" % (token, value))
            refused_and_nothing_done(world, answer, before, 422)


def test_a_form_is_small(world: Live) -> None:
    visitor = at(world)
    visitor.open()
    form = {**visitor.form("sign-in"), "email": "a@b.example"}
    before = world.counts()
    answer = visitor.post("sign-in", {**form, "password": "x" * FORM_BYTES_MAX})
    refused_and_nothing_done(world, answer, before, 413)


# Headers.


def policy_of(answer: httpx2.Response) -> dict[str, str]:
    rules = (rule.strip().partition(" ") for rule in answer.headers["content-security-policy"].split(";"))
    return {name: value for name, _, value in rules}


def test_every_answer_of_the_page_carries_the_security_headers(world: Live) -> None:
    customer = world.customer()
    visitor = at(world, returnUrl=f"{ORIGIN}/back", cancelUrl=f"{ORIGIN}/gone")
    answers = [visitor.open(), visitor.open("cancel"), world.send(Call("GET", "/pay/1"))]
    visitor.signed_in(customer)
    answers += [
        visitor.open(),
        visitor.post("confirm", {}),
        visitor.post("confirm", b"", {"content_type": "text/plain"}),
    ]
    visitor.open()
    answers += [visitor.confirm("000000"), visitor.open(), visitor.confirm(), world.send(visitor.call("PUT"))]
    assert [answer.status_code for answer in answers] == [200, 303, 404, 200, 403, 415, 303, 200, 303, 405]
    for answer in answers:
        assert {name: answer.headers.get(name) for name in SECURITY} == SECURITY
        policy = policy_of(answer)
        assert policy["default-src"] == "'none'"
        assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert all(len(answer.headers.get_list(name)) == 1 for name in answer.headers if name != "set-cookie")
        assert "server" not in answer.headers


def test_the_policy_names_the_shop_only_where_its_customer_confirms(world: Live) -> None:
    visitor = at(world, returnUrl=f"{ORIGIN}/back")
    assert policy_of(visitor.open())["form-action"] == "'self'"
    visitor.signed_in(world.customer())
    assert policy_of(visitor.open())["form-action"] == f"'self' {ORIGIN}"
    visitor.confirm()
    assert policy_of(visitor.open())["form-action"] == "'self'"
    assert policy_of(visitor.elsewhere(world.payment(world.merchants[0])).open())["form-action"] == "'self'"


def test_no_secret_stands_in_an_address(world: Live) -> None:
    customer = world.customer()
    visitor = at(world, returnUrl=f"{ORIGIN}/back")
    visitor.open()
    answers = [visitor.post("sign-in", filled(visitor, "sign-in", customer))]
    token = visitor.cookies["qirsh"]
    visitor.open()
    form = visitor.form("confirm")
    answers.append(visitor.confirm())
    for answer in answers:
        assert answer.status_code == 303
        assert answer.content == b""
        for secret in (token, form["token"], form["shown"], PIN, PASSWORD, customer.email):
            assert secret not in answer.headers["location"]


def test_pages_load_and_send_nothing_but_ours(world: Live) -> None:
    visitor = at(world, cancelUrl=f"{ORIGIN}/gone", returnUrl=f"{ORIGIN}/back").signed_in(world.customer())
    addresses = re.findall(r'(?:src|href|action)="([^"]*)"', visitor.page)
    assert len(addresses) >= 5
    ours = ("/static/", "/brand/", f"/pay/{visitor.payment_id}", "?lang=", "/docs", "/wallet/language")
    assert [address for address in addresses if address != "/" and not address.startswith(ours)] == []
    assert not re.search(r"<script(?! src=\"/static/)|\sstyle=|\son\w+=|javascript:", visitor.page)


# The way out.

SHOP: Final = Account(1, "commercial", "live", 1, None, "Shop", "approved", f"{ORIGIN} http://localhost:8000", 0, 0)
PAID: Final = Payment(
    7, 1, 2, 100, "USD", "paid", "", "{}", "order 7", None, None, 0, 0, 9, 5, None, 0, 2
)  # fmt: skip


def way_out(url: str, **changes: object) -> str | None:
    return after_paying(msgspec.structs.replace(PAID, return_url=url, **changes), "42", SHOP)


FOREIGN_URLS: Final = [
    EVIL,
    "//evil.example",
    "///evil.example",
    "https:evil.example",
    "https:///evil.example",
    "http://shop.example/",
    "ftp://shop.example/",
    "javascript:alert(1)",
    "JavaScript:alert(1)//https://shop.example",
    "data:text/html,x",
    "vbscript:x",
    "https://shop.example.evil.example/",
    "https://shop.example@evil.example/",
    "https://shop.example:443@evil.example/",
    "https://user@shop.example/",
    "https://evil.example#https://shop.example",
    "https://evil.example?https://shop.example",
    "https://evil.example\\.shop.example/",
    "https://shop.example\\@evil.example/",
    "https://shop.example%2eevil.example/",
    "https://shop.example:8443/",
    "https://shop.example:444/",
    "https://sub.shop.example/",
    "https://shop.examp1e/",
    "https://shop.example./",
    "https://\u0455hop.example/",
    "https://shop.example/\r\nset-cookie: a=b",
    "https://shop.example/\tx",
    " https://shop.example/",
    "/back",
    "back",
    "",
    "https://",
    "https://[::1",
    "http://localhost:8001/",
]


def test_nobody_is_sent_where_the_shop_is_not(subtests: pytest.Subtests) -> None:
    for url in FOREIGN_URLS:
        with subtests.test(url):
            assert way_out(url) is None
            left = msgspec.structs.replace(PAID, cancel_url=url, status="expired")
            assert after_leaving(left, "42", SHOP) is None
            assert form_origin(msgspec.structs.replace(PAID, return_url=url), SHOP) == ""


OURS: Final = "paymentId=42&status=paid&reference=order+7"


RETURN_URLS: Final = [
    (ORIGIN, f"{ORIGIN}?{OURS}"),
    (f"{ORIGIN}/", f"{ORIGIN}/?{OURS}"),
    (f"{ORIGIN}/a/b;c=d", f"{ORIGIN}/a/b;c=d?{OURS}"),
    (f"{ORIGIN}/?x=1&x=2", f"{ORIGIN}/?x=1&x=2&{OURS}"),
    (f"{ORIGIN}/?x=%2F%20+&y", f"{ORIGIN}/?x=%2F%20+&y&{OURS}"),
    (f"{ORIGIN}/?x=1#part", f"{ORIGIN}/?x=1&{OURS}#part"),
    (f"{ORIGIN}/#/route?status=paid", f"{ORIGIN}/?{OURS}#/route?status=paid"),
    (f"{ORIGIN}/?status=pending", f"{ORIGIN}/?{OURS}"),
    (f"{ORIGIN}/?status=a&keep=1&status=b&paymentId=1&reference=2", f"{ORIGIN}/?keep=1&{OURS}"),
    (f"{ORIGIN}/?%73tatus=a&st%61tus&paymentId", f"{ORIGIN}/?{OURS}"),
    (f"{ORIGIN}/?status[]=a&status%5Bx%5D=b", f"{ORIGIN}/?{OURS}"),
    (f"{ORIGIN}/?mystatus=a&Status2=b&x=status", f"{ORIGIN}/?mystatus=a&Status2=b&x=status&{OURS}"),
    ("http://localhost:8000/x", f"http://localhost:8000/x?{OURS}"),
]


def test_what_we_add_to_the_return_address_cannot_be_shadowed(subtests: pytest.Subtests) -> None:
    for url, expected in RETURN_URLS:
        with subtests.test(url):
            assert way_out(url) == expected


def test_a_reference_cannot_add_parameters_of_its_own() -> None:
    found = way_out(ORIGIN, reference="1&status=paid#x y/é")
    assert found == f"{ORIGIN}?paymentId=42&status=paid&reference=1%26status%3Dpaid%23x+y%2F%C3%A9"
    assert way_out(ORIGIN, reference=None) == f"{ORIGIN}?paymentId=42&status=paid"


def test_what_a_policy_cannot_name_never_gets_into_it(subtests: pytest.Subtests) -> None:
    for registered in ("https://a;b", "https://a'b", "http://[::1]:8000", "https://a,b", "https://*.x"):
        with subtests.test(registered):
            shop = msgspec.structs.replace(SHOP, return_origins=registered)
            assert form_origin(msgspec.structs.replace(PAID, return_url=f"{registered}/back"), shop) == ""


def test_who_lost_the_origin_meanwhile_gets_nobody_sent_there(still: InProcess) -> None:
    merchant, customer = still.merchant(), still.customer()
    fields = {"returnUrl": f"{ORIGIN}/back", "cancelUrl": f"{ORIGIN}/gone"}
    visitor = Visitor(still, still.payment(merchant, **fields)).signed_in(customer)
    alter(still, merchant.account, return_origins="https://other.example")
    assert "Nothing was paid" in visitor.open("cancel").text
    visitor.open()
    assert policy_of(visitor.open())["form-action"] == "'self'"
    assert visitor.confirm().headers["location"] == f"/pay/{visitor.payment_id}"
    assert visitor.has_paid()
    assert ORIGIN not in visitor.page


def test_a_shop_that_a_policy_cannot_name_has_a_link_on_the_receipt(still: InProcess) -> None:
    merchant, customer = still.merchant(), still.customer()
    alter(still, merchant.account, return_origins="http://[::1]:8000")
    visitor = Visitor(still, still.payment(merchant, returnUrl="http://[::1]:8000/back")).signed_in(customer)
    assert visitor.confirm().headers["location"] == f"/pay/{visitor.payment_id}"
    assert visitor.has_paid()
    assert 'href="http://[::1]:8000/back?paymentId=' in visitor.page


def test_what_the_wallet_has_paid_is_paid_on_the_page_too(world: Live) -> None:
    customer = world.customer()
    visitor = at(world, returnUrl=f"{ORIGIN}/back").signed_in(customer)
    world.data(pay(customer, visitor.payment_id))
    answer = visitor.confirm()
    assert answer.headers["location"].startswith(f"{ORIGIN}/back?")
    assert world.balance(customer) == FUNDS - 100


def test_who_opens_the_address_of_a_form_is_led_to_its_page_and_nowhere_else(
    world: Live, subtests: pytest.Subtests
) -> None:
    for form in ("sign-in", "sign-out", "confirm"):
        with subtests.test(form):
            payment_id = world.payment(world.merchants[0])
            answer = world.send(Call("GET", f"/pay/{payment_id}/{form}"))
            assert (answer.status_code, answer.headers["location"]) == (303, f"/pay/{payment_id}")
            for named in ("x%0d%0aset-cookie:%20a=b", "..%2f..", "%D9%A1", "//evil.example", ""):
                answer = world.send(Call("GET", f"/pay/{named}/{form}"))
                assert answer.status_code == 404
                assert "location" not in answer.headers
                assert "set-cookie" not in answer.headers
