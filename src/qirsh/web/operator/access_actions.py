"""How operators help, or keep out, who signs in as a person.

To set a PIN or second factors back takes two of them, and a day in which the person can stop it.
"""

from typing import Final

from qirsh.contract.timestamps import timestamp
from qirsh.domain.commands.access import (
    ACCESS_CHANGES,
    AccessChange,
    ChangeAccess,
    KeepSecret,
    RemoveFactors,
    RemoveOperatorFactors,
    ResetPin,
)
from qirsh.domain.operator_role import OperatorRight
from qirsh.domain.pending_reset import WHATS
from qirsh.domain.person import Login
from qirsh.domain.tables import Tables
from qirsh.language.catalog import mark as _
from qirsh.store.reads.pending_resets import waiting_resets
from qirsh.store.reads.people import EMAIL_OF
from qirsh.web.auth.outgoing_mail import letters_to_person
from qirsh.web.http.context import Context
from qirsh.web.operator.action import (
    ONE_OF,
    Action,
    ActionRefused,
    Actor,
    Handler,
    Params,
    email_address,
    number_in,
    reason_of,
    submit,
    word_text,
)
from qirsh.web.operator.proposal_actions import ask

_LETTERS: Final[dict[AccessChange, str]] = {
    "sign-out": "access_signed_out",
    "block": "access_blocked",
    "unblock": "access_unblocked",
}


def change_access(change: AccessChange) -> Handler:
    """The act that does it, at once."""

    async def act(context: Context, actor: Actor, params: Params) -> Params:
        reason = reason_of(params)
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
    """Nothing changes until another operator has agreed, and a day has passed."""
    login = await _login(context, params)
    return await ask(context, actor, params, RemoveFactors(login.email, login.person))


async def reset_pin(context: Context, actor: Actor, params: Params) -> Params:
    """The same of a PIN: the person sets a new one, which no operator sees."""
    return await ask(context, actor, params, ResetPin((await _login(context, params)).person))


async def remove_operator_factors(context: Context, actor: Actor, params: Params) -> Params:
    """Of an operator who has lost theirs: another admin agrees, and it is done at once."""
    login = await _login(context, params)
    return await ask(context, actor, params, RemoveOperatorFactors(login.email, login.person))


async def keep_access(context: Context, actor: Actor, params: Params) -> Params:
    """What waits for its day is stopped: the PIN or the second factors stay, or both where none is named."""
    reason = reason_of(params)
    named = word_text(params, "what", 20, default="")
    if named not in {"", *WHATS}:
        raise ActionRefused("invalid", ONE_OF, field="what", known=", ".join(WHATS))
    login = await _login(context, params)
    found = [reset for reset in await waiting_resets(context.store, login.person) if named in {"", reset.what}]
    if not found:
        raise ActionRefused("not_found", _("Nothing waits to be reset for this person."))
    letters = await letters_to_person(context, login.person, "reset_stopped")
    for reset in found:
        command = KeepSecret(login.person, reset.what, actor.name, reason, actor.id, letters)
        await submit(context, command, OperatorRight.RESTRICT)
        letters = ()  # One tells of both.
    return {"person": login.person, "kept": " ".join(reset.what for reset in found), "state": "done"}


async def list_resets(context: Context, _actor: Actor, params: Params) -> Params:
    """What is to be set back for a person, and when."""
    login = await _login(context, params)
    found = await waiting_resets(context.store, login.person)
    items = [{"what": one.what, "dueAt": timestamp(one.due_at), "proposal": one.proposal} for one in found]
    return {"person": login.person, "items": items}


ACCESS_ACTIONS: Final[dict[str, Action]] = {
    **{
        f"access {change}": Action(
            change_access(change), OperatorRight.RESUME if change == "unblock" else OperatorRight.RESTRICT
        )
        for change in ACCESS_CHANGES
    },
    "access remove-factors": Action(remove_factors, OperatorRight.ASK_HELP),
    "access reset-pin": Action(reset_pin, OperatorRight.ASK_HELP),
    "access keep": Action(keep_access, OperatorRight.RESTRICT),
    "access resets": Action(list_resets, OperatorRight.LOOK),
    "operator remove-factors": Action(remove_operator_factors, OperatorRight.ASK_SETUP),
}


async def _login(context: Context, params: Params) -> Login:
    """By the address, or by the person's number where the operator may not see addresses."""
    is_by_number = bool(params.get("person")) and not params.get("email")
    email = await _address(context, params["person"]) if is_by_number else email_address(params)
    login = await context.store.find(Tables.logins, email)
    if login is None:
        raise ActionRefused("not_found", _("No person has this e-mail address."))
    return login


async def _address(context: Context, person: object) -> str:
    number = number_in(person)
    rows = [] if number is None else await context.store.select(EMAIL_OF, number)
    if not rows:
        raise ActionRefused("not_found", _("This person is not there, or has deleted their account."))
    email: str = rows[0][0]
    return email
