"""The session of a browser: a cookie whose token is known here by its hash only."""

import msgspec

from qirsh.domain.api_key import PAGE_SESSION_KIND, make_token, token_hash
from qirsh.domain.commands.session import CloseSession, OpenSession
from qirsh.domain.refusal import Refused
from qirsh.web.auth.credentials import VerifiedLogin, agent_of, open_session
from qirsh.web.html.cookies import SESSION, cookie, set_cookie
from qirsh.web.http.authentication import Caller
from qirsh.web.http.context import Context
from qirsh.web.http.message import Request
from qirsh.web.http.problems import Problem, to_problem

Cookie = tuple[bytes, bytes]


class PageSession(msgspec.Struct, frozen=True):
    """Who is signed in with this browser; nobody, without a caller."""

    context: Context
    request: Request
    hash: bytes  # Of the session's token.
    caller: Caller | None

    async def begin(self, login: VerifiedLogin) -> Cookie:
        """The cookie of a new session for who has proved who they are. The one before ends."""
        token, _ = await open_session(self.context, login, PAGE_SESSION_KIND, self.request)
        await self.end()
        return set_cookie(self.context, SESSION, token)

    async def renew(self) -> Cookie:
        """The cookie of a new session for who has just ended all of theirs, and had proved who they are to do so."""
        caller = self.caller
        if caller is None or caller.person is None:
            raise Problem("unauthorized")
        token, actor = make_token(PAGE_SESSION_KIND, self.context.entropy(32)), f"person {caller.person}"
        agent, hashed = agent_of(self.request), token_hash(token.encode())
        opened = await self.context.engine.submit(
            OpenSession(hash=hashed, person=caller.person, account=caller.account, actor=actor, agent=agent)
        )
        if type(opened) is Refused:
            raise to_problem(opened)
        await self.context.callers.poll()  # This process need not wait until it would look.
        return set_cookie(self.context, SESSION, token)

    async def end(self) -> Cookie:
        """The session ends on the server, in all processes within a second; with the cookie the browser forgets it."""
        if self.caller is not None:
            await self.context.engine.submit(CloseSession(self.hash, f"person {self.caller.person}"))
            await self.context.callers.poll()  # This process need not wait until it would look.
        return set_cookie(self.context, SESSION, "")


async def session_of(context: Context, request: Request) -> PageSession:
    """As the cookie says."""
    token = cookie(context, request, SESSION).encode("latin-1")
    return PageSession(context, request, token_hash(token), await context.callers.of_cookie(token))
