"""A forgotten password: a link is mailed, and whoever opens it sets a new one.

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
from qirsh.web.auth.email_challenge import challenge_of, new_link_token
from qirsh.web.auth.outgoing_mail import letters
from qirsh.web.auth.password_policy import password_fault
from qirsh.web.html.page_context import SIGN_IN, Visit, visit_of
from qirsh.web.html.rendering import see_other
from qirsh.web.http.context import Parts
from qirsh.web.http.message import Request, Response
from qirsh.web.http.problems import problem_of

_FORGOT: Final = "/forgot"
_PURPOSE: Final = "reset"
_NOBODY: Final = 0


async def show_forgot_password(parts: Parts, request: Request) -> Response:
    """The form that asks for the address; or, after that, what to do now."""
    visit = await visit_of(parts, request)
    return _forgot_page(visit, is_sent=visit.word("forgot") == "sent")


async def send_reset_link(parts: Parts, request: Request) -> Response:
    """Write to the address if it is somebody's; the answer and the work are the same if it is nobody's."""
    visit = await visit_of(parts, request)
    form = visit.open_form("forgot", "email")
    email = normal_email(form["email"])
    if not parts.has_mail:
        return see_other(_FORGOT)
    if email is None:
        wrong = text(request.language, _("This is not an e-mail address. Write it as in name@example.org."))
        return _forgot_page(visit, status=422, email=form["email"], wrong=wrong)
    if parts.limits is not None:
        parts.limits.count_mail(request, email)
    await _write_to(parts, email)
    return visit.go(_FORGOT, "forgot.sent")


async def show_password_reset(parts: Parts, request: Request) -> Response:
    """The form behind the link. Opening it uses nothing up: programs that check mails open links too."""
    visit = await visit_of(parts, request)
    if await challenge_of(parts, _PURPOSE, request.arguments["token"]) is None:
        return _dead_page(visit)
    return visit.page("account/password_reset.html", link=request.arguments["token"], fault="")


async def reset_password(parts: Parts, request: Request) -> Response:
    """The new password, for whom the link was mailed to. Every session of theirs ends, everywhere."""
    visit, link = await visit_of(parts, request), request.arguments["token"]
    form = visit.open_form(_PURPOSE, "password", bound=(link,))
    challenge = await challenge_of(parts, _PURPOSE, link)
    if challenge is None or challenge.person is None:
        return _dead_page(visit)
    if parts.limits is not None:
        parts.limits.count_code(request, challenge.email)
    person = await parts.store.find(Tables.people, challenge.person)
    assert person is not None, "a challenge without its person"
    fault = await password_fault(parts, form["password"], request.language, person.name, challenge.email)
    if fault:
        return visit.page("account/password_reset.html", status=422, link=link, fault=fault)
    outcome = await parts.engine.submit(
        ResetPassword(
            email=challenge.email,
            token_hash=token_hash(link.encode()),
            password_hash=await parts.passwords.hash(form["password"]),
            letters=letters(parts, "password_changed", to=challenge.email, language=person.language),
        )
    )
    if type(outcome) is Refused:
        if outcome.why is not Refusal.CODE_NOT_VALID:
            raise problem_of(outcome)
        return _dead_page(visit)
    await parts.callers.poll()  # This process need not wait until it would look.
    return visit.go(SIGN_IN, "sign-in.reset")


async def _write_to(parts: Parts, email: str) -> None:
    token = new_link_token(parts)
    login = await parts.store.find(Tables.logins, email)
    person = await parts.store.find(Tables.people, login.person if login else _NOBODY)
    language = person.language if person else "en"
    mail = letters(parts, "reset_password", to=email, language=language, url=f"{parts.base_url}/reset/{token}")
    await parts.engine.submit(
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
    visit: Visit, *, status: int = 200, email: str = "", wrong: str = "", is_sent: bool = False
) -> Response:
    parts = visit.parts
    return visit.page(
        "account/forgot_password.html",
        status=status,
        email=email,
        wrong=wrong,
        is_sent=is_sent,
        has_mail=parts.has_mail,
        keeps_mail=parts.keeps_mail,
    )


def _dead_page(visit: Visit) -> Response:
    return visit.page("html/dead_link.html", status=404, kind="reset")
