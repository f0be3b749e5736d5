"""Whatever keeps somebody from paying has a heading, says what it means, and says what to do."""

from typing import Final

import pytest

from qirsh.domain.commands.identity import SubmitIdentity
from qirsh.domain.commands.person import AddPerson
from qirsh.domain.limits import PIN_ATTEMPTS_MAX
from qirsh.domain.refusal import Refused
from tests.live import PASSWORD, PIN, WRONG_PIN, InProcess, Live, World, pay, retrieve
from tests.visitor import Visitor


def at(world: World, **fields: object) -> Visitor:
    return Visitor(world, world.payment(world.merchants[0], **fields))


def person_of(world: World, email: str) -> int:
    with world.books() as books:
        [(person,)] = books.select("SELECT person FROM login WHERE email = ?", email)
    return int(person)


def told(visitor: Visitor, title: str, *, href: str = "") -> None:
    """The page has this ending, with a way on if there is one, and no way to pay."""
    assert f"<h2>{title}</h2>" in visitor.page or f"<h1>{title}</h1>" in visitor.page, visitor.text
    assert 'id="pin"' not in visitor.page
    pin = f"/wallet/pin?pay={visitor.payment_id}"  # From there the way leads back to the payment.
    known = {"/wallet": "/wallet", "/wallet/pin": pin, "/wallet/identity": "/wallet/identity"}
    links = [link for link, address in known.items() if f'href="{address}"' in visitor.page]
    assert links == ([href] if href else [])


def test_too_little_money_says_what_is_missing_and_how_to_add_it(world: Live) -> None:
    customer = world.person(verified=True)
    world.deposit(customer.account, 1234)
    visitor = at(world, amount=2000).signed_in(customer)
    told(visitor, "Not enough money in your account", href="/wallet")
    assert "Your balance 12.34 USD Missing 7.66 USD" in visitor.text


def test_a_locked_pin_leads_to_where_it_is_unlocked(world: Live) -> None:
    customer = world.customer()
    visitor = at(world).signed_in(customer)
    for _ in range(PIN_ATTEMPTS_MAX):
        world.send(pay(customer, visitor.payment_id, WRONG_PIN))
    visitor.open()
    told(visitor, "Your PIN is locked", href="/wallet/pin")


def test_who_has_no_pin_yet_is_led_to_where_one_is_chosen(still: InProcess) -> None:
    email, context = "no-pin@home.example", still.context
    password_hash = still.run(context.passwords.hash(PASSWORD))
    person = still.run(context.engine.submit(AddPerson(email, "Nobody", password_hash, "test")))
    assert type(person) is not Refused
    still.act("account verify", account=str(person.account))
    still.deposit(str(person.account), 5000)
    visitor = at(still).signed_in(email)
    told(visitor, "You have no PIN yet", href="/wallet/pin")


def test_who_is_not_verified_is_led_to_the_check_and_then_asked_to_wait(still: InProcess) -> None:
    customer = still.person(verified=False)
    visitor = at(still).signed_in(customer)
    told(visitor, "Verify your identity first", href="/wallet/identity")
    person = person_of(still, customer.email)
    command = SubmitIdentity(person, int(customer.account), b"sealed", (("front", b"picture"),))
    assert type(still.run(still.context.engine.submit(command))) is not Refused
    visitor.open()
    told(visitor, "Your documents are being checked", href="/wallet")


def test_a_suspended_account_says_so_before_anything_is_typed(world: Live) -> None:
    customer = world.customer()
    world.act("account suspend", account=customer.account)
    visitor = at(world).signed_in(customer)
    told(visitor, "Your account is suspended")


def test_an_expired_and_a_cancelled_payment_say_what_they_were(still: InProcess) -> None:
    visitor = at(still, amount=4321, note="Order 12", expiresIn=300).signed_in(still.customer())
    still.clock.now += 300_000
    visitor.open()
    told(visitor, "This payment has expired")
    for words in ("To Shop", "Amount 43.21 USD", "Note from the shop Order 12", "Nothing was paid."):
        assert words in visitor.text


def test_who_finds_it_paid_by_another_account_is_told_that(world: Live) -> None:
    visitor = at(world).signed_in(world.customer())
    world.data(pay(world.customer(), visitor.payment_id))
    visitor.open()
    told(visitor, "Already paid")
    assert "It was paid from another account." in visitor.text


PLANTED: Final = ("same_account", "account_suspended", "not_verified", "pin_missing", "money_stopped", "being_checked")


def test_a_planted_word_keeps_nobody_from_paying(world: Live, subtests: pytest.Subtests) -> None:
    for word in PLANTED:
        with subtests.test(word):
            visitor = at(world).signed_in(world.customers[0])
            visitor.cookies["qirsh-said"] = f"{visitor.payment_id}.{word}"
            visitor.open()
            assert 'id="pin"' in visitor.page


def test_a_stranger_finds_the_ways_in(world: Live) -> None:
    visitor = at(world)
    visitor.open()
    for way in ("sign-up", "forgot"):
        assert f'href="/{way}?pay={visitor.payment_id}"' in visitor.page
    assert "New here? A new account is verified before its first payment" in visitor.text


def test_sums_are_kept_in_order_in_every_language(world: Live, subtests: pytest.Subtests) -> None:
    for language, direction in (("en", "ltr"), ("ar", "rtl"), ("tr", "ltr")):
        with subtests.test(language):
            visitor = at(world, amount=123456789)
            page = visitor.open(accept_language=language).text
            assert f'<html lang="{language}" dir="{direction}">' in page
            digits = "1.234.567,89" if language == "tr" else "1,234,567.89"
            assert f'<bdi class="num">{digits}</bdi>' in page
            assert "data-left=" in page


# Tests of a shop, which their owner ends as they like.

ENDS: Final = {"paid": "paid", "expired": "expired", "cancelled": "cancelled", "insufficient_funds": "pending"}


def trying(world: World, who: str, **fields: object) -> Visitor:
    """Somebody who is signed in, at a new test payment of the first shop."""
    merchant = world.merchants[0]
    test_id = world.payment(merchant._replace(key=merchant.test_key), **fields)
    return at(world).signed_in(who).elsewhere(test_id)


def test_the_owner_ends_a_test_payment_as_they_choose(world: Live, subtests: pytest.Subtests) -> None:
    for outcome in ENDS:
        with subtests.test(outcome):
            merchant = world.merchants[0]
            visitor = trying(world, merchant.email)
            visitor.open()
            assert "Test payment. No money moves." in visitor.text
            for shown in ENDS:
                assert f'name="outcome" value="{shown}"' in visitor.page
            answer = visitor.post("test", {**visitor.form("test"), "outcome": outcome})
            assert (answer.status_code, answer.headers["location"]) == (303, f"/pay/{visitor.payment_id}")
            assert world.data(retrieve(merchant.test_key, visitor.payment_id))["status"] == ENDS[outcome]
            visitor.open()
            assert "Test payment. No money moves." in visitor.text
            heading = {
                "paid": "Your test customer",
                "expired": "This payment has expired",
                "cancelled": "The shop cancelled this payment",
                "insufficient_funds": "Not enough money A customer without enough money sees this",
            }
            assert heading[outcome] in visitor.text


def test_a_test_customer_comes_back_to_the_shop_too(world: Live) -> None:
    visitor = trying(world, world.merchants[0].email, returnUrl="https://shop.example/thanks")
    assert "https://shop.example" in visitor.open().headers["content-security-policy"]
    answer = visitor.post("test", {**visitor.form("test"), "outcome": "paid"})
    assert answer.headers["location"].startswith("https://shop.example/thanks?paymentId=")


def test_nobody_but_the_owner_ends_a_test_payment(still: InProcess) -> None:
    merchant = still.merchants[0]
    for who in (still.customer().email, still.merchants[1].email):
        visitor = trying(still, who)
        visitor.open()
        assert 'name="outcome"' not in visitor.page
        assert "cannot be paid from a real account" in visitor.text
        # No page has such a form; with one, it is still not theirs.
        owner = trying(still, merchant.email).elsewhere(visitor.payment_id)
        owner.open()
        theirs = owner.form("test")["token"]
        for cookies, token in ((visitor.cookies, theirs), ({}, theirs), (owner.cookies, "0" * 64)):
            late = Visitor(still, visitor.payment_id)
            late.cookies = dict(cookies)
            for outcome in ENDS:
                assert late.post("test", {"token": token, "outcome": outcome}).status_code == 403
        assert still.data(retrieve(merchant.test_key, visitor.payment_id))["status"] == "pending"
    # Nor does a token of their own session make it theirs.
    own = trying(still, still.merchants[1].email)
    tie = still.run(still.context.callers.of_cookie(own.cookies["qirsh"].encode()))
    assert tie is not None
    token = still.context.keyring.form_token("test", tie.token_hash.hex(), own.payment_id)
    assert own.post("test", {"token": token, "outcome": "paid"}).status_code == 403
    assert still.data(retrieve(merchant.test_key, own.payment_id))["status"] == "pending"


def test_a_live_payment_cannot_be_ended_as_a_test_even_by_its_owner(still: InProcess) -> None:
    merchant = still.merchants[0]
    visitor = at(still).signed_in(merchant.email)
    assert 'name="outcome"' not in visitor.page
    caller = still.run(still.context.callers.of_cookie(visitor.cookies["qirsh"].encode()))
    assert caller is not None
    token = still.context.keyring.form_token("test", caller.token_hash.hex(), visitor.payment_id)
    before = still.counts()
    for outcome in (*ENDS, "", "nonsense"):
        assert visitor.post("test", {"token": token, "outcome": outcome}).status_code == 403
    assert still.counts() == before


def test_a_pin_is_no_way_into_a_test(still: InProcess) -> None:
    visitor = trying(still, still.merchants[0].email)
    visitor.open()
    assert visitor.post("confirm", {"token": visitor.form("test")["token"], "pin": PIN}).status_code == 403
