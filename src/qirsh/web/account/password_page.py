"""A new password, and a new address to sign in with, by who proves anew who they are."""

from qirsh.domain.api_key import token_hash
from qirsh.domain.commands.login_credentials import ChangePassword, StartChallenge
from qirsh.domain.person import normal_email
from qirsh.domain.refusal import Refused
from qirsh.domain.tables import Tables
from qirsh.language.catalog import mark as _
from qirsh.language.catalog import text
from qirsh.web.auth.email_challenge import new_link_token
from qirsh.web.auth.outgoing_mail import letters
from qirsh.web.auth.password_policy import password_fault
from qirsh.web.html.page_context import Visit, signed_in
from qirsh.web.html.reauthentication import PROOF, SECURITY, Keeper, is_proved, keeper_of, letter_to
from qirsh.web.http.message import Response
from qirsh.web.http.problems import problem_of

_EMAIL = f"{SECURITY}/email"


@signed_in
async def show_password_change(visit: Visit) -> Response:
    """The form."""
    return _password_page(visit, await keeper_of(visit))


@signed_in
async def change_password(visit: Visit) -> Response:
    """Every session ends; this browser gets a new one."""
    form = visit.form("password", *PROOF, "new_password")
    keeper, parts = await keeper_of(visit), visit.parts
    about = (keeper.person.name, keeper.login.email)
    fault = await password_fault(parts, form["new_password"], visit.request.language, *about)
    if fault:
        return _password_page(visit, keeper, status=422, fault=fault)
    # Hashed before the proof, so that hardly any time passes between the proof and what it is for.
    hashed = await parts.passwords.hash(form["new_password"])
    if not await is_proved(visit, keeper, form):
        return _password_page(visit, keeper, status=422, is_wrong=True)
    letters = letter_to(visit, keeper, "password_changed")
    outcome = await parts.engine.submit(ChangePassword(keeper.login.email, visit.person, hashed, letters))
    if type(outcome) is Refused:
        raise problem_of(outcome)
    changed = visit.go(SECURITY, "password.changed")
    changed.headers.append(await visit.renew())
    return changed


@signed_in
async def show_email_change(visit: Visit) -> Response:
    """The form; or, after that, what to do now."""
    return _email_page(visit, await keeper_of(visit), is_sent=visit.word("email") == "sent")


@signed_in
async def request_email_change(visit: Visit) -> Response:
    """A link goes to the new address. If that is somebody's, none does, and nobody is told."""
    form = visit.form("new-email", *PROOF, "email")
    keeper, email = await keeper_of(visit), normal_email(form["email"])
    language = visit.request.language
    if not visit.parts.has_mail:
        return _email_page(visit, keeper, status=422)
    fault = ""
    if email is None:
        fault = text(language, _("This is not an e-mail address. Write it as in name@example.org."))
    elif email == keeper.login.email:
        fault = text(language, _("You sign in with this address already."))
    if email is None or fault:
        return _email_page(visit, keeper, status=422, new_email=form["email"], fault=fault)
    if not await is_proved(visit, keeper, form):
        return _email_page(visit, keeper, status=422, new_email=form["email"], is_wrong=True)
    if visit.parts.limits is not None:
        visit.parts.limits.count_mail(visit.request, email)
    await _write_to(visit, keeper, email)
    return visit.go(_EMAIL, "email.sent")


async def _write_to(visit: Visit, keeper: Keeper, email: str) -> None:
    parts, token = visit.parts, new_link_token(visit.parts)
    is_free = await parts.store.find(Tables.logins, email) is None
    url = f"{parts.base_url}/email/{token}"
    mail = letters(parts, "email_change", to=email, language=keeper.person.language, url=url)
    await parts.engine.submit(
        StartChallenge("email", email, visit.person, token_hash(token.encode()), b"", mail if is_free else ())
    )


def _password_page(
    visit: Visit, keeper: Keeper, *, status: int = 200, fault: str = "", is_wrong: bool = False
) -> Response:
    return visit.page(
        "account/security_password.html",
        status=status,
        email=keeper.login.email,
        has_factor=keeper.has_factor,
        fault=fault,
        is_wrong=is_wrong,
    )


def _email_page(
    visit: Visit,
    keeper: Keeper,
    *,
    status: int = 200,
    new_email: str = "",
    fault: str = "",
    is_wrong: bool = False,
    is_sent: bool = False,
) -> Response:
    return visit.page(
        "account/security_email.html",
        status=status,
        email=keeper.login.email,
        has_factor=keeper.has_factor,
        new_email=new_email,
        fault=fault,
        is_wrong=is_wrong,
        is_sent=is_sent,
        has_mail=visit.parts.has_mail,
        keeps_mail=visit.parts.keeps_mail,
    )
