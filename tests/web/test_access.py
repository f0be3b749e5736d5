"""Who may call what: keys and sessions, scopes, gates, the matrix of all routes, and the headers of every answer."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Final

import httpx2
import pytest

from qirsh.domain.api_key import SCOPES, make_token
from qirsh.domain.limits import REVOCATION_TRUST_MS
from qirsh.engine.money_stop import MoneyStop
from qirsh.web.http import authentication
from tests.live import (
    BALANCES,
    ORIGIN,
    PASSWORD,
    PAYMENTS,
    SESSIONS,
    START,
    WALLET,
    Call,
    InProcess,
    Live,
    Merchant,
    create,
    pay,
    post,
    refused,
    retrieve,
    see,
    sign_in,
)
from tests.waiting import wait_until
from tests.web.belongings import BY_NAME, NAMES, call_of, named, takes_an_id

DAY_MS: Final = 24 * 3600 * 1000

# What every answer says to a browser, whatever it is.
SECURITY: Final = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


def without_request_id(answer: httpx2.Response) -> bytes:
    return answer.content.replace(answer.json()["requestId"].encode(), b"")


def bearer(value: str) -> Call:
    return Call("GET", f"{PAYMENTS}/1234567890123456", headers=(("authorization", value),))


# The Bearer token.


def test_what_is_wrong_with_the_key_is_told_as_far_as_its_text_shows(world: Live) -> None:
    merchant, customer = world.merchants[0], world.customers[0]
    key = merchant.key
    path = f"{PAYMENTS}/1234567890123456"
    wrong_end = key[:-1] + ("0" if key[-1] != "0" else "1")
    calls = {
        "header is missing": [
            Call("GET", path),
            bearer(""),
            Call("GET", f"{path}?api_key={key}"),
            Call("GET", f"{path}?access_token={key}"),
            Call("GET", path, headers=(("cookie", f"api_key={key}; authorization=Bearer {key}"),)),
            Call("GET", path, headers=(("x-api-key", key),)),
            Call("GET", path, headers=(("proxy-authorization", f"Bearer {key}"),)),
            post(PAYMENTS, None, {"amount": 100, "currency": "USD"}),
            post(PAYMENTS, None, b"not json"),
            Call("GET", BALANCES),
        ],
        "not of the scheme Bearer": [
            bearer(f"Bearer\t{key}"),
            bearer(f"Bearer{key}"),
            bearer(f"Bearers {key}"),
            bearer(key),
            bearer(f"Basic {key}"),
            bearer(f"Token {key}"),
        ],
        "takes an API key": [
            bearer("Bearer"),
            bearer(f"Bearer {key.swapcase()}"),
            bearer(f"Bearer {customer.token}"),
            bearer("Bearer null"),
            bearer("Bearer ' OR 1=1 --"),
        ],
        "takes the token of a session": [
            Call("GET", BALANCES, key),
            Call("GET", f"{WALLET}/1234567890123456", key),
            post(f"{WALLET}/1234567890123456/pay", key, {"pin": "123456"}),
        ],
        "key is damaged": [
            bearer(f"Bearer {key} "[:-1] + "x"),
            bearer(f"Bearer {wrong_end}"),
            bearer(f"Bearer {key.replace('live', 'test')}"),
            bearer("Bearer qk_live_" + "x" * 51),
            bearer("Bearer qk_live_"),
            bearer("Bearer qk_" + "x" * 4000),
            bearer("Bearer qk_live_é"),
        ],
    }
    before = world.counts()
    for detail, wrong in calls.items():
        bodies = set()
        for call in wrong:
            answer = world.send(call)
            refused(answer, 401, "unauthorized")
            assert answer.headers["www-authenticate"] == "Bearer"
            assert detail in answer.json()["detail"]
            bodies.add(without_request_id(answer))
        assert len(bodies) == 1
    assert world.counts() == before


def test_an_unknown_key_and_one_that_was_revoked_are_answered_alike(world: Live) -> None:
    never_given = make_token("qk_live", bytes(32))
    revoked, key_id = issued(world, world.merchants[0])
    assert world.send(Call("GET", "/api/v1/me", revoked)).status_code == 200
    world.act("key revoke", id=key_id)
    wait_until(lambda: world.send(Call("GET", "/api/v1/me", revoked)).status_code == 401)
    answers = [world.send(Call("GET", "/api/v1/me", key)) for key in (never_given, revoked)]
    for answer in answers:
        refused(answer, 401, "unauthorized")
        assert "unknown, was revoked, or has expired" in answer.json()["detail"]
    assert len({without_request_id(answer) for answer in answers}) == 1


def test_the_scheme_is_written_in_any_case_and_followed_by_any_number_of_spaces(
    world: Live, subtests: pytest.Subtests
) -> None:
    for scheme in ("Bearer ", "bearer ", "BEARER ", "bEaReR ", "Bearer  ", "bearer    "):
        with subtests.test(scheme):
            merchant, customer = world.merchants[0], world.customers[0]
            for path, token in (("/api/v1/me", merchant.key), (BALANCES, customer.token)):
                for _ in range(2):  # Looked up, and remembered.
                    assert (
                        world.send(Call("GET", path, headers=(("authorization", scheme + token),))).status_code == 200
                    )


def test_two_keys_in_one_request_are_none(world: Live) -> None:
    first, second = world.merchants[:2]
    payment_id = world.payment(first)
    for keys in ((first.key, second.key), (second.key, first.key), (first.key, first.key)):
        headers = tuple(("authorization", f"Bearer {key}") for key in keys)
        answer = world.send(Call("GET", f"{PAYMENTS}/{payment_id}", headers=headers))
        assert answer.status_code in {400, 401}
        assert answer.headers["content-type"] == "application/problem+json"


def test_nothing_but_the_key_says_who_one_is(world: Live) -> None:
    mine, other = world.merchants[:2]
    names = (
        "x-merchant-id",
        "x-account",
        "x-account-id",
        "x-forwarded-user",
        "x-user-id",
        "x-wcpay-platform-checkout-user",
    )
    call = create(mine.key)
    for name in names:
        call = call.with_header(name, other.account)
    payment_id = world.data(call)["id"]
    assert world.data(retrieve(mine.key, payment_id))["to"] == mine.account
    for name in names:
        refused(world.send(retrieve(other.key, payment_id).with_header(name, mine.account)), 404, "not_found")


# Scopes, modes, and the end of a key.


def issued(world: Live | InProcess, merchant: Merchant, **words: object) -> tuple[str, str]:
    done = world.act("key issue", 0, account=merchant.account, **words)
    return done["key"], done["id"]


def test_a_key_does_only_what_its_scopes_allow(world: Live) -> None:
    merchant = world.merchants[0]
    payment_id = world.payment(merchant)
    reader, _ = issued(world, merchant, scopes="payments:read")
    writer, _ = issued(world, merchant, scopes="payments:write")
    neither, _ = issued(world, merchant, scopes="")
    before = world.counts()
    for key in (reader, neither):
        assert "payments:write" in refused(world.send(create(key)), 403, "missing_scope")["detail"]
    for key in (writer, neither):
        assert "payments:read" in refused(world.send(retrieve(key, payment_id)), 403, "missing_scope")["detail"]
    assert world.counts() == before
    assert world.send(retrieve(reader, payment_id)).status_code == 200
    assert world.send(create(writer)).status_code == 201


def test_who_may_not_read_learns_nothing_about_what_exists(world: Live) -> None:
    merchant = world.merchants[0]
    writer, _ = issued(world, merchant, scopes="payments:write")
    own, none = world.send(retrieve(writer, world.payment(merchant))), world.send(retrieve(writer, "1234567890123456"))
    assert without_request_id(own) == without_request_id(none)


def test_test_and_live_keys_live_in_two_worlds(world: Live) -> None:
    merchant = world.merchants[0]
    live, test = world.payment(merchant), world.data(create(merchant.test_key))["id"]
    shown = world.data(retrieve(merchant.test_key, test))
    assert (shown["livemode"], shown["to"]) == (False, merchant.test_account)
    assert world.data(retrieve(merchant.key, live))["livemode"] is True
    assert merchant.test_account != merchant.account
    refused(world.send(retrieve(merchant.key, test)), 404, "not_found")
    refused(world.send(retrieve(merchant.test_key, live)), 404, "not_found")


def test_a_revoked_key_is_soon_refused(world: Live) -> None:
    merchant = world.merchants[0]
    payment_id = world.payment(merchant)
    key, key_id = issued(world, merchant)
    test_key, test_key_id = issued(world, merchant, test=True)
    test_payment = world.data(create(test_key))["id"]
    for call, revoked in ((retrieve(key, payment_id), key_id), (retrieve(test_key, test_payment), test_key_id)):
        assert world.send(call).status_code == 200
        world.act("key revoke", id=revoked)
        wait_until(lambda call=call: world.send(call).status_code == 401)  # type: ignore[misc]
    before = world.counts()
    for _ in range(20):
        refused(world.send(create(key)), 401, "unauthorized")
        refused(world.send(retrieve(key, payment_id)), 401, "unauthorized")
    assert world.counts() == before
    # The other keys of the account go on.
    assert world.send(retrieve(merchant.key, payment_id)).status_code == 200


def test_a_suspended_merchant_reads_and_does_not_write(world: Live) -> None:
    merchant = world.merchant()
    payment_id, test_payment = world.payment(merchant), world.data(create(merchant.test_key))["id"]
    world.act("account suspend", account=merchant.account, reason="complaints")
    refused(world.send(create(merchant.key)), 403, "account_suspended")
    refused(world.send(create(merchant.test_key)), 403, "account_suspended")
    assert world.data(retrieve(merchant.key, payment_id))["status"] == "pending"
    assert world.data(retrieve(merchant.test_key, test_payment))["status"] == "pending"
    world.act("account resume", account=merchant.account)
    assert world.send(create(merchant.key)).status_code == 201


def test_a_key_ends_on_its_day(still: InProcess) -> None:
    merchant = still.merchants[0]
    still.clock.now = START
    key, _ = issued(still, merchant, expiresInDays=1)
    payment_id = still.payment(merchant)
    still.clock.now = START + DAY_MS - 1
    assert still.send(retrieve(key, payment_id)).status_code == 200
    still.clock.now = START + DAY_MS
    refused(still.send(retrieve(key, payment_id)), 401, "unauthorized")
    refused(still.send(create(key)), 401, "unauthorized")
    assert still.send(retrieve(merchant.key, payment_id)).status_code == 200
    still.clock.now = START


def test_a_key_that_nobody_polled_about_is_looked_up_again(still: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process whose poll is a second old trusts nobody from memory."""
    now = [1000.0]
    monkeypatch.setattr(authentication, "time", SimpleNamespace(monotonic=lambda: now[0]))
    merchant = still.merchants[0]
    key, key_id = issued(still, merchant)
    payment_id = still.payment(merchant)
    # These hear nothing of what the world's engine commits, as in another process.
    before = still.context.callers
    still.change(callers=authentication.Callers(still.context.store, still.context.clock, MoneyStop()))
    assert still.send(retrieve(key, payment_id)).status_code == 200
    now[0] += REVOCATION_TRUST_MS / 1000
    still.act("key revoke", id=key_id)
    assert still.send(retrieve(key, payment_id)).status_code == 200, "for so long it is trusted"
    now[0] += 0.001
    assert still.send(retrieve(key, payment_id)).status_code == 401
    still.change(callers=before)


# Gates: a verified person, an approved shop.


def gate(world: Live, act: str, **words: object) -> str:
    return world.run(world.tried(act, words)).code


def test_each_gate_needs_the_one_before_it(world: Live) -> None:
    person = world.person(verified=False)
    words: dict[str, Any] = {"name": "Shop", "returnOrigins": ORIGIN}
    assert gate(world, "account request", account=person.account, **words) == "not_verified"
    world.act("account verify", account=person.account)
    asked = world.act("account request", account=person.account, **words)
    for test in (False, True):
        # Neither a live nor a test key before the approval.
        assert gate(world, "key issue", account=asked["account"], test=test) in {"not_approved", "not_found"}
    world.act("account approve", account=asked["account"])
    key = world.act("key issue", account=asked["account"])["key"]
    assert world.send(create(key)).status_code == 201
    world.act("account suspend", account=asked["account"])
    for test in (False, True):
        assert gate(world, "key issue", account=asked["account"], test=test) == "account_suspended"


def test_a_rejected_shop_gets_no_key(world: Live) -> None:
    person = world.person(verified=True)
    asked = world.act("account request", account=person.account, name="Shop", returnOrigins="")
    world.act("account reject", account=asked["account"], reason="no papers")
    assert gate(world, "key issue", account=asked["account"]) == "not_approved"
    assert gate(world, "key issue", account=asked["account"], test=True) == "not_found"


def test_a_personal_account_gets_no_key(world: Live) -> None:
    assert gate(world, "key issue", account=world.customers[0].account) == "not_found"


def test_a_shop_without_registered_origins_cannot_send_customers_anywhere(world: Live) -> None:
    person = world.person(verified=True)
    asked = world.act("account request", account=person.account, name="Shop")
    world.act("account approve", account=asked["account"])
    key = world.act("key issue", account=asked["account"])["key"]
    assert world.send(create(key)).status_code == 201
    assert world.send(create(key, returnUrl=f"{ORIGIN}/back")).status_code == 422


# Every route and every kind of caller.

CALLERS: Final = (
    "nobody",
    "live key",
    "test key",
    *SCOPES,  # A live key with this scope alone.
    "customer",
    "newcomer",
    "owner",
    "operator",
)
NOBODY: Final = dict.fromkeys(CALLERS, 401)
SIGN_OUT: Final = "DELETE /api/v1/wallet/sessions/current"


def keys(scope: str | None, *, live: int, test: int) -> dict[str, int]:
    """Only keys get in: all of them where no scope is needed, else those that have it."""
    return {
        **NOBODY,
        **{one: live if scope in {None, one} else 403 for one in SCOPES},
        "live key": live,
        "test key": test,
    }


# What is named in the address is the live account's; but for test calls, where it is its test account's.
MATRIX: Final[dict[str, dict[str, int]]] = {
    "POST /api/v1/remote-payments": keys("payments:write", live=201, test=201),
    "GET /api/v1/remote-payments/{id}": keys("payments:read", live=200, test=404),
    "GET /api/v1/remote-payments": keys("payments:read", live=200, test=200),
    "POST /api/v1/remote-payments/{id}/cancel": keys("payments:write", live=200, test=404),
    "POST /api/v1/remote-payments/{id}/refunds": keys("refunds:write", live=201, test=404),
    "GET /api/v1/remote-payments/{id}/refunds": keys("refunds:read", live=200, test=404),
    "GET /api/v1/refunds": keys("refunds:read", live=200, test=200),
    "GET /api/v1/refunds/{id}": keys("refunds:read", live=200, test=404),
    "GET /api/v1/events": keys("events:read", live=200, test=200),
    "GET /api/v1/events/{id}": keys("events:read", live=200, test=404),
    "POST /api/v1/webhook-endpoints": keys("webhooks:write", live=201, test=201),
    "GET /api/v1/webhook-endpoints": keys("webhooks:read", live=200, test=200),
    "GET /api/v1/webhook-endpoints/{id}": keys("webhooks:read", live=200, test=404),
    "PATCH /api/v1/webhook-endpoints/{id}": keys("webhooks:write", live=200, test=404),
    "DELETE /api/v1/webhook-endpoints/{id}": keys("webhooks:write", live=200, test=404),
    "POST /api/v1/webhook-endpoints/{id}/rotate": keys("webhooks:write", live=200, test=404),
    "POST /api/v1/webhook-endpoints/{id}/ping": keys("webhooks:write", live=200, test=404),
    "POST /api/v1/webhook-endpoints/{id}/replay": keys("webhooks:write", live=200, test=404),
    "GET /api/v1/webhook-endpoints/{id}/deliveries": keys("webhooks:read", live=200, test=404),
    "GET /api/v1/deliveries/{id}": keys("webhooks:read", live=200, test=404),
    "POST /api/v1/deliveries/{id}/resend": keys("webhooks:write", live=200, test=404),
    "GET /api/v1/remote-payments/{id}/deliveries": keys("webhooks:read", live=200, test=404),
    "GET /api/v1/transfers": keys("balance:read", live=200, test=200),
    "GET /api/v1/payouts": keys("balance:read", live=200, test=200),
    "GET /api/v1/reports/summary": keys("balance:read", live=200, test=200),
    "GET /api/v1/balance": keys("balance:read", live=200, test=200),
    "GET /api/v1/currencies": keys(None, live=200, test=200),
    "GET /api/v1/me": keys(None, live=200, test=200),
    "POST /api/v1/test/remote-payments/{id}/pay": keys("payments:write", live=409, test=200),
    "POST /api/v1/test/remote-payments/{id}/expire": keys("payments:write", live=409, test=200),
    "POST /api/v1/test/remote-payments/{id}/cancel": keys("payments:write", live=409, test=200),
    "POST /api/v1/wallet/sessions": dict.fromkeys(CALLERS, 422),
    SIGN_OUT: {**NOBODY, "customer": 200, "newcomer": 200, "owner": 200, "operator": 200},
    "GET /api/v1/wallet/balances": {**NOBODY, "customer": 200, "newcomer": 200, "owner": 200, "operator": 200},
    "GET /api/v1/wallet/remote-payments/{id}": {
        **NOBODY, "customer": 200, "newcomer": 200, "owner": 200, "operator": 200,
    },
    "POST /api/v1/wallet/remote-payments/{id}/pay": {
        **NOBODY, "customer": 200, "newcomer": 403, "owner": 409, "operator": 403,
    },
    "GET /openapi.json": dict.fromkeys(CALLERS, 200),
    "GET /docs": dict.fromkeys(CALLERS, 200),
    "GET /demo/mail": dict.fromkeys(CALLERS, 404),
    "GET /demo/webhooks": dict.fromkeys(CALLERS, 404),
    "POST /demo/webhooks": dict.fromkeys(CALLERS, 404),
    "POST /demo/webhooks/failing": dict.fromkeys(CALLERS, 404),
    "GET /static/{file}": dict.fromkeys(CALLERS, 200),
    "GET /healthz": dict.fromkeys(CALLERS, 200),
    "GET /readyz": dict.fromkeys(CALLERS, 200),
    "GET /metrics": dict.fromkeys(CALLERS, 404),
}  # fmt: skip


@pytest.fixture(scope="module")
def tokens(world: Live) -> dict[str, str | None]:
    merchant = world.merchants[0]
    return {
        "nobody": None,
        "live key": merchant.key,
        "test key": merchant.test_key,
        **{scope: issued(world, merchant, scopes=scope)[0] for scope in SCOPES},
        **{caller: session_of(world, caller) for caller in ("customer", "newcomer", "owner", "operator")},
    }


def session_of(world: Live, caller: str, operator: int = 0) -> str:
    """A new one. An operator's code opens one only."""
    if caller in {"customer", "newcomer"}:
        return (world.customer() if caller == "customer" else world.person(verified=False)).token
    email = (world.merchants[0] if caller == "owner" else world.operators[operator]).email
    signing_in = sign_in(email) if caller == "owner" else sign_in(email, totp=world.one_time_code(email))
    return str(world.data(signing_in)["token"])


def test_every_route_stands_in_the_matrix() -> None:
    assert set(MATRIX) == set(BY_NAME)
    assert all(set(row) == set(CALLERS) for row in MATRIX.values())


def test_exactly_those_who_may_are_let_in(
    world: Live, tokens: dict[str, str | None], subtests: pytest.Subtests
) -> None:
    for caller in CALLERS:
        for name in MATRIX:
            with subtests.test(f"{caller} {name}"):
                argument = ""
                if takes_an_id(BY_NAME[name]):
                    argument = named(world, NAMES[name], world.merchants[0], world.customers[0])
                expected = MATRIX[name][caller]
                token = (
                    session_of(world, caller, operator=1) if name == SIGN_OUT and expected == 200 else tokens[caller]
                )
                before = world.counts()
                answer = world.send(call_of(name, token, argument))
                assert answer.status_code == expected, answer.text
                # Who is turned away has changed nothing.
                assert expected < 400 or world.counts() == before


# What every answer carries.


def answers_of_every_kind(world: Live) -> dict[str, Callable[[], httpx2.Response]]:
    merchant, customer = world.merchants[0], world.customer()
    payment_id = world.payment(merchant)
    big = post(PAYMENTS, merchant.key, b" " * 200_000)
    return {
        "201": lambda: world.send(create(merchant.key)),
        "200": lambda: world.send(retrieve(merchant.key, payment_id)),
        "200 health": lambda: world.send(Call("GET", "/healthz")),
        "200 ready": lambda: world.send(Call("GET", "/readyz")),
        "200 see": lambda: world.send(see(customer, payment_id)),
        "200 pay": lambda: world.send(pay(customer, payment_id)),
        "201 session": lambda: world.send(sign_in(customer.email)),
        "400": lambda: world.send(create(merchant.key, b"{")),
        "400 repeated": lambda: world.send(bearer("Bearer x").with_header("authorization", "Bearer y")),
        "401": lambda: world.send(Call("GET", BALANCES)),
        "401 sign in": lambda: world.send(sign_in(customer.email, "wrong")),
        "403": lambda: world.send(pay(customer, world.payment(merchant), "000000")),
        "404": lambda: world.send(Call("GET", "/nothing")),
        "404 id": lambda: world.send(retrieve(merchant.key, "1234567890123456")),
        "405": lambda: world.send(Call("DELETE", PAYMENTS)),
        "405 preflight": lambda: world.send(Call("OPTIONS", PAYMENTS).with_header("origin", "https://evil.example")),
        "405 head": lambda: world.send(Call("HEAD", SESSIONS)),
        "409": lambda: world.send(pay(customer, world.payment(merchant, amount=999_999_999_999_999))),
        "413": lambda: world.send(big),
        "414": lambda: world.send(Call("GET", "/" + "x" * 5000)),
        "415": lambda: world.send(Call("POST", PAYMENTS, merchant.key, b"{}")),
        "422": lambda: world.send(create(merchant.key, {})),
        "431": lambda: world.send(Call("GET", "/", headers=(("x-long", "x" * 17_000),))),
    }


KINDS_OF_ANSWERS: Final = (
    *("201", "200", "200 health", "200 ready", "200 see", "200 pay", "201 session", "400", "400 repeated", "401"),
    *(
        "401 sign in",
        "403",
        "404",
        "404 id",
        "405",
        "405 preflight",
        "405 head",
        "409",
        "413",
        "414",
        "415",
        "422",
        "431",
    ),
)


def test_every_answer_of_every_kind_carries_the_security_headers(world: Live, subtests: pytest.Subtests) -> None:
    for kind in KINDS_OF_ANSWERS:
        with subtests.test(kind):
            answers = answers_of_every_kind(world)
            assert tuple(answers) == KINDS_OF_ANSWERS
            answer = answers[kind]()
            assert answer.status_code == int(kind.split(maxsplit=1)[0])
            assert {name: answer.headers.get(name) for name in SECURITY} == SECURITY
            assert answer.headers["x-request-id"]
            expected = "application/json" if answer.is_success else "application/problem+json"
            assert answer.headers["content-type"] == expected
            assert "server" not in answer.headers
            assert not [name for name in answer.headers if name.startswith("access-control-")]
            assert all(len(answer.headers.get_list(name)) == 1 for name in answer.headers)
            if not answer.is_success and not kind.endswith(" head"):
                refused(answer, answer.status_code, answer.json()["code"])


def test_no_other_origin_is_let_in_by_a_browser(world: Live, subtests: pytest.Subtests) -> None:
    for origin in ("https://evil.example", "null", ORIGIN):
        with subtests.test(origin):
            merchant = world.merchants[0]
            call = (
                retrieve(merchant.key, world.payment(merchant))
                .with_header("origin", origin)
                .with_header("cookie", "a=b")
            )
            plain = world.send(call)
            preflight = world.send(
                Call("OPTIONS", PAYMENTS)
                .with_header("origin", origin)
                .with_header("access-control-request-method", "POST")
                .with_header("access-control-request-headers", "authorization")
            )
            assert plain.status_code == 200
            assert preflight.status_code == 405
            for answer in (plain, preflight):
                assert not [name for name in answer.headers if name.startswith("access-control-")]


def test_request_ids_are_never_the_same(world: Live) -> None:
    answers = world.together(Call("GET", "/healthz") for _ in range(100))
    assert len({answer.headers["x-request-id"] for answer in answers}) == 100


# Secrets.


def test_no_secret_lies_in_the_data_or_the_log(world: Live) -> None:
    merchant, customer = world.merchants[0], world.customer()
    payment_id = world.payment(merchant)
    # Errors see secrets too.
    world.send(create(merchant.key, b"{"))
    world.send(sign_in(customer.email, "wrong horse battery"))
    world.send(post(f"{WALLET}/{payment_id}/pay", customer.token, b'{"pin":"135791"'))
    world.data(pay(customer, payment_id).once("a key to remember"))
    secrets = {
        "password": PASSWORD,
        "wrong password": "wrong horse battery",
        "live key": merchant.key,
        "test key": merchant.test_key,
        "session": customer.token,
        "second factor": world.operators[0].totp_secret,
    }
    files = {file for file in world.settings.data_dir.iterdir() if file.is_file()} | {*world.database.files()}
    assert len(files) >= 3
    assert any(b"a key to remember" in file.read_bytes() for file in files)
    for file in files:
        text = file.read_bytes()
        # Not even most of one: the hint that tells two keys apart is four characters long.
        assert [name for name, secret in secrets.items() if secret[-16:].encode() in text] == [], file.name


def test_head_is_get_without_the_body(world: Live) -> None:
    answer = world.send(Call("HEAD", "/healthz"))
    assert (answer.status_code, answer.content) == (200, b"")
    assert int(answer.headers["content-length"]) > 0
