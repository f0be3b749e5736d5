"""What the pay page holds for who looks at it: the way to pay, or what stands in it and what to do about that.

What is true is read from the books. The word that the last page left is a cookie, and so anybody's to write.
"""

from typing import Final

import msgspec

from qirsh.domain.account import Account
from qirsh.domain.person import attempts_left, pin_trouble
from qirsh.domain.refusal import Refusal
from qirsh.domain.rules.account_eligibility import why_not_in_order
from qirsh.domain.tables import Tables
from qirsh.store.reads.people import PASSKEYS_OF_PERSON
from qirsh.web.auth import passkeys
from qirsh.web.html.waiting_payment import remember_payment, remembered_payment
from qirsh.web.http.message import Response
from qirsh.web.pay.payment_page import PaymentPage
from qirsh.web.pay.receipt import receipt_token
from qirsh.web.pay.return_address import after_paying, form_origin

# Refusals after which the same person need not try again, and that only a try can show.
_ONLY_SAID: Final = frozenset(
    {
        Refusal.BALANCE_LIMIT.value,
        Refusal.MERCHANT_SUSPENDED.value,
        Refusal.TEST_AND_LIVE.value,
        Refusal.NOT_FOUND.value,
    }
)


class Funds(msgspec.Struct, frozen=True):
    """What a customer has for a payment, and what keeps them from paying it; empty where nothing does."""

    held: int
    after: int
    tries_left: int
    obstacle: str  # Keeps them from paying at all.
    pin_trouble: str  # Keeps them from using a PIN.


async def view(payment_page: PaymentPage, *, why: str, status: int = 200, email: str = "") -> Response:
    """The page, with what the last form has come to."""
    page, state = payment_page.page, payment_page.state()
    has_to_sign_in = payment_page.caller is None or page.is_idle
    values: dict[str, object] = {
        "state": state,
        "why": why,
        "email": email,
        "summary": payment_page.summary(),
        "base_url": page.context.base_url,
        "return_address": after_paying(payment_page.payment, payment_page.id, payment_page.merchant)
        if state == "receipt"
        else None,
        "passkey_options": "",
        "has_to_sign_in": has_to_sign_in,
        "is_idle": page.is_idle,
    }
    is_ready = False  # To confirm, without anything to be done elsewhere first.
    if payment_page.caller is not None:
        person = await page.context.store.find(Tables.people, page.person)
        assert person is not None, "a session without its person"
        values |= {"name": person.name, "account": payment_page.caller.account, "is_owner": payment_page.is_owners_test}
        if state == "payable" and not has_to_sign_in:
            funds = await _funds(payment_page, why)
            values |= {"funds": funds, "shown": page.csrf.token("shown", *payment_page.agreed())}
            is_ready = not funds.obstacle and not funds.pin_trouble
            if not funds.obstacle:
                values["passkey_options"] = await _passkey_options(payment_page)
        if state == "receipt":
            values["receipt_url"] = f"{page.context.base_url}/receipt/{receipt_token(page.context, payment_page.id)}"
    if state == "payable" and has_to_sign_in:
        values |= {
            "passkey_options": _passkey_options_of_stranger(payment_page),
            "shown": page.csrf.open_token("shown", *payment_page.agreed()),
        }
    can_confirm = not has_to_sign_in or bool(values["passkey_options"])
    may_pay = (state == "payable" and can_confirm) or (state == "test" and payment_page.is_owners_test)
    origin = form_origin(payment_page.payment, payment_page.merchant) if may_pay else ""
    answer = page.render("pay/pay.html", status=status, form_origin=origin, **values)
    if state == "payable" and not is_ready and remembered_payment(page.context, page.request) != payment_page.id:
        answer.headers.append(remember_payment(page.context, payment_page.id))
    return answer


def confirming(payment_page: PaymentPage) -> passkeys.Purpose:
    """What a passkey is asked to sign: exactly what the page shows, in exactly this session."""
    return passkeys.confirming(payment_page.page.session.hash.hex(), payment_page.agreed())


def signing_in_and_paying(payment_page: PaymentPage) -> passkeys.Purpose:
    """The same from who is not signed in, in exactly this browser."""
    return passkeys.signing_in_and_paying(payment_page.page.csrf.visitor, payment_page.agreed())


def _passkey_options_of_stranger(payment_page: PaymentPage) -> str:
    page = payment_page.page
    if not passkeys.can_be_used(page.context):
        return ""
    # The browser gets its cookie, if it has none: what is asked is tied to it.
    page.csrf.open_token("sign-in-passkey", payment_page.id)
    return passkeys.request_options(page.context, signing_in_and_paying(payment_page))


async def _passkey_options(payment_page: PaymentPage) -> str:
    """Empty if the person has none, or browsers would take none here."""
    context = payment_page.page.context
    if not passkeys.can_be_used(context):
        return ""
    known = [row[0] for row in await context.store.select(PASSKEYS_OF_PERSON, payment_page.page.person)]
    return passkeys.request_options(context, confirming(payment_page), known) if known else ""


async def _funds(payment_page: PaymentPage, why: str) -> Funds:
    context, payment, account = payment_page.page.context, payment_page.payment, payment_page.page.user.account
    balance = await context.store.find(Tables.balances, (account, payment.currency))
    pin = await context.store.find(Tables.pins, payment_page.page.person)
    held = balance.available if balance else 0
    tries_left = attempts_left(pin) if pin else 0
    obstacle = await _obstacle(payment_page)
    if not obstacle and held < payment.amount:
        obstacle = "insufficient_funds"
    if not obstacle and why in _ONLY_SAID:
        obstacle = why
    return Funds(
        held=held,
        after=held - payment.amount,
        tries_left=tries_left,
        obstacle=obstacle,
        pin_trouble=pin_trouble(pin),
    )


async def _obstacle(payment_page: PaymentPage) -> str:
    """About the service or the person, whatever they have."""
    context = payment_page.page.context
    if context.engine.money_stop.reason is not None:
        return "money_stopped"
    account = await context.store.find(Tables.accounts, payment_page.page.user.account)
    assert account is not None, "a person without their account"
    if why := why_not_in_order(account):
        return await _why_not_verified(payment_page) if why is Refusal.NOT_VERIFIED else str(why.value)
    return "same_account" if _is_own(account, payment_page.merchant) else ""


async def _why_not_verified(payment_page: PaymentPage) -> str:
    identity = await payment_page.page.context.store.find(Tables.identities, payment_page.page.person)
    return "being_checked" if identity is not None and identity.state == "submitted" else "not_verified"


def _is_own(account: Account, merchant: Account) -> bool:
    return account.owner == merchant.owner
