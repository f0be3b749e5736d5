"""What a proposal is about, in words: whom, where to, from what to what. Who confirms must see all of it."""

import msgspec

from qirsh.domain.commands.bank_order import BookBankTransfer
from qirsh.domain.commands.operator import AppointOperator, ChangeRoles
from qirsh.domain.commands.proposal import ProposedCommand, decoded
from qirsh.domain.proposal import Proposal
from qirsh.domain.tables import Tables
from qirsh.engine.bank_details import BankDetails, unsealed
from qirsh.store.reads.people import EMAIL_OF
from qirsh.web.http.context import Context
from qirsh.web.operator.action import Params


class ProposalFacts(msgspec.Struct, frozen=True):
    """Beside what stands in the proposal itself; empty where it is about something else."""

    person: str = ""  # Whose access, roles or end it is about,
    email: str = ""  # and their address; that of a new operator too.
    roles_now: str = ""
    roles: str = ""  # Those that are asked for.
    payout: str = ""
    bank: BankDetails | None = None  # Where a payout goes.
    editors: tuple[str, ...] = ()  # Who has changed it since.


async def facts_of(context: Context, proposal: Proposal, *, sees_contacts: bool) -> ProposalFacts:
    """As it is now; an address is for who may see those."""
    facts = await _facts(context, proposal)
    return facts if sees_contacts else msgspec.structs.replace(facts, email="")


async def told_facts(context: Context, proposal: Proposal, *, sees_contacts: bool) -> Params:
    """For the command line. Where a payout goes `payout list` shows."""
    facts = await facts_of(context, proposal, sees_contacts=sees_contacts)
    told = {
        "name": facts.person,
        "email": facts.email,
        "rolesNow": facts.roles_now,
        "roles": facts.roles,
        "payout": facts.payout,
        "changedBy": ", ".join(facts.editors),
    }
    return {name: value for name, value in told.items() if value}


async def _facts(context: Context, proposal: Proposal) -> ProposalFacts:
    command, store = decoded(proposal), context.store
    editors = [await store.find(Tables.people, int(editor)) for editor in proposal.editors.split()]
    changed = tuple(editor.name for editor in editors if editor is not None)
    if isinstance(command, AppointOperator):
        return ProposalFacts(person=command.name, email=command.email, roles=command.roles, editors=changed)
    if isinstance(command, BookBankTransfer) and command.payout is not None:
        payout = await store.find(Tables.payouts, command.payout)
        bank = None if payout is None else unsealed(context.keyring, payout.bank_sealed, payout.id)
        return ProposalFacts(payout=command.payout, bank=bank, editors=changed)
    name, email, held = await _person(context, command)
    roles = command.roles if isinstance(command, ChangeRoles) else ""
    return ProposalFacts(person=name, email=email, roles_now=held, roles=roles, editors=changed)


async def _person(context: Context, command: ProposedCommand | None) -> tuple[str, str, str]:
    """Whom it is about: their name, their address, and their roles as an operator."""
    number = getattr(command, "person", None)
    person = await context.store.find(Tables.people, number) if isinstance(number, int) else None
    if person is None:
        return "", "", ""
    emails = await context.store.select(EMAIL_OF, person.id)
    operator = await context.store.find(Tables.operators, person.id)
    return person.name, emails[0][0] if emails else "", "" if operator is None else operator.roles
