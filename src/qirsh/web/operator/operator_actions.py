"""How operators are made and ended: the first alone, the others by a link that only the new one reads."""

from typing import Final

from qirsh.contract.timestamps import timestamp
from qirsh.domain import limits
from qirsh.domain.api_key import token_hash
from qirsh.domain.commands.operator import (
    AppointOperator,
    ConfirmOperator,
    MakeOperator,
    RequestOperatorEnd,
    WithdrawAppointment,
)
from qirsh.domain.mail import Letter
from qirsh.domain.operator import OperatorProposal
from qirsh.domain.person import Person
from qirsh.domain.tables import Tables
from qirsh.store.reads import people as people_queries
from qirsh.web.auth.credentials import authenticate
from qirsh.web.auth.email_challenge import new_link_token
from qirsh.web.auth.outgoing_mail import letters, letters_to_operators
from qirsh.web.auth.totp import new_seed, seal_seed, setup_uri
from qirsh.web.http.context import Context
from qirsh.web.operator.action import (
    Action,
    ActionRefused,
    Actor,
    Params,
    added_person,
    email_address,
    submit,
    word_text,
)


async def create_operator(context: Context, actor: Actor, params: Params) -> Params:
    """The first operator, at once; every other one is asked for."""
    return await (_first(context, actor, params) if actor.person is None else _appoint(context, actor, params))


async def confirm_operator(context: Context, actor: Actor, params: Params) -> Params:
    """A second operator agrees to what was asked for under an address."""
    email = email_address(params)
    proposal = await context.store.find(Tables.operator_proposals, email)
    if proposal is None:
        raise ActionRefused(
            "not_found", "Nothing was requested for this address: `qirsh operator list` shows what was."
        )
    token = ""
    link: tuple[Letter, ...] = ()
    facts: tuple[Letter, ...] = ()
    if proposal.kind == "appoint":
        _check_mail(context)
        token, link = await _link(context, actor, email)
    else:
        facts = await letters_to_operators(context, "operator_ended", name=proposal.name, new_email=email)
    command = ConfirmOperator(
        email=email,
        kind=proposal.kind,
        asked_by=proposal.asked_by,
        operator=actor.id,
        actor=actor.name,
        token_hash=token_hash(token.encode()),
        link=link,
        letters=facts,
    )
    confirmed: OperatorProposal = await submit(context, command)
    if confirmed.kind == "appoint":
        return _told(confirmed, "link mailed")
    await context.callers.poll()  # This process need not wait until it would look.
    return _told(confirmed, "ended")


async def end_operator(context: Context, actor: Actor, params: Params) -> Params:
    """A person is to be an operator no longer, which another confirms; or was to become one, and shall not."""
    email, by = email_address(params), await _name(context, actor)
    proposal = await context.store.find(Tables.operator_proposals, email)
    if proposal is not None and proposal.kind == "appoint":
        withdrawn: OperatorProposal = await submit(context, WithdrawAppointment(email, actor.id, actor.name))
        return _told(withdrawn, "taken back")
    facts = await letters_to_operators(context, "operator_end_asked", by=by, new_email=email)
    asked: OperatorProposal = await submit(context, RequestOperatorEnd(email, actor.id, actor.name, facts))
    return _told(asked, "end asked")


async def list_operators(context: Context, _actor: Actor, _words: Params) -> Params:
    """All that there are and were, and what is asked for."""
    rows = await context.store.select(people_queries.OPERATORS_LISTED, limits.OPERATORS_LISTED_MAX)
    known = {person: email or f"operator {person}" for email, *_, person in rows}
    operators = [
        {
            "email": email,
            "name": name,
            "state": _state(account_state, ended_at),
            "since": timestamp(created_at),
            "appointedBy": _makers(known, asked_by, confirmed_by),
        }
        for email, name, account_state, created_at, asked_by, confirmed_by, ended_at, _ in rows
    ]
    found = await context.store.select(people_queries.OPERATOR_PROPOSALS, limits.OPERATORS_LISTED_MAX)
    proposals = [
        {
            "email": proposal.email,
            "name": proposal.name,
            "state": await _proposed(context, proposal),
            "since": timestamp(proposal.asked_at),
            "appointedBy": _makers(known, proposal.asked_by, proposal.confirmed_by),
        }
        for proposal in (OperatorProposal(*row) for row in found)
    ]
    return {"operators": operators, "proposals": proposals}


OPERATOR_ACTIONS: Final[dict[str, Action]] = {
    "operator create": create_operator,
    "operator confirm": confirm_operator,
    "operator end": end_operator,
    "operator list": list_operators,
}


async def _first(context: Context, actor: Actor, params: Params) -> Params:
    email = email_address(params)
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
    await submit(context, MakeOperator(email, seal_seed(context.keyring, seed, email), actor.name))
    return {"person": person.id, "account": str(person.account), "totpSecret": seed, "totpUri": setup_uri(seed, email)}


async def _appoint(context: Context, actor: Actor, params: Params) -> Params:
    _check_mail(context)
    email, name = email_address(params), word_text(params, "name", limits.NAME_CHARACTERS_MAX)
    token, link = await _link(context, actor, email)
    facts = await letters_to_operators(
        context, "operator_asked", by=await _name(context, actor), name=name, new_email=email
    )
    command = AppointOperator(
        email=email,
        name=name,
        operator=actor.id,
        actor=actor.name,
        token_hash=token_hash(token.encode()),
        link=link,
        letters=facts,
    )
    asked: OperatorProposal = await submit(context, command)
    return _told(asked, await _proposed(context, asked))


async def _link(context: Context, actor: Actor, email: str) -> tuple[str, tuple[Letter, ...]]:
    """What the new one will open. Nobody else is told of it: the token is in the sealed letter alone."""
    token = new_link_token(context, "operator", email, None)
    person = await context.store.find(Tables.people, actor.id)
    assert person is not None, "an operator who is nobody"
    url = f"{context.base_url}/operator/{token}"
    # Their own language is not known yet; most likely it is that of the operator who asks them.
    return token, letters(context, "operator_link", to=email, language=person.language, by=person.name, url=url)


def _check_mail(context: Context) -> None:
    if not context.has_mail:
        raise ActionRefused(
            "no_mail",
            "A new operator gets a link by mail, and this service sends none: set QIRSH_SMTP_URL and QIRSH_MAIL_FROM.",
        )


async def _name(context: Context, actor: Actor) -> str:
    person = await context.store.find(Tables.people, actor.id)
    return "" if person is None else person.name


def _told(proposal: OperatorProposal, state: str) -> Params:
    return {"email": proposal.email, "name": proposal.name, "state": state}


def _state(account_state: str, ended_at: int | None) -> str:
    if ended_at is not None:
        return "ended"
    return account_state if account_state in {"suspended", "closed"} else "acting"


async def _proposed(context: Context, proposal: OperatorProposal) -> str:
    if proposal.kind == "end":
        return "end asked"
    challenge = await context.store.find(Tables.challenges, ("operator", proposal.email))
    if challenge is None:
        return "asked"
    return "link mailed" if challenge.expires_at > context.clock() else "link too old"


def _makers(known: dict[int, str], *people: int | None) -> str:
    return ", ".join(known.get(person, f"operator {person}") for person in people if person is not None)
