"""Money stops when a rule was found broken, and moves again when two operators say so."""

from typing import Final

import msgspec

from qirsh.domain.commands.proposal import AskProposal, ConfirmProposal
from qirsh.domain.commands.stop import LiftStop, StopMoney
from qirsh.domain.operator_role import OperatorRight
from qirsh.domain.proposal import Proposal
from qirsh.domain.refusal import Refusal
from qirsh.domain.restore import awaits_restore
from qirsh.domain.rule import Rule, Rules
from qirsh.domain.rules.proposed import ProposedRule, ProposedRules
from qirsh.domain.stop import Stop
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork


def stop_locks(command: StopMoney, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.stops.update({command.id - 1, command.id})


def stop(command: StopMoney, work: UnitOfWork) -> Stop | None:
    before = work.stops.get(command.id - 1)
    is_next = command.id == 1 if before is None else before.lifted_at is not None
    if not is_next or work.stops.get(command.id) is not None:
        return None
    made = Stop(command.id, work.now, command.reason)
    work.stops.add(made.id, made)
    work.is_money_stopped = True
    work.note(command.actor, "money.stopped", f"stop {made.id}", command.reason)
    return made


def lift_locks(command: LiftStop, work: UnitOfWork, keys: RowKeys) -> None:
    keys.stops.add(command.id)
    keys.restores.add(work.epoch)


def why_not_lift(command: LiftStop, work: UnitOfWork, _by: object) -> Refusal | None:
    found = work.stops.get(command.id)
    if found is None:
        return Refusal.NOT_FOUND
    if found.lifted_at is not None or awaits_restore(found, work.restores.get(work.epoch)):
        return Refusal.MOVE_NOT_ALLOWED
    return None


def lift(command: LiftStop, work: UnitOfWork, _proposal: Proposal, by: AskProposal | ConfirmProposal) -> None:
    found = work.stops.get(command.id)
    assert found is not None, "asked a line above"
    lifted: Stop = msgspec.structs.replace(found, lifted_at=work.now, lifted_by=by.actor)
    work.stops.change(command.id, lifted)
    work.is_money_stopped = False


RULES: Final[Rules] = {
    StopMoney: Rule(stop, lock=stop_locks),
}
PROPOSED: Final[ProposedRules] = {
    LiftStop: ProposedRule(
        action=lambda _: "audit lift",
        subject=lambda command: f"stop {command.id}",
        asked=lambda _: "money.lift_asked",
        done=lambda _: "money.resumed",
        ask=OperatorRight.ASK_LIFT,
        confirm=OperatorRight.CONFIRM_LIFT,
        why_not=why_not_lift,
        carry_out=lift,
        lock=lift_locks,
    ),
}
