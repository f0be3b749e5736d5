"""Who sees which page, and what a form needs to be heard: for every page of the table, so that none is forgotten."""

from collections.abc import Callable
from typing import Final

import httpx2
import pytest

from qirsh.web.http.route import Route
from qirsh.web.routes import PAGE_ROUTES
from tests.guest import FORM, Guest, multipart
from tests.live import Call, InProcess, Merchant
from tests.web.business.payouts import refused as a_refused_payout
from tests.web.business.request_log import record
from tests.web.colleague import a_member, new_invitation
from tests.web.tills import new_till
from tests.web.webhooks import new_delivery, new_endpoint

BY_NAME: Final = {f"{route.method} {route.path}": route for route in PAGE_ROUTES}
READ: Final = [name for name, route in BY_NAME.items() if route.method == "GET"]
POSTED: Final = [name for name, route in BY_NAME.items() if route.method == "POST"]
# Pages that anybody may open. Every other one leads whoever is not signed in to the door.
OPEN: Final = (
    "/pay",
    "/pay/{id}",
    "/pay/{id}/cancel",
    "/pay/{id}/sign-in",
    "/pay/{id}/sign-in/passkey",
    "/pay/{id}/sign-out",
    "/pay/{id}/confirm",
    "/pay/{id}/passkey",
    "/pay/{id}/test",
    "/pay/{id}/state",
    "/pay/{id}/back",
    "/pay/{id}/qr",
    "/till/{id}",
    "/brand/colour/{id}",
    "/brand/logo/{id}",
    "/receipt/{token}",
    "/receipt/{token}/pdf",
    "/",
    "/help",
    "/contact",
    "/fees",
    "/terms",
    "/privacy",
    "/.well-known/security.txt",
    "/sign-in",
    "/sign-in/code",
    "/sign-in/passkey",
    "/sign-out",
    "/sign-up",
    "/sign-up/code",
    "/forgot",
    "/reset/{token}",
    "/email/{token}",
    "/operator/appointments/{token}",
    "/operator/sign-in",
    "/operator/sign-in/passkey",
    "/invitations/{id}",
)
EXPORTS: Final = {"/wallet/statement.csv", "/wallet/statement.pdf"}  # Whoever takes one is written down.
NOT_OWNERS: Final = {"/business/{account}/leave"}  # Who owns a business does not leave it.
# With these a page takes pictures along.
UPLOADS: Final = {"/wallet/identity", "/wallet/pay", "/business/{account}/brand"}


def a_delivery(still: InProcess, merchant: Merchant) -> str:
    """Of an event that is made now."""
    still.paid(merchant, still.customers[0])
    return new_delivery(still, merchant.key)


# What an address names, where the page of something that is there tells more than that of nothing.
MADE: Final[dict[str, Callable[[InProcess, Merchant], str]]] = {
    "/pay/": lambda still, merchant: still.payment(merchant),
    "/business/{account}/payments/": lambda still, merchant: still.paid(merchant, still.customers[0]),
    "/business/{account}/payouts/": a_refused_payout,
    "/business/{account}/sell/": lambda still, merchant: still.payment(merchant),
    "/till/": new_till,
    "/business/{account}/tills/": new_till,
    "/business/{account}/staff/": a_member,
    "/business/{account}/invitations/": new_invitation,
    "/invitations/": new_invitation,
    "/business/{account}/keys/": lambda _, merchant: merchant.key_id,
    "/business/{account}/requests/": lambda still, merchant: record(still, merchant)[0],
    "/business/{account}/webhooks/": lambda still, merchant: new_endpoint(still, merchant.key),
    "/business/{account}/deliveries/": a_delivery,
}
POLICY: Final = (
    "default-src 'none'; style-src 'self'; script-src 'self'; font-src 'self'; img-src 'self' data:;"
    " connect-src 'self'; manifest-src 'self'; form-action 'self'"
)


@pytest.fixture(scope="module")
def guests(still: InProcess) -> dict[str, Guest]:
    """A browser of each kind of person."""
    merchant, operator = still.merchants[0], still.operators[0]
    emails = {
        "newcomer": still.person(verified=False).email,
        "customer": still.customer().email,
        "owner": merchant.email,
        "operator": operator.email,
    }
    found = {"nobody": Guest(still)}
    for role, email in emails.items():
        guest = Guest(still)
        code = {"code": still.code_of(email)} if role == "operator" else {}
        assert guest.sign_in(email, **code).status_code == 303
        assert guest.is_signed_in()
        found[role] = guest
    return found


def path_of(still: InProcess, route: Route) -> str:
    """Its address, which names something that the owner has, or that nobody has."""
    merchant = still.merchants[0]
    names = {"{token}": "x" * 43, "{account}": merchant.account}
    made = next((kind for kind in MADE if route.path.startswith(kind)), "")
    path = route.path.replace("{id}", MADE[made](still, merchant) if made and "{id}" in route.path else "none")
    for name, value in names.items():
        path = path.replace(name, value)
    return path


def form_of(guest: Guest, path: str, route: Route, **headers: str) -> Call:
    """A form of that page, without its token."""
    body, kind = multipart({}, {}) if route.path in UPLOADS else (b"", FORM)
    return guest.call("POST", path, body, content_type=kind, **headers)


def is_unheard(answer: httpx2.Response) -> bool:
    """Refused, or sent back to where such a form begins."""
    doors = {"/sign-in", "/sign-up", "/operator/sign-in"}
    return answer.status_code in {403, 404} or answer.headers.get("location") in doors


def is_console(route: Route) -> bool:
    """Whether it is a page for operators who have signed in at the console."""
    return route.path.startswith("/operator") and route.path not in OPEN


def is_no_console(answer: httpx2.Response) -> bool:
    """There is nothing; only the console's own address leads to its door."""
    return answer.status_code == 404 or answer.headers.get("location") == "/operator/sign-in"


def test_the_open_pages_exist() -> None:
    assert {path for path in OPEN if path not in {route.path for route in PAGE_ROUTES}} == set()


def test_a_page_is_shown_to_whom_it_is_for_and_changes_nothing(
    still: InProcess, guests: dict[str, Guest], subtests: pytest.Subtests
) -> None:
    for name in READ:
        with subtests.test(name):
            route = BY_NAME[name]
            path = path_of(still, route)
            before = still.counts()
            for role, guest in guests.items():
                answer = still.send(guest.call("GET", path))
                assert answer.status_code < 500, (role, answer.text)
                if is_console(route):  # Neither these people nor a wallet's session of an operator opens it.
                    assert is_no_console(answer)
                elif role == "nobody" and route.path not in OPEN:
                    assert (answer.status_code, answer.headers["location"].partition("?")[0]) == (303, "/sign-in")
                    assert answer.content == b""
                elif "{account}" in route.path:  # Of a business: those who do not work there see nothing.
                    is_shown = role == "owner" and route.path not in NOT_OWNERS
                    assert answer.status_code == (200 if is_shown else 404), role
            after = still.counts()
            if route.path in EXPORTS:
                after["audit"] = before["audit"]
            assert after == before


def test_every_page_may_load_nothing_but_ours_and_is_kept_by_nobody(
    still: InProcess, guests: dict[str, Guest], subtests: pytest.Subtests
) -> None:
    for name in [name for name in READ if "{" not in name or "/pay/{id}" in name]:
        with subtests.test(name):
            route = BY_NAME[name]
            answer = still.send(guests["customer"].call("GET", path_of(still, route)))
            assert answer.headers["cache-control"] == "no-store"
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["referrer-policy"] == "no-referrer"
            policy = answer.headers["content-security-policy"]
            assert "frame-ancestors 'none'" in policy
            assert "unsafe" not in policy
            if answer.headers["content-type"].startswith("text/html"):
                assert policy.startswith(POLICY)
                assert not [word for word in ("<script>", " style=", " onclick=", "javascript:") if word in answer.text]


def test_a_form_without_its_token_is_not_heard(
    still: InProcess, guests: dict[str, Guest], subtests: pytest.Subtests
) -> None:
    for name in POSTED:
        with subtests.test(name):
            route = BY_NAME[name]
            path = path_of(still, route)
            before = still.counts()
            for role, guest in guests.items():
                assert is_unheard(still.send(form_of(guest, path, route))), role
            assert still.counts() == before


def test_a_form_from_elsewhere_is_not_heard(
    still: InProcess, guests: dict[str, Guest], subtests: pytest.Subtests
) -> None:
    for name in POSTED:
        for header in (
            {"origin": "https://evil.example"},
            {"sec_fetch_site": "cross-site"},
            {"sec_fetch_site": "same-site"},
        ):
            with subtests.test(f"{name} {header!r:.60}"):
                route = BY_NAME[name]
                path = path_of(still, route)
                before = still.counts()
                answer = still.send(form_of(guests["owner"], path, route, **header))
                assert is_unheard(answer)
                assert still.counts() == before


def test_no_bearer_opens_a_page(still: InProcess, subtests: pytest.Subtests) -> None:
    for name in [name for name in READ if BY_NAME[name].path not in OPEN]:
        with subtests.test(name):
            path = path_of(still, BY_NAME[name])
            for token in (still.merchants[0].key, still.customers[0].token):
                answer = still.send(Call("GET", path, token))
                if is_console(BY_NAME[name]):
                    assert is_no_console(answer)
                    continue
                assert (answer.status_code, answer.headers["location"].partition("?")[0]) == (303, "/sign-in")
