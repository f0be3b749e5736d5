"""Money stops when a rule was found broken, and moves again when an operator says so."""

import msgspec

from qirsh.domain.command import LiftStop, StopMoney
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.state import Needs, State
from qirsh.domain.stop import Stop


def stop_needs(command: StopMoney, _state: State, needs: Needs) -> None:
    needs.stops |= {command.id - 1, command.id}


def stop(command: StopMoney, state: State) -> Stop | None:
    before = state.stops.get(command.id - 1)
    is_next = command.id == 1 if before is None else before.lifted_at is not None
    if not is_next or state.stops.get(command.id) is not None:
        return None
    made = Stop(command.id, state.now, command.reason)
    state.stops.add(made.id, made)
    state.is_money_stopped = True
    state.note(command.actor, "money.stopped", f"stop {made.id}", command.reason)
    return made


def lift_needs(command: LiftStop, _state: State, needs: Needs) -> None:
    needs.stops.add(command.id)


def lift(command: LiftStop, state: State) -> Stop | Refused:
    found = state.stops.get(command.id)
    if found is None:
        return Refused(Refusal.NOT_FOUND)
    if found.lifted_at is not None:
        return Refused(Refusal.MOVE_NOT_ALLOWED)
    lifted: Stop = msgspec.structs.replace(found, lifted_at=state.now, lifted_by=command.actor)
    state.stops.change(command.id, lifted)
    state.is_money_stopped = False
    state.note(command.actor, "money.resumed", f"stop {command.id}", command.reason)
    return lifted
