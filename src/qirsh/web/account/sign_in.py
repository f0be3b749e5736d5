"""Signing in and out. Without the right password nothing tells whether an address is known."""

import hashlib
from typing import Final

import msgspec

from qirsh.domain.limits import PASSWORD_CHARACTERS_MAX
from qirsh.domain.person import Login
from qirsh.domain.tables import Tables
from qirsh.web.account.passkey_sign_in import prove_by_passkey, sign_in_options
from qirsh.web.account.post_login_redirect import payment_asked, payment_named, way_on, with_payment
from qirsh.web.auth.credentials import Proof, prove_in_steps, prove_second_factor
from qirsh.web.html.cookies import HALF, set_cookie
from qirsh.web.html.page_context import SIGN_IN, Visit, visit_of
from qirsh.web.html.rendering import see_other
from qirsh.web.html.sealed_cookie import keep, kept
from qirsh.web.http.context import Parts
from qirsh.web.http.message import Request, Response
from qirsh.web.http.problems import Problem

_CODE: Final = "/sign-in/code"
_HALF_MS: Final = 5 * 60_000


class Half(msgspec.Struct, frozen=True):
    """Somebody has proved the password, and the code of the second factor is still to come."""

    email: str
    password: str  # A hash of the hash: with another password this proves nothing any more.
    until: int


async def show_home(parts: Parts, request: Request) -> Response:
    """The door."""
    visit = await visit_of(parts, request)
    return see_other(way_on("") if visit.caller is not None else SIGN_IN)


async def show_sign_in(parts: Parts, request: Request) -> Response:
    """The form, for whoever is not signed in."""
    visit = await visit_of(parts, request)
    pay = payment_asked(parts, request)
    return see_other(way_on(pay)) if visit.caller is not None else _page(visit, pay, why=visit.word("sign-in"))


async def sign_in(parts: Parts, request: Request) -> Response:
    """A new session; or, where there is a second factor and no code was given, the page that asks for it."""
    visit = await visit_of(parts, request)
    form = visit.open_form("sign-in", "email", "password", "code", "pay")
    email, password, pay = form["email"].strip(), form["password"], payment_named(parts, form["pay"])
    proof = None
    if email and 0 < len(password) <= PASSWORD_CHARACTERS_MAX:
        proof = await prove_in_steps(parts, request, email=email, password=password, code=form["code"] or None)
    if isinstance(proof, Login):
        half = Half(proof.email, _print(proof), parts.clock() + _HALF_MS)
        return see_other(with_payment(_CODE, pay), [keep(parts, HALF, half)])
    entered = proof and await _enter(visit, proof, pay)
    return entered or _page(visit, pay, status=422, why="wrong", email=email)


async def sign_in_with_passkey(parts: Parts, request: Request) -> Response:
    """A new session for whose passkey it is. It stands for the password and the code."""
    visit = await visit_of(parts, request)
    form = visit.open_form("sign-in-passkey", "passkey", "pay")
    pay = payment_named(parts, form["pay"])
    proof = await prove_by_passkey(visit, form["passkey"])
    entered = proof and await _enter(visit, proof, pay)
    return entered or _page(visit, pay, status=422, why="passkey")


async def show_sign_in_code(parts: Parts, request: Request) -> Response:
    """The second step."""
    visit = await visit_of(parts, request)
    pay = payment_asked(parts, request)
    if visit.caller is not None:
        return see_other(way_on(pay))
    if await _half_login(visit) is None:
        return see_other(with_payment(SIGN_IN, pay))
    return visit.page("account/sign_in_code.html", pay=pay, why="")


async def submit_sign_in_code(parts: Parts, request: Request) -> Response:
    """A new session, with a code of the app or a recovery code."""
    visit = await visit_of(parts, request)
    form = visit.open_form("sign-in-code", "code", "pay")
    pay = payment_named(parts, form["pay"])
    login = await _half_login(visit)
    if login is None:
        return visit.go(with_payment(SIGN_IN, pay), "sign-in.late")
    proof = await prove_second_factor(parts, request, login, form["code"])
    entered = proof and await _enter(visit, proof, pay)
    return entered or visit.page("account/sign_in_code.html", status=422, pay=pay, why="wrong")


async def sign_out(parts: Parts, request: Request) -> Response:
    """The session ends. Who has none any more, perhaps from another tab, is where they wanted to be."""
    visit = await visit_of(parts, request)
    if visit.caller is None:
        return see_other(SIGN_IN)
    visit.form("sign-out")
    cookie = await visit.end()
    left = visit.go(SIGN_IN, "sign-in.left")
    left.headers.append(cookie)
    return left


async def _enter(visit: Visit, proof: Proof, pay: str) -> Response | None:
    """On to where they wanted to go; None if what was right a moment ago is not any more."""
    try:
        session = await visit.begin(proof)
    except Problem as problem:
        if problem.code not in {"wrong_credentials", "passkey_not_valid"}:
            raise
        return None
    return see_other(way_on(pay), [session, set_cookie(visit.parts, HALF, "")])


async def _half_login(visit: Visit) -> Login | None:
    parts = visit.parts
    half = kept(parts, visit.request, HALF, Half)
    if half is None or half.until <= parts.clock():
        return None
    login = await parts.store.find(Tables.logins, half.email)
    return login if login is not None and _print(login) == half.password else None


def _print(login: Login) -> str:
    return hashlib.sha256(login.password_hash.encode()).hexdigest()


def _page(visit: Visit, pay: str, *, why: str, status: int = 200, email: str = "") -> Response:
    return visit.page(
        "account/sign_in.html",
        status=status,
        pay=pay,
        why=why,
        email=email,
        has_mail=visit.parts.has_mail,
        passkey_options=sign_in_options(visit),
    )
