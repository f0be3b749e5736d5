"""Operators change how a person signs in, and it is felt at once. To remove second factors takes two of them."""

from collections.abc import Iterator

import pytest

from qirsh.domain.commands.login_credentials import AddPasskey
from qirsh.web.operator.actions import ACTIONS
from tests.guest import Guest
from tests.live import BALANCES, PASSWORD, Call, Customer, InProcess, in_process, refused, sign_in
from tests.mailbox import mails_to
from tests.postgres import PostgresServer
from tests.visitor import Visitor
from tests.web.tenant import login_of, tenant, turn_on


@pytest.fixture(scope="module")
def house(engine: PostgresServer | None) -> Iterator[InProcess]:
    with in_process(engine, people=12) as world:
        world.change(has_mail=True)
        yield world


def change(house: InProcess, customer: Customer, kind: str) -> None:
    done = house.act(f"access {kind}", email=customer.email, reason="called from their number")
    assert done == {"email": customer.email, "state": "done"}


def code(house: InProcess, act: str, operator: int = 0, /, **words: str) -> str:
    return house.run(house.tried(act, words, operator)).code


def test_a_person_is_signed_out_by_one(house: InProcess) -> None:
    customer, guest = tenant(house)
    assert guest.is_signed_in()
    change(house, customer, "sign-out")
    assert not guest.is_signed_in()
    assert house.send(Call("GET", BALANCES, customer.token)).status_code == 401
    assert house.act("proposal list")["items"] == []
    with house.books() as books:
        person = login_of(house, customer.email).person
        noted = books.select("SELECT action, detail FROM audit WHERE subject = ? ORDER BY id DESC", f"person {person}")
    assert noted[0] == ("access.changed", "sign-out: called from their number")
    assert "access_signed_out" in [mail.kind for mail in mails_to(house, customer.email)]
    assert house.send(sign_in(customer.email)).status_code == 201


def test_a_blocked_person_is_told_so_once_they_have_proved_who_they_are(house: InProcess) -> None:
    customer, guest = tenant(house)
    change(house, customer, "block")
    assert not guest.is_signed_in()
    refused(house.send(sign_in(customer.email)), 403, "sign_in_blocked")
    refused(house.send(sign_in(customer.email, "wrong")), 401, "wrong_credentials")
    assert guest.sign_in(customer.email).status_code == 403
    assert "Sign-in to this account is blocked. Contact the operator of this service." in guest.text
    assert guest.sign_in(customer.email, "wrong").status_code == 422
    assert "blocked" not in guest.text
    visitor = Visitor(house, house.payment(house.merchants[0]))
    visitor.open()
    assert visitor.post("sign-in", email=customer.email, password=PASSWORD).status_code == 403
    change(house, customer, "unblock")
    assert Guest(house).sign_in(customer.email).status_code == 303


def test_who_has_lost_the_phone_gets_in_with_the_password(house: InProcess) -> None:
    customer, guest = tenant(house)
    turn_on(house, guest)
    person = login_of(house, customer.email).person
    house.run(house.context.engine.submit(AddPasskey(b"key", person, b"public", 0, "phone", ())))
    assert house.send(sign_in(customer.email)).status_code == 401
    asked = house.act("access remove-factors", email=customer.email, reason="called from their number")
    decided = {"id": asked["id"], "digest": asked["digest"]}
    assert code(house, "proposal confirm", 0, **decided) == "second_operator_needed"
    assert house.send(sign_in(customer.email)).status_code == 401
    assert house.act("proposal confirm", 1, **decided)["state"] == "done"
    assert house.send(sign_in(customer.email)).status_code == 201
    assert "access_factors_removed" in [mail.kind for mail in mails_to(house, customer.email)]
    with house.books() as books:
        assert books.select("SELECT count(*) FROM passkey WHERE person = ?", person) == [(0,)]


def test_a_passkey_that_came_meanwhile_goes_too(house: InProcess) -> None:
    customer, guest = tenant(house)
    turn_on(house, guest)
    person = login_of(house, customer.email).person
    asked = house.act("access remove-factors", email=customer.email, reason="lost phone")
    house.run(house.context.engine.submit(AddPasskey(b"newer", person, b"public", 0, "phone", ())))
    house.act("proposal confirm", 1, id=asked["id"], digest=asked["digest"])
    with house.books() as books:
        assert books.select("SELECT count(*) FROM passkey WHERE person = ?", person) == [(0,)]


@pytest.mark.parametrize("act", [name for name in ACTIONS if name.startswith("access ")])
def test_what_cannot_be_done(house: InProcess, act: str) -> None:
    words = {"email": house.customer().email, "reason": "because"}
    assert code(house, act, **{**words, "email": "nobody@home.example"}) == "not_found"
    assert code(house, act, **{**words, "email": "nobody"}) == "invalid"
    assert code(house, act, **{**words, "reason": ""}) == "invalid"
    assert code(house, act, **{**words, "email": house.operators[0].email}) == "own_request"


def test_an_operator_keeps_their_second_factor(house: InProcess) -> None:
    words = {"email": house.operators[1].email, "reason": "because"}
    assert code(house, "access remove-factors", **words) == "move_not_allowed"
