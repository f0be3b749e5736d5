"""How operators help, or keep out, who signs in as a person. To remove second factors takes two of them."""

from typing import Final

from qirsh.domain import limits
from qirsh.domain.commands.access import ACCESS_CHANGES, AccessChange, ChangeAccess, RemoveFactors
from qirsh.domain.operator_role import OperatorRight
from qirsh.domain.person import Login
from qirsh.domain.tables import Tables
from qirsh.store.reads.people import EMAIL_OF
from qirsh.web.auth.outgoing_mail import letters_to_person
from qirsh.web.http.context import Context
from qirsh.web.operator.action import Action, ActionRefused, Actor, Handler, Params, email_address, submit, word_text
from qirsh.web.operator.proposal_actions import ask

_LETTERS: Final[dict[AccessChange, str]] = {
    "sign-out": "access_signed_out",
    "block": "access_blocked",
    "unblock": "access_unblocked",
}


def change_access(change: AccessChange) -> Handler:
    """The act that does it, at once."""

    async def act(context: Context, actor: Actor, params: Params) -> Params:
        reason = word_text(params, "reason", limits.NOTE_CHARACTERS_MAX)
        login = await _login(context, params)
        command = ChangeAccess(
            email=login.email,
            change=change,
            reason=reason,
            operator=actor.id,
            actor=actor.name,
            letters=await letters_to_person(context, login.person, _LETTERS[change]),
        )
        await submit(context, command)
        await context.callers.poll()  # This process need not wait until it would look.
        return {"email": login.email, "state": "done"}

    return act


async def remove_factors(context: Context, actor: Actor, params: Params) -> Params:
    """Nothing changes until another operator has agreed."""
    login = await _login(context, params)
    return await ask(context, actor, params, RemoveFactors(login.email, login.person))


ACCESS_ACTIONS: Final[dict[str, Action]] = {
    **{
        f"access {change}": Action(
            change_access(change), OperatorRight.RESUME if change == "unblock" else OperatorRight.RESTRICT
        )
        for change in ACCESS_CHANGES
    },
    "access remove-factors": Action(remove_factors, OperatorRight.ASK_HELP),
}


async def _login(context: Context, params: Params) -> Login:
    """Of whom the command line names by their address, and a page of the console by their number."""
    email = await _address(context, params["person"]) if "person" in params else email_address(params)
    login = await context.store.find(Tables.logins, email)
    if login is None:
        raise ActionRefused("not_found", "No person has this e-mail address.")
    return login


async def _address(context: Context, person: object) -> str:
    is_number = type(person) is str and person.isascii() and person.isdigit() and len(person) < 19  # noqa: PLR2004 - of 64 bits
    rows = await context.store.select(EMAIL_OF, int(str(person))) if is_number else []
    if not rows:
        raise ActionRefused("not_found", "This person is not there, or has deleted their account.")
    email: str = rows[0][0]
    return email
