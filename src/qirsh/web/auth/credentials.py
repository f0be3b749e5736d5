"""Proving who one is: e-mail, password, and the second factor where there is one. Every way in asks here."""

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import msgspec

from qirsh.domain.api_key import make_token, token_hash
from qirsh.domain.commands.audit_log import RecordFailure
from qirsh.domain.commands.login_credentials import RenewPasswordHash
from qirsh.domain.commands.session import OpenSession
from qirsh.domain.limits import AGENT_CHARACTERS_MAX
from qirsh.domain.person import Login, normal_email
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.session import Session
from qirsh.domain.tables import Tables
from qirsh.web.auth.totp import totp_step
from qirsh.web.http.context import Context
from qirsh.web.http.message import Request
from qirsh.web.http.problems import Problem, to_problem

T = TypeVar("T")

RECOVERY: Final = "recovery"


class VerifiedLogin(msgspec.Struct, frozen=True):
    """Whose login it is, and what the proof used up: no code of a second factor works twice."""

    login: Login
    totp_step: int = 0
    recovery_hash: bytes = b""
    passkey: bytes = b""  # It stands for password and code: the device has seen who uses it.
    sign_count: int = 0


async def authenticate_request(
    context: Context, request: Request, *, email: str, password: str, code: str | None
) -> VerifiedLogin | None:
    """As `authenticate`, over HTTP: tries are counted, by where they come from and whom they claim to be."""

    async def verifying() -> VerifiedLogin | None:
        login = await _by_password_renewed(context, email, password)
        return None if login is None else _with_factor(context, login, code)

    return await _counted(context, request, email, verifying)


async def authenticate_in_steps(
    context: Context, request: Request, *, email: str, password: str, code: str | None
) -> VerifiedLogin | Login | None:
    """The same, where a code can be asked for next. A login says that only the password is proved so far."""

    async def verifying() -> VerifiedLogin | Login | None:
        login = await _by_password_renewed(context, email, password)
        if login is None or (login.totp_sealed is not None and not code):
            return login
        return _with_factor(context, login, code)

    return await _counted(context, request, email, verifying)


async def authenticate_second_factor(
    context: Context, request: Request, login: Login, code: str
) -> VerifiedLogin | None:
    """The step after the password. A wrong code counts as much as a wrong password."""

    async def verifying() -> VerifiedLogin | None:
        return _with_factor(context, login, code)

    return await _counted(context, request, login.email, verifying)


async def authenticate(context: Context, *, email: str, password: str, code: str | None) -> VerifiedLogin | None:
    """What was proved; None without a word about what was wrong, after the same work."""
    login = await _by_password(context, email, password)
    return None if login is None else _with_factor(context, login, code)


async def _counted(
    context: Context, request: Request, email: str, verifying: Callable[[], Awaitable[T | None]]
) -> T | None:
    address = normal_email(email)
    if context.limits is not None:
        context.limits.count_sign_in(request, address)
    has_failed = False
    try:
        proved = await verifying()
        has_failed = proved is None
    finally:
        if context.limits is not None and not has_failed:
            context.limits.forgive(address)
    if proved is None:
        login = await context.store.find(Tables.logins, address) if address else None
        subject = f"person {login.person}" if login else "nobody"
        await context.engine.submit(RecordFailure(subject, "somebody"))
    return proved


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


def _with_factor(context: Context, login: Login, code: str | None) -> VerifiedLogin | None:
    return VerifiedLogin(login) if login.totp_sealed is None else second_factor(context, login, code or "")


def second_factor(context: Context, login: Login, code: str) -> VerifiedLogin | None:
    """A code of the app, of this half minute or of the one before or after it; or a recovery code."""
    code = code.replace(" ", "").replace("-", "").upper()
    assert login.totp_sealed is not None
    step = totp_step(context, login.totp_sealed, code)
    if step is not None:
        return VerifiedLogin(login, totp_step=step)
    for mac in context.keyring.code_macs(RECOVERY, str(login.person), code):
        kept = [login.recovery[start : start + len(mac)] for start in range(0, len(login.recovery), len(mac))]
        if mac in kept:
            return VerifiedLogin(login, recovery_hash=mac)
    return None


async def open_session(context: Context, verified: VerifiedLogin, kind: str, request: Request) -> tuple[str, Session]:
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
