"""The operator console: its door, its session, and that every form of it is an action."""

import re
from typing import Final

import pytest

from qirsh.domain.api_key import token_hash
from qirsh.domain.limits import WRONG_CODES_MAX
from qirsh.domain.operator_session import OPERATOR_IDLE_MS, OPERATOR_SESSION_MS
from qirsh.web.http.route import BY_LINK, BY_PROOF
from qirsh.web.operator.actions import ACTIONS
from qirsh.web.operator.console_form import ConsoleForm
from qirsh.web.operator.routes import ROUTES
from tests.guest import Guest
from tests.live import PASSWORD, InProcess, in_process
from tests.mailbox import last_mail, mails, mails_to
from tests.postgres import PostgresServer
from tests.web.operator.conftest import Opened
from tests.web.operator.console import ConsoleGuest, console, operator_with
from tests.web.tenant import login_of

MINUTE_MS = 60_000


@pytest.fixture
def world(opened: Opened) -> InProcess:
    return opened(1, 1)


def test_every_form_of_the_console_is_an_action() -> None:
    doors = {"/operator/sign-in", "/operator/sign-in/passkey", "/operator/sign-out", "/operator/appointments/{token}"}
    posts = [route for route in ROUTES if route.method == "POST" and route.path not in doors]
    assert [route.path for route in posts if not isinstance(route, ConsoleForm)] == []
    forms = [route for route in posts if isinstance(route, ConsoleForm)]
    assert [form.path for form in forms if form.right != ACTIONS[form.action].right] == []


# What has no form: pages that read the store show it, or it is for a shell only.
SHOWN: Final = frozenset(
    {
        *("access resets", "account list", "account show", "audit list", "bank list", "bank reconcile", "brand list"),
        *("brand show", "house list", "identity list", "identity show", "key list", "ledger show", "message list"),
        *("note list", "operator list", "payout list", "proposal list", "proposal show", "recovery list", "search"),
        "system show",
    }
)
BY_SHELL: Final = {
    "person add": "people sign up themselves; an operator who types a password for them is at the machine",
    "account request": "owners ask themselves",
    "key issue": "owners make keys themselves, and no browser of an operator shows one",
    "deposit confirm": "by the bank's reference; the console confirms the proposal that was shown",
    "withdraw confirm": "the same",
}


def test_every_action_has_its_form_or_is_shown_on_a_page() -> None:
    forms = {route.action for route in ROUTES if isinstance(route, ConsoleForm)}
    assert set(ACTIONS) - forms == SHOWN | set(BY_SHELL)


def test_every_page_of_the_console_names_a_right_of_operators() -> None:
    known = {action.right for action in ACTIONS.values()}
    asked = {route.right for route in ROUTES} - {BY_LINK, BY_PROOF}
    assert asked - known == set()


@pytest.mark.both_engines
def test_an_operator_signs_in_with_password_and_code_and_out_again(world: InProcess) -> None:
    guest = console(world)
    assert "What waits" in guest.text
    assert guest.follow(guest.post("/operator/sign-out")).status_code == 200
    assert "Operator console" in guest.text
    assert guest.open("/operator/proposals").status_code == 404


def test_a_wrong_password_a_wrong_code_and_a_customer_are_told_the_same(world: InProcess) -> None:
    first, guest = world.operators[0], ConsoleGuest(world)
    guest.totp_secret = first.totp_secret
    said = set()
    for email, password, code in (
        (first.email, "wrong words they are", guest.code()),
        (first.email, "", guest.code()),
        (first.email, "x" * 2000, guest.code()),
        (world.customers[0].email, "", guest.code()),
        ("nobody@home.example", "some words of mine", guest.code()),
    ):
        guest.open("/operator/sign-in")
        answer = guest.post("/operator/sign-in", email=email, password=password, code=code)
        assert answer.status_code == 422
        said.add("Incorrect e-mail address, password or code" in guest.text)
    assert said == {True}
    assert guest.sign_in_to_console(first).status_code == 303


@pytest.mark.both_engines
def test_a_code_opens_one_session(world: InProcess) -> None:
    guest, other = console(world), ConsoleGuest(world)
    other.totp_secret = guest.totp_secret
    code = guest.code()
    other.open("/operator/sign-in")
    fields = {"email": world.operators[0].email, "password": PASSWORD, "code": code}
    assert other.post("/operator/sign-in", None, None, **fields).status_code == 303
    third = ConsoleGuest(world)
    third.open("/operator/sign-in")
    assert third.post("/operator/sign-in", None, None, **fields).status_code == 422


def test_the_newest_session_is_the_only_one(world: InProcess) -> None:
    older, newer = console(world), console(world)
    assert newer.open("/operator/proposals").status_code == 200
    answer = older.open("/operator/proposals")
    assert (answer.status_code, answer.headers["location"]) == (303, "/operator/sign-in")
    assert "signed out after 15 minutes" in older.read("/operator/sign-in")


def test_a_session_ends_after_fifteen_idle_minutes_and_after_eight_hours(world: InProcess) -> None:
    guest = console(world)
    for _ in range(OPERATOR_SESSION_MS // OPERATOR_IDLE_MS):
        world.clock.advance(OPERATOR_IDLE_MS - MINUTE_MS)
        assert guest.open("/operator").status_code == 200
    world.clock.advance(OPERATOR_IDLE_MS - MINUTE_MS)
    guest.open("/operator")
    world.clock.advance(OPERATOR_IDLE_MS - MINUTE_MS)
    guest.open("/operator")
    world.clock.advance(OPERATOR_IDLE_MS)
    assert guest.open("/operator").headers["location"] == "/operator/sign-in"
    guest = console(world)
    world.clock.advance(OPERATOR_IDLE_MS + 1)
    assert guest.open("/operator/proposals").headers["location"] == "/operator/sign-in"


def test_the_sessions_of_wallet_and_console_open_nothing_of_each_other(world: InProcess) -> None:
    guest = console(world)
    assert guest.open("/wallet").headers["location"].startswith("/sign-in")
    visitor = Guest(world)
    assert visitor.sign_in(world.operators[0].email, code=guest.code()).status_code == 303
    assert visitor.open("/wallet").status_code == 200
    assert visitor.open("/operator/proposals").status_code == 404
    value = next(value for name, value in visitor.cookies.items() if name == "qirsh")
    visitor.cookies["qirsh-operator"] = value
    assert visitor.open("/operator/proposals").status_code == 404


def test_the_cookie_is_sent_from_our_own_pages_only(world: InProcess) -> None:
    answer = ConsoleGuest(world).sign_in_to_console(world.operators[0])
    [line] = [line for line in answer.headers.get_list("set-cookie") if line.startswith("qirsh-operator=")]
    assert "SameSite=Strict" in line
    assert "HttpOnly" in line


@pytest.mark.usefixtures("alone")
def test_who_is_no_operator_finds_nothing_and_who_lacks_the_right_is_told_which(world: InProcess) -> None:
    support = operator_with(world, "support")
    assert Guest(world).open("/operator/operators").status_code == 404
    assert Guest(world).entered(world.customers[0]).open("/operator/operators").status_code == 404
    guest = console(world, support)
    assert "/operator/operators" not in guest.page
    answer = guest.open("/operator/operators")
    assert answer.status_code == 403
    assert "ask for operators and house accounts" in guest.text


@pytest.mark.usefixtures("alone")
def test_an_ended_operator_is_out_at_once(world: InProcess) -> None:
    support = operator_with(world, "support")
    guest = console(world, support)
    world.agree("operator end", email=world.operators[support].email, reason="has left")
    answer = guest.open("/operator/proposals")
    assert answer.headers["location"] == "/operator/sign-in"
    assert guest.sign_in_to_console(world.operators[support]).status_code == 422


def test_a_sign_in_from_another_address_is_told_by_mail(engine: PostgresServer | None) -> None:
    with in_process(engine, shops=0, people=0) as world:
        world.change(has_mail=True)
        console(world)
        assert last_mail(world, world.operators[0].email).kind == "operator_signed_in"
        before = len(mails(world))
        console(world)  # From where the last one was.
        assert len(mails(world)) == before


def test_operators_are_asked_for_and_confirmed_in_the_console(world: InProcess) -> None:
    guest, other = console(world, 0), console(world, 1)
    guest.open("/operator/operators")
    answer = guest.post(
        "/operator/operators/roles", email=world.operators[1].email, reason="less is enough", admin="yes", support="yes"
    )
    proposal = guest.proposal(answer)
    guest.follow(answer)
    assert "less is enough" in guest.text
    assert "/confirm" not in guest.page
    # Whom it is about does not confirm it, not even by a form of their own making: a third admin is needed.
    path = f"/operator/proposals/{proposal}"
    other.open(path)
    assert f"{path}/confirm" not in other.page
    session = token_hash(other.cookies["qirsh-operator"].encode()).hex()
    made = {
        "token": world.context.keyring.form_token("proposal confirm", session, proposal),
        "digest": world.act("proposal show", 1, id=proposal)["digest"],
    }
    assert other.post(f"{path}/confirm", made, code=other.code()).status_code == 403


def test_a_proposal_is_confirmed_with_a_fresh_code_and_once(world: InProcess) -> None:
    words = {"account": world.customers[0].account, "currency": "USD", "reference": "slip", "amount": "5.00"}
    asked = world.act("deposit ask", 0, **words, reason="cash")
    guest = console(world, 1)
    path = f"/operator/proposals/{asked['id']}"
    assert "5.00" in guest.read(path)
    answer = guest.post(f"{path}/confirm", code="000000")
    assert answer.status_code == 422
    assert "wrong, or was used already" in guest.text
    assert login_of(world, guest.email).wrong_codes == 1
    answer = guest.confirm(asked["id"])
    assert answer.status_code == 303
    assert login_of(world, guest.email).wrong_codes == 0
    guest.follow(answer)
    assert "Confirmed and carried out" in guest.text
    assert world.run(world.tried("proposal confirm", {"id": asked["id"], "digest": asked["digest"]}, 1)).code == (
        "already_decided"
    )


def refused_proofs(world: InProcess, person: int) -> int:
    with world.books() as books:
        sql = "SELECT count(*) FROM audit WHERE action = 'session.refused' AND subject = ?"
        [(count,)] = books.select(sql, f"person {person}")
    return int(count)


@pytest.mark.usefixtures("alone")
def test_guesses_of_a_confirmation_code_count_as_those_at_the_sign_in(world: InProcess) -> None:
    words = {"account": world.customers[0].account, "currency": "USD", "reference": "slip", "amount": "5.00"}
    asked = world.act("deposit ask", 0, **words, reason="cash")
    guest, path = console(world, 1), f"/operator/proposals/{asked['id']}"
    person = login_of(world, guest.email).person
    guest.open(path)
    assert guest.post(f"{path}/confirm", code=" ").status_code == 422
    assert (refused_proofs(world, person), login_of(world, guest.email).wrong_codes) == (0, 0)
    world.change(has_mail=True)
    for _ in range(WRONG_CODES_MAX):
        wrong = f"{(int(guest.code()) + 1) % 1_000_000:06d}"
        assert guest.post(f"{path}/confirm", code=wrong).status_code == 422
    assert login_of(world, guest.email).wrong_codes == WRONG_CODES_MAX
    assert refused_proofs(world, person) == 2  # The first, and the tenth.
    # Nobody has typed a password here, and the mails do not say so.
    told = sorted(mail.kind for mail in mails_to(world, guest.email))
    assert told == ["password_spent_at_console", "wrong_codes_at_console"]
    before = world.held(world.customers[0].account)
    assert guest.post(f"{path}/confirm", code=guest.code()).status_code == 403
    assert "Too many incorrect verification codes" in guest.text
    assert world.held(world.customers[0].account) == before


@pytest.mark.usefixtures("alone")
def test_who_has_changed_a_proposal_does_not_confirm_it(world: InProcess) -> None:
    third = operator_with(world, "treasury")
    words = {"account": world.customers[0].account, "currency": "USD", "reference": "slip", "amount": "5.00"}
    asked = world.act("deposit ask", 0, **words, reason="cash")
    guest, path = console(world, 1), f"/operator/proposals/{asked['id']}"
    other = console(world, third)
    other.open(path)
    seen = other.form(f"{path}/confirm")
    assert "a third operator has to confirm it" not in guest.read(path)
    answer = guest.post(f"{path}/edit", amount="6.00", reason="six, not five")
    assert answer.status_code == 303, guest.text
    guest.follow(answer)
    assert "6.00" in guest.text
    assert "a third operator has to confirm it" in guest.text
    assert f"{path}/confirm" not in guest.page
    # Who confirms it then sees what it was.
    assert re.search(r"Amount: from 5\.00 [\w ]+ to 6\.00", other.read(path)), other.text
    assert "Reason: from cash to six, not five" in other.text
    told = world.act("proposal show", third, id=asked["id"])["changes"]
    assert told.endswith(' Operator: amount "5.00 USD" -> "6.00 USD", reason "cash" -> "six, not five"')
    shown = {"id": asked["id"], "digest": world.act("proposal show", 1, id=asked["id"])["digest"]}
    assert world.run(world.tried("proposal confirm", shown, 1)).code == "second_operator_needed"
    # What another saw before is not what would be done now.
    assert other.post(f"{path}/confirm", seen, code=other.code()).status_code == 409
    before = world.held(world.customers[0].account)
    assert other.confirm(asked["id"]).status_code == 303
    assert "a third operator has to confirm it" not in other.read(path)
    assert world.held(world.customers[0].account) == before + 600


@pytest.mark.usefixtures("alone")
def test_a_form_that_was_decided_meanwhile_says_so(world: InProcess) -> None:
    words = {"account": world.customers[0].account, "currency": "USD", "reference": "slip", "amount": "5.00"}
    asked = world.act("deposit ask", 0, **words, reason="cash")
    guest = console(world, 1)
    path = f"/operator/proposals/{asked['id']}"
    guest.open(path)
    held = guest.form(f"{path}/refuse")
    world.act("proposal withdraw", 0, id=asked["id"], digest=asked["digest"], reason="typed twice")
    answer = guest.post(f"{path}/refuse", held, reason="no slip is there")
    assert answer.status_code == 409
    assert "typed twice" in guest.text


@pytest.mark.usefixtures("alone")
def test_a_confirmation_that_is_sent_again_hears_who_has_decided_and_when(world: InProcess) -> None:
    words = {"account": world.customers[0].account, "currency": "USD", "reference": "slip", "amount": "5.00"}
    asked = world.act("deposit ask", 0, **words, reason="cash")
    guest, path = console(world, 1), f"/operator/proposals/{asked['id']}"
    guest.open(path)
    call = guest.posting(f"{path}/confirm", code=guest.code())
    end = guest.form(f"{path}/refuse")
    assert world.send(call).status_code == 303  # An answer that is lost on its way.
    before = world.held(world.customers[0].account)
    for answer in (guest.seen(world.send(call)), guest.post(f"{path}/refuse", end, reason="")):
        assert answer.status_code == 409
        assert re.search(r"has been decided\. Confirmed by Operator, 20\d\d-[\d-]+T", guest.text), guest.text
    assert (world.held(world.customers[0].account), login_of(world, guest.email).wrong_codes) == (before, 0)
    late = world.run(world.tried("proposal withdraw", {"id": asked["id"], "digest": "x", "reason": "late"}, 0))
    assert (late.code, "Confirmed by Operator" in late.detail) == ("already_decided", True)


@pytest.mark.usefixtures("alone")
def test_a_refusal_without_a_reason_is_told_beside_the_field(world: InProcess) -> None:
    words = {"account": world.customers[0].account, "currency": "USD", "reference": "slip", "amount": "5.00"}
    asked = world.act("deposit ask", 0, **words, reason="cash")
    guest = console(world, 1)
    path = f"/operator/proposals/{asked['id']}"
    guest.open(path)
    assert guest.post(f"{path}/refuse", reason="").status_code == 422
    assert "reason" in guest.wrong


@pytest.mark.usefixtures("alone")
def test_the_same_form_twice_is_one_deed(world: InProcess) -> None:
    guest = console(world, 0)
    guest.open("/operator/operators")
    held = guest.form("/operator/operators/end")
    held["email"] = world.operators[1].email
    answers = [guest.post("/operator/operators/end", held, reason="has left") for _ in range(2)]
    assert len({answer.headers["location"] for answer in answers}) == 1
    assert len(world.act("proposal list", 1)["items"]) == 1


def test_from_elsewhere_there_is_no_console(engine: PostgresServer | None) -> None:
    with in_process(engine, shops=0, people=0, more={"QIRSH_OPERATOR_NETWORKS": "10.0.0.0/8"}) as world:
        guest = Guest(world)
        for path in ("/operator", "/operator/sign-in", "/operator/proposals", "/operator/appointments/x"):
            assert guest.open(path).status_code == 404
        assert guest.open("/sign-in").status_code == 200
