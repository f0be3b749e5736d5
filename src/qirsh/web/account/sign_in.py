"""Signing in and out. Without the right password nothing tells whether an address is known."""

import hashlib
from typing import Final

import msgspec

from qirsh.domain.limits import PASSWORD_CHARACTERS_MAX
from qirsh.domain.person import Login
from qirsh.domain.tables import Tables
from qirsh.web.account.passkey_sign_in import authenticate_by_passkey, sign_in_options
from qirsh.web.account.post_login_redirect import keep_payment, payment_in_query, payment_named, redirect_after_login
from qirsh.web.auth.credentials import VerifiedLogin, authenticate_in_steps, authenticate_second_factor
from qirsh.web.html.cookies import PENDING_2FA, set_cookie
from qirsh.web.html.page_context import SIGN_IN, PageContext, page_context_of
from qirsh.web.html.rendering import see_other
from qirsh.web.html.sealed_cookie import keep, kept
from qirsh.web.http.context import Context
from qirsh.web.http.message import Request, Response
from qirsh.web.http.problems import Problem

_CODE: Final = "/sign-in/code"
_HALF_MS: Final = 5 * 60_000


class Half(msgspec.Struct, frozen=True):
    """A person has proved the password, and the code of the second factor is still to come."""

    email: str
    password: str  # A hash of the hash: with another password this proves nothing any more.
    until: int


async def show_home(context: Context, request: Request) -> Response:
    """The door."""
    page = await page_context_of(context, request)
    return see_other(redirect_after_login("") if page.caller is not None else SIGN_IN)


async def show_sign_in(context: Context, request: Request) -> Response:
    """The form, for visitors who are not signed in."""
    page = await page_context_of(context, request)
    pay = payment_in_query(context, request)
    return (
        see_other(redirect_after_login(pay))
        if page.caller is not None
        else _page(page, pay, why=page.flash_about("sign-in"))
    )


async def sign_in(context: Context, request: Request) -> Response:
    """A new session; or, where there is a second factor and no code was given, the page that asks for it."""
    page = await page_context_of(context, request)
    form = page.open_form("sign-in", "email", "password", "code", "pay")
    email, password, pay = form["email"].strip(), form["password"], payment_named(context, form["pay"])
    verified = None
    if email and 0 < len(password) <= PASSWORD_CHARACTERS_MAX:
        verified = await authenticate_in_steps(
            context, request, email=email, password=password, code=form["code"] or None
        )
    if isinstance(verified, Login):
        half = Half(verified.email, _print(verified), context.clock() + _HALF_MS)
        return see_other(keep_payment(_CODE, pay), [keep(context, PENDING_2FA, half)])
    entered = verified and await _enter(page, verified, pay)
    return entered or _page(page, pay, status=422, why="wrong", email=email)


async def sign_in_with_passkey(context: Context, request: Request) -> Response:
    """A new session for whose passkey it is. It stands for the password and the code."""
    page = await page_context_of(context, request)
    form = page.open_form("sign-in-passkey", "passkey", "pay")
    pay = payment_named(context, form["pay"])
    verified = await authenticate_by_passkey(page, form["passkey"])
    entered = verified and await _enter(page, verified, pay)
    return entered or _page(page, pay, status=422, why="passkey")


async def show_sign_in_code(context: Context, request: Request) -> Response:
    """The second step."""
    page = await page_context_of(context, request)
    pay = payment_in_query(context, request)
    if page.caller is not None:
        return see_other(redirect_after_login(pay))
    if await _half_login(page) is None:
        return see_other(keep_payment(SIGN_IN, pay))
    return page.render("account/sign_in_code.html", pay=pay, why="")


async def submit_sign_in_code(context: Context, request: Request) -> Response:
    """A new session, with a code of the app or a recovery code."""
    page = await page_context_of(context, request)
    form = page.open_form("sign-in-code", "code", "pay")
    pay = payment_named(context, form["pay"])
    login = await _half_login(page)
    if login is None:
        return page.redirect(keep_payment(SIGN_IN, pay), "sign-in.late")
    verified = await authenticate_second_factor(context, request, login, form["code"])
    entered = verified and await _enter(page, verified, pay)
    return entered or page.render("account/sign_in_code.html", status=422, pay=pay, why="wrong")


async def sign_out(context: Context, request: Request) -> Response:
    """The session ends. Who has none any more, perhaps from another tab, is where they wanted to be."""
    page = await page_context_of(context, request)
    if page.caller is None:
        return see_other(SIGN_IN)
    page.form("sign-out")
    cookie = await page.session.end()
    left = page.redirect(SIGN_IN, "sign-in.left")
    left.headers.append(cookie)
    return left


async def _enter(page: PageContext, verified: VerifiedLogin, pay: str) -> Response | None:
    """On to where they wanted to go; None if what was right a moment ago is not any more."""
    try:
        session = await page.session.begin(verified)
    except Problem as problem:
        if problem.code not in {"wrong_credentials", "passkey_not_valid"}:
            raise
        return None
    return see_other(redirect_after_login(pay), [session, set_cookie(page.context, PENDING_2FA, "")])


async def _half_login(page: PageContext) -> Login | None:
    context = page.context
    half = kept(context, page.request, PENDING_2FA, Half)
    if half is None or half.until <= context.clock():
        return None
    login = await context.store.find(Tables.logins, half.email)
    return login if login is not None and _print(login) == half.password else None


def _print(login: Login) -> str:
    return hashlib.sha256(login.password_hash.encode()).hexdigest()


def _page(page: PageContext, pay: str, *, why: str, status: int = 200, email: str = "") -> Response:
    return page.render(
        "account/sign_in.html",
        status=status,
        pay=pay,
        why=why,
        email=email,
        has_mail=page.context.has_mail,
        passkey_options=sign_in_options(page),
    )
