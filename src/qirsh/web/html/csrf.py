"""CSRF tokens: a form counts only if it was made for this browser, this purpose and exactly what it is bound to.

A form of a signed-in person is tied to the session, so that it dies with it. A form that anybody may send, such
as the sign-in, is tied to a random cookie of the browser, which is given with the first page that has such a form.
"""

from typing import Final

import msgspec

from qirsh.web.html.cookies import VISITOR, cookie, set_cookie
from qirsh.web.html.session import PageSession
from qirsh.web.http.authentication import Caller
from qirsh.web.http.context import Context
from qirsh.web.http.message import Headers, Request
from qirsh.web.http.problems import Problem

_VISITOR_BYTES: Final = 16


class Csrf(msgspec.Struct):
    """The tokens of one browser at one page."""

    context: Context
    session: PageSession
    visitor: str  # The cookie that ties forms which anybody may send; empty until one is needed.
    cookies: Headers = []  # What the next page gives to the browser.

    def token(self, purpose: str, *bound: str) -> str:
        """For a form of the signed-in person, for this purpose and what else it is bound to."""
        assert self.session.caller is not None
        return self.context.keyring.form_token(purpose, self.session.hash.hex(), *bound)

    def open_token(self, purpose: str, *bound: str) -> str:
        """For a form that anybody may send."""
        if not self.visitor:
            self.visitor = self.context.entropy(_VISITOR_BYTES).hex()
            self.cookies.append(set_cookie(self.context, VISITOR, self.visitor))
        return self.context.keyring.form_token(purpose, self.visitor, *bound)

    def check(self, token: str, purpose: str, *bound: str) -> Caller:
        """Who is signed in, if the form was made for them and for exactly this."""
        if self.session.caller is None or not self.is_made_here(token, purpose, *bound):
            raise Problem("stale_form")
        return self.session.caller

    def check_open(self, token: str, purpose: str, *bound: str) -> None:
        """The same for a form that anybody may send: it was made for this browser."""
        if not self.is_made_open(token, purpose, *bound):
            raise Problem("stale_form")

    def is_made_open(self, token: str, purpose: str, *bound: str) -> bool:
        """Whether the token is that of `open_token` for the same."""
        return bool(self.visitor) and self.context.keyring.is_form_token(token, purpose, self.visitor, *bound)

    def is_made_here(self, token: str, purpose: str, *bound: str) -> bool:
        """Whether the token is that of `token` for the same."""
        return self.context.keyring.is_form_token(token, purpose, self.session.hash.hex(), *bound)


def csrf_of(context: Context, request: Request, session: PageSession) -> Csrf:
    """As the cookie says. Anybody can write one of another length."""
    visitor = cookie(context, request, VISITOR)
    return Csrf(context, session, visitor if len(visitor) == 2 * _VISITOR_BYTES else "")
