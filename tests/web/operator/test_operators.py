"""Operators at work: made by a link that they alone open, ended by two, and told of each other by mail."""

from collections.abc import Iterator
from typing import Final

import pytest

from qirsh.domain.api_key import token_hash
from qirsh.domain.commands.operator import AcceptAppointment
from qirsh.domain.limits import OPERATOR_NEW_MS
from qirsh.domain.refusal import Refused
from qirsh.domain.tables import Tables
from qirsh.web.operator.action import ActionRefused, Actor
from qirsh.web.operator.operator_actions import create_operator
from tests.altered import alter
from tests.guest import Guest
from tests.live import PASSWORD, InProcess, Operator, in_process
from tests.mailbox import mails_to, words_to
from tests.operators import ALL_ROLES, appointed
from tests.postgres import PostgresServer
from tests.web.operator.appointments import (
    FIRST,
    NEW,
    SECOND,
    THEIRS,
    appoint,
    ask,
    begin,
    code,
    confirm,
    link,
    now,
    proposal_of,
    refusal,
    seed_on,
)

DEAD: Final = "This link no longer works"


@pytest.fixture
def world(engine: PostgresServer | None) -> Iterator[InProcess]:
    """Of its own: who is an operator counts for everything that is done in it."""
    with in_process(engine, shops=0, people=0) as held:
        held.change(has_mail=True)
        yield held
        assert held.violations() == []


def third(world: InProcess, email: str = "third@bank.example", roles: str = ALL_ROLES) -> int:
    """One more, whom both have made, long enough ago."""
    with world.books() as books:
        (first,), (second,) = books.select("SELECT person FROM operator ORDER BY person")
    person, secret = world.run(appointed(world.context, email, PASSWORD, by=first, agrees=second, roles=roles))
    world.operators.append(Operator(email, secret))
    world.clock.advance(OPERATOR_NEW_MS)
    return person


def ask_deposit(world: InProcess, account: str, slip: str, operator: int = 0) -> None:
    world.act("deposit ask", operator, account=account, currency="USD", amount="5.00", reference=slip, reason="cash")


def deposit_by(world: InProcess, account: str, asks: int, confirms: int, slip: str) -> str:
    ask_deposit(world, account, slip, asks)
    return code(world, "deposit confirm", confirms, reference=slip)


# How one begins.


def test_one_operator_alone_makes_another_whose_secrets_they_never_see(engine: PostgresServer | None) -> None:
    """The attack: whoever made the other knew their password and second factor, and confirmed their own deposit."""
    with in_process(engine, shops=0, people=0) as fresh:
        account = fresh.person(verified=True).account
        fresh.change(has_mail=True)
        # Back to one: the second asks for their own end.
        assert fresh.agree("operator end", 1, by=0, email=SECOND)["state"] == "done"
        del fresh.operators[1]
        typed = "what the first would like"
        done = fresh.act("operator create", email=NEW, name="Hala Aydın", reason="two are needed", password=typed)
        assert (done["action"], done["state"], done["about"]) == ("operator create", "done", "appointment")
        with fresh.books() as books:
            assert books.select("SELECT count(*) FROM login WHERE email = ?", NEW) == [(0,)]
        fresh.operators.append(Operator(NEW, begin(fresh, password=PASSWORD)))
        assert deposit_by(fresh, account, 0, 1, "one") == "appointed_recently"
        assert deposit_by(fresh, account, 1, 0, "other") == "appointed_recently"
        assert fresh.held(account) == 0
        fresh.clock.advance(OPERATOR_NEW_MS - 1)
        assert code(fresh, "deposit confirm", 1, reference="one") == "appointed_recently"
        fresh.clock.advance(1)
        assert code(fresh, "deposit confirm", 1, reference="one") == "proposal_lapsed"
        assert deposit_by(fresh, account, 0, 1, "one") == ""  # Asked for anew: that of before is not in its way.
        assert fresh.held(account) == 500
        assert fresh.violations() == []


def test_from_two_on_another_agrees_before_anything_is_mailed(world: InProcess) -> None:
    asked = ask(world)
    assert asked["state"] == "open"
    assert mails_to(world, NEW) == []
    assert refusal(world, asked, 0) == "second_operator_needed"
    assert refusal(world, asked | {"id": "pr_nobody"}, 1) == "not_found"
    assert refusal(world, asked | {"digest": "0" * 16}, 1) == "changed_meanwhile"
    assert confirm(world, asked)["state"] == "done"
    assert refusal(world, asked, 1) == "already_decided"
    seed = begin(world)
    login = world.run(world.context.store.find(Tables.logins, NEW))
    assert login is not None
    guest = Guest(world)
    world.clock.advance(30_000)
    assert guest.sign_in(NEW, THEIRS, code=now(world, seed)).status_code == 303
    listed = world.act("operator list")
    assert [(row["email"], row["state"], row["appointedBy"]) for row in listed["operators"]] == [
        (FIRST, "acting", ""),
        (SECOND, "acting", FIRST),
        (NEW, "acting", f"{FIRST}, {SECOND}"),
    ]
    assert listed["appointments"] == []


def test_all_operators_are_told_of_every_step(world: InProcess) -> None:
    appoint(world)
    begin(world)
    world.agree("operator roles", email=NEW, roles="support")
    world.agree("operator end", email=NEW)
    steps = ["operator_asked", "operator_begun", "operator_end_asked", "operator_ended", "operator_roles_changed"]
    for email in (FIRST, SECOND):
        assert sorted(mail.kind for mail in mails_to(world, email)) == steps
        told = words_to(world, email)
        assert told["operator_roles_changed"]["roles"] == "support"
        assert {words["new_email"] for words in told.values()} == {NEW}
        assert told["operator_asked"]["name"] == "Hala Aydın"
    assert "operator_ended" in words_to(world, NEW)


def test_an_address_of_somebody_is_no_address_of_a_new_operator(world: InProcess) -> None:
    customer = world.person(verified=False).email
    assert code(world, "operator create", email=customer, name="X", reason="X") == "email_taken"
    appoint(world)
    path = link(world)
    guest = Guest(world)
    guest.open(path)
    posting = guest.posting(path, password=THEIRS, code=now(world, seed_on(guest)))
    world.act("person add", email=NEW, name="Quicker", password=PASSWORD, pin="246813")
    answer = world.send(posting)
    assert (answer.status_code, DEAD in answer.text) == (404, True)
    with world.books() as books:
        assert books.select("SELECT count(*) FROM operator") == [(2,)]


def test_of_two_first_operators_one_is_told_of_the_other(world: InProcess) -> None:
    words = {"email": NEW, "name": "Hala Aydın", "roles": ALL_ROLES, "password": PASSWORD}
    with pytest.raises(ActionRefused, match=f"a moment before.* {NEW} is a customer now") as told:
        world.run(create_operator(world.context, Actor(None, "os user b"), words))  # As nobody was one when it began.
    assert told.value.code == "has_operators"
    with world.books() as books:
        assert books.select("SELECT count(*) FROM operator") == [(2,)]


def test_without_mail_nobody_is_asked_for_and_the_setting_is_named(world: InProcess) -> None:
    asked = ask(world)
    world.change(has_mail=False)
    wishes: list[tuple[str, dict[str, str]]] = [
        ("operator create", {"email": NEW, "name": "X", "reason": "X"}),
        ("proposal confirm", {"id": asked["id"], "digest": asked["digest"]}),
    ]
    for act, words in wishes:
        reply = world.run(world.tried(act, words, 1))
        assert (reply.code, "QIRSH_SMTP_URL" in reply.detail) == ("no_mail", True)


# The page.


@pytest.mark.both_engines
def test_two_tabs_make_one_operator_and_the_link_is_dead_after(world: InProcess) -> None:
    appoint(world)
    path = link(world)
    tabs = [Guest(world), Guest(world)]
    for tab in tabs:
        assert tab.open(path).status_code == 200
    seeds = [seed_on(tab) for tab in tabs]
    assert seeds[0] != seeds[1]
    calls = [tab.posting(path, password=THEIRS, code=now(world, seed)) for tab, seed in zip(tabs, seeds, strict=True)]
    answers = world.together([*calls, calls[0]])
    assert sorted(answer.status_code for answer in answers) == [303, 404, 404]
    with world.books() as books:
        assert books.select("SELECT count(*) FROM operator") == [(3,)]
        assert books.select("SELECT count(*) FROM login WHERE email = ?", NEW) == [(1,)]
    assert tabs[0].open(path).status_code == 404
    assert "ask the operator who invited you" in tabs[0].text


def test_nothing_comes_to_be_with_a_weak_password_or_a_wrong_code(world: InProcess) -> None:
    appoint(world)
    guest, path = Guest(world), link(world)
    guest.open(path)
    seed = seed_on(guest)
    assert guest.post(path, password="hala aydın bank", code=now(world, seed)).status_code == 422
    assert set(guest.wrong) == {"password"}
    assert seed_on(guest) == seed
    assert guest.post(path, password=THEIRS, code="000000").status_code == 422
    assert set(guest.wrong) == {"code"}
    assert guest.post(path, password=THEIRS, code=now(world, seed), seed="AAAA").status_code == 422
    assert guest.post(path, password=THEIRS, code="", token="0" * 64).status_code == 403
    with world.books() as books:
        assert books.select("SELECT count(*) FROM login WHERE email = ?", NEW) == [(0,)]
    guest.open(path)
    assert guest.post(path, password=THEIRS, code=now(world, seed_on(guest))).status_code == 303


def test_a_link_that_is_old_replaced_or_made_up_says_so(world: InProcess) -> None:
    appoint(world)
    guest, path = Guest(world), link(world)
    assert guest.open(path).status_code == 200
    assert guest.open(f"/operator/{'0' * 64}").status_code == 404
    again = ask(world, 1)
    assert guest.open(path).status_code == 200  # Nobody has agreed to another one yet.
    world.clock.advance(1000)
    confirm(world, again, 0)
    assert guest.open(path).status_code == 404
    assert DEAD in guest.text
    newer = link(world)
    assert newer != path
    world.clock.advance(3 * 24 * 3_600_000)
    assert guest.open(newer).status_code == 404
    [appointment] = world.act("operator list")["appointments"]
    assert (appointment["email"], appointment["state"]) == (NEW, "link too old")


def test_an_appointment_is_taken_back_by_any_admin_alone(world: InProcess) -> None:
    appoint(world)
    guest, path = Guest(world), link(world)
    assert code(world, "operator end", 1, email="nobody@bank.example", reason="X") == "not_found"
    assert world.act("operator end", 1, email=NEW) == {"email": NEW, "state": "taken back"}
    assert guest.open(path).status_code == 404
    assert world.act("operator list")["appointments"] == []


@pytest.mark.parametrize(("language", "says"), [("ar", "إدارة هذه الخدمة"), ("tr", "Yönetici ol")])
def test_the_page_is_read_in_the_language_of_whoever_opens_it(world: InProcess, language: str, says: str) -> None:
    appoint(world)
    guest = Guest(world, language)
    guest.open(link(world))
    assert says in guest.text
    guest.post(link(world), password=THEIRS, code=now(world, seed_on(guest)))
    with world.books() as books:
        sql = "SELECT p.language FROM person p JOIN login l ON l.person = p.id WHERE l.email = ?"
        assert books.select(sql, NEW) == [(language,)]


# How one ends.


@pytest.mark.both_engines
def test_two_end_an_operator_who_feels_it_at_once(world: InProcess) -> None:
    third(world)
    guest = Guest(world)
    email = world.operators[2].email
    assert guest.sign_in(email, code=world.one_time_code(email)).status_code == 303
    asked = world.act("operator end", email=email, reason="has left")
    assert asked["state"] == "open"
    assert refusal(world, asked, 0) == "second_operator_needed"
    assert refusal(world, asked, 2) == "own_request"
    assert code(world, "account list", 2) == ""
    assert confirm(world, asked)["state"] == "done"
    assert code(world, "account list", 2) == "not_operator"
    assert not guest.is_signed_in()
    assert code(world, "operator end", email=email, reason="again") == "not_found"
    assert world.act("operator list")["operators"][2]["state"] == "ended"


def test_the_last_admin_is_neither_ended_nor_something_else(world: InProcess) -> None:
    third(world, roles="support")
    world.agree("operator end", 1, by=0, email=SECOND)
    assert code(world, "operator end", email=FIRST, reason="alone") == "last_admin"
    assert code(world, "operator roles", email=FIRST, roles="support", reason="alone") == "last_admin"
    assert code(world, "operator end", 2, email=FIRST, reason="alone") == "missing_right"


def test_other_roles_are_felt_at_once(world: InProcess) -> None:
    third(world, roles="support")
    guest, email = Guest(world), world.operators[2].email
    assert guest.sign_in(email, code=world.one_time_code(email)).status_code == 303
    assert code(world, "payout list", 2) == "missing_right"
    asked = world.act("operator roles", email=email, roles="auditor, treasury", reason="moves house")
    assert refusal(world, asked, 2) == "missing_right"
    assert code(world, "payout list", 2) == "missing_right"
    assert confirm(world, asked)["state"] == "done"
    assert not guest.is_signed_in()
    assert code(world, "payout list", 2) == ""
    assert code(world, "access reset-pin", 2, email=FIRST, reason="lost") == "missing_right"
    assert world.act("operator list")["operators"][2]["roles"] == "treasury auditor"
    for wrong in ("", "king", "admin king"):
        assert code(world, "operator roles", email=email, roles=wrong, reason="X") == "invalid"


def test_what_one_asks_for_another_refuses_or_the_same_takes_back(world: InProcess) -> None:
    for act, decides, kept in (("proposal refuse", 1, "refused"), ("proposal withdraw", 0, "withdrawn")):
        asked = ask(world)
        words = {"id": asked["id"], "digest": asked["digest"], "reason": "not now"}
        assert code(world, act, 1 - decides, **words) == "own_request"
        assert code(world, act, decides, **words | {"digest": "0" * 16}) == "changed_meanwhile"
        assert code(world, act, decides, **words | {"reason": ""}) == "invalid"
        # Who confirms sees whom they let in, and as what.
        shown = {**asked, "name": "Hala Aydın", "email": NEW, "roles": ALL_ROLES}
        assert world.act("proposal show", 1, id=asked["id"]) == shown
        assert world.act("proposal list", 1)["items"] == [shown]
        assert world.act(act, decides, **words)["state"] == kept
        assert world.act("proposal list")["items"] == []
        assert refusal(world, asked, 1) == "already_decided"
        assert code(world, act, decides, **words) == "already_decided"
    assert mails_to(world, NEW) == []
    told = words_to(world, FIRST)["proposal_refused"]
    assert (told["action"], told["reason"]) == ("operator create", "not now")
    assert "proposal_refused" not in words_to(world, SECOND)


@pytest.mark.parametrize("state", ["suspended", "closed"])
def test_an_operator_whose_own_account_is_stopped_acts_no_more(world: InProcess, state: str) -> None:
    account = world.person(verified=True).account
    ask_deposit(world, account, "slip")
    with world.books() as books:
        sql = "SELECT p.account FROM person p JOIN login l ON l.person = p.id WHERE l.email = ?"
        [(own,)] = books.select(sql, SECOND)
    alter(world, str(own), state=state)
    assert code(world, "deposit confirm", 1, reference="slip") == "not_operator"
    assert code(world, "account list", 1) == "not_operator"
    assert ask(world)["state"] == "open"  # And still counts: nobody is made alone by it.
    assert world.held(account) == 0


def test_a_link_opened_by_who_was_asked_for_alone_is_not_enough_any_more(world: InProcess) -> None:
    world.agree("operator end", 1, by=0, email=SECOND)
    ask(world)
    ask(world, email="more@bank.example")
    late = link(world, "more@bank.example")
    begin(world)
    guest = Guest(world)
    guest.open(late)
    assert guest.post(late, password=THEIRS, code=now(world, seed_on(guest))).status_code == 404
    hashed = token_hash(late.removeprefix("/operator/appointments/").encode())
    proposal = proposal_of(world, "more@bank.example")
    command = AcceptAppointment("more@bank.example", proposal, hashed, "en", "-", b"seed", 0)
    assert type(world.run(world.context.engine.submit(command))) is Refused
