"""Proposals by the bank's reference, and one by one: what waits, what is told of it, and what is no longer there."""

import html
import re
from collections.abc import Iterator
from typing import Any

import pytest

from qirsh.domain.proposal import PROPOSAL_MS
from tests.live import PASSWORD, PIN, InProcess, Operator, in_process
from tests.operators import appointed
from tests.postgres import PostgresServer
from tests.web.operator.console import console


@pytest.fixture
def world(engine: PostgresServer | None) -> Iterator[InProcess]:
    with in_process(engine, shops=1, people=1) as held:
        yield held
        assert held.violations() == []


def ask(world: InProcess, reference: str, *, amount: str = "5.00", operator: int = 0) -> dict[str, Any]:
    words = {"account": world.customers[0].account, "currency": "USD", "reference": reference, "amount": amount}
    return world.act("deposit ask", operator, **words, reason="cash at the counter")


def code(world: InProcess, act: str, operator: int, **words: object) -> str:
    return world.run(world.tried(act, words, operator)).code


def test_a_proposal_tells_what_is_asked_for(world: InProcess) -> None:
    asked = ask(world, "slip")
    assert asked | {"id": "", "digest": "", "askedBy": "", "askedAt": ""} == {
        "id": "",
        "action": "deposit",
        "state": "open",
        "about": f"account {world.customers[0].account}",
        "reason": "cash at the counter",
        "askedBy": "",
        "askedAt": "",
        "digest": "",
        "amount": "5.00",
        "currency": "USD",
        "account": world.customers[0].account,
        "reference": "slip",
        "direction": "to the account",
        "house": next(one["number"] for one in world.act("house list")["houses"] if one["name"] == "bank"),
    }
    assert world.act("proposal list", 1)["items"] == [asked]
    assert code(world, "proposal show", 1, id="pr_unknown") == "not_found"


def test_a_reference_confirms_the_one_that_waits_and_none_of_several(world: InProcess) -> None:
    account = world.customers[0].account
    before = world.held(account)
    ask(world, "slip")
    other = ask(world, "slip", amount="500.00", operator=1)
    reply = world.run(world.tried("deposit confirm", {"reference": "slip"}, 1))
    assert (reply.code, "2 proposals wait under this reference" in reply.detail) == ("several_wait", True)
    assert code(world, "withdraw confirm", 1, reference="slip") == "not_found"
    world.act("proposal withdraw", 1, id=other["id"], digest=other["digest"], reason="typed twice")
    assert code(world, "deposit confirm", 0, reference="slip") == "second_operator_needed"
    assert world.act("deposit confirm", 1, reference="slip")["state"] == "done"
    assert code(world, "deposit confirm", 1, reference="slip") == "already_decided"
    assert code(world, "withdraw confirm", 1, reference="slip") == "not_found"
    assert world.held(account) == before + 500
    words = {"account": account, "currency": "USD", "amount": "5.00", "reference": "slip", "reason": "again"}
    assert code(world, "deposit ask", 0, **words) == "reference_used"


def test_one_that_is_too_old_is_not_in_the_way_of_a_newer_one(world: InProcess) -> None:
    ask(world, "slip")
    world.clock.advance(PROPOSAL_MS)
    assert code(world, "deposit confirm", 1, reference="slip") == "proposal_lapsed"
    newer = ask(world, "slip")
    assert world.act("deposit confirm", 1, reference="slip")["id"] == newer["id"]


def test_compliance_adds_a_person_with_a_pin_and_support_asks_to_set_it_back(world: InProcess) -> None:
    with world.books() as books:
        (first,), (second,) = books.select("SELECT person FROM operator ORDER BY person")
    for role in ("compliance", "support"):
        email = f"{role}@bank.example"
        made = appointed(world.context, email, PASSWORD, by=first, agrees=second, roles=role)
        world.operators.append(Operator(email, world.run(made)[1]))
    world.act("person add", 2, email="new@home.example", name="New", password=PASSWORD, pin=PIN)
    lost = {"email": "new@home.example", "reason": "has forgotten it"}
    assert code(world, "access reset-pin", 2, **lost) == "missing_right"
    assert world.act("access reset-pin", 3, **lost)["state"] == "open"


@pytest.mark.both_engines
def test_a_long_list_is_read_page_by_page_and_the_money_page_has_the_oldest(world: InProcess) -> None:
    asked = [ask(world, f"slip {number}")["id"] for number in range(53)]
    guest = console(world, 1)
    guest.open("/operator/proposals")
    [newer] = re.findall(r'href="(/operator/proposals\?at=[^"]+)"', guest.page)
    first = re.findall(r"/operator/proposals/(pr_[0-9a-f]+)", guest.page)
    guest.open(html.unescape(newer))
    assert sorted(first + re.findall(r"/operator/proposals/(pr_[0-9a-f]+)", guest.page)) == sorted(asked)
    assert (len(first), "Newer" in guest.text) == (50, False)
    guest.open("/operator/money")
    shown = re.findall(r"/operator/proposals/(pr_[0-9a-f]+)", guest.page)
    assert [one for one in shown if one in asked] == first[:10]
    assert guest.open("/operator/proposals?at=x").status_code == 422
