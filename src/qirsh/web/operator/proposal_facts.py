"""What a proposal is about, in words: whom, where to, from what to what. Who confirms must see all of it."""

from typing import Final

import msgspec

from qirsh.contract.timestamps import timestamp
from qirsh.domain.commands.bank_order import BookBankTransfer
from qirsh.domain.commands.operator import AppointOperator, ChangeRoles
from qirsh.domain.commands.proposal import ProposedCommand, decoded
from qirsh.domain.commands.stop import LiftStop
from qirsh.domain.proposal import Proposal
from qirsh.domain.proposal_change import Change, written_changes
from qirsh.domain.stop import Stop
from qirsh.domain.tables import Tables
from qirsh.engine.bank_details import BankDetails, unsealed
from qirsh.store.reads.ledger import kept_checks
from qirsh.store.reads.people import EMAIL_OF
from qirsh.store.reads.proposals import edits_of
from qirsh.web.http.context import Context
from qirsh.web.operator.action import Params
from qirsh.web.operator.decided import actor_name

_EDITS_SHOWN_MAX: Final = 50


class ShownEdit(msgspec.Struct, frozen=True):
    """A change of the proposal: who made it, when, and from what to what."""

    by: str
    at: int
    changes: tuple[Change, ...]


class ProposalFacts(msgspec.Struct, frozen=True):
    """Beside what stands in the proposal itself; empty where it is about something else."""

    person: str = ""  # Whose access, roles or end it is about,
    email: str = ""  # and their address; that of a new operator too.
    roles_now: str = ""  # While it is open: afterwards they are others.
    roles: str = ""  # Those that are asked for.
    payout: str = ""
    bank: BankDetails | None = None  # Where a payout goes.
    stop: Stop | None = None  # That is to be lifted,
    findings: tuple[str, ...] = ()  # and what the auditor last found, of each check that is broken.
    edits: tuple[ShownEdit, ...] = ()  # What has been changed of it since it was asked for, oldest first.


async def facts_of(context: Context, proposal: Proposal, *, sees_contacts: bool) -> ProposalFacts:
    """As it is now; an address is for who may see those."""
    facts = msgspec.structs.replace(await _facts(context, proposal), edits=await _edits(context, proposal))
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
        "stopReason": "" if facts.stop is None else facts.stop.reason,
        "stoppedAt": "" if facts.stop is None else timestamp(facts.stop.at),
        "lastFinding": "" if facts.stop is None else "; ".join(facts.findings) or "no check is broken",
        "changedBy": ", ".join(dict.fromkeys(edit.by for edit in facts.edits)),
        "changes": "; ".join(
            f"{timestamp(edit.at)} {edit.by}: {written_changes(edit.changes)}" for edit in facts.edits
        ),
    }
    return {name: value for name, value in told.items() if value}


async def _facts(context: Context, proposal: Proposal) -> ProposalFacts:
    command, store = decoded(proposal), context.store
    if isinstance(command, AppointOperator):
        return ProposalFacts(person=command.name, email=command.email, roles=command.roles)
    if isinstance(command, BookBankTransfer) and command.payout is not None:
        payout = await store.find(Tables.payouts, command.payout)
        bank = None if payout is None else unsealed(context.keyring, payout.bank_sealed, payout.id)
        return ProposalFacts(payout=command.payout, bank=bank)
    if isinstance(command, LiftStop):
        kept = await kept_checks(store)
        findings = tuple(check.finding for check in kept.values() if check.finding)
        return ProposalFacts(stop=await store.find(Tables.stops, command.id), findings=findings)
    name, email, held = await _person(context, command)
    roles = command.roles if isinstance(command, ChangeRoles) else ""
    return ProposalFacts(person=name, email=email, roles_now=held if proposal.state == "open" else "", roles=roles)


async def _edits(context: Context, proposal: Proposal) -> tuple[ShownEdit, ...]:
    found = await edits_of(context.store, proposal, _EDITS_SHOWN_MAX)
    return tuple([ShownEdit(await actor_name(context, edit.actor), edit.at, edit.changes) for edit in found])


async def _person(context: Context, command: ProposedCommand | None) -> tuple[str, str, str]:
    """Whom it is about: their name, their address, and their roles as an operator."""
    number = getattr(command, "person", None)
    person = await context.store.find(Tables.people, number) if isinstance(number, int) else None
    if person is None:
        return "", "", ""
    emails = await context.store.select(EMAIL_OF, person.id)
    operator = await context.store.find(Tables.operators, person.id)
    return person.name, emails[0][0] if emails else "", "" if operator is None else operator.roles
