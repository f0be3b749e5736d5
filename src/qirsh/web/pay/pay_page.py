"""The pay page: a customer sees who asks for how much, signs in, confirms by PIN or passkey, and returns to the shop.

A GET changes nothing. A confirm always ends in a redirect, so that neither a refresh nor the way back through the
browser's history sends a PIN again. What is posted comes with a token that only our own page for this browser, payment
and purpose holds. A customer who cancels leaves the merchant's payment as it is: only the merchant can take it back.
"""

import msgspec

from qirsh.domain.commands.payment import Pay
from qirsh.domain.limits import PASSWORD_CHARACTERS_MAX
from qirsh.domain.person import Login, is_pin
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.tables import Tables
from qirsh.web.auth import passkeys
from qirsh.web.auth.credentials import authenticate_in_steps
from qirsh.web.html.forms import read_form
from qirsh.web.html.rendering import render_page, see_other
from qirsh.web.http.context import Context
from qirsh.web.http.message import Request, Response
from qirsh.web.pay.pay_view import confirming, view
from qirsh.web.pay.payment_page import PaymentPage, payment_page_of
from qirsh.web.pay.return_address import after_leaving


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
    return render_page(request, "pay/payment_abandoned.html", summary=payment_page.summary())


async def sign_in_to_pay(context: Context, request: Request) -> Response:
    """A new session, tied to no token that anybody had before."""
    form = read_form(context, request, "token", "email", "password", "code")
    payment_page = await payment_page_of(context, request)
    payment_page.page.csrf.check_open(form["token"], "sign-in", payment_page.id)
    email, password = form["email"].strip(), form["password"]
    proof = None
    if email and 0 < len(password) <= PASSWORD_CHARACTERS_MAX:
        proof = await authenticate_in_steps(context, request, email=email, password=password, code=form["code"] or None)
    if proof is None or isinstance(proof, Login):
        if payment_page.caller is not None:  # Another tab has signed in meanwhile, and its session stays.
            return see_other(payment_page.address)
        return await view(
            payment_page, why="wrong_credentials" if proof is None else "code_needed", status=422, email=email
        )
    return see_other(payment_page.address, [await payment_page.page.session.begin(proof)])


async def begin_with_number(_context: Context, _request: Request) -> Response:
    """An address without its payment leads to where one is found by its number."""
    return see_other("/wallet/pay")


async def sign_out_of_pay_page(context: Context, request: Request) -> Response:
    """The payment stays on the screen, for another person."""
    form = read_form(context, request, "token")
    payment_page = await payment_page_of(context, request)
    payment_page.page.csrf.check(form["token"], "sign-out", payment_page.id)
    return see_other(payment_page.address, [await payment_page.page.session.end()])


async def confirm_with_pin(context: Context, request: Request) -> Response:
    """Pay what was shown, once, and go back to the shop after the commit."""
    payment_page, pin = await _confirmation(context, request, purpose="confirm", proof="pin")
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
    return payment_page.again(why.value)
