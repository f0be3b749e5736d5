"""A payment is not lost while its customer signs up, verifies who they are, adds money or resets a password."""

from urllib.parse import urlsplit

from tests.guest import Guest
from tests.live import InProcess
from tests.mailbox import word_of
from tests.visitor import Visitor
from tests.web.tenant import last_letter

CARD = "A payment is waiting"


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


def test_who_can_pay_is_not_told_to_wait(still: InProcess) -> None:
    visitor = cold(still)
    visitor.entered(still.customers[0])
    text = visitor.read("/wallet")
    assert CARD in text
    assert "as soon as your identity is verified" not in text


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
