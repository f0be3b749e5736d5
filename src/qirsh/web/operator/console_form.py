"""A form of the console is an operator action: one check and one refusal for pages and command line."""

from collections.abc import Callable, Coroutine
from typing import Final

import msgspec

from qirsh.domain.commands.session import UseLoginCode
from qirsh.domain.limits import BODY_BYTES_MAX, FORM_BYTES_MAX
from qirsh.domain.refusal import Refused
from qirsh.domain.tables import Tables
from qirsh.engine.batcher import Overloaded
from qirsh.language.catalog import mark as _
from qirsh.store.interface import OutcomeUnknown, StoreUnavailable
from qirsh.store.reads.people import EMAIL_OF
from qirsh.web.auth.credentials import authenticate_second_factor
from qirsh.web.html.forms import read_form
from qirsh.web.html.input_text import without_marks
from qirsh.web.html.rendering import render_page
from qirsh.web.http.context import Context
from qirsh.web.http.message import Request, Response
from qirsh.web.http.problems import PROBLEM_TYPES
from qirsh.web.http.route import Route
from qirsh.web.operator.action import REQUIRED, ActionRefused, Params
from qirsh.web.operator.actions import ACTIONS
from qirsh.web.operator.console_page import ConsolePage, console_page

# Gives the page again with what was typed, and what was wrong with it.
Again = Callable[[ConsolePage, Params, ActionRefused], Coroutine[None, None, Response]]
Done = Callable[[ConsolePage, Params], str | Response]  # Where to go when it is done, or what is answered at once.
First = Callable[[Context, Params], Coroutine[None, None, object]]
Shows = Callable[[ConsolePage, Params, Params], Coroutine[None, None, Response]]
WRONG_CODE: Final = "wrong_code"
_WRONG_CODE_MAILS: Final = ("wrong_codes_at_console", "password_spent_at_console")
_KEY: Final = "key"  # One form, one deed: what a form makes is named by it.


class ConsoleForm(Route, frozen=True):
    """The route of a form, which knows its action."""

    action: str = ""
    takes_code: bool = False


async def _nothing(_context: Context, _params: Params) -> None:
    pass


def console_form(
    path: str,
    action: str,
    fields: tuple[str, ...],
    *,
    again: Again,
    done: Done,
    takes_code: bool = False,
    shaped: Callable[[Params], Params] = lambda form: form,
    file: str = "",
    shows: Shows | None = None,
    bytes_max: int = FORM_BYTES_MAX,
    needs: tuple[str, ...] = (),
    first: First = _nothing,
) -> ConsoleForm:
    """The POST of a form whose fields are the action's parameters, bound to what stands in its address.

    `takes_code`: a code of this moment is asked for, however long ago the operator has signed in.
    `shaped`: makes one parameter of fields that belong together.
    `file`: one more parameter, which the browser sends as a file. `shows`: the page of what came out, which is no deed.
    `needs`: what must be given here, also where the command line may leave it out.
    `first`: refuses what no code would change, before one is judged and used up.
    """
    names = (*fields, _KEY, "code") if takes_code else (*fields, _KEY)

    async def handle(page: ConsolePage) -> Response:
        arguments = page.request.arguments
        bound = tuple(arguments.values())
        if file:
            form = page.form_with_file(action, *names, file=file, bound=bound)
        else:
            form = page.form(action, *names, bound=bound, bytes_max=bytes_max)
        params: Params = shaped({**arguments, **form})
        try:
            _check_given(params, needs)
            await first(page.context, params)
            if takes_code:
                await _check_code(page, params.pop("code"))
            result = await ACTIONS[action].run(page.context, page.actor, params)
        except ActionRefused as refused:
            return await again(page, params, refused)
        if shows is not None:
            return await shows(page, params, result)
        return _ended(page, action, done(page, result))

    route = console_page(
        "POST", path, handle, right=ACTIONS[action].right, body_bytes_max=max(BODY_BYTES_MAX, bytes_max)
    )

    async def answer(context: Context, request: Request) -> Response:
        try:
            return await route.handler(context, request)
        except (StoreUnavailable, Overloaded):
            if file:  # A browser sends a file only from its own field.
                raise
            return _send_again(context, request, names, "unavailable", bytes_max)
        except OutcomeUnknown:
            return _send_again(context, request, names, "outcome_unknown", bytes_max)

    return ConsoleForm(**{**msgspec.structs.asdict(route), "handler": answer}, action=action, takes_code=takes_code)


def _ended(page: ConsolePage, action: str, ended: str | Response) -> Response:
    return ended if isinstance(ended, Response) else page.redirect(ended, f"{action.replace(' ', '-')}.done")


def refused_status(refused: ActionRefused) -> int:
    """Of the page that is shown again."""
    known = PROBLEM_TYPES.get(refused.code)
    return 422 if known is None or refused.code == "not_found" else known.status


def field_faults(page: ConsolePage, refused: ActionRefused | None) -> dict[str, str]:
    """What is told beside a field, by its name; under no name, what is told above the form."""
    if refused is None:
        return {}
    return {refused.field: refused.told(page.request.language)}


def _send_again(context: Context, request: Request, names: tuple[str, ...], why: str, bytes_max: int) -> Response:
    """Nothing that was typed is lost: the form waits on the page, to be sent once more."""
    typed = read_form(context, request, "token", *names, bytes_max=bytes_max)
    return render_page(
        context.site,
        request,
        "operator/send_again.html",
        status=503,
        headers=[(b"retry-after", b"5")],
        why=why,
        action=request.path,
        typed={name: value for name, value in typed.items() if value and name != "code"},
        takes_code="code" in typed,
    )


def _check_given(params: Params, needs: tuple[str, ...]) -> None:
    for name in needs:
        if not without_marks(params[name]).strip():
            raise ActionRefused("invalid", REQUIRED, field=name)


async def _check_code(page: ConsolePage, code: str) -> None:
    """A code works once, and not at the sign-in and here. A wrong one counts as it does there."""
    store, person = page.context.store, page.operator.person
    [(email,)] = await store.select(EMAIL_OF, person)
    login = await store.find(Tables.logins, email)
    verified = None
    if login is not None and login.totp_sealed is not None and code.strip():
        verified = await authenticate_second_factor(
            page.context, page.request, login, code, known=f"person {person}", mails=_WRONG_CODE_MAILS
        )
    if verified is not None:
        used = UseLoginCode(person, email, verified.login.password_hash, verified.totp_step, verified.recovery_hash)
        if type(await page.context.engine.submit(used)) is not Refused:
            return
    raise ActionRefused(WRONG_CODE, _("is wrong, or was used already; wait for the next one"), field="code")
