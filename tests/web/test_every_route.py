"""What holds on every route that a key opens, generated from the table of routes: the end of a right, who one is."""

import re
from typing import Final

import pytest

from qirsh.web.http.authentication import KEY
from qirsh.web.routes import ROUTES
from tests.live import Call, Live, Merchant, field_errors, outcome, post, refused, retrieve
from tests.waiting import wait_until
from tests.web.belongings import (
    BODIES,
    BY_NAME,
    KEYED,
    NAMES,
    ONCE,
    belongings,
    call_of,
    is_of_tests,
    named,
    takes_an_id,
)


def argument_of(world: Live, name: str, merchant: Merchant) -> str:
    """What the route's address names, if anything."""
    return named(world, NAMES[name], merchant, world.customers[0]) if takes_an_id(BY_NAME[name]) else ""


# The end of a key and of a shop, on every route that a key opens.


def test_a_revoked_key_opens_no_route(world: Live) -> None:
    merchant = world.merchant()
    things = {name: argument_of(world, name, merchant) for name in KEYED}
    for test in (False, True):
        done = world.act("key issue", account=merchant.account, test=test)
        key, key_id = done["key"], done["id"]
        calls = [call_of(name, key, things[name]) for name in KEYED]
        assert world.send(Call("GET", "/api/v1/me", key)).status_code == 200
        world.act("key revoke", id=key_id)
        wait_until(lambda key=key: world.send(Call("GET", "/api/v1/me", key)).status_code == 401)  # type: ignore[misc]
        before = world.counts()
        for one in calls:
            refused(world.send(one), 401, "unauthorized")
        assert world.counts() == before


# To remove something takes nothing but rights away: test_webhook_endpoints.py.
def test_a_suspended_shop_reads_on_every_route_and_writes_on_none(world: Live, subtests: pytest.Subtests) -> None:
    for name in [name for name in KEYED if not name.startswith("DELETE")]:
        with subtests.test(name):
            merchant, route = world.merchant(), BY_NAME[name]
            things = [""]
            if takes_an_id(route):
                things = [*belongings(world, merchant, world.customers[0]).of(name).values()]
                things.append(named(world, NAMES[name], merchant, world.customers[0]))
            world.act("account suspend", account=merchant.account)
            before = world.counts()
            for key in (merchant.key, merchant.test_key):
                answers = [world.send(call_of(name, key, thing)) for thing in things]
                # A thing of the other mode stays hidden, and a live key stays one that makes no trials.
                expected = (
                    {200}
                    if route.method == "GET"
                    else {403}
                    if is_of_tests(name) <= (key == merchant.test_key)
                    else {409}
                )
                assert {answer.status_code for answer in answers} - {404} == expected, [
                    answer.text for answer in answers
                ]
            assert world.counts() == before
            world.act("account resume", account=merchant.account)
            key = merchant.test_key if is_of_tests(name) else merchant.key
            assert world.send(call_of(name, key, things[-1])).status_code in {200, 201}


# What a path cannot name.


@pytest.mark.both_engines
def test_a_path_with_a_nul_is_nowhere_and_reaches_no_database(world: Live) -> None:
    merchant, customer = world.merchants[0], world.customers[0]
    for route in ROUTES:
        if "{" in route.path:
            token = merchant.key if route.token is KEY else customer.token
            answer = world.send(Call(route.method, re.sub(r"{\w+}", "a%00", route.path), token))
            assert answer.status_code == 404, route.path


# Nothing but the key says who one is, on every route.

POLLUTION: Final = (
    "x-merchant-id",
    "x-account",
    "x-account-id",
    "x-forwarded-user",
    "x-user-id",
    "x-original-url",
    "x-rewrite-url",
    "x-http-method-override",
    "x-http-method",
    "x-method-override",
)


def test_no_header_makes_one_somebody_else(world: Live, subtests: pytest.Subtests) -> None:
    for name in KEYED:
        with subtests.test(name):
            mine, other = world.merchants[:2]
            argument = argument_of(world, name, mine)
            key, other_key = (mine.test_key, other.test_key) if is_of_tests(name) else (mine.key, other.key)
            polluted = call_of(name, key, argument)
            foreign = call_of(name, other_key, argument)
            for header in POLLUTION:
                value = "DELETE" if "method" in header else other.account
                polluted, foreign = polluted.with_header(header, value), foreign.with_header(header, mine.account)
            if argument:
                assert outcome(world.send(foreign)) == "not_found"
            answer = world.send(polluted)
            assert answer.status_code in {200, 201}, answer.text
            assert other.account not in answer.text


def test_no_parameter_makes_one_somebody_else_or_changes_what_is_done(world: Live, subtests: pytest.Subtests) -> None:
    for name in KEYED:
        with subtests.test(name):
            mine, other = world.merchants[:2]
            argument = argument_of(world, name, mine)
            key, account = (mine.test_key, mine.test_account) if is_of_tests(name) else (mine.key, mine.account)
            for query in (
                f"?account={other.account}",
                f"?to={other.account}&merchant={other.account}",
                "?_method=DELETE",
                "?amount=100000&amount=1",
                f"?id={other.account}",
                "?livemode=false",
            ):
                asked = call_of(name, key, argument)
                answer = world.send(asked._replace(path=asked.path + query))
                # Unknown parameters of a search are refused; elsewhere they mean nothing.
                assert answer.status_code in {200, 201, 409, 422}, answer.text
                assert other.account not in answer.text
            if NAMES.get(name) in {"payment", "paid payment", "test payment"}:
                shown = world.data(retrieve(key, argument))
                assert (shown["to"], shown["amount"], shown["livemode"]) == (account, 100, account == mine.account)


def test_no_field_of_a_body_sets_what_is_the_services_to_set(world: Live, subtests: pytest.Subtests) -> None:
    for name in [name for name in ONCE if BY_NAME[name].token is KEY]:
        with subtests.test(name):
            mine, other = world.merchants[:2]
            argument = argument_of(world, name, mine)
            key = mine.test_key if is_of_tests(name) else mine.key
            asked = call_of(name, key, argument)
            before = world.counts()
            for field, value in (
                ("status", "paid"),
                ("from", other.account),
                ("to", other.account),
                ("account", other.account),
                ("merchant", other.account),
                ("_id", "1234567890123456"),
                ("id", "rf_000000000000000000000000"),
                ("payment", argument),
                ("refundedAmount", 0),
                ("createdAt", "2020-01-01T00:00:00.000Z"),
                ("version", 1),
                ("livemode", True),
            ):
                if field not in BODIES[name]:
                    answer = world.send(post(asked.path, key, {**BODIES[name], field: value}))
                    assert field_errors(answer) == {field: "unknown_field"}
            assert world.counts() == before
            assert world.send(asked).status_code in {200, 201}
