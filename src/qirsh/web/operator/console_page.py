"""Pages of the operator console: each names the right that it takes, and is shown to who has it."""

from base64 import urlsafe_b64encode
from collections.abc import Callable, Coroutine
from typing import Final

import msgspec

from qirsh.domain.limits import BODY_BYTES_MAX, FORM_BYTES_MAX
from qirsh.domain.operator_role import OperatorRight, may
from qirsh.domain.tables import Tables
from qirsh.store.reads.operator_sessions import SignedInOperator
from qirsh.store.reads.recoveries import UnreadRecovery, unread_recovery
from qirsh.web.html.flash import flash_about, flash_header, read_flash
from qirsh.web.html.forms import read_form
from qirsh.web.html.multipart import read_multipart
from qirsh.web.html.page_query import read_query, unreadable
from qirsh.web.html.rendering import render_page, see_other
from qirsh.web.http.context import Context
from qirsh.web.http.message import Headers, Request, Response
from qirsh.web.http.problems import Problem
from qirsh.web.http.route import Handler, Route
from qirsh.web.operator.action import Actor, number_in
from qirsh.web.operator.console_session import ConsoleSession, console_session_of

_FILE_NAME_CHARACTERS: Final = 100
CONSOLE_SIGN_IN: Final = "/operator/sign-in"
Answer = Coroutine[None, None, Response]


class ConsolePage(msgspec.Struct, frozen=True):
    """One operator at one page."""

    context: Context
    request: Request
    session: ConsoleSession
    operator: SignedInOperator
    flash: str  # From the last page.
    cookies: Headers
    recovery: UnreadRecovery | None = None  # Told on every page until an admin has read it.

    @property
    def actor(self) -> Actor:
        """As actions and audit entries know them."""
        return Actor(self.operator.person, "console")

    async def name_of(self, person: int | None) -> str:
        """Empty for nobody, and for who has no name any more."""
        found = None if person is None else await self.context.store.find(Tables.people, person)
        return "" if found is None else found.name

    def place(self) -> tuple[int, str]:
        """After which one a list goes on that begins with the oldest, as the address has it."""
        asked = read_query(self.request, "at", "after")
        at = number_in(asked["at"]) if asked["at"] else -1
        if at is None:
            raise unreadable("at")
        return at, asked["after"]

    def may(self, right: str) -> bool:
        """Whether one of their roles has the right."""
        return may(self.operator.roles, OperatorRight(right))

    def token(self, purpose: str, *bound: str) -> str:
        """For a form of this operator, for this purpose and what else it is bound to."""
        return self.context.keyring.form_token(purpose, self.session.hash.hex(), *bound)

    def form(
        self, purpose: str, *names: str, bound: tuple[str, ...] = (), bytes_max: int = FORM_BYTES_MAX
    ) -> dict[str, str]:
        """The posted values, after a look at the token."""
        values = read_form(self.context, self.request, "token", *names, bytes_max=bytes_max)
        return self._checked(values, purpose, bound)

    def form_with_file(self, purpose: str, *names: str, file: str, bound: tuple[str, ...] = ()) -> dict[str, str]:
        """The same of a form with a file, whose bytes come as an action takes them, and its name as `name`."""
        if not self.request.body:
            raise Problem("stale_form")
        sent = read_multipart(self.context, self.request, ("token", *names), (file,))
        values = self._checked(sent.texts, purpose, bound)
        found = sent.files.get(file)
        if found is None:
            return {**values, file: "", "name": ""}
        shown = "".join(sign for sign in found.name.replace("\\", "/").rpartition("/")[2] if sign.isprintable())
        return {**values, file: urlsafe_b64encode(found.data).decode(), "name": shown[:_FILE_NAME_CHARACTERS] or file}

    def _checked(self, values: dict[str, str], purpose: str, bound: tuple[str, ...]) -> dict[str, str]:
        given = values.pop("token")
        if not self.context.keyring.is_form_token(given, purpose, self.session.hash.hex(), *bound):
            raise Problem("stale_form")
        return values

    def flash_about(self, about: str) -> str:
        """What the last page has said about this."""
        return flash_about(self.flash, about)

    def render(self, template: str, *, status: int = 200, **values: object) -> Response:
        """The page, which knows its operator."""
        values |= {
            "csrf_token": self.token,
            "form_key": lambda: self.context.entropy(9).hex(),
            "operator": self.operator,
            "may": self.may,
            "said": self.flash,
            "recovery": self.recovery,
            "money_stop": self.context.engine.money_stop,
        }
        return render_page(
            self.context.site, self.request, template, status=status, headers=[*self.cookies], form_origin="", **values
        )

    def redirect(self, location: str, flash: str = "") -> Response:
        """The next page, with a message for it: `about.code`."""
        return see_other(location, [*flash_header(self.context, flash), *self.cookies])


def console_page(
    method: str,
    path: str,
    handler: Callable[[ConsolePage], Answer],
    *,
    right: OperatorRight,
    body_bytes_max: int = BODY_BYTES_MAX,
) -> Route:
    """A page below `/operator`."""
    return Route(
        method,
        f"/operator{path}",
        _for_operator(handler, right),
        token=None,
        is_page=True,
        right=right,
        body_bytes_max=body_bytes_max,
    )


def _for_operator(handler: Callable[[ConsolePage], Answer], right: OperatorRight) -> Handler:
    async def answer(context: Context, request: Request) -> Response:
        session = await console_session_of(context, request)
        if session.operator is None:
            # Who was here a while ago is sent to the door; to everybody else there is no such page.
            if session.is_over or request.path == "/operator":
                return see_other(CONSOLE_SIGN_IN)
            raise Problem("not_found")
        if not may(session.operator.roles, right):
            problem = Problem("missing_right", detail=f"None of your roles has the right {right}.")
            problem.named = (session.operator.roles, right)
            raise problem
        flash, taken = read_flash(context, request)
        page = ConsolePage(
            context=context,
            request=request,
            session=session,
            operator=session.operator,
            flash=flash,
            cookies=[*taken, *session.cookies],
            recovery=await unread_recovery(context.store),
        )
        return await handler(page)

    return answer
