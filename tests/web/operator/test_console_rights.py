"""Every page and form of the console by every role: for those that the table of roles names, and for nobody else."""

import re
from collections.abc import Iterator
from typing import Final

import httpx2
import pytest

from qirsh.domain.operator_role import ROLES, OperatorRight, Role, may
from qirsh.web.http.route import BY_LINK, BY_PROOF, Route
from qirsh.web.operator.console_form import ConsoleForm
from qirsh.web.operator.routes import ROUTES
from tests.guest import FORM, Guest
from tests.live import InProcess, in_process
from tests.operators import LONG_AGO_MS
from tests.postgres import PostgresServer
from tests.web.operator.console import ConsoleGuest, operator_with

PAGES: Final = [route for route in ROUTES if route.right not in {BY_LINK, BY_PROOF}]
# Typed from the table of roles, and not taken from the code. A page that is not here fails.
RIGHTS: Final = {
    "GET /operator": "look",
    "GET /operator/messages": "write_to_shops",
    "GET /operator/proposals": "look",
    "GET /operator/proposals/{id}": "look",
    "GET /operator/operators": "ask_setup",
    "GET /operator/payments/{payment}/refund": "ask_help",
    "GET /operator/people/{person}/reset-pin": "ask_help",
    "GET /operator/people/{person}/keep": "restrict",
    "GET /operator/people/{person}/remove-operator-factors": "ask_setup",
    "GET /operator/search": "look",
    "GET /operator/people/{person}": "look",
    "GET /operator/people/{person}/note": "write_to_shops",
    "GET /operator/people/{person}/sign-out": "restrict",
    "GET /operator/people/{person}/block": "restrict",
    "GET /operator/people/{person}/unblock": "resume",
    "GET /operator/people/{person}/remove-factors": "ask_help",
    "GET /operator/accounts/{account}": "look",
    "GET /operator/accounts/{account}/note": "write_to_shops",
    "GET /operator/accounts/{account}/suspend": "restrict",
    "GET /operator/accounts/{account}/resume": "resume",
    "GET /operator/accounts/{account}/close": "ask_close",
    "GET /operator/accounts/{account}/keys/{id}/revoke": "restrict",
    "GET /operator/payments/{payment}": "look",
    "GET /operator/payments/{payment}/note": "write_to_shops",
    "POST /operator/sign-out": "look",
    "GET /operator/money": "ask_money",
    "GET /operator/money/deposit": "ask_money",
    "GET /operator/money/withdraw": "ask_money",
    "GET /operator/money/adjust": "ask_money",
    "GET /operator/money/reverse": "ask_money",
    "GET /operator/houses": "ask_setup",
    "GET /operator/payouts": "ask_money",
    "GET /operator/payouts/{id}": "ask_money",
    "GET /operator/ledger": "check_ledger",
    "GET /operator/audit": "see_audit_log",
    "GET /operator/system": "see_system",
    "GET /operator/bank": "see_bank",
    "GET /operator/bank_lines": "match_bank",
    "GET /operator/bank/{house}/lines": "see_bank",
    "GET /operator/bank/{house}/orders": "see_bank",
    "GET /operator/bank/{house}/lines/{line}": "see_bank",
    "GET /operator/bank/{house}/statements/{id}": "see_bank",
    "GET /operator/bank/{house}/format": "match_bank",
    "GET /operator/bank/{house}/import": "match_bank",
    "GET /operator/bank/{house}/preview": "match_bank",
    "GET /operator/identities": "decide",
    "GET /operator/identities/{account}": "see_papers",
    "GET /operator/identities/{account}/{side}": "see_papers",
    "GET /operator/businesses": "decide",
    "GET /operator/businesses/{account}": "decide",
    "GET /operator/brands": "decide",
    "GET /operator/brands/{account}": "decide",
    "GET /operator/recoveries": "ask_setup",
}


def name_of(route: Route) -> str:
    return f"{route.method} {route.path}"


@pytest.fixture(scope="module")
def world(engine: PostgresServer | None) -> Iterator[InProcess]:
    with in_process(engine, shops=1, people=1) as held:
        yield held


@pytest.fixture(scope="module")
def guests(world: InProcess) -> dict[Role, ConsoleGuest]:
    """A browser for each role, and none has another."""
    numbers = {role: operator_with(world, role) for role in ROLES}
    world.clock.advance(LONG_AGO_MS)
    return {role: ConsoleGuest(world).at_console(world.operators[number]) for role, number in numbers.items()}


def path_of(route: Route) -> str:
    """Its address, which names nothing that there is."""
    return re.sub(r"\{\w+\}", "1", route.path)


def posted(guest: Guest, path: str) -> httpx2.Response:
    return guest.world.send(guest.call("POST", path, b"", content_type=FORM))


def test_every_page_is_in_the_table_and_every_form_has_the_right_of_its_action() -> None:
    pages = [route for route in PAGES if not isinstance(route, ConsoleForm)]
    assert {name_of(route): str(route.right) for route in pages} == RIGHTS


def some_of(right: OperatorRight, place: int) -> set[Role]:
    """One role that has the right and one that has not, if there is one: others at the next place."""
    having, lacking = ([role for role in ROLES if may(role, right) is has] for has in (True, False))
    return {roles[place % len(roles)] for roles in (having, lacking) if roles}


@pytest.mark.parametrize("is_whole", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_page_is_for_roles_that_have_its_right(
    world: InProcess, guests: dict[Role, ConsoleGuest], subtests: pytest.Subtests, *, is_whole: bool
) -> None:
    before = world.counts()
    for place, route in enumerate(PAGES):
        with subtests.test(name_of(route)):
            path, right = path_of(route), OperatorRight(str(route.right))
            for role in guests if is_whole else some_of(right, place):
                guest = guests[role]
                answer = posted(guest, path) if route.method == "POST" else world.send(guest.call("GET", path))
                is_told = "Your role does not allow this" in answer.text
                assert is_told == (not may(role, right)), (role, answer.status_code)
                if may(role, right) and route.method == "POST":  # It came without its token.
                    assert "This form is no longer valid" in answer.text, role
                elif may(role, right):
                    assert answer.status_code in {200, 303, 404}, role
                else:
                    assert answer.status_code == 403
            assert world.counts() == before


# tests/web/test_page_access.py asks the same of every page, in every run.
@pytest.mark.slow
def test_there_is_no_such_page_for_others(world: InProcess, subtests: pytest.Subtests) -> None:
    customer = Guest(world).entered(world.customers[0])
    for route in PAGES:
        with subtests.test(name_of(route)):
            path = path_of(route)
            for guest in (Guest(world), customer):
                answer = posted(guest, path) if route.method == "POST" else world.send(guest.call("GET", path))
                is_door = route.path == "/operator" and answer.headers.get("location") == "/operator/sign-in"
                assert answer.status_code == 404 or is_door


def test_the_menu_leads_nowhere_that_its_reader_may_not_go(guests: dict[Role, ConsoleGuest]) -> None:
    for role, guest in guests.items():
        guest.open("/operator")
        [menu] = re.findall(r'<nav class="places.*?</nav>', guest.page, re.DOTALL)
        places = re.findall(r'href="([^"]+)"', menu)
        assert places[0] == "/operator"
        for place in places:
            assert guest.world.send(guest.call("GET", place)).status_code == 200, (role, place)
