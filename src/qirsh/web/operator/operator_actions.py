"""How operators begin, get other roles and end: the first alone, others by a link that only the new one reads."""

from typing import Final

from qirsh.contract.timestamps import timestamp
from qirsh.domain import limits
from qirsh.domain.commands.operator import (
    AppointOperator,
    ChangeRoles,
    EndOperator,
    MakeOperator,
    WithdrawAppointment,
)
from qirsh.domain.operator_role import OperatorRight
from qirsh.domain.person import Person
from qirsh.domain.refusal import Refusal
from qirsh.domain.tables import Tables
from qirsh.language.catalog import mark as _
from qirsh.store.reads import people as people_queries
from qirsh.web.auth.credentials import authenticate
from qirsh.web.auth.totp import new_seed, seal_seed, setup_uri
from qirsh.web.http.context import Context
from qirsh.web.operator.action import (
    Action,
    ActionRefused,
    Actor,
    Params,
    added_person,
    chosen_roles,
    email_address,
    submit,
    word_text,
)
from qirsh.web.operator.proposal_actions import ask


async def create_operator(context: Context, actor: Actor, params: Params) -> Params:
    """The first operator, at once; every other one is asked for."""
    if actor.person is None:
        return await _first(context, actor, params)
    command = AppointOperator(
        email_address(params), word_text(params, "name", limits.NAME_CHARACTERS_MAX), chosen_roles(params)
    )
    return await ask(context, actor, params, command)


async def change_roles(context: Context, actor: Actor, params: Params) -> Params:
    """Other roles for an operator."""
    return await ask(context, actor, params, ChangeRoles(await _operator(context, params), chosen_roles(params)))


async def end_operator(context: Context, actor: Actor, params: Params) -> Params:
    """A person is to be an operator no longer; or was to become one, and shall not."""
    email = email_address(params)
    if await context.store.find(Tables.appointments, email) is not None:
        await submit(context, WithdrawAppointment(email, actor.id, actor.name))
        return {"email": email, "state": "taken back"}
    return await ask(context, actor, params, EndOperator(await _operator(context, params)))


async def list_operators(context: Context, _actor: Actor, _words: Params) -> Params:
    """All that there are and were, and those who have a link."""
    rows = await context.store.select(people_queries.OPERATORS_LISTED, limits.OPERATORS_LISTED_MAX)
    known = {person: email or f"operator {person}" for email, *_, person, _roles in rows}
    operators = [
        {
            "email": email,
            "name": name,
            "roles": roles,
            "state": _state(account_state, ended_at),
            "since": timestamp(created_at),
            "appointedBy": _makers(known, asked_by, confirmed_by),
        }
        for email, name, account_state, created_at, asked_by, confirmed_by, ended_at, _, roles in rows
    ]
    found = await context.store.select(people_queries.APPOINTMENTS, limits.OPERATORS_LISTED_MAX)
    appointments = [
        {
            "email": email,
            "name": name,
            "roles": roles,
            "state": await _link_state(context, email),
            "since": timestamp(asked_at),
            "appointedBy": _makers(known, asked_by, decided_by),
        }
        for email, name, roles, asked_by, decided_by, asked_at in found
    ]
    return {"operators": operators, "appointments": appointments}


OPERATOR_ACTIONS: Final[dict[str, Action]] = {
    "operator create": Action(create_operator, OperatorRight.ASK_SETUP),
    "operator roles": Action(change_roles, OperatorRight.ASK_SETUP),
    "operator end": Action(end_operator, OperatorRight.ASK_SETUP),
    "operator list": Action(list_operators, OperatorRight.ASK_SETUP),
}


async def _first(context: Context, actor: Actor, params: Params) -> Params:
    email, roles = email_address(params), chosen_roles(params)
    if "admin" not in roles.split():
        raise ActionRefused("invalid", _("the first operator must be an admin, who appoints the others"), field="roles")
    try:
        person = await added_person(context, actor, params)
    except ActionRefused as error:
        # An earlier try may have ended between the two commits: with the password it may be continued.
        known = await authenticate(context, email=email, password=word_text(params, "password", 1024), code=None)
        found: Person | None = (
            await context.store.find(Tables.people, known.login.person)
            if known and error.code == "email_taken"
            else None
        )
        if found is None:
            raise
        person = found
    seed = new_seed(context.entropy)
    try:
        await submit(context, MakeOperator(email, seal_seed(context.keyring, seed, email), roles, actor.name))
    except ActionRefused as error:
        if error.code != Refusal.SECOND_OPERATOR_NEEDED.value:
            raise
        message = (
            "Somebody else was made the first operator a moment before, and appoints the others."
            " %(email)s is a customer now: be appointed with another address."
        )
        raise ActionRefused("has_operators", message, email=email) from error
    return {"person": person.id, "account": str(person.account), "totpSecret": seed, "totpUri": setup_uri(seed, email)}


async def _operator(context: Context, params: Params) -> int:
    login = await context.store.find(Tables.logins, email_address(params))
    if login is None:
        raise ActionRefused("not_found", _("No operator has this e-mail address: `qirsh operator list` shows them."))
    return login.person


def _state(account_state: str, ended_at: int | None) -> str:
    if ended_at is not None:
        return "ended"
    return account_state if account_state in {"suspended", "closed"} else "acting"


async def _link_state(context: Context, email: str) -> str:
    challenge = await context.store.find(Tables.challenges, ("operator", email))
    return "link mailed" if challenge is not None and challenge.expires_at > context.clock() else "link too old"


def _makers(known: dict[int, str], *people: int | None) -> str:
    return ", ".join(known.get(person, f"operator {person}") for person in people if person is not None)
