"""The payment PIN: the first, a new one, and one in place of a PIN that is locked, which also takes a mailed code."""

from typing import Final

from qirsh.domain.api_key import token_hash
from qirsh.domain.commands.login_credentials import ChangePin, StartChallenge, UnlockPin
from qirsh.domain.person import attempts_left
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.tables import Tables
from qirsh.language.catalog import mark as _
from qirsh.language.catalog import plural, text
from qirsh.web.account.post_login_redirect import payment_asked, payment_named, way_on, with_payment
from qirsh.web.auth.email_challenge import new_code
from qirsh.web.auth.password_policy import pin_fault
from qirsh.web.html.page_context import Visit, signed_in
from qirsh.web.html.reauthentication import PROOF, SECURITY, Keeper, is_proved, keeper_of, letter_to
from qirsh.web.html.rendering import see_other
from qirsh.web.http.message import Response
from qirsh.web.http.problems import problem_of

_PIN: Final = "/wallet/pin"
_CODE: Final = "/wallet/pin/code"
_PURPOSE: Final = "pin"
_NEW: Final = ("pin", "pin_again")


@signed_in
async def show_pin(visit: Visit) -> Response:
    """The form; for a PIN that is locked, the one that asks for a code."""
    return await _page(visit, await keeper_of(visit), payment_asked(visit.parts, visit.request))


@signed_in
async def change_pin(visit: Visit) -> Response:
    """A PIN; or, if the one before is locked, a code that is mailed."""
    form = visit.form("pin", *PROOF, *_NEW, "pay")
    keeper, pay = await keeper_of(visit), payment_named(visit.parts, form["pay"])
    is_locked = await _state(visit) == "locked"
    faults = ("", "") if is_locked else pin_fault(form["pin"], form["pin_again"], visit.request.language)
    if any(faults) or (is_locked and not visit.parts.has_mail):
        return await _page(visit, keeper, pay, status=422, faults=faults)
    if not await is_proved(visit, keeper, form):
        return await _page(visit, keeper, pay, status=422, is_wrong=True)
    if is_locked:
        await _write_to(visit, keeper)
        return see_other(with_payment(_CODE, pay))
    mac = visit.parts.keyring.pin_mac(visit.person, form["pin"])
    letters = letter_to(visit, keeper, "pin_changed")
    outcome = await visit.parts.engine.submit(ChangePin(visit.person, mac, f"person {visit.person}", letters))
    if type(outcome) is Refused:
        raise problem_of(outcome)
    return visit.go(way_on(pay) if pay else SECURITY, "pin.changed")


@signed_in
async def show_pin_code(visit: Visit) -> Response:
    """The code, and the new PIN."""
    pay = payment_asked(visit.parts, visit.request)
    if await _state(visit) != "locked":
        return see_other(with_payment(_PIN, pay))
    return _code_page(visit, await keeper_of(visit), pay)


@signed_in
async def unlock_pin(visit: Visit) -> Response:
    """The new PIN, by who reads the mail of the person."""
    form = visit.form("pin-code", "code", *_NEW, "pay")
    keeper, parts = await keeper_of(visit), visit.parts
    pay = payment_named(parts, form["pay"])
    pin, pin_again = pin_fault(form["pin"], form["pin_again"], visit.request.language)
    if pin or pin_again:
        # The code is tried only when the rest is right, so that no try is wasted.
        return _code_page(visit, keeper, pay, status=422, faults={"pin": pin, "pin_again": pin_again})
    if parts.limits is not None:
        parts.limits.count_code(visit.request, keeper.login.email)
    outcome = await parts.engine.submit(
        UnlockPin(
            person=visit.person,
            email=keeper.login.email,
            pin_mac=parts.keyring.pin_mac(visit.person, form["pin"]),
            token_hash=_tie(visit),
            code_macs=parts.keyring.code_macs(_PURPOSE, keeper.login.email, form["code"].replace(" ", "")),
            letters=letter_to(visit, keeper, "pin_changed"),
        )
    )
    if type(outcome) is not Refused:
        return visit.go(way_on(pay) if pay else SECURITY, "pin.changed")
    if outcome.why is not Refusal.CODE_NOT_VALID:
        raise problem_of(outcome)
    fault = _code_fault(outcome.attempts_left or 0, visit.request.language)
    return _code_page(visit, keeper, pay, status=422, faults={"code": fault})


async def _write_to(visit: Visit, keeper: Keeper) -> None:
    parts, email, code = visit.parts, keeper.login.email, new_code(visit.parts)
    if parts.limits is not None:
        parts.limits.count_mail(visit.request, email)
    letters = letter_to(visit, keeper, "pin_code", code=code)
    mac = parts.keyring.code_mac(_PURPOSE, email, code)
    await parts.engine.submit(StartChallenge(_PURPOSE, email, visit.person, _tie(visit), mac, letters))


def _tie(visit: Visit) -> bytes:
    """The code works in the session that has asked for it, and in no other."""
    return token_hash(visit.form_token("pin-challenge").encode())


async def _state(visit: Visit) -> str:
    pin = await visit.parts.store.find(Tables.pins, visit.person)
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
    visit: Visit,
    keeper: Keeper,
    pay: str,
    *,
    status: int = 200,
    faults: tuple[str, str] = ("", ""),
    is_wrong: bool = False,
) -> Response:
    return visit.page(
        "account/pin.html",
        status=status,
        pay=pay,
        state=await _state(visit),
        has_factor=keeper.has_factor,
        faults=dict(zip(_NEW, faults, strict=True)),
        is_wrong=is_wrong,
        has_mail=visit.parts.has_mail,
    )


def _code_page(
    visit: Visit, keeper: Keeper, pay: str, *, status: int = 200, faults: dict[str, str] | None = None
) -> Response:
    return visit.page(
        "account/pin_code.html",
        status=status,
        pay=pay,
        email=keeper.login.email,
        faults=dict.fromkeys((*_NEW, "code"), "") | (faults or {}),
        keeps_mail=visit.parts.keeps_mail,
    )
