"""What every page of a person needs: whose browser it is, tokens for its forms, and a word from the last page.

A form of somebody who is signed in is tied to the session, so that it dies with it. A form that anybody may send, such
as the sign-in, is tied to a random cookie of the browser, which is given with the first page that has such a form.
"""

import re
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Final

import msgspec

from qirsh.domain.api_key import PAGE_SESSION_KIND, make_token, token_hash
from qirsh.domain.commands.session import CloseSession, OpenSession
from qirsh.domain.refusal import Refused
from qirsh.web.auth.credentials import Proof, agent_of, open_session
from qirsh.web.html.cookies import SAID, SESSION, VISIT, cookie, set_cookie
from qirsh.web.html.forms import read_form
from qirsh.web.html.rendering import page, see_other
from qirsh.web.http.authentication import Caller
from qirsh.web.http.context import Parts
from qirsh.web.http.message import Headers, Request, Response
from qirsh.web.http.problems import Problem, problem_of

SIGN_IN: Final = "/sign-in"
_VISIT_BYTES: Final = 16
_WORD: Final = re.compile(r"[a-z0-9_-]{1,64}\.[a-z0-9_-]{1,64}")


class Visit(msgspec.Struct):
    """One browser at one page."""

    parts: Parts
    request: Request
    visitor: str  # The cookie that ties forms which anybody may send; empty until one is needed.
    session: bytes  # The hash of the session's token.
    caller: Caller | None  # Whose session it is; None if nobody has signed in.
    said: str  # The word from the last page, and what it is about. The cookie that tells it is anybody's to write.
    cookies: Headers = []  # What the next page gives to the browser or takes from it.

    @property
    def who(self) -> Caller:
        """Whoever is signed in, where a page needs somebody."""
        assert self.caller is not None
        return self.caller

    @property
    def person(self) -> int:
        """The id of whoever is signed in."""
        assert self.who.person is not None, "a page's session without a person"
        return self.who.person

    def form_token(self, purpose: str, *bound: str) -> str:
        """For a form of whoever is signed in, for this purpose and what else it is bound to."""
        assert self.caller is not None
        return self.parts.keyring.form_token(purpose, self.session.hex(), *bound)

    def open_form_token(self, purpose: str, *bound: str) -> str:
        """For a form that anybody may send."""
        if not self.visitor:
            self.visitor = self.parts.entropy(_VISIT_BYTES).hex()
            self.cookies.append(set_cookie(self.parts, VISIT, self.visitor))
        return self.parts.keyring.form_token(purpose, self.visitor, *bound)

    def check(self, token: str, purpose: str, *bound: str) -> Caller:
        """Who is signed in, if the form was made for them and for exactly this."""
        if self.caller is None or not self.is_made_here(token, purpose, *bound):
            raise Problem("stale_form")
        return self.caller

    def check_open(self, token: str, purpose: str, *bound: str) -> None:
        """The same for a form that anybody may send: it was made for this browser."""
        if not self.visitor or not self.parts.keyring.is_form_token(token, purpose, self.visitor, *bound):
            raise Problem("stale_form")

    def is_made_here(self, token: str, purpose: str, *bound: str) -> bool:
        """Whether the token is that of `form_token` for the same."""
        return self.parts.keyring.is_form_token(token, purpose, self.session.hex(), *bound)

    def form(self, purpose: str, *names: str, bound: tuple[str, ...] = ()) -> dict[str, str]:
        """The posted values of whoever is signed in, after a look at the token."""
        values = read_form(self.parts, self.request, "token", *names)
        self.check(values.pop("token"), purpose, *bound)
        return values

    def open_form(self, purpose: str, *names: str, bound: tuple[str, ...] = ()) -> dict[str, str]:
        """The posted values of anybody, after a look at the token."""
        values = read_form(self.parts, self.request, "token", *names)
        self.check_open(values.pop("token"), purpose, *bound)
        return values

    def word(self, about: str) -> str:
        """What the last page has said about this: a short code, or nothing."""
        subject, _, code = self.said.partition(".")
        return code if subject == about else ""

    def page(self, template: str, *, status: int = 200, form_origin: str = "", **values: object) -> Response:
        """The page for this browser, whose template can make tokens for its forms."""
        values |= {
            "form_token": self.form_token,
            "open_form_token": self.open_form_token,
            "is_signed_in": self.caller is not None,
        }
        made = page(self.request, template, status=status, headers=None, form_origin=form_origin, **values)
        # Only now is it known whether a form on the page needed a cookie.
        made.headers = [*self.cookies]
        return made

    def go(self, location: str, word: str = "") -> Response:
        """The next page, with a word for it: `about.code`."""
        assert not word or _WORD.fullmatch(word), word
        return see_other(location, [set_cookie(self.parts, SAID, word)] if word else [])

    async def begin(self, proof: Proof) -> tuple[bytes, bytes]:
        """The cookie of a new session for who has proved who they are. The one before ends."""
        token, _ = await open_session(self.parts, proof, PAGE_SESSION_KIND, self.request)
        await self.end()
        return set_cookie(self.parts, SESSION, token)

    async def renew(self) -> tuple[bytes, bytes]:
        """The cookie of a new session for who has just ended all of theirs, and had proved who they are to do so."""
        token, actor = make_token(PAGE_SESSION_KIND, self.parts.entropy(32)), f"person {self.person}"
        agent, hashed = agent_of(self.request), token_hash(token.encode())
        opened = await self.parts.engine.submit(OpenSession(hashed, self.person, self.who.account, actor, agent))
        if type(opened) is Refused:
            raise problem_of(opened)
        await self.parts.callers.poll()  # This process need not wait until it would look.
        return set_cookie(self.parts, SESSION, token)

    async def end(self) -> tuple[bytes, bytes]:
        """The session ends on the server, in all processes within a second; with the cookie the browser forgets it."""
        if self.caller is not None:
            await self.parts.engine.submit(CloseSession(self.session, f"person {self.caller.person}"))
            await self.parts.callers.poll()  # This process need not wait until it would look.
        return set_cookie(self.parts, SESSION, "")


async def visit_of(parts: Parts, request: Request) -> Visit:
    """Who looks, as the cookies say."""
    token = cookie(parts, request, SESSION).encode("latin-1")
    visitor, said = cookie(parts, request, VISIT), cookie(parts, request, SAID)
    return Visit(
        parts=parts,
        request=request,
        visitor=visitor if len(visitor) == 2 * _VISIT_BYTES else "",
        session=token_hash(token),
        caller=await parts.callers.of_cookie(token),
        said=said if _WORD.fullmatch(said) else "",
        cookies=[set_cookie(parts, SAID, "")] if said else [],
    )


Answer = Coroutine[None, None, Response]


def signed_in(handler: Callable[[Visit], Answer]) -> Callable[[Parts, Request], Answer]:
    """A page for whoever is signed in; everybody else is sent to sign in first."""

    @wraps(handler)
    async def answer(parts: Parts, request: Request) -> Response:
        visit = await visit_of(parts, request)
        return await handler(visit) if visit.caller is not None else see_other(SIGN_IN)

    return answer
