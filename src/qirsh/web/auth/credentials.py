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
from qirsh.web.http.context import Parts
from qirsh.web.http.message import Request
from qirsh.web.http.problems import Problem, problem_of

T = TypeVar("T")

RECOVERY: Final = "recovery"


class Proof(msgspec.Struct, frozen=True):
    """Whose login it is, and what the proof used up: no code of a second factor works twice."""

    login: Login
    totp_step: int = 0
    recovery_hash: bytes = b""
    passkey: bytes = b""  # It stands for password and code: the device has seen who uses it.
    sign_count: int = 0


async def prove_from_outside(
    parts: Parts, request: Request, *, email: str, password: str, code: str | None
) -> Proof | None:
    """As `prove`, for whoever asks over HTTP: tries are counted, by where they come from and whom they claim to be."""

    async def proving() -> Proof | None:
        login = await _by_password_renewed(parts, email, password)
        return None if login is None else _with_factor(parts, login, code)

    return await _counted(parts, request, email, proving)


async def prove_in_steps(
    parts: Parts, request: Request, *, email: str, password: str, code: str | None
) -> Proof | Login | None:
    """The same, where a code can be asked for next. A login says that only the password is proved so far."""

    async def proving() -> Proof | Login | None:
        login = await _by_password_renewed(parts, email, password)
        if login is None or (login.totp_sealed is not None and not code):
            return login
        return _with_factor(parts, login, code)

    return await _counted(parts, request, email, proving)


async def prove_second_factor(parts: Parts, request: Request, login: Login, code: str) -> Proof | None:
    """The step after the password. A wrong code counts as much as a wrong password."""

    async def proving() -> Proof | None:
        return _with_factor(parts, login, code)

    return await _counted(parts, request, login.email, proving)


async def prove(parts: Parts, *, email: str, password: str, code: str | None) -> Proof | None:
    """What was proved; None without a word about what was wrong, after the same work."""
    login = await _by_password(parts, email, password)
    return None if login is None else _with_factor(parts, login, code)


async def _counted(parts: Parts, request: Request, email: str, proving: Callable[[], Awaitable[T | None]]) -> T | None:
    address = normal_email(email)
    if parts.limits is not None:
        parts.limits.count_sign_in(request, address)
    has_failed = False
    try:
        proved = await proving()
        has_failed = proved is None
    finally:
        if parts.limits is not None and not has_failed:
            parts.limits.forgive(address)
    if proved is None:
        login = await parts.store.find(Tables.logins, address) if address else None
        subject = f"person {login.person}" if login else "nobody"
        await parts.engine.submit(RecordFailure(subject, "somebody"))
    return proved


async def _by_password(parts: Parts, email: str, password: str) -> Login | None:
    address = normal_email(email)
    login = await parts.store.find(Tables.logins, address) if address else None
    is_right = await parts.passwords.verify(login.password_hash if login else None, password)
    return login if is_right else None


async def _by_password_renewed(parts: Parts, email: str, password: str) -> Login | None:
    """Whoever signs in gets their password hashed as is usual now: at no other time is it known."""
    login = await _by_password(parts, email, password)
    if login is None or not parts.passwords.is_outdated(login.password_hash):
        return login
    renewed = await parts.passwords.hash(password)
    outcome = await parts.engine.submit(RenewPasswordHash(login.email, login.person, login.password_hash, renewed))
    if type(outcome) is Refused:
        # Somebody was quicker: the same person in another tab, or a change of the password.
        return await _by_password(parts, email, password)
    return msgspec.structs.replace(login, password_hash=renewed)


def _with_factor(parts: Parts, login: Login, code: str | None) -> Proof | None:
    return Proof(login) if login.totp_sealed is None else second_factor(parts, login, code or "")


def second_factor(parts: Parts, login: Login, code: str) -> Proof | None:
    """A code of the app, of this half minute or of the one before or after it; or a recovery code."""
    code = code.replace(" ", "").replace("-", "").upper()
    assert login.totp_sealed is not None
    step = totp_step(parts, login.totp_sealed, code)
    if step is not None:
        return Proof(login, totp_step=step)
    for mac in parts.keyring.code_macs(RECOVERY, str(login.person), code):
        kept = [login.recovery[start : start + len(mac)] for start in range(0, len(login.recovery), len(mac))]
        if mac in kept:
            return Proof(login, recovery_hash=mac)
    return None


async def open_session(parts: Parts, proof: Proof, kind: str, request: Request) -> tuple[str, Session]:
    """A new token of this kind for who has proved who they are, and what is kept of it."""
    person = await parts.store.find(Tables.people, proof.login.person)
    assert person is not None, "a login without its person"
    token = make_token(kind, parts.entropy(32))
    session = await parts.engine.submit(
        OpenSession(
            hash=token_hash(token.encode()),
            person=person.id,
            account=person.account,
            actor=f"person {person.id}",
            agent=agent_of(request),
            email=proof.login.email,
            password_hash=proof.login.password_hash,
            totp_step=proof.totp_step,
            recovery_hash=proof.recovery_hash,
            passkey=proof.passkey,
            sign_count=proof.sign_count,
        )
    )
    if type(session) is Refused:
        # A code that was used, or a password that was changed, a moment ago is as wrong as any other.
        raise Problem("wrong_credentials") if session.why is Refusal.CODE_NOT_VALID else problem_of(session)
    return token, session


def agent_of(request: Request) -> str:
    """What the browser or app says it is, in one printable line."""
    said = request.headers.get(b"user-agent", b"").decode("latin-1")
    return "".join(filter(str.isprintable, said))[:AGENT_CHARACTERS_MAX]
