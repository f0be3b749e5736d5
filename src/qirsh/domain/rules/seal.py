"""The chain grows by one link at its end. Two who seal at once cannot both: one finds the other's link in its place."""

from qirsh.domain import seal
from qirsh.domain.command import SealEntries
from qirsh.domain.seal import Seal
from qirsh.domain.state import Needs, State


def seal_needs(command: SealEntries, _state: State, needs: Needs) -> None:
    needs.seals |= {command.number - 1, command.number}


def seal_entries(command: SealEntries, state: State) -> Seal | None:
    before = state.seals.get(command.number - 1)
    is_next = command.number == 1 if before is None else command.number > 1
    if not is_next or state.seals.get(command.number) is not None:
        return None
    if command.previous != (seal.NOTHING if before is None else before.hash):
        return None
    made = seal.make(number=command.number, at=state.now, previous=command.previous, covers=command.covers)
    state.seals.add(made.number, made)
    return made
