"""The session of an operator's browser: a cookie of its own, which opens nothing else, and which nothing else opens."""

from typing import Final

import msgspec

from qirsh.domain.api_key import OPERATOR_SESSION_KIND, make_token, token_hash
from qirsh.domain.commands.operator_session import CloseOperatorSession, OpenOperatorSession
from qirsh.domain.operator_session import OPERATOR_IDLE_MS
from qirsh.domain.refusal import Refused
from qirsh.domain.tables import Tables
from qirsh.store.reads.operator_sessions import SignedInOperator, signed_in_operator
from qirsh.web.auth.credentials import VerifiedLogin, agent_of
from qirsh.web.auth.outgoing_mail import letters
from qirsh.web.html.cookies import OPERATOR_SESSION, cookie, set_cookie
from qirsh.web.html.sealed_cookie import keep, kept
from qirsh.web.http.client_address import whole_address
from qirsh.web.http.context import Context
from qirsh.web.http.message import Headers, Request
from qirsh.web.http.problems import to_problem

_USED: Final = "qirsh-operator-used"
_KEPT_EVERY_MS: Final = 60_000  # How often the browser is told when it was last used.


class _Use(msgspec.Struct, frozen=True):
    session: str
    at: int


class ConsoleSession(msgspec.Struct, frozen=True):
    """Who is signed in at the console with this browser; nobody, without an operator."""

    hash: bytes  # Of the session's token.
    operator: SignedInOperator | None
    is_over: bool = False  # There was one, which was idle for too long or has ended.
    cookies: Headers = msgspec.field(default_factory=list)  # What the browser is to keep of this use.


async def console_session_of(context: Context, request: Request) -> ConsoleSession:
    """As the cookies say."""
    token = cookie(context, request, OPERATOR_SESSION)
    hashed = token_hash(token.encode("latin-1"))
    if not token.startswith(f"{OPERATOR_SESSION_KIND}_"):
        return ConsoleSession(hashed, None)
    operator, now = await signed_in_operator(context.store, hashed), context.clock()
    if operator is None or now >= operator.expires_at:
        return ConsoleSession(hashed, None, is_over=True)
    use = kept(context, request, _USED, _Use)
    used_at = use.at if use is not None and use.session == hashed.hex() else operator.created_at
    if now - used_at > OPERATOR_IDLE_MS:
        return ConsoleSession(hashed, None, is_over=True)
    cookies = [keep(context, _USED, _Use(hashed.hex(), now))] if now - used_at > _KEPT_EVERY_MS else []
    return ConsoleSession(hashed, operator, cookies=cookies)


async def open_console_session(context: Context, request: Request, verified: VerifiedLogin) -> Headers:
    """The cookies of a new session for an operator who has proved who they are."""
    person = await context.store.find(Tables.people, verified.login.person)
    assert person is not None, "a login without its person"
    token, address = make_token(OPERATOR_SESSION_KIND, context.entropy(32)), shown_address(context, request)
    opened = await context.engine.submit(
        OpenOperatorSession(
            hash=token_hash(token.encode()),
            person=person.id,
            operator=person.id,
            actor=f"operator {person.id}",
            address=address,
            agent=agent_of(request),
            email=verified.login.email,
            password_hash=verified.login.password_hash,
            totp_step=verified.totp_step,
            recovery_hash=verified.recovery_hash,
            passkey=verified.passkey,
            sign_count=verified.sign_count,
            challenge=verified.challenge,
            letters=letters(
                context, "operator_signed_in", to=verified.login.email, language=person.language, address=address
            ),
        )
    )
    if type(opened) is Refused:
        raise to_problem(opened)
    return [set_cookie(context, OPERATOR_SESSION, token, is_strict=True), set_cookie(context, _USED, "")]


async def close_console_session(context: Context, session: ConsoleSession) -> Headers:
    """It ends on the server, and the browser forgets it."""
    if session.operator is not None:
        person = session.operator.person
        await context.engine.submit(CloseOperatorSession(person, session.hash, f"operator {person}"))
    return [set_cookie(context, OPERATOR_SESSION, ""), set_cookie(context, _USED, "")]


def shown_address(context: Context, request: Request) -> str:
    """Where a request comes from, as people read it."""
    address = whole_address(request.peer, request.headers.get(b"x-forwarded-for", b""), context.trusted_proxies)
    return "" if address is None else str(address)
