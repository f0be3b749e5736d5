"""The pay page: a customer sees who asks for how much, signs in, confirms by PIN or passkey, and returns to the shop.

A GET changes nothing. A confirm always ends in a redirect, so that neither a refresh nor the way back through the
browser's history sends a PIN again. What is posted comes with a token that only our own page for this browser, payment
and purpose holds. A customer who cancels leaves the merchant's payment as it is: only the merchant can take it back.
"""

from typing import Final

import msgspec

from qirsh.domain.commands.payment import Pay
from qirsh.domain.limits import PASSWORD_CHARACTERS_MAX
from qirsh.domain.person import Login, is_pin
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.tables import Tables
from qirsh.web.auth import passkeys
from qirsh.web.auth.credentials import VerifiedLogin, authenticate_in_steps, log_failure
from qirsh.web.auth.passkey_sign_in import authenticate_by_passkey
from qirsh.web.html.forms import read_form
from qirsh.web.html.known_device import known_device
from qirsh.web.html.pending_login import CODE_PAGE, keep_pending_login
from qirsh.web.html.rendering import render_page, see_other
from qirsh.web.http.context import Context
from qirsh.web.http.message import Request, Response
from qirsh.web.http.problems import Problem
from qirsh.web.pay.pay_view import confirming, signing_in_and_paying, view
from qirsh.web.pay.payment_page import PaymentPage, payment_page_of
from qirsh.web.pay.return_address import after_leaving

# By which proof a payer was not known.
_UNPROVED: Final = {
    Refusal.WRONG_PIN: "PIN",
    Refusal.PIN_LOCKED: "PIN",
    Refusal.PASSKEY_NOT_VALID: "passkey",
}


async def show_pay_page(context: Context, request: Request) -> Response:
    """The page as it is for who asks."""
    payment_page = await payment_page_of(context, request)
    return await view(payment_page, why=payment_page.page.flash_about(payment_page.id))


async def leave_pay_page(context: Context, request: Request) -> Response:
    """Back to the shop without paying, or to a page that says that nothing was paid. The payment stays as it is."""
    payment_page = await payment_page_of(context, request)
    if payment_page.payment.status == "paid":
        return see_other(payment_page.address)
    address = after_leaving(payment_page.payment, payment_page.id, payment_page.merchant)
    if address is not None:
        return see_other(address)
    return render_page(context.site, request, "pay/payment_abandoned.html", summary=payment_page.summary())


async def sign_in_to_pay(context: Context, request: Request) -> Response:
    """A new session, tied to no token that anybody had before; or the page that asks for the code first."""
    form = read_form(context, request, "token", "email", "password")
    payment_page = await payment_page_of(context, request)
    payment_page.page.csrf.check_open(form["token"], "sign-in", payment_page.id)
    email, password = form["email"].strip(), form["password"]
    proof = None
    if email and 0 < len(password) <= PASSWORD_CHARACTERS_MAX:
        known = await known_device(context, request, email)
        proof = await authenticate_in_steps(context, request, email=email, password=password, known=known)
    if payment_page.page.is_active and not isinstance(proof, VerifiedLogin):
        return see_other(payment_page.address)  # Another tab has signed in meanwhile, and its session stays.
    if proof is None:
        return await view(payment_page, why="wrong_credentials", status=422, email=email)
    if isinstance(proof, Login):
        return see_other(f"{CODE_PAGE}?pay={payment_page.id}", [keep_pending_login(context, proof)])
    return see_other(payment_page.address, await payment_page.page.session.begin(proof))


async def begin_with_number(_context: Context, _request: Request) -> Response:
    """An address without its payment leads to where one is found by its number."""
    return see_other("/wallet/pay")


async def sign_out_of_pay_page(context: Context, request: Request) -> Response:
    """The payment stays on the screen, for another person."""
    form = read_form(context, request, "token")
    payment_page = await payment_page_of(context, request)
    payment_page.page.csrf.check(form["token"], "sign-out", payment_page.id)
    return see_other(payment_page.address, await payment_page.page.session.end())


async def confirm_with_pin(context: Context, request: Request) -> Response:
    """Pay what was shown, once, and go back to the shop after the commit."""
    payment_page, pin = await _confirmation(context, request, purpose="confirm", proof="pin")
    if payment_page.page.is_idle:
        return see_other(payment_page.address)
    if pin is None:
        return payment_page.again("changed")
    if payment_page.payment.status == "pending" and not is_pin(pin):
        return payment_page.again("no_pin")
    person, account = payment_page.page.person, payment_page.page.user.account
    macs = context.keyring.pin_macs(person, pin)
    return await _pay(context, request, payment_page, Pay(payment_page.payment.number, person, account, macs))


async def confirm_with_passkey(context: Context, request: Request) -> Response:
    """The same, by a customer with a passkey. What it signs is this payment, as it was shown to this session."""
    payment_page, answer = await _confirmation(context, request, purpose="passkey", proof="passkey")
    if payment_page.page.is_idle:
        return see_other(payment_page.address)
    if answer is None:
        return payment_page.again("changed")
    person, account = payment_page.page.person, payment_page.page.user.account
    used = passkeys.passkey_id(answer)
    known = None if used is None else await context.store.find(Tables.passkeys, used)
    assertion = None
    if known is not None and known.person == person:
        assertion = passkeys.verify_assertion(context, confirming(payment_page), answer, known)
    if assertion is None:
        return await _refused(context, request, payment_page, Refusal.PASSKEY_NOT_VALID)
    command = Pay(
        payment_page.payment.number,
        person,
        account,
        pin_macs=(),
        passkey=assertion.id,
        sign_count=assertion.sign_count,
    )
    return await _pay(context, request, payment_page, command)


async def sign_in_and_pay_with_passkey(context: Context, request: Request) -> Response:
    """One touch for who is not signed in, or has to do so again.

    The passkey says who they are, and signs this payment as it was shown.
    """
    form = read_form(context, request, "token", "shown", "passkey")
    payment_page = await payment_page_of(context, request)
    page = payment_page.page
    page.csrf.check_open(form["token"], "sign-in-passkey", payment_page.id)
    if page.is_active:  # Another tab has signed in meanwhile.
        return see_other(payment_page.address)
    if not page.csrf.is_made_open(form["shown"], "shown", *payment_page.agreed()):
        return payment_page.again("changed")
    verified = await authenticate_by_passkey(context, request, signing_in_and_paying(payment_page), form["passkey"])
    if verified is None:
        return payment_page.again(Refusal.PASSKEY_NOT_VALID.value)
    person = await context.store.find(Tables.people, verified.login.person)
    assert person is not None, "a login without its person"
    # First the session, for which an answer counts once. Who cannot pay is signed in too, and the page says why.
    try:
        cookies = await page.session.begin_after_passkey(person, verified)
    except Problem as problem:
        if problem.code != Refusal.PASSKEY_NOT_VALID.value:
            raise
        return payment_page.again(problem.code)
    command = Pay(
        payment_page.payment.number,
        person.id,
        person.account,
        pin_macs=(),
        passkey=verified.passkey,
        sign_count=verified.sign_count,
    )
    outcome = await context.engine.submit(command)
    if type(outcome) is Refused:
        context.attempts.note(command.payment, outcome.why)
        answer = payment_page.again(outcome.why.value)
    else:
        answer = msgspec.structs.replace(payment_page, payment=outcome).after_paying()
    answer.headers += cookies
    return answer


async def _confirmation(
    context: Context, request: Request, *, purpose: str, proof: str
) -> tuple[PaymentPage, str | None]:
    """What is confirmed and by which proof; no proof counts if the payment is not what the customer was shown."""
    form = read_form(context, request, "token", "shown", proof)
    payment_page = await payment_page_of(context, request)
    payment_page.page.csrf.check(form["token"], purpose, payment_page.id)
    is_as_shown = payment_page.page.csrf.is_made_here(form["shown"], "shown", *payment_page.agreed())
    return payment_page, form[proof] if is_as_shown else None


async def _pay(context: Context, request: Request, payment_page: PaymentPage, command: Pay) -> Response:
    outcome = await context.engine.submit(command)
    if type(outcome) is Refused:
        return await _refused(context, request, payment_page, outcome.why)
    return msgspec.structs.replace(payment_page, payment=outcome).after_paying()


async def _refused(context: Context, request: Request, payment_page: PaymentPage, why: Refusal) -> Response:
    # A passkey that counts its uses is not good for a second click, and the payment is looked at again in any case.
    if why in {Refusal.ALREADY_PAID, Refusal.PASSKEY_NOT_VALID}:
        payment_page = await payment_page_of(context, request)
        if payment_page.is_payers:  # In another tab, or with a second click.
            return payment_page.after_paying()
    context.attempts.note(payment_page.payment.number, why)
    if why in _UNPROVED:
        log_failure(context, request, payment_page.page.counted_as, _UNPROVED[why])
    return payment_page.again(why.value)
