"""The session of a browser: a cookie whose token is known here by its hash only."""

from typing import Final

import msgspec

from qirsh.domain.api_key import PAGE_SESSION_KIND, make_token, token_hash
from qirsh.domain.commands.session import CloseSession, OpenSession
from qirsh.domain.mail import Letter
from qirsh.domain.person import Login, Person
from qirsh.domain.refusal import Refused
from qirsh.domain.session import Session
from qirsh.web.auth.credentials import VerifiedLogin, agent_of, open_session
from qirsh.web.auth.new_device import letters_on_new_device
from qirsh.web.html.cookies import SESSION, SESSION_USE, cookie, set_cookie
from qirsh.web.html.known_device import is_known_device, remember_device
from qirsh.web.html.session_use import use_session
from qirsh.web.http.authentication import Caller
from qirsh.web.http.context import Context
from qirsh.web.http.message import Headers, Request
from qirsh.web.http.problems import Problem, to_problem

_FORGET_PAGES: Final = (b"clear-site-data", b'"cache"')


class PageSession(msgspec.Struct, frozen=True):
    """Who is signed in with this browser; nobody, without a caller."""

    context: Context
    request: Request
    hash: bytes  # Of the session's token.
    caller: Caller | None
    is_idle: bool = False  # Not used for a while: it shows pages, and moves no money until its person signs in again.

    async def begin(self, verified: VerifiedLogin, *, is_first: bool = False) -> Headers:
        """The cookies of a new session for who has proved who they are: the one before ends, the device is known.

        Who has just joined knows that they are here; others hear by mail of a device that was not theirs before.
        """
        mail = () if is_first else await self._letters(verified.login)
        token, session = await open_session(self.context, verified, PAGE_SESSION_KIND, self.request, mail)
        await self.end()
        return self._cookies(token, session)

    async def renew(self) -> Headers:
        """The cookies of a new session for who has just ended all of theirs, and had proved who they are to do so."""
        caller = self.caller
        if caller is None or caller.person is None:
            raise Problem("unauthorized")
        cookies = await self._opened(caller.person, caller.account)
        await self.context.callers.poll()  # This process need not wait until it would look.
        return cookies

    async def begin_after_passkey(self, person: Person, verified: VerifiedLogin) -> Headers:
        """The cookies of a new session for who has used a passkey, which is counted with what it was used for."""
        mail = await self._letters(verified.login)
        cookies = await self._opened(person.id, person.account, verified.challenge, mail)
        await self.end()
        return cookies

    def _cookies(self, token: str, session: Session) -> Headers:
        self.request.used_session = b""  # A new one is young enough.
        device = remember_device(self.context, self.request, session.person, session.session_generation)
        return [set_cookie(self.context, SESSION, token), device]

    async def end(self) -> Headers:
        """The session ends on the server, in all processes within a second; with the headers the browser forgets it."""
        if self.caller is not None:
            await self.context.engine.submit(CloseSession(self.hash, f"person {self.caller.person}"))
            await self.context.callers.poll()  # This process need not wait until it would look.
        return self.forget()

    def forget(self) -> Headers:
        """For the browser of a session that has ended: its cookies go, and so do the pages that it was shown."""
        self.request.used_session = b""
        return [set_cookie(self.context, SESSION, ""), set_cookie(self.context, SESSION_USE, ""), _FORGET_PAGES]

    async def _letters(self, login: Login) -> tuple[Letter, ...]:
        if await is_known_device(self.context, self.request, login.person):
            return ()
        return await letters_on_new_device(self.context, login, agent_of(self.request))

    async def _opened(
        self, person: int, account: int, challenge: bytes = b"", mail: tuple[Letter, ...] = ()
    ) -> Headers:
        token, agent = make_token(PAGE_SESSION_KIND, self.context.entropy(32)), agent_of(self.request)
        opened = await self.context.engine.submit(
            OpenSession(
                hash=token_hash(token.encode()),
                person=person,
                account=account,
                actor=f"person {person}",
                agent=agent,
                challenge=challenge,
                letters=mail,
            )
        )
        if type(opened) is Refused:
            raise to_problem(opened)
        return self._cookies(token, opened)


async def session_of(context: Context, request: Request) -> PageSession:
    """As the cookie says."""
    token = cookie(context, request, SESSION).encode("latin-1")
    caller = await context.callers.of_cookie(token)
    is_idle = caller is not None and not use_session(context, request, caller)
    return PageSession(context, request, token_hash(token), caller, is_idle)
