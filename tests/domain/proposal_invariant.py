"""What must always hold of proposals, of what they have done, and of what is kept for them while they are open."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

from qirsh.domain import counter
from qirsh.domain.bank_order import CORRECTIONS, BankOrder
from qirsh.domain.commands.access import RemoveFactors, ResetPin
from qirsh.domain.commands.bank_order import BookBankTransfer, CorrectBalance, ReverseBankTransfer
from qirsh.domain.commands.operator import AppointOperator
from qirsh.domain.commands.proposal import ProposedCommand, decoded, encoded
from qirsh.domain.operator import is_admin
from qirsh.domain.operator_role import read_roles
from qirsh.domain.payout import is_open
from qirsh.domain.pending_reset import RESET_AFTER_MS
from qirsh.domain.proposal import PROPOSAL_MS, Proposal, authors
from qirsh.domain.rules.proposal import PROPOSED
from tests.domain.world import World


def _proposals(world: World) -> Iterator[str]:
    """Each is decided once, in time, by somebody who had no part in it, and tells what it holds."""
    for proposal in world.proposals.values():
        command = decoded(proposal)
        if command is None:  # Nobody's address is kept for an appointment that came to nothing.
            if proposal.action != "operator create" or proposal.state in {"open", "done"}:
                yield f"{proposal} has lost what it holds"
            continue
        rule = PROPOSED[type(command)]
        if (proposal.action, proposal.subject) != (rule.action(command), rule.subject(command)):
            yield f"{proposal} does not tell what it holds"
        if not _is_well_decided(proposal, is_appointment=isinstance(command, AppointOperator)):
            yield f"{proposal} was decided by nobody who may"
        if proposal.state == "done" and proposal.decided_by == (rule.person(command) or 0):
            yield f"{proposal} was confirmed by whom it is about"
        named = authors(proposal) | {proposal.decided_by or proposal.asked_by}
        if not named <= set(world.operators):
            yield f"{proposal} is of somebody who never was an operator"


def _is_well_decided(proposal: Proposal, *, is_appointment: bool) -> bool:
    by, at, last = proposal.decided_by, proposal.decided_at, proposal.asked_at + PROPOSAL_MS
    if at is None:
        return (proposal.state, by, proposal.decision) == ("open", None, "")
    is_in_time = proposal.asked_at <= at < last
    if proposal.state == "done":
        is_other = is_appointment if by is None else by not in authors(proposal)
        return is_other and is_in_time and not proposal.decision
    if proposal.state == "lapsed":
        return by is None and at >= last and not proposal.decision
    is_withdrawn = proposal.state == "withdrawn"
    return proposal.state in {"withdrawn", "refused"} and is_in_time and (by == proposal.asked_by) == is_withdrawn


def _agreed(world: World, order: BankOrder) -> ProposedCommand:
    """What was agreed to, if an order was."""
    fields = {name: getattr(order, name) for name in ("kind", "house", "reference", "account", "currency", "amount")}
    if order.reverses is not None:
        moved = [
            row.reverses for row in world.transfers if row.bank_order == order.reference and row.kind == "reversal"
        ]
        return ReverseBankTransfer(**fields, reverses=order.reverses, transfer=moved[0] or 0)
    if world.accounts[order.house].name == CORRECTIONS:
        return CorrectBalance(**fields)
    return BookBankTransfer(**fields, payout=order.payout)


def _orders(world: World) -> Iterator[str]:
    """Money that was booked is what two have agreed to, once, and nothing else came in or went out."""
    expected: Counter[object] = Counter(
        (encoded(command), proposal.id, proposal.decided_at)
        for proposal in world.proposals.values()
        if proposal.state == "done"
        and isinstance(command := decoded(proposal), BookBankTransfer | ReverseBankTransfer | CorrectBalance)
    )
    booked: Counter[object] = Counter(
        (encoded(_agreed(world, order)), order.proposal, order.booked_at) for order in world.bank_orders.values()
    )
    if booked != expected:
        yield f"booked, and not agreed to: {booked - expected}; the other way round: {expected - booked}"


def _operators(world: World) -> Iterator[str]:
    """An admin always is there, all were made by others, and links are out only for those who are agreed to."""
    admins = [operator for operator in world.operators.values() if is_admin(operator)]
    found = world.counters.get(counter.ADMIN)
    if (found.last if found else 0) != len(admins) or (world.operators and not admins):
        yield f"the admins are miscounted: {admins}"
    for operator in world.operators.values():
        made_by = [operator.created_by, operator.confirmed_by]
        if operator.person in made_by or (made_by[0] == made_by[1] is not None):
            yield f"{operator} was not made by two others"
        if read_roles(operator.roles) != operator.roles:
            yield f"{operator} has roles that there are not"
        for maker in filter(None, made_by):
            if world.operators[maker].created_at > operator.created_at:
                yield f"{operator} was made by somebody who was none yet"
    for appointment in world.appointments.values():
        proposal = world.proposals[appointment.proposal]
        agreed = AppointOperator(appointment.email, appointment.name, appointment.roles)
        if proposal.state != "done" or decoded(proposal) != agreed:
            yield f"{appointment} is not what was agreed to: {proposal}"
    links = {email for purpose, email in world.challenges if purpose == "operator"}
    if links - set(world.appointments):
        yield f"links for {links}, whom nobody agreed to"


def _payouts(world: World) -> Iterator[str]:
    """One that is ordered has one open proposal; one that is paid has one order, of which `invariant` asks more."""
    waiting = Counter(
        (command.payout, command.reference)
        for proposal in world.proposals.values()
        if proposal.state == "open" and isinstance(command := decoded(proposal), BookBankTransfer) and command.payout
    )
    ordered = Counter((row.id, row.reference or "") for row in world.payouts.values() if row.state == "ordered")
    if waiting != ordered:
        yield f"payouts that are ordered: {ordered}; that proposals are to pay: {waiting}"
    for payout in world.payouts.values():
        orders = [order for order in world.bank_orders.values() if order.payout == payout.id]
        if len(orders) != (payout.state == "paid"):
            yield f"{payout} has the orders {orders}"
        for order in orders:
            asked = ("withdrawal", payout.account, payout.currency, payout.amount, payout.reference)
            if (order.kind, order.account, order.currency, order.amount, order.reference) != asked:
                yield f"{order} is not what {payout} asked for"
        if bool(payout.bank_sealed) != is_open(payout):
            yield f"{payout} tells where to pay, or does not"
        if (payout.reference is not None) != (payout.state in {"ordered", "paid"}):
            yield f"{payout} has a reference of the bank, or has none"


def _resets(world: World) -> Iterator[str]:
    """What is to be set back is what two agreed to, a day later."""
    for reset in world.pending_resets.values():
        proposal = world.proposals[reset.proposal]
        command = decoded(proposal)
        agreed = isinstance(command, ResetPin if reset.what == "pin" else RemoveFactors)
        if proposal.state != "done" or not agreed or reset.due_at != (proposal.decided_at or 0) + RESET_AFTER_MS:
            yield f"{reset} is not what was agreed to: {proposal}"
        if reset.state == "waits" and world.people[reset.person].erased_at is not None:
            yield f"{reset} waits for somebody who is erased"


PROPOSALS: Final[tuple[Callable[[World], Iterator[str]], ...]] = (_proposals, _orders, _operators, _payouts, _resets)
