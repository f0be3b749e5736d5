"""Two operators change how a person signs in, and it is felt at once."""

from collections.abc import Iterator

import pytest

from qirsh.domain.commands.login_credentials import AddPasskey
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
    house.act("access ask", email=customer.email, kind=kind, reason="called from their number")
    house.act("access confirm", operator=1, email=customer.email, kind=kind)


def code(house: InProcess, act: str, operator: int = 0, /, **words: str) -> str:
    return house.run(house.tried(act, words, operator)).code


def test_a_person_is_signed_out_by_two(house: InProcess) -> None:
    customer, guest = tenant(house)
    house.act("access ask", email=customer.email, kind="sign-out", reason="stolen phone")
    [item] = house.act("access list")["items"]
    assert (item["email"], item["kind"], item["reason"]) == (customer.email, "sign-out", "stolen phone")
    assert code(house, "access confirm", 0, email=customer.email, kind="sign-out") == "second_operator_needed"
    assert guest.is_signed_in()
    house.act("access confirm", operator=1, email=customer.email, kind="sign-out")
    assert not guest.is_signed_in()
    assert house.send(Call("GET", BALANCES, customer.token)).status_code == 401
    assert house.act("access list")["items"] == []
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
    change(house, customer, "remove-factors")
    assert house.send(sign_in(customer.email)).status_code == 201
    with house.books() as books:
        assert books.select("SELECT count(*) FROM passkey WHERE person = ?", person) == [(0,)]


def test_what_cannot_be_asked_for(house: InProcess) -> None:
    customer = house.customer()
    words = {"email": customer.email, "reason": "because"}
    assert code(house, "access ask", kind="dance", **words) == "invalid"
    assert code(house, "access ask", kind="block", **{**words, "email": "nobody@home.example"}) == "not_found"
    assert code(house, "access ask", kind="block", **{**words, "email": house.operators[0].email}) == "own_request"
    operator = house.operators[1].email
    assert code(house, "access ask", kind="remove-factors", **{**words, "email": operator}) == "move_not_allowed"
    assert code(house, "access confirm", 1, kind="block", email=customer.email) == "not_found"
    assert code(house, "access confirm", 1, kind="block", email="nobody@home.example") == "not_found"
