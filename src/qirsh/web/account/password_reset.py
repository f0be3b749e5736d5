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
from qirsh.web.auth.email_challenge import find_challenge, new_link_token
from qirsh.web.auth.outgoing_mail import letters
from qirsh.web.auth.password_policy import password_fault
from qirsh.web.html.page_context import SIGN_IN, PageContext, page_context_of
from qirsh.web.html.rendering import see_other
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
        wrong = text(request.language, _("This is not an e-mail address. Write it as in name@example.org."))
        return _forgot_page(page, status=422, email=form["email"], wrong=wrong)
    if context.limits is not None:
        context.limits.count_mail(request, email)
    await _write_to(context, email)
    return page.redirect(_FORGOT, "forgot.sent")


async def show_password_reset(context: Context, request: Request) -> Response:
    """The form behind the link. Opening it uses nothing up: programs that check mails open links too."""
    page = await page_context_of(context, request)
    if await find_challenge(context, _PURPOSE, request.arguments["token"]) is None:
        return _dead_page(page)
    return page.render("account/password_reset.html", link=request.arguments["token"], fault="")


async def reset_password(context: Context, request: Request) -> Response:
    """The new password, for whom the link was mailed to. Every session of theirs ends, everywhere."""
    page, link = await page_context_of(context, request), request.arguments["token"]
    form = page.open_form(_PURPOSE, "password", bound=(link,))
    challenge = await find_challenge(context, _PURPOSE, link)
    if challenge is None or challenge.person is None:
        return _dead_page(page)
    if context.limits is not None:
        context.limits.count_code(request, challenge.email)
    person = await context.store.find(Tables.people, challenge.person)
    assert person is not None, "a challenge without its person"
    fault = await password_fault(context, form["password"], request.language, person.name, challenge.email)
    if fault:
        return page.render("account/password_reset.html", status=422, link=link, fault=fault)
    outcome = await context.engine.submit(
        ResetPassword(
            email=challenge.email,
            token_hash=token_hash(link.encode()),
            password_hash=await context.passwords.hash(form["password"]),
            letters=letters(context, "password_changed", to=challenge.email, language=person.language),
        )
    )
    if type(outcome) is Refused:
        if outcome.why is not Refusal.CODE_NOT_VALID:
            raise to_problem(outcome)
        return _dead_page(page)
    await context.callers.poll()  # This process need not wait until it would look.
    return page.redirect(SIGN_IN, "sign-in.reset")


async def _write_to(context: Context, email: str) -> None:
    token = new_link_token(context)
    login = await context.store.find(Tables.logins, email)
    person = await context.store.find(Tables.people, login.person if login else _NOBODY)
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
