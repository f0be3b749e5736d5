"""The pages of a person, an account and a payment: what is shown to whom, and what is done from there."""

import re

import pytest

from qirsh.domain.commands.login_credentials import AddPasskey
from qirsh.domain.commands.shop_message import WriteToOperators
from qirsh.domain.limits import ACCOUNT_LOOK_MS, LIST_ITEMS_DEFAULT
from tests.guest import Guest
from tests.live import PASSWORD, PIN, InProcess, Merchant, pay, refund
from tests.web.operator.conftest import Opened
from tests.web.operator.console import ConsoleGuest, console, operator_with
from tests.web.tenant import login_of


@pytest.fixture
def world(opened: Opened) -> InProcess:
    held = opened(1, 2)
    if not held.context.has_mail:
        held.change(has_mail=True)
    return held


@pytest.fixture
def shop(world: InProcess) -> Merchant:
    return world.merchants[0]


@pytest.fixture
def person(world: InProcess) -> int:
    return login_of(world, world.customers[0].email).person


def looks(world: InProcess, account: str) -> list[str]:
    sql = f"SELECT actor FROM audit WHERE action = 'account.looked_at' AND subject = 'account {account}' ORDER BY id"  # noqa: S608 - our own
    with world.books() as books:
        return [actor for (actor,) in books.select(sql)]


# The search box.


def test_one_hit_leads_there_and_several_are_listed(world: InProcess, shop: Merchant) -> None:
    guest = console(world)
    answer = guest.ask("/operator/search", q=shop.account)
    assert (answer.status_code, answer.headers["location"]) == (303, f"/operator/accounts/{shop.account}")
    for name in ("Leyla Birinci", "Leyla Ikinci"):
        email = f"{name.split()[1].lower()}@home.example"
        world.act("person add", email=email, name=name, password=PASSWORD, pin=PIN)
    text = guest.read("/operator/search", q="ley")
    assert "Leyla Birinci" in text
    assert "Leyla Ikinci" in text
    assert guest.ask("/operator/search", q="leyla iki").status_code == 303


def test_nothing_found_and_nothing_asked_for_are_told(world: InProcess) -> None:
    guest = console(world)
    assert "Nothing found" in guest.read("/operator/search", q="xyzzy")
    assert "Nothing found" in guest.read("/operator/search", q="<b>\u0007")
    assert "<b>" not in guest.page
    assert "beginnings of words" in guest.read("/operator/search")


def test_the_box_keeps_what_was_typed(world: InProcess) -> None:
    guest = console(world)
    guest.ask("/operator/search", q='"xyzzy')
    assert 'value="&#34;xyzzy"' in guest.page


# A person.


@pytest.mark.both_engines
def test_a_person_is_shown_with_money_and_without_secrets(world: InProcess, shop: Merchant, person: int) -> None:
    payment = world.payment(shop)
    world.data(pay(world.customers[0], payment))
    world.run(world.context.engine.submit(AddPasskey(b"key", person, b"public", 0, "Ada's phone", ())))
    guest = console(world)
    text = guest.read(f"/operator/people/{person}")
    for shown in (world.customers[0].email, "Verified", "Ada's phone", "Two-step verification", "Session"):
        assert shown in text
    assert f'href="/operator/payments/{payment}"' in guest.page
    assert guest.open("/operator/people/999999").status_code == 404
    assert guest.open("/operator/people/one").status_code == 404


def test_contacts_and_notes_are_for_roles_that_may_see_them(world: InProcess, person: int) -> None:
    world.act("note add", about="person", id=str(person), text="Speaks Kurdish")
    auditor, treasury = operator_with(world, "auditor"), operator_with(world, "treasury")
    path = f"/operator/people/{person}"
    seen = {number: console(world, number).read(path) for number in (auditor, treasury)}
    for text in seen.values():
        assert world.customers[0].email not in text
    assert "Speaks Kurdish" not in seen[auditor]
    assert "Speaks Kurdish" in seen[treasury]
    assert "Suspend" not in seen[treasury]


def test_history_goes_on_only_where_there_is_more_that_the_role_may_see(world: InProcess, person: int) -> None:
    path, why = f"/operator/people/{person}", "Your roles see what changed a state."
    # More of what support does not see than stands on one page, and what it sees below that.
    for number in range(LIST_ITEMS_DEFAULT + 1):
        world.act("note add", about="person", id=str(person), text=f"call {number}")
    support, first = console(world, operator_with(world, "support")), console(world)
    text = support.read(path)
    assert why in text
    assert "person.added" in text
    assert "Older entries" not in text
    text = first.read(path)
    assert why not in text
    assert "Older entries" in text
    [older] = re.findall(r'href="([^"]+entries=[^"]+)"', first.page)
    assert "person.added" in first.read(older)
    assert "Older entries" not in first.text


def test_the_page_of_a_personal_account_is_that_of_its_owner(world: InProcess, person: int) -> None:
    answer = console(world).open(f"/operator/accounts/{world.customers[0].account}")
    assert (answer.status_code, answer.headers["location"]) == (303, f"/operator/people/{person}")


def test_a_person_is_blocked_with_a_reason_and_let_in_again(world: InProcess, person: int) -> None:
    guest, path = console(world), f"/operator/people/{person}"
    guest.open(f"{path}/block")
    assert world.customers[0].email not in guest.page
    answer = guest.post(f"{path}/block", reason="  ")
    assert answer.status_code == 422
    assert "Required." in guest.text
    guest.open(f"{path}/block")
    answer = guest.post(f"{path}/block", reason="reported as stolen")
    assert answer.headers["location"] == path
    guest.follow(answer)
    assert "The person is blocked and signed out." in guest.text
    assert "reported as stolen" in guest.text
    assert Guest(world).sign_in(world.customers[0].email).status_code != 303
    guest.open(f"{path}/unblock")
    guest.follow(guest.post(f"{path}/unblock", reason="it was found"))
    assert "can sign in again" in guest.text


def test_to_remove_factors_is_asked_for_and_waits_on_the_page(world: InProcess, person: int) -> None:
    guest, path = console(world), f"/operator/people/{person}"
    guest.open(f"{path}/remove-factors")
    asked = guest.proposal(guest.post(f"{path}/remove-factors", reason="lost the phone"))
    guest.read(path)
    assert f'href="/operator/proposals/{asked}"' in guest.page
    assert "Waiting for another operator" in guest.text


def test_a_note_is_added_once_by_a_form_that_is_sent_twice(world: InProcess, person: int) -> None:
    guest, path = console(world), f"/operator/people/{person}"
    guest.open(f"{path}/note")
    call = guest.posting(f"{path}/note", text="Called about\na refund")
    assert [world.send(call).status_code for _ in range(2)] == [303, 303]
    text = guest.read(path)
    assert text.count("Called about") == 1
    guest.open(f"{path}/note")
    assert guest.post(f"{path}/note", text="x" * 2001).status_code == 422
    assert "x" * 2001 in guest.page


def test_nobody_reads_what_others_wrote_about_them(world: InProcess) -> None:
    own = str(login_of(world, world.operators[0].email).person)
    world.act("note add", 1, about="person", id=own, text="Takes long lunches")
    path = f"/operator/people/{own}"
    assert "Takes long lunches" not in console(world).read(path)
    assert "Takes long lunches" in console(world, 1).read(path)
    assert world.run(world.tried("note list", {"about": "person", "id": own})).code == "own_request"


def test_an_erased_person_has_a_page_without_anything_that_tells_who_it_was(world: InProcess) -> None:
    leaver = world.person(verified=False)
    number = login_of(world, leaver.email).person
    world.act("note add", about="person", id=str(number), text="Wrote three letters")
    guest = Guest(world).entered(leaver)
    guest.open("/wallet/erase")
    assert guest.post("/wallet/erase", password=PASSWORD).status_code == 303
    text = console(world).read(f"/operator/people/{number}")
    assert "Wrote three letters" not in text
    assert "no longer kept" in text


# A business.


@pytest.mark.both_engines
def test_a_business_is_shown_as_its_owner_sees_it(world: InProcess, shop: Merchant) -> None:
    payment = world.payment(shop)
    world.data(pay(world.customers[0], payment))
    owner = login_of(world, shop.email).person
    guest = console(world)
    text = guest.read(f"/operator/accounts/{shop.account}")
    for shown in ("Approved", shop.key_id, "Transactions", "Balances", "API keys"):
        assert shown in text
    assert f'href="/operator/payments/{payment}"' in guest.page
    assert f'href="/operator/people/{owner}"' in guest.page
    assert shop.key not in guest.page
    assert guest.open("/operator/accounts/100000000000").status_code == 404


def test_a_test_account_leads_to_its_business_and_the_house_has_a_page(world: InProcess, shop: Merchant) -> None:
    guest = console(world)
    answer = guest.open(f"/operator/accounts/{shop.test_account}")
    assert answer.headers["location"] == f"/operator/accounts/{shop.account}"
    with world.books() as books:
        (house,), *_ = books.select("SELECT number FROM account WHERE kind = 'house' AND mode = 'live'")
    assert "House account" in guest.read(f"/operator/accounts/{house}")


def test_that_an_operator_looked_is_noted_once_an_hour_for_each(world: InProcess, shop: Merchant) -> None:
    guest, path = console(world), f"/operator/accounts/{shop.account}"
    for _ in range(3):
        guest.read(path)
    [first] = looks(world, shop.account)
    console(world, 1).read(path)
    assert len(looks(world, shop.account)) == 2
    world.clock.advance(ACCOUNT_LOOK_MS)
    console(world).read(path)
    assert looks(world, shop.account).count(first) == 2


def test_the_shop_does_not_read_that_it_was_looked_at_or_written_about(world: InProcess, shop: Merchant) -> None:
    guest = console(world)
    guest.read(f"/operator/accounts/{shop.account}")
    world.act("note add", about="account", id=shop.account, text="Odd refunds")
    owner = Guest(world).signed_in(shop.email)
    for path in (f"/business/{shop.account}/activity", f"/business/{shop.account}/activity.csv"):
        answer = owner.open(path)
        assert answer.status_code == 200, answer.text
        for hidden in ("looked_at", "note.added", "Odd refunds"):
            assert hidden not in answer.text


def test_an_account_is_suspended_and_resumed_with_reasons(world: InProcess, shop: Merchant) -> None:
    guest, path = console(world), f"/operator/accounts/{shop.account}"
    guest.open(f"{path}/suspend")
    for nothing in ("", " \r\n", "\u200f"):
        assert guest.post(f"{path}/suspend", reason=nothing).status_code == 422
    guest.open(f"{path}/suspend")
    # As a browser sends lines, and an Arabic keyboard its marks.
    guest.follow(guest.post(f"{path}/suspend", reason="\u200fcomplaints\r\n\r\nof buyers\u061c \u200e"))
    assert "The account is suspended." in guest.text
    assert "complaints of buyers</bdi>" in guest.page
    assert f'href="{path}/resume"' in guest.page
    assert f'href="{path}/suspend"' not in guest.page
    guest.open(f"{path}/suspend")
    answer = guest.post(f"{path}/suspend", reason="once more")
    assert answer.status_code in {409, 422}
    assert 'value="once more"' in guest.page
    guest.open(f"{path}/resume")
    guest.follow(guest.post(f"{path}/resume", reason="settled"))
    assert "The account is active again." in guest.text


def test_closing_is_a_proposal_that_stands_on_the_page(world: InProcess, shop: Merchant) -> None:
    guest, path = console(world), f"/operator/accounts/{shop.account}"
    guest.open(f"{path}/close")
    asked = guest.proposal(guest.post(f"{path}/close", reason="gone out of business"))
    guest.read(path)
    assert f'href="/operator/proposals/{asked}"' in guest.page


def test_a_key_is_revoked_with_a_reason_and_only_below_its_own_account(world: InProcess, shop: Merchant) -> None:
    guest, path = console(world), f"/operator/accounts/{shop.account}/keys/{shop.key_id}/revoke"
    customer = world.customers[0].account
    assert guest.open(path.replace(shop.account, customer)).status_code == 404
    guest.open(path)
    assert guest.post(path, reason="").status_code == 422
    guest.open(path)
    guest.follow(guest.post(path, reason="published by mistake"))
    assert "The key was revoked" in guest.text
    assert "published by mistake" in guest.text
    assert f'href="{path}"' not in guest.page


def test_messages_are_read_and_answered_once(world: InProcess, shop: Merchant) -> None:
    owner = login_of(world, shop.email).person
    world.run(world.context.engine.submit(WriteToOperators("msg_1", int(shop.account), "When do you pay?", owner)))
    guest, path = console(world), f"/operator/accounts/{shop.account}"
    assert "When do you pay?" in guest.read(path)
    guest.follow(guest.post(f"{path}/messages/read"))
    assert "Mark as read" not in guest.text
    call = guest.posting(f"{path}/messages", text="On Monday")
    assert [world.send(call).status_code for _ in range(2)] == [303, 303]
    assert guest.read(path).count("On Monday") == 1
    assert guest.post(f"{path}/messages", text="").status_code == 422


@pytest.mark.both_engines
def test_lists_of_an_account_are_read_page_by_page(world: InProcess, shop: Merchant) -> None:
    ids = [world.payment(shop) for _ in range(12)]
    for payment in ids:
        world.data(pay(world.customers[0], payment))
    guest, path = console(world), f"/operator/accounts/{shop.account}"
    guest.read(path)
    met: set[str] = set()
    for name in ("payments", "after"):
        guest.read(path)
        [older] = re.findall(rf'href="({path}\?{name}=[^"]+)"', guest.page)
        met |= set(re.findall(r"/operator/payments/(\d{16})", guest.page))
        guest.read(older)
        met |= set(re.findall(r"/operator/payments/(\d{16})", guest.page))
        assert met == set(ids)
    assert guest.open(f"{path}?payments=nonsense").status_code == 422
    assert guest.open(f"{path}?entries=nonsense").status_code == 422


# A payment.


@pytest.mark.both_engines
def test_a_payment_is_shown_with_its_life_and_both_parties(world: InProcess, shop: Merchant, person: int) -> None:
    payment = world.payment(shop, note="Two coffees", metadata={"table": 7})
    world.data(pay(world.customers[0], payment))
    refunded = world.data(refund(shop.key, payment, amount=30))["id"]
    guest = console(world)
    text = guest.read(f"/operator/payments/{payment}")
    for shown in ("Two coffees", '"table": 7', refunded, "remote_payment.paid", "refund.created", "In the ledger"):
        assert shown in text
    assert f'href="/operator/people/{person}"' in guest.page
    assert f'href="/operator/accounts/{shop.account}"' in guest.page
    guest.open(f"/operator/payments/{payment}/note")
    guest.follow(guest.post(f"/operator/payments/{payment}/note", text="Customer called"))
    assert "Customer called" in guest.text
    assert guest.open("/operator/payments/1234567890123456").status_code == 404


def test_a_refund_is_asked_for_while_the_shop_is_suspended(world: InProcess, shop: Merchant) -> None:
    payment = world.payment(shop)
    world.data(pay(world.customers[0], payment))
    guest, path = console(world), f"/operator/payments/{payment}"
    guest.read(path)
    assert f'href="{path}/refund"' not in guest.page
    world.act("account suspend", account=shop.account)
    guest.read(path)
    assert f'href="{path}/refund"' in guest.page
    guest.open(f"{path}/refund")
    assert guest.post(f"{path}/refund", amount="a lot", reason="shop is gone").status_code == 422
    assert 'value="a lot"' in guest.page
    guest.open(f"{path}/refund")
    asked = guest.proposal(guest.post(f"{path}/refund", amount="", reason="shop is gone"))
    guest.read(path)
    assert f'href="/operator/proposals/{asked}"' in guest.page


def test_a_pin_is_asked_to_be_reset_from_the_page(world: InProcess, person: int) -> None:
    guest, path = console(world), f"/operator/people/{person}"
    guest.read(path)
    assert f'href="{path}/reset-pin"' in guest.page
    guest.open(f"{path}/reset-pin")
    asked = guest.proposal(guest.post(f"{path}/reset-pin", reason="forgotten"))
    guest.read(path)
    assert f'href="/operator/proposals/{asked}"' in guest.page


def test_pages_are_read_in_three_languages(world: InProcess, shop: Merchant, person: int) -> None:
    payment = world.payment(shop)
    for language in ("ar", "tr", "en"):
        guest = ConsoleGuest(world, language).at_console(world.operators[0])
        for path in (f"people/{person}", f"accounts/{shop.account}", f"payments/{payment}", "search?q=xyzzy"):
            assert guest.open(f"/operator/{path}").status_code == 200
            assert f'lang="{language}"' in guest.page
