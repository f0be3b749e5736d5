"""What the pay page holds for who looks at it: the way to pay, or what stands in it and what to do about that.

What is true is read from the books. The word that the last page left is a cookie, and so anybody's to write.
"""

from typing import Final

import msgspec

from qirsh.domain.account import Account
from qirsh.domain.person import attempts_left
from qirsh.domain.refusal import Refusal
from qirsh.domain.rules.account_eligibility import why_not_in_order
from qirsh.domain.tables import Tables
from qirsh.store.reads.people import PASSKEYS_OF_PERSON
from qirsh.web.auth import passkeys
from qirsh.web.http.message import Response
from qirsh.web.pay.payment_page import Asked
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


class Purse(msgspec.Struct, frozen=True):
    """What a customer has for a payment, and what keeps them from paying it; empty where nothing does."""

    held: int
    after: int
    tries_left: int
    obstacle: str  # Keeps them from paying at all.
    pin_trouble: str  # Keeps them from using a PIN.


async def view(asked: Asked, *, why: str, status: int = 200, email: str = "") -> Response:
    """The page, with what the last form has come to."""
    visit, state = asked.visit, asked.state()
    values: dict[str, object] = {
        "state": state,
        "why": why,
        "email": email,
        "slip": asked.slip(),
        "return_address": after_paying(asked.payment, asked.id, asked.merchant) if state == "receipt" else None,
        "can_return": after_paying(asked.payment, asked.id, asked.merchant) is not None,
        "passkey_options": "",
    }
    if asked.caller is not None:
        person = await visit.parts.store.find(Tables.people, visit.person)
        assert person is not None, "a session without its person"
        values |= {"name": person.name, "account": asked.caller.account, "is_owner": asked.is_owners_test}
        if state == "payable":
            purse = await _purse(asked, why)
            values |= {"purse": purse, "shown": visit.form_token("shown", *asked.agreed())}
            if not purse.obstacle:
                values["passkey_options"] = await _passkey_options(asked)
        if state == "receipt":
            values["receipt_url"] = f"{visit.parts.base_url}/receipt/{receipt_token(visit.parts, asked.id)}"
    may_pay = asked.caller is not None and (state == "payable" or (state == "test" and asked.is_owners_test))
    origin = form_origin(asked.payment, asked.merchant) if may_pay else ""
    return visit.page("pay/pay.html", status=status, form_origin=origin, **values)


def confirming(asked: Asked) -> passkeys.Purpose:
    """What a passkey is asked to sign: exactly what the page shows, in exactly this session."""
    payment, merchant = asked.payment, asked.merchant
    return passkeys.confirming(
        session=asked.visit.session.hex(),
        payment=asked.id,
        amount_minor=payment.amount,
        currency=payment.currency,
        payee=f"{merchant.number} {merchant.name}",
    )


async def _passkey_options(asked: Asked) -> str:
    """Empty if the person has none, or browsers would take none here."""
    parts = asked.visit.parts
    if not passkeys.can_be_used(parts):
        return ""
    known = [row[0] for row in await parts.store.select(PASSKEYS_OF_PERSON, asked.visit.person)]
    return passkeys.request_options(parts, confirming(asked), known) if known else ""


async def _purse(asked: Asked, why: str) -> Purse:
    parts, payment, account = asked.visit.parts, asked.payment, asked.visit.who.account
    balance = await parts.store.find(Tables.balances, (account, payment.currency))
    pin = await parts.store.find(Tables.pins, asked.visit.person)
    held = balance.available if balance else 0
    tries_left = attempts_left(pin) if pin else 0
    obstacle = await _obstacle(asked)
    if not obstacle and held < payment.amount:
        obstacle = "insufficient_funds"
    if not obstacle and why in _ONLY_SAID:
        obstacle = why
    return Purse(
        held=held,
        after=held - payment.amount,
        tries_left=tries_left,
        obstacle=obstacle,
        pin_trouble="pin_missing" if pin is None else "" if tries_left else "pin_locked",
    )


async def _obstacle(asked: Asked) -> str:
    """About the service or the person, whatever they have."""
    parts = asked.visit.parts
    if parts.engine.money_stop.reason is not None:
        return "money_stopped"
    account = await parts.store.find(Tables.accounts, asked.visit.who.account)
    assert account is not None, "a person without their account"
    if why := why_not_in_order(account):
        return await _why_not_verified(asked) if why is Refusal.NOT_VERIFIED else str(why.value)
    return "same_account" if _is_own(account, asked.merchant) else ""


async def _why_not_verified(asked: Asked) -> str:
    identity = await asked.visit.parts.store.find(Tables.identities, asked.visit.person)
    return "being_checked" if identity is not None and identity.state == "submitted" else "not_verified"


def _is_own(account: Account, merchant: Account) -> bool:
    return account.owner == merchant.owner
