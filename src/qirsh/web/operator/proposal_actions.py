"""Proposals at the operators' desk: what takes two is asked for by one, and decided by another."""

from typing import Any, Final

import msgspec

from qirsh.contract.timestamps import timestamp
from qirsh.domain import limits
from qirsh.domain.commands.account import OpenHouse
from qirsh.domain.commands.bank_order import (
    BankOrderCommand,
    BookBankTransfer,
    CorrectBalance,
    ReverseBankTransfer,
)
from qirsh.domain.commands.operator import AppointOperator, ChangeRoles
from qirsh.domain.commands.proposal import (
    AskProposal,
    ConfirmProposal,
    EditProposal,
    EndProposal,
    ProposedCommand,
    decoded,
    encoded,
)
from qirsh.domain.commands.refund import RefundForShop
from qirsh.domain.money import format_amount
from qirsh.domain.operator_role import OperatorRight
from qirsh.domain.proposal import Proposal, is_lapsed, shown_digest
from qirsh.domain.refusal import Refusal
from qirsh.domain.rules.proposal import PROPOSED
from qirsh.domain.tables import Tables
from qirsh.language.catalog import mark as _
from qirsh.store.reads.money import kinds_booked
from qirsh.store.reads.proposals import open_proposals
from qirsh.web.auth.outgoing_mail import letters_to_person
from qirsh.web.http.context import Context
from qirsh.web.operator.action import (
    Action,
    ActionRefused,
    Actor,
    Params,
    Sum,
    chosen_roles,
    made_id,
    minor_amount,
    reason_of,
    reference,
    sees_contacts,
    submit,
    word_text,
)
from qirsh.web.operator.proposal_effects import check_before, effects_of, letters_on_asking
from qirsh.web.operator.proposal_facts import told_facts

_ID_CHARACTERS_MAX: Final = 64
_DIGEST_CHARACTERS: Final = 16  # Of what is shown: enough to tell two versions of one proposal apart.
_DECIDED: Final = {
    "done": _("This proposal has been decided. Confirmed by %(who)s, %(at)s."),
    "refused": _("This proposal has been decided. Declined by %(who)s, %(at)s."),
    "withdrawn": _("This proposal has been decided. Withdrawn by %(who)s, %(at)s."),
}


async def ask(context: Context, actor: Actor, params: Params, command: ProposedCommand) -> Params:
    """What every act that takes two begins with."""
    reason = reason_of(params)
    await check_before(context, command)
    proposal_id = made_id(context, params, "pr")
    before = await context.store.find(Tables.proposals, proposal_id)
    if before is not None and before.asked_by == actor.person and before.command != encoded(command):
        raise ActionRefused(
            "already_sent",
            _("This form was sent already, and its proposal is %(proposal)s. Open the form anew."),
            proposal=before.id,
        )
    effects = await effects_of(context, actor, command)
    asked: Proposal = await _submitted(
        context,
        command,
        AskProposal(
            id=proposal_id,
            command=command,
            reason=reason,
            operator=actor.id,
            actor=actor.name,
            letters=await letters_on_asking(context, actor, command),
            mailed=effects.mailed,
            passkeys=effects.passkeys,
        ),
        PROPOSED[type(command)].ask,
    )
    return proposal_words(asked)


async def confirm(context: Context, actor: Actor, proposal: Proposal, seen: bytes) -> Params:
    """What another operator agrees to is carried out."""
    command = _held(proposal)
    await check_before(context, command)
    effects = await effects_of(context, actor, command)
    done: Proposal = await _submitted(
        context,
        command,
        ConfirmProposal(
            id=proposal.id,
            seen=seen,
            asked_by=proposal.asked_by,
            command=command,
            operator=actor.id,
            actor=actor.name,
            mailed=effects.mailed,
            passkeys=effects.passkeys,
        ),
        PROPOSED[type(command)].confirm,
    )
    await context.callers.poll()  # This process need not wait until it would look.
    return proposal_words(done)


async def _submitted(
    context: Context, command: ProposedCommand, word: AskProposal | ConfirmProposal, right: OperatorRight
) -> Proposal:
    """Where money is gone, it is told by how much."""
    try:
        answer: Proposal = await submit(context, word, right)
    except ActionRefused as refused:
        if refused.code != Refusal.INSUFFICIENT_FUNDS.value or not isinstance(command, BankOrderCommand):
            raise
        raise await _short_by(context, command) from None
    return answer


async def _short_by(context: Context, command: BankOrderCommand) -> ActionRefused:
    held = await context.store.find(Tables.balances, (command.account, command.currency))
    available, kept = (0, 0) if held is None else (held.available, held.held)
    if isinstance(command, BookBankTransfer) and command.payout is not None:
        available += command.amount  # What is kept is kept for it.
    currency = command.currency
    return ActionRefused(
        Refusal.INSUFFICIENT_FUNDS.value,
        _("The account is short by %(short)s: it has %(available)s, beside %(held)s that are held for payouts.")
        if kept
        else _("The account is short by %(short)s: it has %(available)s."),
        short=Sum(command.amount - available, currency),
        available=Sum(available, currency),
        held=Sum(kept, currency),
    )


async def list_proposals(context: Context, actor: Actor, _words: Params) -> Params:
    """What waits for another operator, oldest first."""
    found = await open_proposals(context.store, limits.LIST_ITEMS_MAX)
    seen = await sees_contacts(context, actor)
    return {
        "items": [
            proposal_words(proposal) | await told_facts(context, proposal, sees_contacts=seen) for proposal in found
        ]
    }


async def show_proposal(context: Context, actor: Actor, params: Params) -> Params:
    """What is asked for, by whom, and why."""
    proposal, seen = await _found(context, params), await sees_contacts(context, actor)
    return proposal_words(proposal) | await told_facts(context, proposal, sees_contacts=seen)


async def undecided(context: Context, params: Params) -> Proposal:
    """The one that is decided on. If it was before, that is told ahead of what may be wrong with what was typed."""
    proposal = await _found(context, params)
    if proposal.state == "open":
        return proposal
    by = None if proposal.decided_by is None else await context.store.find(Tables.people, proposal.decided_by)
    if by is None or proposal.decided_at is None:
        raise ActionRefused("already_decided")
    raise ActionRefused("already_decided", _DECIDED[proposal.state], who=by.name, at=timestamp(proposal.decided_at))


async def confirm_proposal(context: Context, actor: Actor, params: Params) -> Params:
    """Agree to what was shown."""
    proposal = await undecided(context, params)
    return await confirm(context, actor, proposal, _seen(proposal, params))


def end_proposal(*, by_asker: bool) -> Any:  # noqa: ANN401 - a handler
    """The act that refuses a proposal, or takes back one's own."""

    async def act(context: Context, actor: Actor, params: Params) -> Params:
        proposal = await undecided(context, params)
        if (proposal.asked_by == actor.id) != by_asker:
            raise ActionRefused(
                "own_request",
                _("You did not request this: refuse it.") if by_asker else _("You requested this: withdraw it."),
            )
        reason, command = reason_of(params), _held(proposal)
        rule = PROPOSED[type(command)]
        ended: Proposal = await submit(
            context,
            EndProposal(
                id=proposal.id,
                seen=_seen(proposal, params),
                asked_by=proposal.asked_by,
                command=command,
                reason=reason,
                operator=actor.id,
                actor=actor.name,
                letters=()
                if by_asker
                else await letters_to_person(
                    context, proposal.asked_by, "proposal_refused", action=proposal.action, reason=reason
                ),
            ),
            rule.ask if by_asker else rule.confirm,
        )
        return proposal_words(ended)

    return act


async def edit_proposal(context: Context, actor: Actor, params: Params) -> Params:
    """Put right what was mistyped. Whoever does so does not confirm it any more."""
    proposal = await undecided(context, params)
    before = _held(proposal)
    command = _edited(before, params)
    rule = PROPOSED[type(command)]
    edited: Proposal = await submit(
        context,
        EditProposal(
            id=proposal.id,
            seen=_seen(proposal, params),
            asked_by=proposal.asked_by,
            before=before,
            command=command,
            reason=reason_of(params),
            operator=actor.id,
            actor=actor.name,
        ),
        rule.ask,
    )
    return proposal_words(edited)


def confirm_bank_transfer(kind: str) -> Any:  # noqa: ANN401 - a handler
    """The act that confirms the one proposal that waits for a slip of the bank."""

    async def act(context: Context, actor: Actor, params: Params) -> Params:
        slip = reference(params)
        found = await open_proposals(context.store, limits.PROPOSALS_LOOKED_AT_MAX)
        waiting = [proposal for proposal in found if _is_slip(decoded(proposal), kind, slip)]
        now = context.clock()
        fresh = [proposal for proposal in waiting if not is_lapsed(proposal, now)]
        if len(fresh) > 1:  # They may be about other sums, or other accounts.
            raise ActionRefused(
                "several_wait",
                _(
                    "%(count)s proposals wait under this reference: `qirsh proposal list` shows them. Confirm the right"
                    " one with `qirsh proposal confirm`."
                ),
                count=len(fresh),
            )
        if waiting:
            [proposal] = fresh or waiting[:1]
            return await confirm(context, actor, proposal, shown_digest(proposal))
        if kind in await kinds_booked(context.store, slip):
            raise ActionRefused("already_decided")
        raise ActionRefused(
            "not_found", _("Nothing of this kind waits under this reference: `qirsh proposal list` shows what does.")
        )

    return act


PROPOSAL_ACTIONS: Final[dict[str, Action]] = {
    "proposal list": Action(list_proposals, OperatorRight.LOOK),
    "proposal show": Action(show_proposal, OperatorRight.LOOK),
    "proposal confirm": Action(confirm_proposal, OperatorRight.LOOK),  # The commit asks for that of what it does.
    "proposal edit": Action(edit_proposal, OperatorRight.LOOK),
    "proposal refuse": Action(end_proposal(by_asker=False), OperatorRight.LOOK),
    "proposal withdraw": Action(end_proposal(by_asker=True), OperatorRight.LOOK),
    "deposit confirm": Action(confirm_bank_transfer("deposit"), OperatorRight.CONFIRM_MONEY),
    "withdraw confirm": Action(confirm_bank_transfer("withdrawal"), OperatorRight.CONFIRM_MONEY),
}


def _is_slip(command: ProposedCommand | None, kind: str, slip: str) -> bool:
    return isinstance(command, BookBankTransfer) and (command.kind, command.reference) == (kind, slip)


def proposal_words(proposal: Proposal) -> Params:
    """A proposal, as it is told."""
    command = decoded(proposal)
    told: Params = {
        "id": proposal.id,
        "action": proposal.action,
        "state": proposal.state,
        "about": proposal.subject,
        "reason": proposal.reason,
        "askedBy": f"operator {proposal.asked_by}",
        "askedAt": timestamp(proposal.asked_at),
        "digest": _digest_words(proposal),
    }
    if isinstance(command, BankOrderCommand):
        told |= {
            "amount": format_amount(command.amount, command.currency),
            "currency": command.currency,
            "account": str(command.account),
            "reference": command.reference,
            "direction": "to the account" if command.kind == "deposit" else "from the account",
            "house": str(command.house),
        }
    if isinstance(command, ReverseBankTransfer):
        told["reverses"] = command.reverses
    if isinstance(command, OpenHouse):
        told["name"] = command.name
    if isinstance(command, RefundForShop):
        told |= {
            "refund": f"{format_amount(command.amount, command.currency)} {command.currency}",
            "payment": command.payment_id,
            "note": command.note,
        }
    return told


def _edited(command: ProposedCommand, params: Params) -> ProposedCommand:
    """With what was typed in the place of what was; what is not given stays."""
    if isinstance(command, CorrectBalance) or (isinstance(command, BookBankTransfer) and command.payout is None):
        amount = command.amount
        if params.get("amount"):
            amount = minor_amount(params, command.currency)
        slip = reference(params) if params.get("reference") else command.reference
        return msgspec.structs.replace(command, amount=amount, reference=slip)
    if isinstance(command, BookBankTransfer | ReverseBankTransfer):
        return msgspec.structs.replace(command, reference=reference(params)) if params.get("reference") else command
    if isinstance(command, AppointOperator | ChangeRoles) and params.get("roles"):
        return msgspec.structs.replace(command, roles=chosen_roles(params))
    return command


def _digest_words(proposal: Proposal) -> str:
    return shown_digest(proposal).hex()[:_DIGEST_CHARACTERS]


async def _found(context: Context, params: Params) -> Proposal:
    proposal = await context.store.find(Tables.proposals, word_text(params, "id", _ID_CHARACTERS_MAX))
    if proposal is None:
        raise ActionRefused("not_found", _("There is no such proposal: `qirsh proposal list` shows what waits."))
    return proposal


def _seen(proposal: Proposal, params: Params) -> bytes:
    """The digest of what was shown; of something else than there is now, none that fits."""
    given = word_text(params, "digest", _DIGEST_CHARACTERS)
    return shown_digest(proposal) if given == _digest_words(proposal) else given.encode()


def _held(proposal: Proposal) -> ProposedCommand:
    command = decoded(proposal)
    if command is None:
        raise ActionRefused("already_decided")
    return command
