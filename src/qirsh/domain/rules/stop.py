"""Money stops when a rule was found broken, and moves again when an operator says so."""

from typing import Final

import msgspec

from qirsh.domain.commands.stop import LiftStop, StopMoney
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.rule import Rule, Rules
from qirsh.domain.rules.operator_authority import by_operator
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


def lift_locks(command: LiftStop, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.stops.add(command.id)


def lift(command: LiftStop, work: UnitOfWork) -> Stop | Refused:
    found = work.stops.get(command.id)
    if found is None:
        return Refused(Refusal.NOT_FOUND)
    if found.lifted_at is not None:
        return Refused(Refusal.MOVE_NOT_ALLOWED)
    lifted: Stop = msgspec.structs.replace(found, lifted_at=work.now, lifted_by=command.actor)
    work.stops.change(command.id, lifted)
    work.is_money_stopped = False
    work.note(command.actor, "money.resumed", f"stop {command.id}", command.reason)
    return lifted


RULES: Final[Rules] = {
    StopMoney: Rule(stop, lock=stop_locks),
    LiftStop: by_operator(Rule(lift, lock=lift_locks)),
}
