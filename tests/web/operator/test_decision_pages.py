"""Identities, businesses, names and logos in the console: what waits, what is seen, and one decision each."""

import re
from collections.abc import Iterator

import pytest

from qirsh.web.operator.looking import LOOKING_MS
from tests.guest import Guest
from tests.live import InProcess, in_process
from tests.mailbox import words_to
from tests.postgres import PostgresServer
from tests.web.account.test_identity_page import FACTS, PAGE, submitted
from tests.web.business.staff import home, owner
from tests.web.business.test_brand import request
from tests.web.operator.console import ConsoleGuest, console, operator_with
from tests.web.photo import picture

IDENTITIES, BUSINESSES, BRANDS = "/operator/identities", "/operator/businesses", "/operator/brands"


@pytest.fixture
def still(engine: PostgresServer | None) -> Iterator[InProcess]:
    with in_process(engine, shops=1, people=3) as held:
        held.change(has_mail=True)
        yield held
        assert held.violations() == []


def looks(world: InProcess, account: str) -> int:
    with world.books() as books:
        sql = "SELECT count(*) FROM audit WHERE action = 'identity.seen' AND subject = ?"
        [(count,)] = books.select(sql, f"account {account}")
    return int(count)


def open_identity(guest: ConsoleGuest, account: str) -> str:
    text = guest.read(f"{IDENTITIES}/{account}")
    return " ".join(text.split())


# Identities.


@pytest.mark.both_engines
def test_the_oldest_waits_first_and_the_next_is_offered_once_one_is_decided(still: InProcess) -> None:
    (older_guest, older), (_, newer) = submitted(still), submitted(still)
    guest = console(still)
    text = guest.read(IDENTITIES)
    assert "Waiting: 2" in text
    assert re.findall(rf'href="{IDENTITIES}/(\d+)"', guest.page) == [older, newer]
    assert "Skip to the next one" in open_identity(guest, older)
    answer = guest.post(f"{IDENTITIES}/{older}/verify")
    assert (answer.status_code, answer.headers["location"]) == (303, IDENTITIES)
    guest.follow(answer)
    assert "Open the next one" in guest.text
    assert re.findall(rf'href="{IDENTITIES}/(\d+)"', guest.page) == [newer, newer]
    assert "identity_verified" in words_to(still, older_guest.email)
    assert still.act("account show", account=older)["state"] == "verified"


def test_what_was_written_and_the_pictures_are_seen_and_each_look_is_written_down(still: InProcess) -> None:
    _, account = submitted(still)
    guest = console(still)
    text = open_identity(guest, account)
    for told in ("Passport", "Document number", "Given names"):
        assert told in text
    assert looks(still, account) == 1
    assert re.findall(rf'<img src="({IDENTITIES}/{account}/\w+)"', guest.page) == [
        f"{IDENTITIES}/{account}/{side}" for side in ("front", "back")
    ]
    shown = guest.open(f"{IDENTITIES}/{account}/front")
    assert shown.content.startswith(b"\xff\xd8")
    assert (shown.headers["content-type"], shown.headers["cache-control"]) == ("image/jpeg", "no-store")
    assert looks(still, account) == 2
    assert guest.open(f"{IDENTITIES}/{account}/top").status_code == 404
    assert guest.open(f"{IDENTITIES}/{still.customers[0].account}").status_code == 404
    assert guest.open(f"{IDENTITIES}/odd").status_code == 404
    assert looks(still, account) == 2


def test_without_the_right_to_papers_nothing_of_them_is_seen(still: InProcess) -> None:
    _, account = submitted(still)
    for role in ("admin", "support"):
        number = operator_with(still, role)
        guest = console(still, number)
        for path in (IDENTITIES, f"{IDENTITIES}/{account}", f"{IDENTITIES}/{account}/front"):
            assert guest.open(path).status_code == 403
    assert looks(still, account) == 0


def test_a_rejection_has_a_reason_of_the_list_and_own_words_in_the_language_of_the_person(still: InProcess) -> None:
    person, account = submitted(still)
    guest = console(still)
    path = f"{IDENTITIES}/{account}/reject"
    open_identity(guest, account)
    answer = guest.post(path, because="other", reason="")
    assert answer.status_code == 422
    assert "Required." in guest.text
    assert guest.post(path, because="ugly", reason="So it is").status_code == 422
    assert "So it is" in guest.page
    assert guest.post(path, because="not_whole", reason="Above all the left one").status_code == 303
    told = words_to(still, person.email)["identity_rejected"]["reason"]
    assert told == "The document is not whole on the photos. All four corners must be visible. Above all the left one"
    assert told in " ".join(person.read("/wallet/identity").split())
    assert told in " ".join(person.read("/wallet").split())
    with still.books() as books:
        sql = "SELECT detail FROM audit WHERE action = 'identity.rejected'"
        assert books.select(sql) == [("not_whole: Above all the left one",)]


def test_an_earlier_try_and_the_same_document_on_another_account_are_seen(still: InProcess) -> None:
    person, account = submitted(still)
    still.act("identity reject", 1, account=account, because="not_readable", reason="blurred")
    person.open(PAGE)
    assert person.upload(PAGE, {"front": picture()}, **FACTS).status_code == 303
    _, other = submitted(still)
    guest = console(still)
    text = open_identity(guest, account)
    assert "Earlier tries" in text
    assert "not_readable: blurred" in text
    assert "This document is on another account too." in text
    assert f'href="/operator/accounts/{other}"' in guest.page
    assert still.act("identity show", account=account)["sameDocument"] == other
    alone = {**FACTS, "document_number": "another 9"}
    stranger = Guest(still).entered(still.person(verified=False))
    stranger.open(PAGE)
    assert stranger.upload(PAGE, {"front": picture()}, **alone).status_code == 303


def test_decided_meanwhile_is_told_with_who_and_when(still: InProcess) -> None:
    _, account = submitted(still)
    guest = console(still)
    open_identity(guest, account)
    held = guest.form(f"{IDENTITIES}/{account}/verify")
    still.act("identity reject", 1, account=account, because="out_of_date")
    answer = guest.post(f"{IDENTITIES}/{account}/verify", held)
    assert answer.status_code == 409
    assert "Decided already: rejected by Operator" in guest.text
    assert f"{IDENTITIES}/{account}/reject" not in guest.page


def test_another_form_than_the_one_that_was_seen_is_not_decided_on(still: InProcess) -> None:
    person, account = submitted(still)
    guest = console(still)
    open_identity(guest, account)
    forms = {how: guest.form(f"{IDENTITIES}/{account}/{how}") for how in ("verify", "reject")}
    still.act("identity reject", 1, account=account, because="out_of_date")
    still.clock.advance(1000)
    person.open(PAGE)
    assert person.upload(PAGE, {"front": picture()}, **FACTS).status_code == 303
    assert guest.post(f"{IDENTITIES}/{account}/verify", forms["verify"]).status_code == 409
    words = {"because": "not_whole", "reason": ""}
    assert guest.post(f"{IDENTITIES}/{account}/reject", {**forms["reject"], **words}).status_code == 409
    assert still.act("identity show", account=account)["state"] == "submitted"
    assert guest.post(f"{IDENTITIES}/{account}/verify").status_code == 303


def test_who_looks_is_told_to_others_for_five_minutes(still: InProcess) -> None:
    _, account = submitted(still)
    first, second = console(still, 0), console(still, 1)
    open_identity(first, account)
    assert "has been looking at this since" not in first.text
    assert "has been looking at this since" in open_identity(second, account)
    assert "has been looking at this since" in open_identity(first, account)
    still.clock.advance(LOOKING_MS)
    assert "has been looking at this since" not in open_identity(first, account)


# Businesses.


def requested(world: InProcess) -> tuple[Guest, str]:
    """An owner who waits for a business, and its account."""
    customer = world.customers[0]
    guest = Guest(world).entered(customer)
    made = world.act("account request", account=customer.account, name="Test shop")
    return guest, made["account"]


def test_a_business_is_asked_for_more_answers_and_is_approved(still: InProcess) -> None:
    person, account = requested(still)
    guest, other = console(still, 0), console(still, 1)
    text = " ".join(guest.read(f"{BUSINESSES}/{account}").split())
    assert "Registration number" in text
    assert guest.post(f"{BUSINESSES}/{account}/ask", text="").status_code == 422
    answer = guest.post(f"{BUSINESSES}/{account}/ask", text="Which licence do you have?")
    assert answer.headers["location"] == f"{BUSINESSES}/{account}"
    guest.follow(answer)
    assert "The message was sent." in guest.text
    assert "Waits for an answer of the owner" in guest.text
    assert "Waits for an answer of the owner" in guest.read(BUSINESSES)
    assert "shop_message" in words_to(still, person.email)
    still.clock.advance(1000)
    person.open(f"/business/{account}/messages")
    assert person.post(f"/business/{account}/messages", text="A licence of the city").status_code == 303
    assert "The owner has written" in other.read(BUSINESSES)
    assert "A licence of the city" in other.read(f"{BUSINESSES}/{account}")
    assert [message["text"] for message in still.act("message list")["messages"]] == ["A licence of the city"]
    answer = other.post(f"{BUSINESSES}/{account}/messages/read")
    assert answer.headers["location"] == f"{BUSINESSES}/{account}"
    other.follow(answer)
    assert "The messages are marked as read." in other.text
    assert "Mark as read" not in other.text
    assert still.act("message list")["messages"] == []
    assert other.post(f"{BUSINESSES}/{account}/approve").headers["location"] == BUSINESSES
    assert still.act("account show", account=account)["state"] == "approved"
    guest.open(f"{BUSINESSES}/{account}")
    assert "Decided already: approved by" in guest.text
    assert f"{BUSINESSES}/{account}/approve" not in guest.page


def test_a_business_is_not_approved_without_a_reason(still: InProcess) -> None:
    _, account = requested(still)
    guest = console(still)
    guest.open(f"{BUSINESSES}/{account}")
    held = guest.form(f"{BUSINESSES}/{account}/approve")
    assert guest.post(f"{BUSINESSES}/{account}/reject", reason="").status_code == 422
    assert "Required." in guest.text
    assert guest.post(f"{BUSINESSES}/{account}/reject", reason="No such number").status_code == 303
    assert still.act("account show", account=account)["reason"] == "No such number"
    assert guest.post(f"{BUSINESSES}/{account}/approve", held).status_code == 409
    assert "Decided already: rejected by" in guest.text


@pytest.mark.both_engines
def test_other_businesses_and_names_that_look_alike_are_seen(still: InProcess) -> None:
    person, first = requested(still)
    still.act("account approve", account=first)
    made = still.act("account request", account=still.customers[0].account, name="TEST SHOP")
    guest = console(still)
    text = guest.read(f"{BUSINESSES}/{made['account']}")
    assert "This name could be taken for another one:" in text
    assert f"{first} Test shop" in text
    assert f'href="/operator/accounts/{first}"' in guest.page
    assert person.email


# Names and logos.


def test_a_name_is_compared_and_decided_on_as_it_was_seen(still: InProcess) -> None:
    boss, merchant = owner(still)
    change = request(boss, merchant, name="Royal Bank")
    guest = console(still)
    assert "Waiting: 1" in guest.read(BRANDS)
    assert "Royal Bank" in guest.text
    text = guest.read(f"{BRANDS}/{merchant.account}")
    assert text.index("Now") < text.index("Requested")
    held = guest.form(f"{BRANDS}/{merchant.account}/approve")
    assert guest.post(f"{BRANDS}/{merchant.account}/refuse", reason="").status_code == 422
    answer = guest.post(f"{BRANDS}/{merchant.account}/refuse", reason="You are no bank")
    assert answer.headers["location"] == BRANDS
    assert "You are no bank" in boss.read(f"{home(merchant)}/brand")
    assert guest.post(f"{BRANDS}/{merchant.account}/approve", held).status_code in {409, 422}
    newer = request(boss, merchant, name="Royal Books")
    assert newer != change
    guest.open(f"{BRANDS}/{merchant.account}")
    assert guest.post(f"{BRANDS}/{merchant.account}/approve", {**held, "id": change}).status_code == 409
    guest.open(f"{BRANDS}/{merchant.account}")
    assert guest.post(f"{BRANDS}/{merchant.account}/approve").status_code == 303
    assert still.act("account show", account=merchant.account)["name"] == "Royal Books"
