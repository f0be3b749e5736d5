"""The pay page: a customer sees who asks for how much, signs in, confirms with the PIN, and goes back to the shop.

A GET changes nothing. A confirm always ends in a redirect, so that neither a refresh nor the way back through the
browser's history sends a PIN again. What is posted comes with a token that only our own page for this browser, payment
and purpose holds. A customer who cancels leaves the merchant's payment as it is: only the merchant can take it back.
"""

from typing import Final

import msgspec

from qirsh.domain.account import Account
from qirsh.domain.command import Pay
from qirsh.domain.limits import PASSWORD_CHARACTERS_MAX
from qirsh.domain.payment import Payment, why_not_payable
from qirsh.domain.person import attempts_left, is_pin
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.rules.standing import why_not_in_order
from qirsh.store.rows import ACCOUNT, BALANCE, PAYMENT, PERSON, PIN
from qirsh.web.callers import Caller
from qirsh.web.customer.forms import read_form
from qirsh.web.customer.return_address import after_leaving, after_paying, form_origin
from qirsh.web.customer.slip import slip_of
from qirsh.web.customer.visit import Visit, visit_of
from qirsh.web.http import Request, Response
from qirsh.web.pages import page, see_other
from qirsh.web.parts import Parts
from qirsh.web.refusals import Problem
from qirsh.web.sign_in import prove_from_outside

# Refusals after which the same person need not try again. The cookie that tells of one is anybody's to write.
_OBSTACLES: Final = frozenset(refusal.value for refusal in Refusal) - {
    Refusal.WRONG_PIN.value,
    Refusal.PIN_LOCKED.value,
    Refusal.INSUFFICIENT_FUNDS.value,
}


class Asked(msgspec.Struct, frozen=True):
    """A payment, and who looks at it."""

    id: str
    payment: Payment
    merchant: Account
    visit: Visit

    @property
    def address(self) -> str:
        """The page of it."""
        return f"/pay/{self.id}"

    @property
    def caller(self) -> Caller | None:
        """Who is signed in."""
        return self.visit.caller

    def agreed(self) -> tuple[str, ...]:
        """What the customer agrees to, as it is stored now: a form is bound to it."""
        payment, merchant = self.payment, self.merchant
        return self.id, str(payment.amount), payment.currency, str(merchant.number), merchant.name


async def show(parts: Parts, request: Request) -> Response:
    """The page as it is for who asks."""
    asked = await _asked(parts, request)
    return await _page(asked, why=asked.visit.word(asked.id))


async def leave(parts: Parts, request: Request) -> Response:
    """Back to the shop without paying, or to a page that says that nothing was paid. The payment stays as it is."""
    asked = await _asked(parts, request)
    if asked.payment.status == "paid":
        return see_other(asked.address)
    address = after_leaving(asked.payment, asked.id, asked.merchant)
    if address is not None:
        return see_other(address)
    return page(request, "left.html", slip=_slip(asked))


async def sign_in(parts: Parts, request: Request) -> Response:
    """A new session, tied to no token that anybody had before."""
    form = read_form(parts, request, "token", "email", "password", "code")
    asked = await _asked(parts, request)
    asked.visit.check_open(form["token"], "sign-in", asked.id)
    email, password = form["email"].strip(), form["password"]
    login = None
    if email and 0 < len(password) <= PASSWORD_CHARACTERS_MAX:
        code = form["code"].replace(" ", "") or None
        login = await prove_from_outside(parts, request, email=email, password=password, totp=code)
    if login is None:
        if asked.caller is not None:  # Another tab has signed in meanwhile, and its session stays.
            return see_other(asked.address)
        return await _page(asked, why="wrong_credentials", status=422, email=email)
    return see_other(asked.address, [await asked.visit.begin(login)])


async def sign_out(parts: Parts, request: Request) -> Response:
    """The payment stays on the screen, for somebody else."""
    form = read_form(parts, request, "token")
    asked = await _asked(parts, request)
    asked.visit.check(form["token"], "sign-out", asked.id)
    return see_other(asked.address, [await asked.visit.end()])


async def confirm(parts: Parts, request: Request) -> Response:
    """Pay what was shown, once, and go back to the shop after the commit."""
    form = read_form(parts, request, "token", "shown", "pin")
    asked = await _asked(parts, request)
    caller = asked.visit.check(form["token"], "confirm", asked.id)
    if not asked.visit.is_made_here(form["shown"], "shown", *asked.agreed()):
        return _again(asked, "changed")
    if asked.payment.status == "pending" and not is_pin(form["pin"]):
        return _again(asked, "no_pin")
    macs = parts.keyring.pin_macs(asked.visit.person, form["pin"])
    outcome = await parts.engine.submit(Pay(asked.payment.number, asked.visit.person, caller.account, macs))
    if type(outcome) is not Refused:
        return _paid(msgspec.structs.replace(asked, payment=outcome))
    if outcome.why is Refusal.ALREADY_PAID:
        asked = await _asked(parts, request)
        if asked.payment.payer == caller.account:  # In another tab, or with a second click.
            return _paid(asked)
    return _again(asked, outcome.why.value)


def _paid(asked: Asked) -> Response:
    address = after_paying(asked.payment, asked.id, asked.merchant)
    # Where the page's policy could not name the shop, a browser would stop here: the receipt has a link instead.
    if address is None or not form_origin(asked.payment, asked.merchant):
        address = asked.address
    return see_other(address)


def _again(asked: Asked, why: str) -> Response:
    """The page anew, which says why nothing was paid."""
    return asked.visit.go(asked.address, f"{asked.id}.{why}")


async def _asked(parts: Parts, request: Request) -> Asked:
    number = parts.identifiers.payment_number(request.argument)
    payment = None if number is None else await parts.store.find(PAYMENT, number)
    if payment is None:
        raise Problem("not_found")
    merchant = await parts.store.find(ACCOUNT, payment.merchant)
    assert merchant is not None, "a payment without its merchant"
    return Asked(request.argument, payment, merchant, await visit_of(parts, request))


async def _page(asked: Asked, *, why: str, status: int = 200, email: str = "") -> Response:
    visit, payment = asked.visit, asked.payment
    parts, caller = visit.parts, visit.caller
    state = _state(asked)
    values: dict[str, object] = {
        "state": state,
        "why": why,
        "email": email,
        "slip": _slip(asked),
        "return_address": None,
    }
    if caller is not None:
        person = await parts.store.find(PERSON, visit.person)
        assert person is not None, "a session without its person"
        values |= {"name": person.name, "account": caller.account}
        if state == "payable":
            values |= await _purse(parts, caller, payment, why)
            values["shown"] = visit.form_token("shown", *asked.agreed())
        if state == "receipt":
            values["return_address"] = after_paying(payment, asked.id, asked.merchant)
    may_confirm = caller is not None and state == "payable"
    origin = form_origin(payment, asked.merchant) if may_confirm else ""
    return visit.page("pay.html", status=status, form_origin=origin, **values)


async def _purse(parts: Parts, caller: Caller, payment: Payment, why: str) -> dict[str, object]:
    """What the customer has for it, and what stands in the way: that, a locked PIN, or what was said before."""
    balance = await parts.store.find(BALANCE, (caller.account, payment.currency))
    pin = await parts.store.find(PIN, caller.person)
    held = balance.amount if balance else 0
    tries_left = attempts_left(pin) if pin else 0
    obstacle = why if why in _OBSTACLES else ""
    if tries_left == 0:
        obstacle = "pin_locked"
    elif held < payment.amount:
        obstacle = "insufficient_funds"
    return {
        "tries_left": tries_left,
        "obstacle": obstacle,
        "balance": held,
        "balance_after": held - payment.amount,
    }


def _state(asked: Asked) -> str:
    """What can be done with the payment, by whoever it is."""
    why = why_not_payable(asked.payment, asked.visit.parts.clock())
    if why is Refusal.ALREADY_PAID:
        is_payer = asked.caller is not None and asked.caller.account == asked.payment.payer
        return "receipt" if is_payer else "already_paid"
    if why is not None:
        return str(why.value)
    if asked.merchant.mode == "test":
        return "test"
    return "merchant_suspended" if why_not_in_order(asked.merchant) else "payable"


def _slip(asked: Asked) -> object:
    can_leave = after_leaving(asked.payment, asked.id, asked.merchant) is not None
    now = asked.visit.parts.clock()
    return slip_of(asked.payment, asked.id, asked.merchant, now=now, can_leave=can_leave)
