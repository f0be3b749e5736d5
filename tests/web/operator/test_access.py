"""Operators change how a person signs in, and it is felt at once. To remove second factors takes two of them."""

from collections.abc import Iterator
from typing import Any

import pytest

from qirsh.domain.commands.login_credentials import AddPasskey
from qirsh.domain.pending_reset import RESET_AFTER_MS
from qirsh.web.operator.actions import ACTIONS
from qirsh.workers.access_resetter import AccessResetter
from tests.guest import Guest
from tests.live import BALANCES, PASSWORD, Call, Customer, InProcess, in_process, pay, refused, sign_in
from tests.mailbox import mails_to, words_to
from tests.postgres import PostgresServer
from tests.visitor import Visitor
from tests.web.operator.console import ConsoleGuest, operator_with
from tests.web.tenant import login_of, tenant, turn_on


@pytest.fixture(scope="module")
def house(engine: PostgresServer | None) -> Iterator[InProcess]:
    with in_process(engine, people=20) as world:
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


def carry_out(house: InProcess) -> int:
    """What the service does once a minute."""
    context = house.context
    resetter = AccessResetter(
        context.store, context.engine, context.clock, keyring=context.keyring, entropy=context.entropy, has_mail=True
    )
    return house.run(resetter.carry_out_due())


def kinds(house: InProcess, customer: Customer) -> list[str]:
    return [mail.kind for mail in mails_to(house, customer.email)]


@pytest.mark.both_engines
def test_who_has_lost_the_phone_gets_in_with_the_password_a_day_later(house: InProcess) -> None:
    customer, guest = tenant(house)
    turn_on(house, guest)
    person = login_of(house, customer.email).person
    house.run(house.context.engine.submit(AddPasskey(b"key", person, b"public", 0, "phone", ())))
    assert house.send(sign_in(customer.email)).status_code == 401
    asked = house.act("access remove-factors", email=customer.email, reason="called from their number")
    decided = {"id": asked["id"], "digest": asked["digest"]}
    assert code(house, "proposal confirm", 0, **decided) == "second_operator_needed"
    assert house.act("proposal confirm", 1, **decided)["state"] == "done"
    assert "factors_reset_agreed" in kinds(house, customer)
    [waiting] = house.act("access resets", email=customer.email)["items"]
    assert (waiting["what"], waiting["proposal"]) == ("factors", asked["id"])
    house.clock.advance(RESET_AFTER_MS - 1)
    house.run(house.context.engine.submit(AddPasskey(b"newer", person, b"public", 0, "phone", ())))
    assert carry_out(house) == 0
    assert house.send(sign_in(customer.email)).status_code == 401
    house.clock.advance(1)
    assert (carry_out(house), carry_out(house)) == (1, 0)
    assert house.send(sign_in(customer.email)).status_code == 201
    assert kinds(house, customer).count("access_factors_removed") == 1
    assert house.act("access resets", email=customer.email)["items"] == []
    with house.books() as books:
        assert books.select("SELECT count(*) FROM passkey WHERE person = ?", person) == [(0,)]


def test_who_has_forgotten_the_pin_sets_a_new_one_a_day_later(house: InProcess) -> None:
    customer, guest = tenant(house)
    house.agree("access reset-pin", email=customer.email, reason="has forgotten it")
    assert code(house, "access reset-pin", email=customer.email, reason="again") == "move_not_allowed"
    house.clock.advance(RESET_AFTER_MS)
    assert carry_out(house) == 1
    assert "pin_reset_done" in kinds(house, customer)
    customer, guest = tenant(house, customer)
    refused(house.send(pay(house.anew(customer), house.payment(house.merchants[0]))), 403, "pin_locked")
    assert "Set a PIN" in guest.read("/wallet/security")
    assert code(house, "access reset-pin", email=customer.email, reason="again") == "move_not_allowed"


def test_the_person_keeps_their_pin_by_a_button_on_the_page_that_the_mail_leads_to(house: InProcess) -> None:
    customer, guest = tenant(house)
    for act in ("access reset-pin", "access remove-factors"):
        house.agree(act, email=customer.email, reason="somebody called")
    told = words_to(house, customer.email)["pin_reset_agreed"]
    assert told["url"].endswith("/wallet/security")
    text = guest.read("/wallet/security")
    assert "Support was asked to remove your payment PIN" in text
    assert "Support was asked to turn off two-step verification" in text
    form = {**guest.form("/wallet/security/keep"), "what": "pin"}
    answer = guest.post("/wallet/security/keep", form)
    assert (answer.status_code, answer.headers["location"]) == (303, "/wallet/security")
    guest.follow(answer)
    assert "It stays as it is" in guest.text
    assert "remove your payment PIN" not in guest.text
    assert "turn off two-step verification and" in guest.text
    house.clock.advance(RESET_AFTER_MS)
    assert carry_out(house) == 1  # The other one.
    assert house.data(pay(house.anew(customer), house.payment(house.merchants[0])))["status"] == "paid"
    guest = tenant(house, customer)[1]
    guest.open("/wallet/security")
    assert guest.post("/wallet/security/keep", {"token": "odd", "what": "factors"}).status_code == 403


def test_an_operator_who_may_restrict_stops_it(house: InProcess) -> None:
    customer, _ = tenant(house)
    for act in ("access reset-pin", "access remove-factors"):
        house.agree(act, email=customer.email, reason="somebody called")
    words: dict[str, Any] = {"email": customer.email, "reason": "they know nothing of it"}
    assert code(house, "access keep", **words, what="password") == "invalid"
    assert house.act("access keep", **words)["kept"] == "factors pin"
    assert code(house, "access keep", **words) == "not_found"
    assert kinds(house, customer).count("reset_stopped") == 1
    house.clock.advance(RESET_AFTER_MS)
    assert carry_out(house) == 0


def test_it_is_asked_for_by_the_number_where_addresses_are_not_seen(house: InProcess) -> None:
    customer, _ = tenant(house)
    person = str(login_of(house, customer.email).person)
    assert house.act("access reset-pin", person=person, reason="lost")["about"] == f"person {person}"
    for wrong in ("0", "odd", "9" * 18):
        assert code(house, "access reset-pin", person=wrong, reason="lost") in {"not_found", "invalid"}


@pytest.mark.parametrize("act", [name for name in ACTIONS if name.startswith("access ")])
def test_what_cannot_be_done(house: InProcess, act: str) -> None:
    words = {"email": house.customer().email, "reason": "because"}
    assert code(house, act, **{**words, "email": "nobody@home.example"}) == "not_found"
    assert code(house, act, **{**words, "email": "nobody"}) == "invalid"
    if act == "access resets":
        return
    assert code(house, act, **{**words, "reason": ""}) == "invalid"
    if act != "access keep":
        assert code(house, act, **{**words, "email": house.operators[0].email}) == "own_request"


def test_an_operator_s_second_factor_goes_by_two_admins_at_once_and_then_they_run_nothing(house: InProcess) -> None:
    third = operator_with(house, "support")
    lost = house.operators[third]
    words: dict[str, Any] = {"email": lost.email, "reason": "has lost the phone"}
    assert code(house, "access remove-factors", **words) == "move_not_allowed"
    assert code(house, "operator remove-factors", **{**words, "email": house.customer().email}) == "not_found"
    assert house.agree("operator remove-factors", **words)["state"] == "done"
    for operator in house.operators[:2]:
        assert words_to(house, operator.email)["operator_factors_removed"]["new_email"] == lost.email
    assert login_of(house, lost.email).totp_sealed is None
    assert code(house, "account list", third) == "second_factor_needed"
    guest = ConsoleGuest(house)
    assert guest.sign_in_to_console(lost).status_code == 422
