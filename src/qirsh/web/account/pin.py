"""The payment PIN: the first, a new one, and one in place of a PIN that is locked, which also takes a mailed code."""

from typing import Final

from qirsh.domain.api_key import token_hash
from qirsh.domain.commands.login_credentials import ChangePin, StartChallenge, UnlockPin
from qirsh.domain.person import attempts_left
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.tables import Tables
from qirsh.language.catalog import mark as _
from qirsh.language.catalog import plural, text
from qirsh.web.account.post_login_redirect import keep_payment, payment_in_query, payment_named, redirect_after_login
from qirsh.web.auth.email_challenge import new_code
from qirsh.web.auth.password_policy import pin_fault
from qirsh.web.html.page_context import PageContext, signed_in
from qirsh.web.html.reauthentication import (
    REAUTH_FIELDS,
    SECURITY,
    AccountHolder,
    account_holder_of,
    is_reauthenticated,
    mail_to_holder,
)
from qirsh.web.html.rendering import see_other
from qirsh.web.http.message import Response
from qirsh.web.http.problems import to_problem

_PIN: Final = "/wallet/pin"
_CODE: Final = "/wallet/pin/code"
_PURPOSE: Final = "pin"
_NEW: Final = ("pin", "pin_again")


@signed_in
async def show_pin(page: PageContext) -> Response:
    """The form; for a PIN that is locked, the one that asks for a code."""
    return await _page(page, await account_holder_of(page), payment_in_query(page.context, page.request))


@signed_in
async def change_pin(page: PageContext) -> Response:
    """A PIN; or, if the one before is locked, a code that is mailed."""
    form = page.form("pin", *REAUTH_FIELDS, *_NEW, "pay")
    holder, pay = await account_holder_of(page), payment_named(page.context, form["pay"])
    is_locked = await _state(page) == "locked"
    faults = ("", "") if is_locked else pin_fault(form["pin"], form["pin_again"], page.request.language)
    if any(faults) or (is_locked and not page.context.has_mail):
        return await _page(page, holder, pay, status=422, faults=faults)
    if not await is_reauthenticated(page, holder, form):
        return await _page(page, holder, pay, status=422, is_wrong=True)
    if is_locked:
        await _write_to(page, holder)
        return see_other(keep_payment(_CODE, pay))
    mac = page.context.keyring.pin_mac(page.person, form["pin"])
    letters = mail_to_holder(page, holder, "pin_changed")
    outcome = await page.context.engine.submit(ChangePin(page.person, mac, f"person {page.person}", letters))
    if type(outcome) is Refused:
        raise to_problem(outcome)
    return page.redirect(redirect_after_login(pay) if pay else SECURITY, "pin.changed")


@signed_in
async def show_pin_code(page: PageContext) -> Response:
    """The code, and the new PIN."""
    pay = payment_in_query(page.context, page.request)
    if await _state(page) != "locked":
        return see_other(keep_payment(_PIN, pay))
    return _code_page(page, await account_holder_of(page), pay)


@signed_in
async def unlock_pin(page: PageContext) -> Response:
    """The new PIN, by who reads the mail of the person."""
    form = page.form("pin-code", "code", *_NEW, "pay")
    holder, context = await account_holder_of(page), page.context
    pay = payment_named(context, form["pay"])
    pin, pin_again = pin_fault(form["pin"], form["pin_again"], page.request.language)
    if pin or pin_again:
        # The code is tried only when the rest is right, so that no try is wasted.
        return _code_page(page, holder, pay, status=422, faults={"pin": pin, "pin_again": pin_again})
    if context.limits is not None:
        context.limits.count_code(page.request, holder.login.email)
    outcome = await context.engine.submit(
        UnlockPin(
            person=page.person,
            email=holder.login.email,
            pin_mac=context.keyring.pin_mac(page.person, form["pin"]),
            token_hash=_tie(page),
            code_macs=context.keyring.code_macs(_PURPOSE, holder.login.email, form["code"].replace(" ", "")),
            letters=mail_to_holder(page, holder, "pin_changed"),
        )
    )
    if type(outcome) is not Refused:
        return page.redirect(redirect_after_login(pay) if pay else SECURITY, "pin.changed")
    if outcome.why is not Refusal.CODE_NOT_VALID:
        raise to_problem(outcome)
    fault = _code_fault(outcome.attempts_left or 0, page.request.language)
    return _code_page(page, holder, pay, status=422, faults={"code": fault})


async def _write_to(page: PageContext, holder: AccountHolder) -> None:
    context, email, code = page.context, holder.login.email, new_code(page.context)
    if context.limits is not None:
        context.limits.count_mail(page.request, email)
    letters = mail_to_holder(page, holder, "pin_code", code=code)
    mac = context.keyring.code_mac(_PURPOSE, email, code)
    await context.engine.submit(StartChallenge(_PURPOSE, email, page.person, _tie(page), mac, letters))


def _tie(page: PageContext) -> bytes:
    """The code works in the session that has asked for it, and in no other."""
    return token_hash(page.csrf.token("pin-challenge").encode())


async def _state(page: PageContext) -> str:
    pin = await page.context.store.find(Tables.pins, page.person)
    return "none" if pin is None else "set" if attempts_left(pin) else "locked"


def _code_fault(tries_left: int, language: str) -> str:
    if not tries_left:
        message = _("This code no longer works: it is too old, was used, or was wrong too often. Ask for a new one.")
        return text(language, message)
    return plural(
        language,
        "This code is not right. You can try %(n)d more time.",
        "This code is not right. You can try %(n)d more times.",
        tries_left,
    )


async def _page(
    page: PageContext,
    holder: AccountHolder,
    pay: str,
    *,
    status: int = 200,
    faults: tuple[str, str] = ("", ""),
    is_wrong: bool = False,
) -> Response:
    return page.render(
        "account/pin.html",
        status=status,
        pay=pay,
        state=await _state(page),
        has_factor=holder.has_factor,
        faults=dict(zip(_NEW, faults, strict=True)),
        is_wrong=is_wrong,
        has_mail=page.context.has_mail,
    )


def _code_page(
    page: PageContext, holder: AccountHolder, pay: str, *, status: int = 200, faults: dict[str, str] | None = None
) -> Response:
    return page.render(
        "account/pin_code.html",
        status=status,
        pay=pay,
        email=holder.login.email,
        faults=dict.fromkeys((*_NEW, "code"), "") | (faults or {}),
        keeps_mail=page.context.keeps_mail,
    )
