"""A payment is not lost while its customer signs up, verifies who they are, adds money or resets a password."""

from urllib.parse import urlsplit

import pytest

from tests.guest import Guest
from tests.live import FUNDS, InProcess
from tests.mailbox import word_of
from tests.visitor import Visitor
from tests.web.account.test_identity_page import FACTS
from tests.web.photo import picture
from tests.web.tenant import last_letter
from tests.web.wallet.test_payout_page import asked

CARD = "A payment is waiting"
AHEAD = "as soon as your identity is verified"
BEING_CHECKED = "We are checking your identity."
NO_MONEY = "You can pay as soon as there is enough money in your account."
SUSPENDED = "Your account is suspended or closed, so you cannot pay from it."


def cold(still: InProcess, **fields: object) -> Visitor:
    """Somebody who has opened a payment and is not signed in."""
    visitor = Visitor(still, still.payment(still.merchants[0], **fields))
    visitor.open()
    return visitor


def test_the_wallet_of_who_cannot_pay_yet_leads_back_to_the_payment(still: InProcess) -> None:
    visitor = cold(still, amount=1250, currency="USD")
    visitor.entered(still.person(verified=False))
    text = visitor.read("/wallet")
    assert CARD in text
    assert "requests 12.50 USD" in text
    assert "as soon as your identity is verified" in text
    assert f'href="/pay/{visitor.payment_id}">Continue paying' in visitor.page
    assert CARD in visitor.read("/wallet/identity")


def said(visitor: Visitor) -> list[set[str]]:
    """Which of the texts the card has, in the wallet and beside the identity."""
    texts = [visitor.read(path) for path in ("/wallet", "/wallet/identity")]
    assert all(CARD in text for text in texts)
    return [{words for words in (AHEAD, BEING_CHECKED, NO_MONEY, SUSPENDED) if words in text} for text in texts]


def test_who_can_pay_is_not_told_to_wait(still: InProcess) -> None:
    visitor = cold(still)
    visitor.entered(still.customers[0])
    assert said(visitor) == [set(), set()]


def test_the_card_says_what_is_still_ahead_at_each_step_to_paying(still: InProcess) -> None:
    visitor, person = cold(still, amount=1250, currency="USD"), still.person(verified=False)
    visitor.entered(person)
    assert said(visitor) == [{AHEAD}] * 2
    assert visitor.upload("/wallet/identity", {"front": picture()}, **FACTS).status_code == 303
    assert said(visitor) == [{BEING_CHECKED}] * 2
    still.act("identity reject", account=visitor.account, reason="blurred")
    assert said(visitor) == [{AHEAD}] * 2
    still.act("account verify", account=visitor.account)
    assert said(visitor) == [{NO_MONEY}] * 2
    still.deposit(visitor.account, 99_00, "EUR")
    still.deposit(visitor.account, 1249)
    assert said(visitor) == [{NO_MONEY}] * 2
    still.deposit(visitor.account, 1)
    assert said(visitor) == [set()] * 2
    still.act("account suspend", account=visitor.account)
    visitor.entered(person)  # Their sessions have ended.
    assert said(visitor) == [{SUSPENDED}] * 2


@pytest.mark.both_engines
def test_money_that_is_held_for_a_payout_is_not_there_to_pay_with(still: InProcess) -> None:
    visitor = cold(still, amount=FUNDS, currency="USD")
    visitor.entered(still.customer())
    assert said(visitor) == [set()] * 2
    asked(visitor, amount="1")
    assert said(visitor) == [{NO_MONEY}] * 2


def test_a_payment_that_is_over_is_not_waiting(still: InProcess) -> None:
    visitor = cold(still)
    visitor.entered(still.customer())
    visitor.open()
    assert visitor.confirm().status_code == 303
    assert CARD not in visitor.read("/wallet")


def test_who_opened_nothing_waits_for_nothing(still: InProcess) -> None:
    guest = Guest(still).entered(still.person(verified=False))
    assert CARD not in guest.read("/wallet")
    for written in ("1", "0" * 16, "x", "9" * 400):
        guest.cookies["qirsh-payment"] = written
        assert CARD not in guest.read("/wallet")


def test_who_comes_to_sign_up_for_a_payment_is_told_what_it_takes(still: InProcess) -> None:
    still.change(has_mail=True)
    visitor = cold(still)
    assert "A new account cannot pay right away" in visitor.read("/sign-up", pay=visitor.payment_id)
    assert "A new account cannot pay right away" not in visitor.read("/sign-up")
    still.change(has_mail=False)


def test_a_reset_password_leads_back_to_the_payment(still: InProcess) -> None:
    still.change(has_mail=True)
    visitor, customer = cold(still), still.customer()
    assert f'href="/forgot?pay={visitor.payment_id}"' in visitor.page
    visitor.open("/forgot")
    visitor.follow(visitor.post("/forgot", email=customer.email))
    link = urlsplit(word_of(last_letter(still, customer.email), "url")).path
    visitor.open(link)
    visitor.follow(visitor.post(link, password="a quite new horse battery"))
    assert visitor.form("/sign-in")["pay"] == visitor.payment_id
    still.change(has_mail=False)
