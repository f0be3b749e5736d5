"""The payment PIN. The password alone sets none: it takes the old PIN as well, or a code that is mailed."""

from typing import Final
from urllib.parse import parse_qs

from qirsh.domain.api_key import token_hash
from qirsh.domain.commands.login_credentials import ChangePin, StartChallenge, UnlockPin
from qirsh.domain.person import attempts_left
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.tables import Tables
from qirsh.language.catalog import plural
from qirsh.web.account.mailed_code import code_fault
from qirsh.web.account.post_login_redirect import keep_payment, payment_in_query, payment_named, redirect_after_login
from qirsh.web.auth.credentials import log_failure
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
_BY_MAIL: Final = "mail"  # The way to a new PIN without the old one.


@signed_in
async def show_pin(page: PageContext) -> Response:
    """The form; for a PIN that is locked, forgotten or not there yet, the one that asks for a code."""
    [way] = parse_qs(page.request.query.decode("latin-1")).get("way", [""])[:1]
    return await _page(page, await account_holder_of(page), payment_in_query(page.context, page.request), way=way)


@signed_in
async def change_pin(page: PageContext) -> Response:
    """A PIN in place of the old one; or, where that is not known, a code that is mailed."""
    form = page.form("pin", *REAUTH_FIELDS, "old_pin", *_NEW, "pay", "way")
    holder, pay = await account_holder_of(page), payment_named(page.context, form["pay"])
    is_by_mail = _is_by_mail(page, await _state(page), form["way"])
    pin, pin_again = ("", "") if is_by_mail else pin_fault(form["pin"], form["pin_again"], page.request.language)
    if pin or pin_again or (is_by_mail and not page.context.has_mail):
        faults = {"pin": pin, "pin_again": pin_again}
        return await _page(page, holder, pay, status=422, faults=faults, way=form["way"])
    if not await is_reauthenticated(page, holder, form):
        return await _page(page, holder, pay, status=422, is_wrong=True, way=form["way"])
    if is_by_mail:
        await _write_to(page, holder)
        return see_other(keep_payment(_CODE, pay))
    return await _replace(page, holder, form, pay)


@signed_in
async def show_pin_code(page: PageContext) -> Response:
    """The code, and the new PIN."""
    pay = payment_in_query(page.context, page.request)
    holder = await account_holder_of(page)
    if await page.context.store.find(Tables.challenges, (_PURPOSE, holder.login.email)) is None:
        return see_other(keep_payment(_PIN, pay))
    return _code_page(page, holder, pay)


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
        context.limits.count_code(page.request, _PURPOSE, holder.login.email, page.counted_as)
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
    log_failure(context, page.request, page.counted_as, "mailed code")
    fault = code_fault(outcome.attempts_left or 0, page.request.language)
    return _code_page(page, holder, pay, status=422, faults={"code": fault})


async def _replace(page: PageContext, holder: AccountHolder, form: dict[str, str], pay: str) -> Response:
    """The new PIN, by who knows the old one, or has none."""
    keyring = page.context.keyring
    outcome = await page.context.engine.submit(
        ChangePin(
            person=page.person,
            pin_mac=keyring.pin_mac(page.person, form["pin"]),
            actor=f"person {page.person}",
            letters=mail_to_holder(page, holder, "pin_changed"),
            old_macs=keyring.pin_macs(page.person, form["old_pin"]),
        )
    )
    if type(outcome) is not Refused:
        return page.redirect(redirect_after_login(pay) if pay else SECURITY, "pin.changed")
    if outcome.why not in {Refusal.WRONG_PIN, Refusal.PIN_LOCKED}:
        raise to_problem(outcome)
    log_failure(page.context, page.request, page.counted_as, "PIN")
    fault = plural(
        page.request.language,
        "Incorrect PIN. You can try %(n)d more time.",
        "Incorrect PIN. You can try %(n)d more times.",
        outcome.attempts_left or 0,
    )
    return await _page(page, holder, pay, status=422, faults={"old_pin": fault})


def _is_by_mail(page: PageContext, state: str, way: str) -> bool:
    """Whether a code is mailed. Without mail a locked PIN stays so, and the first one takes the password alone."""
    return state == "locked" or (page.context.has_mail and (state == "none" or way == _BY_MAIL))


async def _write_to(page: PageContext, holder: AccountHolder) -> None:
    context, email, code = page.context, holder.login.email, new_code(page.context)
    if context.limits is not None:
        context.limits.count_mail(page.request, _PURPOSE, email, page.counted_as)
    letters = mail_to_holder(page, holder, "pin_code", code=code)
    mac = context.keyring.code_mac(_PURPOSE, email, code)
    await context.engine.submit(StartChallenge(_PURPOSE, email, page.person, _tie(page), mac, letters))


def _tie(page: PageContext) -> bytes:
    """The code works in the session that has asked for it, and in no other."""
    return token_hash(page.csrf.token("pin-challenge").encode())


async def _state(page: PageContext) -> str:
    pin = await page.context.store.find(Tables.pins, page.person)
    return "none" if pin is None else "set" if attempts_left(pin) else "locked"


async def _page(
    page: PageContext,
    holder: AccountHolder,
    pay: str,
    *,
    status: int = 200,
    faults: dict[str, str] | None = None,
    is_wrong: bool = False,
    way: str = "",
) -> Response:
    state = await _state(page)
    return page.render(
        "account/pin.html",
        status=status,
        pay=pay,
        state=state,
        is_by_mail=_is_by_mail(page, state, way),
        way=way,
        has_factor=holder.has_factor,
        faults=dict.fromkeys((*_NEW, "old_pin"), "") | (faults or {}),
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
