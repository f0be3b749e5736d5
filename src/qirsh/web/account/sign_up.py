"""Joining: first the address, to which a code is mailed; then the code, and what else makes an account.

Nobody learns here whether an address is known. It gets a mail in either case, one with a code or one that says that
there is an account, and everything else is the same: the answer, the work, and what a wrong code costs.
"""

from typing import Final

import msgspec

from qirsh.domain.api_key import token_hash
from qirsh.domain.commands.login_credentials import ChangePin, StartChallenge
from qirsh.domain.commands.person import Join
from qirsh.domain.limits import NAME_CHARACTERS_MAX
from qirsh.domain.person import normal_email
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.tables import Tables
from qirsh.language.catalog import mark as _
from qirsh.language.catalog import plural, text
from qirsh.web.account.post_login_redirect import (
    keep_payment,
    next_in_query,
    next_named,
    payment_in_query,
    payment_named,
    redirect_after_login,
)
from qirsh.web.auth.credentials import VerifiedLogin, log_failure
from qirsh.web.auth.email_challenge import new_browser_token, new_code
from qirsh.web.auth.outgoing_mail import letters
from qirsh.web.auth.password_policy import password_fault, pin_fault
from qirsh.web.html.cookies import PENDING_SIGN_UP, set_cookie
from qirsh.web.html.input_text import has_direction_controls, one_line, phone_number
from qirsh.web.html.page_context import PageContext, page_context_of
from qirsh.web.html.rendering import see_other
from qirsh.web.html.sealed_cookie import keep, kept
from qirsh.web.http.context import Context
from qirsh.web.http.message import Request, Response
from qirsh.web.http.problems import to_problem

_START: Final = "/sign-up"
_CODE: Final = "/sign-up/code"
_PURPOSE: Final = "sign-up"
_NOBODY: Final = 0
_TYPED: Final = ("code", "name", "phone", "password", "pin", "pin_again")


class Joining(msgspec.Struct, frozen=True):
    """Which address this browser wants to join with, and what shows that it asked for the code itself."""

    email: str
    token: str


async def show_sign_up(context: Context, request: Request) -> Response:
    """The form that asks for the address."""
    page = await page_context_of(context, request)
    pay, next_page = payment_in_query(context, request), next_in_query(request)
    if page.caller is not None:
        return see_other(redirect_after_login(pay, next_page))
    return _page(page, pay, next_page)


async def start_sign_up(context: Context, request: Request) -> Response:
    """Write to the address, and ask for what the mail says."""
    page = await page_context_of(context, request)
    form = page.open_form(_PURPOSE, "email", "pay", "next")
    pay, next_page, email = payment_named(context, form["pay"]), next_named(form["next"]), normal_email(form["email"])
    if page.caller is not None or not context.has_mail:
        return see_other(keep_payment(_START, pay, next_page))
    if email is None:
        wrong = text(request.language, _("Enter a valid e-mail address, such as name@example.org."))
        return _page(page, pay, next_page, status=422, email=form["email"], wrong=wrong)
    if context.limits is not None:
        context.limits.count_mail(request, _PURPOSE, email)
    joining = Joining(email, new_browser_token(context))
    await _write_to(context, joining, request.language)
    return see_other(keep_payment(_CODE, pay, next_page), [keep(context, PENDING_SIGN_UP, joining)])


async def show_sign_up_code(context: Context, request: Request) -> Response:
    """The code, and what else makes an account."""
    page = await page_context_of(context, request)
    pay, next_page = payment_in_query(context, request), next_in_query(request)
    joining = kept(context, request, PENDING_SIGN_UP, Joining)
    if page.caller is not None:
        return see_other(redirect_after_login(pay, next_page))
    if joining is None:
        return see_other(keep_payment(_START, pay, next_page))
    return _code_page(page, joining, pay, next_page)


async def finish_sign_up(context: Context, request: Request) -> Response:
    """A new person, with a PIN and signed in."""
    page = await page_context_of(context, request)
    joining = kept(context, request, PENDING_SIGN_UP, Joining)
    if joining is None:
        return see_other(_START)
    # Another tab may have asked for another address meanwhile: its code is not for this form.
    form = page.open_form("join", *_TYPED, "pay", "next", bound=(joining.token,))
    pay, next_page = payment_named(context, form["pay"]), next_named(form["next"])
    if context.limits is not None:
        context.limits.count_code(request, _PURPOSE, joining.email)
    faults = await _faults(context, joining, form, request.language)
    if not faults:
        refused = await _join(page, joining, form)
        if refused is None:
            login = await context.store.find(Tables.logins, joining.email)
            assert login is not None, "a person who has just joined"
            cookies = await page.session.begin(VerifiedLogin(login), is_first=True)
            return see_other(redirect_after_login(pay, next_page), [*cookies, set_cookie(context, PENDING_SIGN_UP, "")])
        log_failure(context, request, "nobody", "mailed code")
        faults = {"code": _code_fault(refused, request.language)}
    return _code_page(page, joining, pay, next_page, status=422, faults=faults, form=form)


async def _write_to(context: Context, joining: Joining, language: str) -> None:
    """A code to a new address. A known address gets none, so that the code that is kept fits nothing."""
    email, code = joining.email, new_code(context)
    login = await context.store.find(Tables.logins, email)
    person = await context.store.find(Tables.people, login.person if login else _NOBODY)
    if person is None:
        mail = letters(context, "sign_up_code", to=email, language=language, code=code)
    else:
        sign_in_url = f"{context.base_url}/sign-in"
        mail = letters(context, "already_joined", to=email, language=person.language, sign_in_url=sign_in_url)
    await context.engine.submit(
        StartChallenge(
            purpose=_PURPOSE,
            email=email,
            person=None,
            token_hash=token_hash(joining.token.encode()),
            code_mac=context.keyring.code_mac(_PURPOSE, email, code),
            letters=mail,
        )
    )


async def _join(page: PageContext, joining: Joining, form: dict[str, str]) -> Refused | None:
    context, email = page.context, joining.email
    person = await context.engine.submit(
        Join(
            email=email,
            name=one_line(form["name"], NAME_CHARACTERS_MAX) or "",
            phone=phone_number(form["phone"]) or "",
            language=page.request.language,
            password_hash=await context.passwords.hash(form["password"]),
            token_hash=token_hash(joining.token.encode()),
            code_macs=context.keyring.code_macs(_PURPOSE, email, form["code"].replace(" ", "")),
        )
    )
    if type(person) is Refused:
        if person.why not in {Refusal.CODE_NOT_VALID, Refusal.EMAIL_TAKEN}:
            raise to_problem(person)
        return person
    mac = context.keyring.pin_mac(person.id, form["pin"])
    await context.engine.submit(ChangePin(person.id, mac, f"person {person.id}"))
    return None


async def _faults(context: Context, joining: Joining, form: dict[str, str], language: str) -> dict[str, str]:
    """What is wrong with each field. The code is tried only when nothing is, so that no try is wasted."""
    name, phone = one_line(form["name"], NAME_CHARACTERS_MAX), phone_number(form["phone"])
    pin, pin_again = pin_fault(form["pin"], form["pin_again"], language)
    faults = {
        "code": "" if form["code"].strip() else text(language, _("Enter the six digits from the e-mail.")),
        "name": "" if name else _name_fault(form["name"], language),
        "phone": "" if phone is not None else text(language, _("Enter the number in digits, such as +963944123456.")),
        "password": await password_fault(context, form["password"], language, name or "", joining.email),
        "pin": pin,
        "pin_again": pin_again,
    }
    return {field: fault for field, fault in faults.items() if fault}


def _name_fault(name: str, language: str) -> str:
    if has_direction_controls(name):
        message = _(
            "This contains hidden characters that change the direction of text. Clear the field and type it again."
        )
        return text(language, message)
    message = _("Enter your name, with at most %(most)s characters.")
    return text(language, message, most=NAME_CHARACTERS_MAX)


def _code_fault(refused: Refused, language: str) -> str:
    if not refused.attempts_left:
        return text(
            language,
            _(
                "This code no longer works: it has expired, was already used, or was entered incorrectly too often."
                " Request a new one below, or sign in if you already have an account."
            ),
        )
    return plural(
        language,
        "Incorrect code. You can try %(n)d more time.",
        "Incorrect code. You can try %(n)d more times.",
        refused.attempts_left,
    )


def _page(
    page: PageContext, pay: str, next_page: str, *, status: int = 200, email: str = "", wrong: str = ""
) -> Response:
    return page.render(
        "account/sign_up.html",
        status=status,
        pay=pay,
        next=next_page,
        email=email,
        wrong=wrong,
        has_mail=page.context.has_mail,
    )


def _code_page(
    page: PageContext,
    joining: Joining,
    pay: str,
    next_page: str,
    *,
    status: int = 200,
    faults: dict[str, str] | None = None,
    form: dict[str, str] | None = None,
) -> Response:
    return page.render(
        "account/sign_up_code.html",
        status=status,
        pay=pay,
        next=next_page,
        email=joining.email,
        bound=joining.token,
        faults=dict.fromkeys(_TYPED, "") | (faults or {}),
        typed=dict.fromkeys(_TYPED, "") | (form or {}),
        keeps_mail=page.context.keeps_mail,
    )
