"""Operators who are kept out, who may keep them out, and what those see who confirm."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.live import InProcess, in_process
from tests.postgres import PostgresServer
from tests.web.operator.console import console, operator_with


@pytest.fixture
def world(engine: PostgresServer | None) -> Iterator[InProcess]:
    with in_process(engine, shops=1, people=1) as held:
        yield held
        assert held.violations() == []


def code(world: InProcess, act: str, operator: int, **words: object) -> str:
    return world.run(world.tried(act, words, operator)).code


def slip(world: InProcess, reference: str) -> dict[str, Any]:
    words = {"account": world.customers[0].account, "currency": "USD", "amount": "5.00", "reason": "cash"}
    return {**words, "reference": reference}


@pytest.mark.both_engines
def test_a_blocked_operator_acts_no_more_by_whichever_way(world: InProcess) -> None:
    asked = world.act("deposit ask", 0, **slip(world, "one"))
    world.act("access block", 0, email=world.operators[1].email, reason="a stolen laptop")
    shown = {"id": asked["id"], "digest": asked["digest"]}
    assert code(world, "proposal confirm", 1, **shown) == "not_operator"
    assert code(world, "deposit ask", 1, **slip(world, "two")) == "not_operator"
    assert code(world, "account suspend", 1, account=world.merchants[0].account) == "not_operator"
    world.act("access unblock", 0, email=world.operators[1].email, reason="it was found")
    assert world.act("proposal confirm", 1, **shown)["state"] == "done"


def test_what_a_blocked_operator_asked_for_is_not_confirmed(world: InProcess) -> None:
    asked = world.act("deposit ask", 1, **slip(world, "one"))
    world.act("access block", 0, email=world.operators[1].email, reason="a stolen laptop")
    assert code(world, "proposal confirm", 0, id=asked["id"], digest=asked["digest"]) == "asker_not_operator"


def test_operators_are_kept_out_by_admins_alone(world: InProcess) -> None:
    support = operator_with(world, "support")
    email = world.operators[0].email
    for act in ("access block", "access sign-out"):
        assert code(world, act, support, email=email, reason="because") == "missing_right"
    with world.books() as books:
        [(account,)] = books.select(
            "SELECT account FROM person p JOIN login l ON l.person = p.id WHERE email = ?", email
        )
    assert code(world, "account suspend", support, account=str(account), reason="because") == "missing_right"
    assert code(world, "access block", support, email=world.customers[0].email, reason="because") == ""
    assert code(world, "access block", 1, email=world.operators[support].email, reason="because") == ""


def test_blanks_make_no_other_reference(world: InProcess) -> None:
    world.deposit(world.customers[0].account, 500)
    asked = world.act("deposit ask", 0, **slip(world, "FT 1"))
    world.act("proposal confirm", 1, id=asked["id"], digest=asked["digest"])
    for same in (" FT 1", "FT 1 ", "FT  1", "\u00a0FT 1"):
        assert code(world, "deposit ask", 0, **slip(world, same)) in {"reference_used", "invalid"}
    assert code(world, "deposit ask", 0, **slip(world, " FT 1 ")) == "reference_used"


def test_an_account_number_is_read_as_it_is_shown(world: InProcess) -> None:
    number = world.customers[0].account
    shown = f"{number[:4]} {number[4:8]} {number[8:]}"
    assert world.act("deposit ask", 0, **slip(world, "one") | {"account": shown})["account"] == number
    arabic = number.translate({48 + digit: 0x660 + digit for digit in range(10)})
    typed = slip(world, "two") | {"account": arabic, "amount": "\u0665\u066b\u0665\u0660"}
    told = world.act("deposit ask", 0, **typed)
    assert (told["account"], told["amount"]) == (number, "5.50")


def test_who_confirms_sees_whom_they_let_in_and_as_what(world: InProcess) -> None:
    world.change(has_mail=True)
    words = {"email": "mallory@evil.example", "name": "Mallory", "roles": "admin treasury", "reason": "help desk"}
    asked = world.act("operator create", 0, **words)
    guest = console(world, 1)
    text = guest.read(f"/operator/proposals/{asked['id']}")
    for said in ("Mallory", "mallory@evil.example", "Admin, Treasury"):
        assert said in text
    assert "Mallory" in guest.read("/operator/proposals")
    changed = world.act("operator roles", 1, email=world.operators[0].email, roles="auditor", reason="less")
    text = guest.read(f"/operator/proposals/{changed['id']}")
    assert "New roles Auditor" in text
    assert "Roles now Admin, Compliance, Treasury, Support, Auditor" in text
    world.act("proposal withdraw", 1, id=changed["id"], digest=changed["digest"], reason="they stay")
    text = guest.read(f"/operator/proposals/{changed['id']}")
    assert ("New roles Auditor" in text, "Roles now" in text) == (True, False)  # Those of today say nothing about it.
    assert "rolesNow" not in world.act("proposal show", 1, id=changed["id"])


def test_the_same_form_with_other_fields_is_told_so(world: InProcess) -> None:
    guest = console(world, 0)
    guest.open("/operator/money/deposit")
    held = guest.form("/operator/money/deposit") | {"house": "bank"}
    typed = slip(world, "one")
    assert guest.post("/operator/money/deposit", held, **typed).status_code == 303
    answer = guest.post("/operator/money/deposit", held, **typed | {"amount": "6.00"})
    assert answer.status_code == 422
    assert "This form was sent already" in guest.text
