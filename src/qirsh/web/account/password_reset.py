"""A forgotten password: a link is mailed, and its reader sets a new one.

It is no way around a second factor: the link signs nobody in.
"""

from typing import Final

from qirsh.domain.api_key import token_hash
from qirsh.domain.commands.login_credentials import ResetPassword, StartChallenge
from qirsh.domain.person import normal_email
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.tables import Tables
from qirsh.language.catalog import mark as _
from qirsh.language.catalog import text
from qirsh.store.reads.people import PASSKEYS_OF_PERSON
from qirsh.web.account.post_login_redirect import keep_payment
from qirsh.web.auth.email_challenge import find_challenge, new_link_token
from qirsh.web.auth.outgoing_mail import letters
from qirsh.web.auth.password_policy import password_fault
from qirsh.web.html.known_device import known_device
from qirsh.web.html.page_context import SIGN_IN, PageContext, page_context_of
from qirsh.web.html.rendering import see_other
from qirsh.web.html.waiting_payment import remembered_payment
from qirsh.web.http.context import Context
from qirsh.web.http.message import Request, Response
from qirsh.web.http.problems import to_problem

_FORGOT: Final = "/forgot"
_PURPOSE: Final = "reset"
_NOBODY: Final = 0


async def show_forgot_password(context: Context, request: Request) -> Response:
    """The form that asks for the address; or, after that, what to do now."""
    page = await page_context_of(context, request)
    return _forgot_page(page, is_sent=page.flash_about("forgot") == "sent")


async def send_reset_link(context: Context, request: Request) -> Response:
    """Write to the address if a person signs in with it; the answer and the work are the same if not."""
    page = await page_context_of(context, request)
    form = page.open_form("forgot", "email")
    email = normal_email(form["email"])
    if not context.has_mail:
        return see_other(_FORGOT)
    if email is None:
        wrong = text(request.language, _("Enter a valid e-mail address, such as name@example.org."))
        return _forgot_page(page, status=422, email=form["email"], wrong=wrong)
    if context.limits is not None:
        context.limits.count_mail(request, _PURPOSE, email, await known_device(context, request, email))
    await _write_to(context, email)
    return page.redirect(_FORGOT, "forgot.sent")


async def show_password_reset(context: Context, request: Request) -> Response:
    """The form behind the link. Opening it uses nothing up: programs that check mails open links too."""
    page = await page_context_of(context, request)
    challenge = await find_challenge(context, _PURPOSE, request.arguments["token"])
    if challenge is None or challenge.person is None:
        return _dead_page(page)
    return await _reset_page(page, challenge.person)


async def reset_password(context: Context, request: Request) -> Response:
    """The new password, for whom the link was mailed to. Every session of theirs ends, everywhere."""
    page, link = await page_context_of(context, request), request.arguments["token"]
    form = page.open_form(_PURPOSE, "password", "remove_passkeys", bound=(link,))
    challenge = await find_challenge(context, _PURPOSE, link)
    if challenge is None or challenge.person is None:
        return _dead_page(page)
    if context.limits is not None:
        context.limits.count_code(request, _PURPOSE, challenge.email)
    person = await context.store.find(Tables.people, challenge.person)
    assert person is not None, "a challenge without its person"
    fault = await password_fault(context, form["password"], request.language, person.name, challenge.email)
    if fault:
        return await _reset_page(page, person.id, fault=fault, is_removing=bool(form["remove_passkeys"]))
    is_removing = bool(form["remove_passkeys"])
    command = ResetPassword(
        email=challenge.email,
        token_hash=token_hash(link.encode()),
        password_hash=await context.passwords.hash(form["password"]),
        letters=letters(context, "password_changed", to=challenge.email, language=person.language),
        passkeys=tuple(await _passkeys(context, person.id)) if is_removing else None,
    )
    outcome = await context.engine.submit(command)
    if type(outcome) is Refused and outcome.why is Refusal.MOVE_NOT_ALLOWED:  # One more passkey was made meanwhile.
        return await _reset_page(page, person.id, is_removing=True, status=409)
    if type(outcome) is Refused:
        if outcome.why is not Refusal.CODE_NOT_VALID:
            raise to_problem(outcome)
        return _dead_page(page)
    await context.callers.poll()  # This process need not wait until it would look.
    return page.redirect(keep_payment(SIGN_IN, remembered_payment(context, request)), "sign-in.reset")


async def _passkeys(context: Context, person: int) -> list[bytes]:
    return [key for key, _name, _at in await context.store.select(PASSKEYS_OF_PERSON, person)]


async def _reset_page(
    page: PageContext, person: int, *, fault: str = "", is_removing: bool = True, status: int = 200
) -> Response:
    return page.render(
        "account/password_reset.html",
        status=422 if fault else status,
        link=page.request.arguments["token"],
        fault=fault,
        passkeys=len(await _passkeys(page.context, person)),
        is_removing=is_removing,
    )


async def _write_to(context: Context, email: str) -> None:
    login = await context.store.find(Tables.logins, email)
    person = await context.store.find(Tables.people, login.person if login else _NOBODY)
    token = new_link_token(context, _PURPOSE, email, person.id if person else None)
    language = person.language if person else "en"
    mail = letters(context, "reset_password", to=email, language=language, url=f"{context.base_url}/reset/{token}")
    await context.engine.submit(
        StartChallenge(
            purpose=_PURPOSE,
            email=email,
            person=person.id if person else None,
            token_hash=token_hash(token.encode()),
            code_mac=b"",
            # To nobody's address nothing is written: strangers could have mail sent to anybody.
            letters=mail if person else (),
        )
    )


def _forgot_page(
    page: PageContext, *, status: int = 200, email: str = "", wrong: str = "", is_sent: bool = False
) -> Response:
    context = page.context
    return page.render(
        "account/forgot_password.html",
        status=status,
        email=email,
        wrong=wrong,
        is_sent=is_sent,
        has_mail=context.has_mail,
        keeps_mail=context.keeps_mail,
    )


def _dead_page(page: PageContext) -> Response:
    return page.render("html/dead_link.html", status=404, kind="reset")
