"""The pay page: a customer sees who asks for how much, signs in, confirms with the PIN, and goes back to the shop.

A GET changes nothing. What is posted comes with a token that only our own page for this browser, payment and purpose
holds. A customer who cancels leaves the merchant's payment as it is: only the merchant can take it back.
"""

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
from qirsh.web.customer.cookies import SESSION, VISIT, cookie, set_cookie
from qirsh.web.customer.forms import read_form
from qirsh.web.customer.return_address import after_leaving, after_paying, form_origin
from qirsh.web.customer.slip import grouped, money, slip_of
from qirsh.web.http import Headers, Request, Response
from qirsh.web.pages import page, see_other
from qirsh.web.parts import Parts
from qirsh.web.refusals import KINDS, Problem
from qirsh.web.sign_in import open_session, prove

_VISIT_BYTES = 16


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


class Said(msgspec.Struct, frozen=True):
    """What a form that is shown again says beside its fields."""

    status: int = 200
    obstacle: str = ""  # Why it cannot be paid by this person now.
    sign_in: str = ""
    pin: str = ""
    tries_left: int = 0
    has_changed: bool = False
    email: str = ""


_NOTHING_SAID = Said()


async def show(parts: Parts, request: Request) -> Response:
    """The page as it is for who asks."""
    visit = await _visit(parts, request)
    headers: Headers = []
    if visit.caller is None and not visit.visitor:
        visit = msgspec.structs.replace(visit, visitor=parts.entropy(_VISIT_BYTES).hex())
        headers.append(set_cookie(parts, VISIT, visit.visitor))
    return await _page(parts, visit, _NOTHING_SAID, headers)


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
    login = None
    if email and 0 < len(password) <= PASSWORD_CHARACTERS_MAX:
        login = await prove(parts, email=email, password=password, totp=form["code"].replace(" ", "") or None)
    if login is None:
        if visit.caller is not None:  # Another tab has signed in meanwhile, and its session stays.
            return see_other(f"/pay/{visit.payment_id}")
        return await _page(parts, visit, Said(422, sign_in="wrong", email=email))
    token, _ = await open_session(parts, login, PAGE_SESSION_KIND)
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
        return await _page(parts, visit, Said(409, has_changed=True))
    if visit.payment.status == "pending" and not is_pin(form["pin"]):
        return await _page(parts, visit, Said(422, pin="malformed"))
    macs = parts.keyring.pin_macs(caller.person, form["pin"])
    outcome = await parts.engine.submit(Pay(visit.payment.number, caller.person, caller.account, macs))
    if type(outcome) is not Refused:
        return _paid(msgspec.structs.replace(visit, payment=outcome))
    # Somebody was faster: this customer in another tab, or another, or the clock.
    visit = await _visit(parts, request)
    if outcome.why is Refusal.ALREADY_PAID and visit.payment.payer == caller.account:
        return _paid(visit)
    status = KINDS[outcome.why.value].status
    if outcome.why is Refusal.WRONG_PIN and outcome.attempts_left:
        return await _page(parts, visit, Said(status, pin="wrong", tries_left=outcome.attempts_left))
    # The last wrong try has locked it.
    why = Refusal.PIN_LOCKED if outcome.why is Refusal.WRONG_PIN else outcome.why
    return await _page(parts, visit, Said(status, obstacle=why.value))


def _paid(visit: Visit) -> Response:
    address = after_paying(visit.payment, visit.payment_id, visit.merchant)
    # Where the page's policy could not name the shop, a browser would stop here: the receipt has a link instead.
    if address is None or not form_origin(visit.payment, visit.merchant):
        address = f"/pay/{visit.payment_id}"
    return see_other(address)


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


async def _page(parts: Parts, visit: Visit, said: Said, headers: Headers | None = None) -> Response:
    caller, payment = visit.caller, visit.payment
    state = _state(parts, visit)
    purposes = ("sign-in",) if caller is None else ("sign-out", "confirm")
    values: dict[str, object] = {
        "state": state,
        "said": said,
        "slip": _slip(parts, visit),
        "tokens": {purpose: parts.keyring.form_token(*visit.bound_to(purpose)) for purpose in purposes},
        "obstacle": said.obstacle,
        "return_address": None,
    }
    if caller is not None:
        assert caller.person is not None
        person = await parts.store.find(PERSON, caller.person)
        assert person is not None, "a session without its person"
        values |= {"name": person.name, "account": grouped(str(caller.account))}
        if state == "payable":
            values |= await _purse(parts, caller, payment, obstacle=said.obstacle)
            values["shown"] = parts.keyring.form_token(*visit.shown())
        if state == "receipt":
            values["return_address"] = after_paying(payment, visit.payment_id, visit.merchant)
    may_confirm = caller is not None and state == "payable"
    return page(
        "pay.html",
        status=said.status,
        headers=headers,
        form_origin=form_origin(payment, visit.merchant) if may_confirm else "",
        is_signed_in=caller is not None,
        **values,
    )


async def _purse(parts: Parts, caller: Caller, payment: Payment, *, obstacle: str) -> dict[str, object]:
    """What the customer has for it, and whether that or a locked PIN stands in the way already."""
    balance = await parts.store.find(BALANCE, (caller.account, payment.currency))
    pin = await parts.store.find(PIN, caller.person)
    held = balance.amount if balance else 0
    if pin is None or attempts_left(pin) == 0:
        obstacle = obstacle or "pin_locked"
    if held < payment.amount:
        obstacle = obstacle or "insufficient_funds"
    return {
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
