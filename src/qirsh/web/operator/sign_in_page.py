"""Signing in at the operator console: password and code together, or a passkey. Only operators get in."""

from qirsh.domain.limits import PASSWORD_CHARACTERS_MAX
from qirsh.domain.operator import may_act
from qirsh.domain.tables import Tables
from qirsh.web.auth import passkeys
from qirsh.web.auth.credentials import VerifiedLogin, authenticate_request, record_failure
from qirsh.web.auth.passkey_sign_in import authenticate_by_passkey
from qirsh.web.html.page_context import PageContext, page_context_of
from qirsh.web.html.rendering import see_other
from qirsh.web.http.context import Context
from qirsh.web.http.message import Request, Response
from qirsh.web.http.problems import Problem
from qirsh.web.operator.console_page import CONSOLE_SIGN_IN, ConsolePage
from qirsh.web.operator.console_session import close_console_session, console_session_of, open_console_session

_HOME = "/operator"
_REFUSED = frozenset({"wrong_credentials", "passkey_not_valid", "code_not_valid", "not_operator", "missing_right"})


async def show_console_sign_in(context: Context, request: Request) -> Response:
    """The form."""
    session = await console_session_of(context, request)
    if session.operator is not None:
        return see_other(_HOME)
    page = await page_context_of(context, request)
    return _page(page, why="idle" if session.is_over else page.flash_about("sign-in"))


async def console_sign_in(context: Context, request: Request) -> Response:
    """A new session for an operator. Nobody is told which of the three was wrong, or that they are no operator."""
    page = await page_context_of(context, request)
    form = page.open_form("operator-sign-in", "email", "password", "code")
    email, password = form["email"].strip(), form["password"]
    verified = None
    if email and form["code"].strip() and 0 < len(password) <= PASSWORD_CHARACTERS_MAX:
        verified = await authenticate_request(context, request, email=email, password=password, code=form["code"])
    return await _entered(page, verified) or _page(page, status=422, why="wrong", email=email)


async def console_sign_in_with_passkey(context: Context, request: Request) -> Response:
    """The same with a passkey whose device has recognised its owner."""
    page = await page_context_of(context, request)
    form = page.open_form("operator-passkey", "passkey")
    purpose = passkeys.signing_in(page.csrf.visitor)
    verified = await authenticate_by_passkey(context, request, purpose, form["passkey"])
    return await _entered(page, verified) or _page(page, status=422, why="passkey")


async def console_sign_out(page: ConsolePage) -> Response:
    """The session ends."""
    page.form("operator-sign-out")
    return see_other(CONSOLE_SIGN_IN, await close_console_session(page.context, page.session))


async def _entered(page: PageContext, verified: VerifiedLogin | None) -> Response | None:
    if verified is None:
        return None
    context, person = page.context, verified.login.person
    operator = await context.store.find(Tables.operators, person)
    found = await context.store.find(Tables.people, person)
    account = None if found is None else await context.store.find(Tables.accounts, found.account)
    if not may_act(operator, found, account):
        await record_failure(context, page.request, f"person {person}")
        return None
    try:
        cookies = await open_console_session(context, page.request, verified)
    except Problem as problem:
        if problem.code not in _REFUSED:
            raise
        return None
    return see_other(_HOME, cookies)


def _page(page: PageContext, *, why: str, status: int = 200, email: str = "") -> Response:
    return page.render(
        "operator/sign_in.html", status=status, why=why, email=email, passkey_options=_passkey_options(page)
    )


def _passkey_options(page: PageContext) -> str:
    if not passkeys.can_be_used(page.context):
        return ""
    page.csrf.open_token("operator-passkey")
    return passkeys.request_options(page.context, passkeys.signing_in(page.csrf.visitor))
