"""The pay page: a customer sees who asks for how much, signs in, confirms with the PIN, and goes back to the shop.

A GET changes nothing. A confirm always ends in a redirect, so that neither a refresh nor the way back through the
browser's history sends a PIN again. What is posted comes with a token that only our own page for this browser, payment
and purpose holds. A customer who cancels leaves the merchant's payment as it is: only the merchant can take it back.
"""

from typing import Final

import msgspec

from qirsh.domain.account import Account
from qirsh.domain.api_key import PAGE_SESSION_KIND, token_hash
from qirsh.domain.command import CloseSession, Pay
from qirsh.domain.limits import PASSWORD_CHARACTERS_MAX
from qirsh.domain.payment import Payment, why_not_payable
from qirsh.domain.person import attempts_left, is_pin
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.rules.standing import why_not_in_order
from qirsh.store.rows import ACCOUNT, BALANCE, PAYMENT, PERSON, PIN
from qirsh.web.callers import Caller
from qirsh.web.customer.cookies import SAID, SESSION, VISIT, cookie, set_cookie
from qirsh.web.customer.forms import read_form
from qirsh.web.customer.return_address import after_leaving, after_paying, form_origin
from qirsh.web.customer.slip import grouped, money, slip_of
from qirsh.web.http import Headers, Request, Response
from qirsh.web.pages import page, see_other
from qirsh.web.parts import Parts
from qirsh.web.refusals import Problem
from qirsh.web.sign_in import open_session, prove_from_outside

_VISIT_BYTES: Final = 16
# Refusals after which the same person need not try again. The cookie that tells of one is anybody's to write.
_OBSTACLES: Final = frozenset(refusal.value for refusal in Refusal) - {
    Refusal.WRONG_PIN.value,
    Refusal.PIN_LOCKED.value,
    Refusal.INSUFFICIENT_FUNDS.value,
}


class Visit(msgspec.Struct, frozen=True):
    """A payment, and who looks at it."""

    payment_id: str
    payment: Payment
    merchant: Account
    visitor: str  # The cookie of a browser in which nobody has signed in; forms before the sign-in are tied to it.
    session: bytes  # The hash of the session's token; forms after the sign-in are tied to it.
    caller: Caller | None  # Whose session it is.

    def bound_to(self, purpose: str) -> tuple[str, ...]:
        """What the token of a form is made over."""
        tie = self.visitor if purpose == "sign-in" else self.session.hex()
        return purpose, tie, self.payment_id

    def shown(self) -> tuple[str, ...]:
        """What the customer agrees to, as it is stored now."""
        payment, merchant = self.payment, self.merchant
        facts = (str(payment.amount), payment.currency, str(merchant.number), merchant.name)
        return (*self.bound_to("shown"), *facts)


async def show(parts: Parts, request: Request) -> Response:
    """The page as it is for who asks."""
    visit = await _visit(parts, request)
    headers: Headers = []
    said = cookie(parts, request, SAID)
    if said:
        headers.append(set_cookie(parts, SAID, ""))
    if visit.caller is None and not visit.visitor:
        visit = msgspec.structs.replace(visit, visitor=parts.entropy(_VISIT_BYTES).hex())
        headers.append(set_cookie(parts, VISIT, visit.visitor))
    about, _, why = said.partition(".")
    return await _page(parts, visit, why=why if about == visit.payment_id else "", headers=headers)


async def leave(parts: Parts, request: Request) -> Response:
    """Back to the shop without paying, or to a page that says that nothing was paid. The payment stays as it is."""
    visit = await _visit(parts, request)
    if visit.payment.status == "paid":
        return see_other(f"/pay/{visit.payment_id}")
    address = after_leaving(visit.payment, visit.payment_id, visit.merchant)
    if address is not None:
        return see_other(address)
    return page("left.html", slip=_slip(parts, visit))


async def sign_in(parts: Parts, request: Request) -> Response:
    """A new session, tied to no token that anybody had before."""
    form = read_form(parts, request, "token", "email", "password", "code")
    visit = await _visit(parts, request)
    if not visit.visitor or not parts.keyring.is_form_token(form["token"], *visit.bound_to("sign-in")):
        raise Problem("stale_form")
    email, password = form["email"].strip(), form["password"]
    proof = None
    if email and 0 < len(password) <= PASSWORD_CHARACTERS_MAX:
        code = form["code"] or None
        proof = await prove_from_outside(parts, request, email=email, password=password, code=code)
    if proof is None:
        if visit.caller is not None:  # Another tab has signed in meanwhile, and its session stays.
            return see_other(f"/pay/{visit.payment_id}")
        return await _page(parts, visit, why="wrong_credentials", status=422, email=email)
    token, _ = await open_session(parts, proof, PAGE_SESSION_KIND, request)
    await _close(parts, visit)
    return see_other(f"/pay/{visit.payment_id}", [set_cookie(parts, SESSION, token)])


async def sign_out(parts: Parts, request: Request) -> Response:
    """The session ends on the server, in all processes within a second, and the browser forgets it."""
    form = read_form(parts, request, "token")
    visit = await _visit(parts, request)
    _check(parts, visit, "sign-out", form["token"])
    await _close(parts, visit)
    return see_other(f"/pay/{visit.payment_id}", [set_cookie(parts, SESSION, "")])


async def confirm(parts: Parts, request: Request) -> Response:
    """Pay what was shown, once, and go back to the shop after the commit."""
    form = read_form(parts, request, "token", "shown", "pin")
    visit = await _visit(parts, request)
    caller = _check(parts, visit, "confirm", form["token"])
    assert caller.person is not None
    if not parts.keyring.is_form_token(form["shown"], *visit.shown()):
        return _again(parts, visit, "changed")
    if visit.payment.status == "pending" and not is_pin(form["pin"]):
        return _again(parts, visit, "no_pin")
    macs = parts.keyring.pin_macs(caller.person, form["pin"])
    outcome = await parts.engine.submit(Pay(visit.payment.number, caller.person, caller.account, macs))
    if type(outcome) is not Refused:
        return _paid(msgspec.structs.replace(visit, payment=outcome))
    if outcome.why is Refusal.ALREADY_PAID:
        visit = await _visit(parts, request)
        if visit.payment.payer == caller.account:  # In another tab, or with a second click.
            return _paid(visit)
    return _again(parts, visit, outcome.why.value)


def _paid(visit: Visit) -> Response:
    address = after_paying(visit.payment, visit.payment_id, visit.merchant)
    # Where the page's policy could not name the shop, a browser would stop here: the receipt has a link instead.
    if address is None or not form_origin(visit.payment, visit.merchant):
        address = f"/pay/{visit.payment_id}"
    return see_other(address)


def _again(parts: Parts, visit: Visit, why: str) -> Response:
    """The page anew, which says why nothing was paid."""
    return see_other(f"/pay/{visit.payment_id}", [set_cookie(parts, SAID, f"{visit.payment_id}.{why}")])


async def _visit(parts: Parts, request: Request) -> Visit:
    number = parts.identifiers.payment_number(request.argument)
    payment = None if number is None else await parts.store.find(PAYMENT, number)
    if payment is None:
        raise Problem("not_found")
    merchant = await parts.store.find(ACCOUNT, payment.merchant)
    assert merchant is not None, "a payment without its merchant"
    token = cookie(parts, request, SESSION).encode("latin-1")
    visitor = cookie(parts, request, VISIT)
    return Visit(
        payment_id=request.argument,
        payment=payment,
        merchant=merchant,
        visitor=visitor if len(visitor) == 2 * _VISIT_BYTES else "",
        session=token_hash(token),
        caller=await parts.callers.of_cookie(token),
    )


def _check(parts: Parts, visit: Visit, purpose: str, token: str) -> Caller:
    """Who is signed in, if the form was made for them and for this."""
    if visit.caller is None or not parts.keyring.is_form_token(token, *visit.bound_to(purpose)):
        raise Problem("stale_form")
    return visit.caller


async def _close(parts: Parts, visit: Visit) -> None:
    if visit.caller is not None:
        await parts.engine.submit(CloseSession(visit.session, f"person {visit.caller.person}"))
        await parts.callers.poll()  # This process need not wait until it would look.


async def _page(
    parts: Parts, visit: Visit, *, why: str, status: int = 200, email: str = "", headers: Headers | None = None
) -> Response:
    caller, payment = visit.caller, visit.payment
    state = _state(parts, visit)
    purposes = ("sign-in",) if caller is None else ("sign-out", "confirm")
    values: dict[str, object] = {
        "state": state,
        "why": why,
        "email": email,
        "slip": _slip(parts, visit),
        "tokens": {purpose: parts.keyring.form_token(*visit.bound_to(purpose)) for purpose in purposes},
        "return_address": None,
    }
    if caller is not None:
        assert caller.person is not None
        person = await parts.store.find(PERSON, caller.person)
        assert person is not None, "a session without its person"
        values |= {"name": person.name, "account": grouped(str(caller.account))}
        if state == "payable":
            values |= await _purse(parts, caller, payment, why)
            values["shown"] = parts.keyring.form_token(*visit.shown())
        if state == "receipt":
            values["return_address"] = after_paying(payment, visit.payment_id, visit.merchant)
    may_confirm = caller is not None and state == "payable"
    return page(
        "pay.html",
        status=status,
        headers=headers,
        form_origin=form_origin(payment, visit.merchant) if may_confirm else "",
        is_signed_in=caller is not None,
        **values,
    )


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
        "balance": money(held, payment.currency),
        "balance_after": money(held - payment.amount, payment.currency),
    }


def _state(parts: Parts, visit: Visit) -> str:
    """What can be done with the payment, by whoever it is."""
    why = why_not_payable(visit.payment, parts.clock())
    if why is Refusal.ALREADY_PAID:
        is_payer = visit.caller is not None and visit.caller.account == visit.payment.payer
        return "receipt" if is_payer else "already_paid"
    if why is not None:
        return str(why.value)
    if visit.merchant.mode == "test":
        return "test"
    return "merchant_suspended" if why_not_in_order(visit.merchant) else "payable"


def _slip(parts: Parts, visit: Visit) -> object:
    can_leave = after_leaving(visit.payment, visit.payment_id, visit.merchant) is not None
    return slip_of(visit.payment, visit.payment_id, visit.merchant, now=parts.clock(), can_leave=can_leave)
