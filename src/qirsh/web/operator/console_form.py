"""A form of the console is an operator action: one check, one refusal and one audit entry for pages and command line."""

from collections.abc import Callable, Coroutine
from typing import Any, Final

from qirsh.domain.commands.session import UseLoginCode
from qirsh.domain.refusal import Refused
from qirsh.domain.tables import Tables
from qirsh.store.reads.people import EMAIL_OF
from qirsh.web.auth.credentials import second_factor
from qirsh.web.http.message import Response
from qirsh.web.http.route import Route
from qirsh.web.operator.action import ActionRefused, Params
from qirsh.web.operator.actions import ACTIONS
from qirsh.web.operator.console_page import ConsolePage, console_page

# Gives the page again with what was typed, and what was wrong with it.
Again = Callable[[ConsolePage, Params, ActionRefused], Coroutine[None, None, Response]]
Done = Callable[[ConsolePage, Params], str]  # Where to go when it is done.
WRONG_CODE: Final = "wrong_code"


def console_form(
    path: str, action: str, fields: tuple[str, ...], *, again: Again, done: Done, takes_code: bool = False
) -> Route:
    """The POST of a form whose fields are the action's parameters, bound to what stands in its address.

    `takes_code`: a code of this moment is asked for, however long ago the operator has signed in.
    """

    async def handle(page: ConsolePage) -> Response:
        arguments = page.request.arguments
        names = (*fields, "code") if takes_code else fields
        form = page.form(action, *names, bound=tuple(arguments.values()))
        params: Params = {**arguments, **form}
        try:
            if takes_code:
                await _check_code(page, params.pop("code"))
            result = await ACTIONS[action].run(page.context, page.actor, params)
        except ActionRefused as refused:
            return await again(page, params, refused)
        return page.redirect(done(page, result), f"{action.replace(' ', '-')}.done")

    return console_page("POST", path, handle, right=ACTIONS[action].right)


async def _check_code(page: ConsolePage, code: str) -> None:
    """A code works once, and not at the sign-in and here."""
    store, person = page.context.store, page.operator.person
    if page.context.limits is not None:
        page.context.limits.count_code(page.request, "operator", f"person {person}")
    [(email,)] = await store.select(EMAIL_OF, person)
    login = await store.find(Tables.logins, email)
    verified = None
    if login is not None and login.totp_sealed is not None and code.strip():
        verified = await second_factor(page.context, login, code)
    if verified is not None:
        used = UseLoginCode(
            person, email, verified.login.password_hash, verified.totp_step, verified.recovery_hash
        )
        if type(await page.context.engine.submit(used)) is not Refused:
            return
    raise ActionRefused(WRONG_CODE, "code: is wrong, or was used already; wait for the next one")


def field_faults(refused: ActionRefused | None) -> dict[str, str]:
    """What is told beside a field, by its name; under no name, what is told above the form."""
    if refused is None:
        return {}
    name, separator, told = refused.detail.partition(": ")
    is_of_field = bool(separator) and refused.code in {"invalid", WRONG_CODE} and name.isidentifier()
    return {name: told} if is_of_field else {"": refused.detail}


Shown = dict[str, Any]
