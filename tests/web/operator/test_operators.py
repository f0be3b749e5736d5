"""Operators at work: made by a link that they alone open, ended by two, and told of each other by mail."""

import asyncio
import itertools
import re
from collections.abc import Iterator
from typing import Any, Final

import pyotp
import pytest

from qirsh.domain.api_key import token_hash
from qirsh.domain.command import Command
from qirsh.domain.commands.operator import AcceptAppointment, RequestOperatorEnd
from qirsh.domain.limits import OPERATOR_NEW_MS
from qirsh.domain.refusal import Refused
from qirsh.domain.tables import Tables
from tests.altered import alter
from tests.guest import Guest
from tests.live import PASSWORD, InProcess, Operator, in_process
from tests.mailbox import last_mail, link_of, mails_to, words_to
from tests.operators import appointed
from tests.postgres import PostgresServer

NEW: Final = "hala@bank.example"
THEIRS: Final = "seven green lamps at noon"
DEAD: Final = "This link no longer works"
FIRST, SECOND = "first@bank.example", "second@bank.example"


@pytest.fixture
def world(engine: PostgresServer | None) -> Iterator[InProcess]:
    """Of its own: who is an operator counts for everything that is done in it."""
    with in_process(engine, shops=0, people=0) as held:
        held.change(has_mail=True)
        yield held
        assert held.violations() == []


def code(world: InProcess, act: str, operator: int = 0, **words: object) -> str:
    """Of the refusal; empty for an act that was done."""
    reply = world.run(world.tried(act, words, operator))
    return reply.code


def ask(world: InProcess, operator: int = 0, email: str = NEW) -> dict[str, Any]:
    return world.act("operator create", operator, email=email, name="Hala Aydın")


def link(world: InProcess, email: str = NEW) -> str:
    return link_of(world, last_mail(world, email))


def seed_on(guest: Guest) -> str:
    found = re.search(r"secret=([A-Z2-7]+)", guest.page)
    assert found, guest.page
    return found.group(1)


def now(world: InProcess, seed: str) -> str:
    return pyotp.TOTP(seed).at(world.now_ms() // 1000)


def begin(world: InProcess, email: str = NEW, password: str = THEIRS) -> str:
    """The new one opens the link, and sets what only they know; their second factor."""
    guest, path = Guest(world), link(world, email)
    assert guest.open(path).status_code == 200
    seed = seed_on(guest)
    answer = guest.post(path, password=password, code=now(world, seed))
    guest.follow(answer)
    assert "You are now an operator" in guest.text
    return seed


def third(world: InProcess, email: str = "third@bank.example") -> int:
    """One more, whom both have made, long enough ago."""
    with world.books() as books:
        (first,), (second,) = books.select("SELECT person FROM operator ORDER BY person")
    person, secret = world.run(appointed(world.context, email, PASSWORD, by=first, agrees=second))
    world.operators.append(Operator(email, secret))
    world.clock.advance(OPERATOR_NEW_MS)
    return person


def deposit_by(world: InProcess, account: str, asks: int, confirms: int, slip: str) -> str:
    world.act("deposit ask", asks, account=account, currency="USD", amount="5.00", reference=slip)
    return code(world, "deposit confirm", confirms, reference=slip)


# How one begins.


def test_one_operator_alone_makes_another_whose_secrets_they_never_see(engine: PostgresServer | None) -> None:
    """The attack: whoever made the other knew their password and second factor, and confirmed their own deposit."""
    with in_process(engine, shops=0, people=0) as fresh:
        account = fresh.person(verified=True).account
        fresh.change(has_mail=True)
        # Back to one: the second asks for their own end.
        fresh.act("operator end", 1, email=SECOND)
        assert fresh.act("operator confirm", email=SECOND)["state"] == "ended"
        del fresh.operators[1]
        done = fresh.act("operator create", email=NEW, name="Hala Aydın", password="what the first would like")
        assert done == {"email": NEW, "name": "Hala Aydın", "state": "link mailed"}
        with fresh.books() as books:
            assert books.select("SELECT count(*) FROM login WHERE email = ?", NEW) == [(0,)]
        fresh.operators.append(Operator(NEW, begin(fresh, password=PASSWORD)))
        assert deposit_by(fresh, account, 0, 1, "one") == "appointed_recently"
        assert deposit_by(fresh, account, 1, 0, "other") == "appointed_recently"
        assert fresh.held(account) == 0
        fresh.clock.advance(OPERATOR_NEW_MS - 1)
        assert code(fresh, "deposit confirm", 1, reference="one") == "appointed_recently"
        fresh.clock.advance(1)
        assert code(fresh, "deposit confirm", 1, reference="one") == ""
        assert fresh.held(account) == 500
        assert fresh.violations() == []


def test_from_two_on_another_agrees_before_anything_is_mailed(world: InProcess) -> None:
    assert ask(world)["state"] == "asked"
    assert mails_to(world, NEW) == []
    assert code(world, "operator confirm", 0, email=NEW) == "second_operator_needed"
    assert code(world, "operator confirm", 1, email="nobody@bank.example") == "not_found"
    assert world.act("operator confirm", 1, email=NEW)["state"] == "link mailed"
    assert code(world, "operator confirm", 1, email=NEW) == "already_confirmed"
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
    assert listed["proposals"] == []


def test_all_operators_are_told_of_every_step(world: InProcess) -> None:
    ask(world)
    world.act("operator confirm", 1, email=NEW)
    begin(world)
    world.act("operator end", email=NEW)
    assert world.act("operator list")["proposals"][0]["state"] == "end asked"
    world.act("operator confirm", 1, email=NEW)
    for email in (FIRST, SECOND):
        kinds = [mail.kind for mail in mails_to(world, email)]
        assert sorted(kinds) == ["operator_asked", "operator_begun", "operator_end_asked", "operator_ended"]
        told = words_to(world, email)
        assert {words["new_email"] for words in told.values()} == {NEW}
        assert told["operator_asked"]["name"] == "Hala Aydın"
    assert "operator_ended" in words_to(world, NEW)


def test_an_address_of_somebody_is_no_address_of_a_new_operator(world: InProcess) -> None:
    customer = world.person(verified=False).email
    assert code(world, "operator create", email=customer, name="X") == "email_taken"
    ask(world)
    world.act("operator confirm", 1, email=NEW)
    path = link(world)
    guest = Guest(world)
    guest.open(path)
    posting = guest.posting(path, password=THEIRS, code=now(world, seed_on(guest)))
    world.act("person add", email=NEW, name="Quicker", password=PASSWORD, pin="246813")
    answer = world.send(posting)
    assert (answer.status_code, DEAD in answer.text) == (404, True)
    with world.books() as books:
        assert books.select("SELECT count(*) FROM operator") == [(2,)]


def test_without_mail_nobody_is_asked_for_and_the_setting_is_named(world: InProcess) -> None:
    ask(world)
    world.change(has_mail=False)
    for act, words in (("operator create", {"email": NEW, "name": "X"}), ("operator confirm", {"email": NEW})):
        reply = world.run(world.tried(act, words, 1))
        assert (reply.code, "QIRSH_SMTP_URL" in reply.detail) == ("no_mail", True)


# The page.


def test_two_tabs_make_one_operator_and_the_link_is_dead_after(world: InProcess) -> None:
    ask(world)
    world.act("operator confirm", 1, email=NEW)
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
    ask(world)
    world.act("operator confirm", 1, email=NEW)
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
    ask(world)
    world.act("operator confirm", 1, email=NEW)
    guest, path = Guest(world), link(world)
    assert guest.open(path).status_code == 200
    assert guest.open(f"/operator/{'0' * 64}").status_code == 404
    ask(world, 1)
    assert guest.open(path).status_code == 404
    assert DEAD in guest.text
    world.clock.advance(1000)
    world.act("operator confirm", 0, email=NEW)
    newer = link(world)
    assert newer != path
    world.clock.advance(3 * 24 * 3_600_000)
    assert guest.open(newer).status_code == 404
    assert world.act("operator list")["proposals"][0]["state"] == "link too old"


@pytest.mark.parametrize(("language", "says"), [("ar", "إدارة هذه الخدمة"), ("tr", "Yönetici ol")])
def test_the_page_is_read_in_the_language_of_whoever_opens_it(world: InProcess, language: str, says: str) -> None:
    ask(world)
    world.act("operator confirm", 1, email=NEW)
    guest = Guest(world, language)
    guest.open(link(world))
    assert says in guest.text
    guest.post(link(world), password=THEIRS, code=now(world, seed_on(guest)))
    with world.books() as books:
        sql = "SELECT p.language FROM person p JOIN login l ON l.person = p.id WHERE l.email = ?"
        assert books.select(sql, NEW) == [(language,)]


# How one ends.


def test_two_end_an_operator_who_feels_it_at_once(world: InProcess) -> None:
    third(world)
    guest = Guest(world)
    email = world.operators[2].email
    assert guest.sign_in(email, code=world.one_time_code(email)).status_code == 303
    assert world.act("operator end", email=email)["state"] == "end asked"
    assert code(world, "operator confirm", 0, email=email) == "second_operator_needed"
    assert code(world, "operator confirm", 2, email=email) == "own_request"
    assert code(world, "account list", 2) == ""
    assert world.act("operator confirm", 1, email=email)["state"] == "ended"
    assert code(world, "account list", 2) == "not_operator"
    assert not guest.is_signed_in()
    assert code(world, "operator end", email=email) == "not_found"
    assert world.act("operator list")["operators"][2]["state"] == "ended"


def test_the_last_operator_cannot_be_ended(world: InProcess) -> None:
    world.act("operator end", 1, email=SECOND)
    world.act("operator confirm", 0, email=SECOND)
    assert code(world, "operator end", email=FIRST) == "last_operator"


@pytest.mark.parametrize("state", ["suspended", "closed"])
def test_an_operator_whose_own_account_is_stopped_acts_no_more(world: InProcess, state: str) -> None:
    account = world.person(verified=True).account
    world.act("deposit ask", account=account, currency="USD", amount="5.00", reference="slip")
    with world.books() as books:
        sql = "SELECT p.account FROM person p JOIN login l ON l.person = p.id WHERE l.email = ?"
        [(own,)] = books.select(sql, SECOND)
    alter(world, str(own), state=state)
    assert code(world, "deposit confirm", 1, reference="slip") == "not_operator"
    assert code(world, "account list", 1) == "not_operator"
    assert ask(world)["state"] == "asked"  # And still counts: nobody is made alone by it.
    assert world.held(account) == 0


def test_a_link_opened_by_who_was_asked_for_alone_is_not_enough_any_more(world: InProcess) -> None:
    world.act("operator end", 1, email=SECOND)
    world.act("operator confirm", 0, email=SECOND)
    ask(world)
    ask(world, email="more@bank.example")
    late = link(world, "more@bank.example")
    begin(world)
    guest = Guest(world)
    guest.open(late)
    assert guest.post(late, password=THEIRS, code=now(world, seed_on(guest))).status_code == 404
    hashed = token_hash(late.removeprefix("/operator/").encode())
    command = AcceptAppointment("more@bank.example", hashed, "en", "-", b"seed", 0)
    assert type(world.run(world.context.engine.submit(command))) is Refused


# Several processes.


@pytest.fixture
def two(postgres: PostgresServer) -> Iterator[InProcess]:
    """Two services that know nothing of each other, on one database."""
    with in_process(postgres, shops=0, people=0, services=2) as held:
        held.change(has_mail=True)
        yield held
        assert held.violations() == []


def at_once(world: InProcess, *commands: Command[Any]) -> list[Any]:
    """Each at another service."""

    async def gathered() -> list[Any]:
        services = itertools.cycle(world.services)
        return list(await asyncio.gather(*(next(services).engine.submit(command) for command in commands)))

    return world.run(gathered())


def test_of_two_links_that_one_alone_mailed_one_is_good_wherever_they_are_opened(two: InProcess) -> None:
    two.act("operator end", 1, email=SECOND)
    two.act("operator confirm", 0, email=SECOND)
    for round_ in range(4):
        emails = [f"{name}{round_}@bank.example" for name in ("a", "b")]
        for email in emails:
            ask(two, email=email)
        tokens = [link(two, email).removeprefix("/operator/") for email in emails]
        outcomes = at_once(
            two,
            *(
                AcceptAppointment(email, token_hash(token.encode()), "en", "-", b"seed", 0)
                for email, token in zip(emails, tokens, strict=True)
            ),
        )
        assert sorted(type(outcome).__name__ for outcome in outcomes) == ["Person", "Refused"]
        # Back to one, so that the next round begins like the first.
        begun = next(outcome for outcome in outcomes if not isinstance(outcome, Refused))
        two.clock.advance(OPERATOR_NEW_MS)
        email = emails[outcomes.index(begun)]
        [end] = at_once(two, RequestOperatorEnd(email, begun.id, "test"))
        assert end.kind == "end"
        two.act("operator confirm", 0, email=email)


def test_one_link_opened_at_two_services_makes_one_operator(two: InProcess) -> None:
    for round_ in range(4):
        email = f"new{round_}@bank.example"
        ask(two, email=email)
        two.act("operator confirm", 1, email=email)
        hashed = token_hash(link(two, email).removeprefix("/operator/").encode())
        outcomes = at_once(two, *[AcceptAppointment(email, hashed, "en", "-", b"seed", 0)] * 4)
        assert sorted(type(outcome).__name__ for outcome in outcomes) == ["Person", *["Refused"] * 3]
