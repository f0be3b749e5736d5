"""Signing in and out. Without the right password nothing tells whether an address is known."""

from qirsh.domain.limits import PASSWORD_CHARACTERS_MAX
from qirsh.domain.person import Login
from qirsh.web.account.post_login_redirect import (
    keep_payment,
    next_in_query,
    payment_in_query,
    payment_named,
    redirect_after_login,
)
from qirsh.web.auth import passkeys
from qirsh.web.auth.credentials import VerifiedLogin, authenticate_in_steps, authenticate_second_factor
from qirsh.web.auth.passkey_sign_in import authenticate_by_passkey
from qirsh.web.html.cookies import PENDING_2FA, set_cookie
from qirsh.web.html.known_device import known_device
from qirsh.web.html.page_context import SIGN_IN, PageContext, page_context_of
from qirsh.web.html.pending_login import CODE_PAGE, find_pending_login, keep_pending_login
from qirsh.web.html.rendering import see_other
from qirsh.web.http.context import Context
from qirsh.web.http.message import Request, Response
from qirsh.web.http.problems import Problem


async def show_sign_in(context: Context, request: Request) -> Response:
    """The form, for visitors who are not signed in, or have to do so again."""
    page = await page_context_of(context, request)
    pay = payment_in_query(context, request)
    return (
        see_other(redirect_after_login(pay, next_in_query(request)))
        if page.is_active
        else _page(page, pay, why=page.flash_about("sign-in") or ("idle" if page.is_idle else ""))
    )


async def sign_in(context: Context, request: Request) -> Response:
    """A new session; or, where there is a second factor and no code was given, the page that asks for it."""
    page = await page_context_of(context, request)
    form = page.open_form("sign-in", "email", "password", "pay")
    email, password, pay = form["email"].strip(), form["password"], payment_named(context, form["pay"])
    verified = None
    if email and 0 < len(password) <= PASSWORD_CHARACTERS_MAX:
        known = await known_device(context, request, email)
        try:
            verified = await authenticate_in_steps(context, request, email=email, password=password, known=known)
        except Problem as problem:
            return _if_spent(page, problem, pay)
    if isinstance(verified, Login):
        return see_other(keep_payment(CODE_PAGE, pay, next_in_query(request)), [keep_pending_login(context, verified)])
    entered = verified and await _enter(page, verified, pay)
    return entered or _page(page, pay, status=422, why="wrong", email=email)


async def sign_in_with_passkey(context: Context, request: Request) -> Response:
    """A new session for whose passkey it is. It stands for the password and the code."""
    page = await page_context_of(context, request)
    form = page.open_form("sign-in-passkey", "passkey", "pay")
    pay = payment_named(context, form["pay"])
    purpose = passkeys.signing_in(page.csrf.visitor)
    verified = await authenticate_by_passkey(context, request, purpose, form["passkey"])
    entered = verified and await _enter(page, verified, pay)
    return entered or _page(page, pay, status=422, why="passkey")


async def show_sign_in_code(context: Context, request: Request) -> Response:
    """The second step."""
    page = await page_context_of(context, request)
    pay = payment_in_query(context, request)
    if page.is_active:
        return see_other(redirect_after_login(pay, next_in_query(request)))
    if await find_pending_login(page) is None:
        return see_other(keep_payment(SIGN_IN, pay, next_in_query(request)))
    return _code_page(page, pay)


async def submit_sign_in_code(context: Context, request: Request) -> Response:
    """A new session, with a code of the app or a recovery code."""
    page = await page_context_of(context, request)
    form = page.open_form("sign-in-code", "code", "pay")
    pay = payment_named(context, form["pay"])
    login = await find_pending_login(page)
    if login is None:
        return page.redirect(keep_payment(SIGN_IN, pay, next_in_query(request)), "sign-in.late")
    known = await known_device(context, request, login.email)
    try:
        verified = await authenticate_second_factor(context, request, login, form["code"], known)
    except Problem as problem:
        return _if_spent(page, problem, pay)
    entered = verified and await _enter(page, verified, pay)
    return entered or _code_page(page, pay, status=422, why="wrong")


async def sign_out(context: Context, request: Request) -> Response:
    """The session ends. Who has none any more, perhaps from another tab, is where they wanted to be."""
    page = await page_context_of(context, request)
    if page.caller is None:
        return see_other(SIGN_IN)
    page.form("sign-out")
    forgotten = await page.session.end()
    left = page.redirect(SIGN_IN, "sign-in.left")
    left.headers += forgotten
    return left


async def _enter(page: PageContext, verified: VerifiedLogin, pay: str) -> Response | None:
    """On to where they wanted to go; None if what was right a moment ago is not any more."""
    try:
        cookies = await page.session.begin(verified)
    except Problem as problem:
        if problem.code == "sign_in_blocked":
            return _page(page, pay, status=403, why="blocked")
        if problem.code not in {"wrong_credentials", "passkey_not_valid"}:
            raise
        return None
    return see_other(
        redirect_after_login(pay, next_in_query(page.request)), [*cookies, set_cookie(page.context, PENDING_2FA, "")]
    )


def _code_page(page: PageContext, pay: str, *, status: int = 200, why: str = "") -> Response:
    kept = keep_payment("", "", next_in_query(page.request))
    return page.render("account/sign_in_code.html", status=status, pay=pay, kept=kept, why=why)


def _if_spent(page: PageContext, problem: Problem, pay: str) -> Response:
    """A password that no longer works, told to who knows it, with the way to a new one. Other problems go on."""
    if problem.code != "password_spent":
        raise problem
    return page.redirect(keep_payment(SIGN_IN, pay), "sign-in.spent")


def _page(page: PageContext, pay: str, *, why: str, status: int = 200, email: str = "") -> Response:
    return page.render(
        "account/sign_in.html",
        status=status,
        pay=pay,
        kept=keep_payment("", "", next_in_query(page.request)),
        why=why,
        email=email,
        has_mail=page.context.has_mail,
        passkey_options=_passkey_options(page),
    )


def _passkey_options(page: PageContext) -> str:
    """What the browser is asked for, as JSON; empty where no browser could have a passkey for this service."""
    if not passkeys.can_be_used(page.context):
        return ""
    # The browser gets its cookie, if it has none: what is asked is tied to it.
    page.csrf.open_token("sign-in-passkey")
    return passkeys.request_options(page.context, passkeys.signing_in(page.csrf.visitor))
