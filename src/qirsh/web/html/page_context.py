"""What the handler of a page works with: who is signed in, what was sent, how it is rendered, what was said before."""

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Final
from urllib.parse import urlencode

import msgspec

from qirsh.web.html.csrf import Csrf, csrf_of
from qirsh.web.html.flash import flash_about, flash_header, read_flash
from qirsh.web.html.forms import read_form
from qirsh.web.html.rendering import render_page, see_other
from qirsh.web.html.session import PageSession, session_of
from qirsh.web.http.authentication import Caller
from qirsh.web.http.context import Context
from qirsh.web.http.message import Headers, Request, Response

SIGN_IN: Final = "/sign-in"


class PageContext(msgspec.Struct, frozen=True):
    """One browser at one page."""

    context: Context
    request: Request
    session: PageSession
    csrf: Csrf
    flash: str  # From the last page.
    cookies: Headers = msgspec.field(default_factory=list)  # What the browser is to keep, whatever the answer is.

    @property
    def caller(self) -> Caller | None:
        """Who is signed in; None if nobody is."""
        return self.session.caller

    @property
    def is_idle(self) -> bool:
        """Whether who is signed in has to sign in again before money moves."""
        return self.session.is_idle

    @property
    def is_active(self) -> bool:
        """Whether somebody is signed in, and need not do so again."""
        return self.session.caller is not None and not self.session.is_idle

    @property
    def user(self) -> Caller:
        """Who is signed in, on a page that requires it."""
        assert self.session.caller is not None
        return self.session.caller

    @property
    def person(self) -> int:
        """The id of who is signed in."""
        assert self.user.person is not None, "a page's session without a person"
        return self.user.person

    @property
    def counted_as(self) -> str:
        """Under which name the tries of who is signed in are counted."""
        return f"person {self.person}"

    def form(self, purpose: str, *names: str, bound: tuple[str, ...] = ()) -> dict[str, str]:
        """The posted values of who is signed in, after a look at the CSRF token."""
        values = read_form(self.context, self.request, "token", *names)
        self.csrf.check(values.pop("token"), purpose, *bound)
        return values

    def open_form(self, purpose: str, *names: str, bound: tuple[str, ...] = ()) -> dict[str, str]:
        """The posted values of anybody, after a look at the CSRF token."""
        values = read_form(self.context, self.request, "token", *names)
        self.csrf.check_open(values.pop("token"), purpose, *bound)
        return values

    def flash_about(self, about: str) -> str:
        """What the last page has said about this: a short code, or nothing."""
        return flash_about(self.flash, about)

    def render(self, template: str, *, status: int = 200, form_origin: str = "", **values: object) -> Response:
        """The page for this browser, whose template can make tokens for its forms."""
        values |= {
            "csrf_token": self.csrf.token,
            "open_csrf_token": self.csrf.open_token,
            "is_signed_in": self.caller is not None,
        }
        made = render_page(
            self.context.site, self.request, template, status=status, headers=None, form_origin=form_origin, **values
        )
        # Only now is it known whether a form on the page needed a cookie.
        made.headers = [*self.csrf.cookies, *self.cookies]
        return made

    def redirect(self, location: str, flash: str = "") -> Response:
        """The next page, with a message for it: `about.code`."""
        return see_other(location, [*flash_header(self.context, flash), *self.cookies])

    def sign_in_again(self, location: str) -> Response:
        """For who was idle: the sign-in, which says so and leads to the page."""
        return see_other(_sign_in_before(location))


async def page_context_of(context: Context, request: Request) -> PageContext:
    """As the cookies say."""
    session = await session_of(context, request)
    flash, taken = read_flash(context, request)
    csrf = csrf_of(context, request, session)
    csrf.cookies += taken
    return PageContext(context, request, session, csrf, flash)


def _sign_in_first(request: Request) -> str:
    """The sign-in, which leads back to the page that was opened."""
    path = f"{request.path}?{request.query.decode('latin-1')}" if request.query else request.path
    return SIGN_IN if request.method == "POST" or path == "/wallet" else _sign_in_before(path)


def _sign_in_before(path: str) -> str:
    return f"{SIGN_IN}?{urlencode({'next': path})}"


Answer = Coroutine[None, None, Response]


def signed_in(handler: Callable[[PageContext], Answer]) -> Callable[[Context, Request], Answer]:
    """A page for who is signed in; everybody else is sent to sign in first."""

    @wraps(handler)
    async def answer(context: Context, request: Request) -> Response:
        page = await page_context_of(context, request)
        return await handler(page) if page.caller is not None else see_other(_sign_in_first(request))

    return answer
