"""Proving who one is: e-mail, password, and the second factor where there is one. Every way in asks here."""

import logging
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import msgspec

from qirsh.domain.api_key import make_token, token_hash
from qirsh.domain.commands.audit_log import RecordFailure
from qirsh.domain.commands.login_credentials import CountWrongCode, RenewPasswordHash
from qirsh.domain.commands.session import OpenSession
from qirsh.domain.limits import AGENT_CHARACTERS_MAX
from qirsh.domain.mail import Letter
from qirsh.domain.person import Login, is_password_spent, normal_email
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.session import Session
from qirsh.domain.tables import Tables
from qirsh.web.auth.outgoing_mail import letters
from qirsh.web.auth.recovery_codes import used_hash
from qirsh.web.auth.totp import totp_step
from qirsh.web.http.client_address import client_address
from qirsh.web.http.context import Context
from qirsh.web.http.failure_log import shown_address
from qirsh.web.http.message import Request
from qirsh.web.http.problems import Problem, to_problem

T = TypeVar("T")

log = logging.getLogger(__name__)
_AFTER_PASSWORD: Final = ("wrong_codes", "password_spent")


class VerifiedLogin(msgspec.Struct, frozen=True):
    """Whose login it is, and what the proof used up: no code of a second factor works twice."""

    login: Login
    totp_step: int = 0
    recovery_hash: bytes = b""
    passkey: bytes = b""  # It stands for password and code: the device has seen who uses it.
    sign_count: int = 0
    challenge: bytes = b""  # The hash of what the passkey was asked.


async def authenticate_request(
    context: Context, request: Request, *, email: str, password: str, code: str | None, known: str = ""
) -> VerifiedLogin | None:
    """As `authenticate`, over HTTP: tries are counted, by where they come from and whom they claim to be.

    Whoever is `known`, by their session or their device, is counted under that name alone.
    """

    async def verifying() -> VerifiedLogin | None:
        login = await _by_password_renewed(context, email, password)
        return None if login is None else await _with_factor(context, login, code)

    return await _counted(context, request, email, verifying, known)


async def authenticate_in_steps(
    context: Context, request: Request, *, email: str, password: str, known: str = ""
) -> VerifiedLogin | Login | None:
    """The same, where a code is asked for next. A login says that only the password is proved so far."""

    async def verifying() -> VerifiedLogin | Login | None:
        login = await _by_password_renewed(context, email, password)
        if login is None or login.totp_sealed is None:
            return None if login is None else VerifiedLogin(login)
        _check_unspent(login)
        return login

    return await _counted(context, request, email, verifying, known)


async def authenticate_second_factor(
    context: Context,
    request: Request,
    login: Login,
    code: str,
    known: str = "",
    *,
    mails: tuple[str, str] = _AFTER_PASSWORD,
) -> VerifiedLogin | None:
    """The step after the password, or one of a session. A wrong code counts as much as a wrong password.

    `mails`: the kinds that warn of wrong codes, and that tell of the password's end.
    """

    async def verifying() -> VerifiedLogin | None:
        return await _with_factor(context, login, code, mails)

    return await _counted(context, request, login.email, verifying, known)


async def authenticate(context: Context, *, email: str, password: str, code: str | None) -> VerifiedLogin | None:
    """What was proved; None without a word about what was wrong, after the same work."""
    login = await _by_password(context, email, password)
    return None if login is None else await _with_factor(context, login, code)


async def _counted(
    context: Context, request: Request, email: str, verifying: Callable[[], Awaitable[T | None]], known: str
) -> T | None:
    address = normal_email(email)
    if context.limits is not None:
        context.limits.count_sign_in(request, address, known)
    has_failed = False
    try:
        proved = await verifying()
        has_failed = proved is None
    finally:
        if context.limits is not None and not has_failed:
            context.limits.forgive(address, known)
    if proved is None:
        login = await context.store.find(Tables.logins, address) if address else None
        subject = f"person {login.person}" if login else "nobody"
        await record_failure(context, request, subject)
    return proved


async def record_failure(context: Context, request: Request, subject: str) -> None:
    """Somebody could not sign in: a line of the log, and an audit entry unless there are enough of this address."""
    address = log_failure(context, request, subject, "password, code or passkey")
    detail = context.failures.note(context.clock(), address, subject)
    if detail is not None:
        await context.engine.submit(RecordFailure(subject, "somebody", detail))


def log_failure(context: Context, request: Request, subject: str, proof: str) -> bytes:
    """Somebody could not prove who they are: a line of the log. The address that it came from."""
    forwarded_for = request.headers.get(b"x-forwarded-for", b"")
    address = client_address(request.peer, forwarded_for, context.trusted_proxies)
    log.info("request %s could not prove to be %s by %s, from %s", request.id, subject, proof, shown_address(address))
    return address


async def _by_password(context: Context, email: str, password: str) -> Login | None:
    address = normal_email(email)
    login = await context.store.find(Tables.logins, address) if address else None
    is_right = await context.passwords.verify(login.password_hash if login else None, password)
    return login if is_right else None


async def _by_password_renewed(context: Context, email: str, password: str) -> Login | None:
    """At sign-in the password is hashed with today's parameters: at no other time is it known."""
    login = await _by_password(context, email, password)
    if login is None or not context.passwords.is_outdated(login.password_hash):
        return login
    renewed = await context.passwords.hash(password)
    outcome = await context.engine.submit(RenewPasswordHash(login.email, login.person, login.password_hash, renewed))
    if type(outcome) is Refused:
        # Another request was quicker: the same person in another tab, or a change of the password.
        return await _by_password(context, email, password)
    return msgspec.structs.replace(login, password_hash=renewed)


async def _with_factor(
    context: Context, login: Login, code: str | None, mails: tuple[str, str] = _AFTER_PASSWORD
) -> VerifiedLogin | None:
    """A wrong code counts at the login, since whoever types it knows the password or has the session."""
    if login.totp_sealed is None:
        return VerifiedLogin(login)
    _check_unspent(login)
    verified = await second_factor(context, login, code or "")
    if verified is None and code:
        await _count_wrong_code(context, login, mails)
    return verified


def _check_unspent(login: Login) -> None:
    if is_password_spent(login):
        raise Problem("password_spent")


async def _count_wrong_code(context: Context, login: Login, mails: tuple[str, str]) -> None:
    person = await context.store.find(Tables.people, login.person)
    assert person is not None, "a login without its person"
    warning, ending = (letters(context, kind, to=login.email, language=person.language) for kind in mails)
    # A refusal tells that the password was changed meanwhile: then nothing is known of it.
    await context.engine.submit(
        CountWrongCode(login.email, login.person, login.password_hash, warning=warning, ending=ending)
    )


async def second_factor(context: Context, login: Login, code: str) -> VerifiedLogin | None:
    """A code of the app, of this half minute or of the one before or after it; or a recovery code."""
    code = code.replace(" ", "").replace("-", "").upper()
    assert login.totp_sealed is not None
    step = totp_step(context, login.email, login.totp_sealed, code)
    if step is not None:
        return VerifiedLogin(login, totp_step=step)
    used = await used_hash(context, login, code)
    return None if used is None else VerifiedLogin(login, recovery_hash=used)


async def open_session(
    context: Context, verified: VerifiedLogin, kind: str, request: Request, mail: tuple[Letter, ...] = ()
) -> tuple[str, Session]:
    """A new token of this kind for who has proved who they are, and what is kept of it."""
    person = await context.store.find(Tables.people, verified.login.person)
    assert person is not None, "a login without its person"
    token = make_token(kind, context.entropy(32))
    session = await context.engine.submit(
        OpenSession(
            hash=token_hash(token.encode()),
            person=person.id,
            account=person.account,
            actor=f"person {person.id}",
            agent=agent_of(request),
            email=verified.login.email,
            password_hash=verified.login.password_hash,
            totp_step=verified.totp_step,
            recovery_hash=verified.recovery_hash,
            passkey=verified.passkey,
            sign_count=verified.sign_count,
            challenge=verified.challenge,
            letters=mail,
        )
    )
    if type(session) is Refused:
        # A code that was used, or a password that was changed, a moment ago is as wrong as any other.
        raise Problem("wrong_credentials") if session.why is Refusal.CODE_NOT_VALID else to_problem(session)
    return token, session


def agent_of(request: Request) -> str:
    """What the browser or app says it is, in one printable line."""
    agent = request.headers.get(b"user-agent", b"").decode("latin-1")
    return "".join(filter(str.isprintable, agent))[:AGENT_CHARACTERS_MAX]
