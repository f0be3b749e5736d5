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
from qirsh.web.html.page_context import PageContext, signed_in
from qirsh.web.html.reauthentication import (
    REAUTH_FIELDS,
    SECURITY,
    AccountHolder,
    account_holder_of,
    is_reauthenticated,
    mail_to_holder,
)
from qirsh.web.http.message import Response
from qirsh.web.http.problems import to_problem

_EMAIL = f"{SECURITY}/email"


@signed_in
async def show_password_change(page: PageContext) -> Response:
    """The form."""
    return _password_page(page, await account_holder_of(page))


@signed_in
async def change_password(page: PageContext) -> Response:
    """Every session ends; this browser gets a new one."""
    form = page.form("password", *REAUTH_FIELDS, "new_password")
    holder, context = await account_holder_of(page), page.context
    about = (holder.person.name, holder.login.email)
    fault = await password_fault(context, form["new_password"], page.request.language, *about)
    if fault:
        return _password_page(page, holder, status=422, fault=fault)
    # Hashed before the proof, so that hardly any time passes between the proof and what it is for.
    hashed = await context.passwords.hash(form["new_password"])
    if not await is_reauthenticated(page, holder, form):
        return _password_page(page, holder, status=422, is_wrong=True)
    letters = mail_to_holder(page, holder, "password_changed")
    outcome = await context.engine.submit(ChangePassword(holder.login.email, page.person, hashed, letters))
    if type(outcome) is Refused:
        raise to_problem(outcome)
    changed = page.redirect(SECURITY, "password.changed")
    changed.headers += await page.session.renew()
    return changed


@signed_in
async def show_email_change(page: PageContext) -> Response:
    """The form; or, after that, what to do now."""
    return _email_page(page, await account_holder_of(page), is_sent=page.flash_about("email") == "sent")


@signed_in
async def request_email_change(page: PageContext) -> Response:
    """A link goes to the new address. If that belongs to another person, none does, and the page does not say so."""
    form = page.form("new-email", *REAUTH_FIELDS, "email")
    holder, email = await account_holder_of(page), normal_email(form["email"])
    language = page.request.language
    if not page.context.has_mail:
        return _email_page(page, holder, status=422)
    fault = ""
    if email is None:
        fault = text(language, _("Enter a valid e-mail address, such as name@example.org."))
    elif email == holder.login.email:
        fault = text(language, _("You already sign in with this address."))
    if email is None or fault:
        return _email_page(page, holder, status=422, new_email=form["email"], fault=fault)
    if not await is_reauthenticated(page, holder, form):
        return _email_page(page, holder, status=422, new_email=form["email"], is_wrong=True)
    if page.context.limits is not None:
        page.context.limits.count_mail(page.request, "email", email, page.counted_as)
    await _write_to(page, holder, email)
    return page.redirect(_EMAIL, "email.sent")


async def _write_to(page: PageContext, holder: AccountHolder, email: str) -> None:
    context, token = page.context, new_link_token(page.context, "email", email, page.person)
    is_free = await context.store.find(Tables.logins, email) is None
    url = f"{context.base_url}/email/{token}"
    mail = letters(context, "email_change", to=email, language=holder.person.language, url=url)
    await context.engine.submit(
        StartChallenge("email", email, page.person, token_hash(token.encode()), b"", mail if is_free else ())
    )


def _password_page(
    page: PageContext, holder: AccountHolder, *, status: int = 200, fault: str = "", is_wrong: bool = False
) -> Response:
    return page.render(
        "account/security_password.html",
        status=status,
        email=holder.login.email,
        has_factor=holder.has_factor,
        fault=fault,
        is_wrong=is_wrong,
    )


def _email_page(
    page: PageContext,
    holder: AccountHolder,
    *,
    status: int = 200,
    new_email: str = "",
    fault: str = "",
    is_wrong: bool = False,
    is_sent: bool = False,
) -> Response:
    return page.render(
        "account/security_email.html",
        status=status,
        email=holder.login.email,
        has_factor=holder.has_factor,
        new_email=new_email,
        fault=fault,
        is_wrong=is_wrong,
        is_sent=is_sent,
        has_mail=page.context.has_mail,
        keeps_mail=page.context.keeps_mail,
    )
