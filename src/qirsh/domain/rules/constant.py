"""The first value of a constant counts."""

from qirsh.domain.command import FixConstant
from qirsh.domain.constant import Constant
from qirsh.domain.state import Needs, State


def fix_needs(command: FixConstant, _state: State, needs: Needs) -> None:
    needs.constants.add(command.name)


def fix(command: FixConstant, state: State) -> bytes:
    constant = state.constants.get(command.name)
    if constant is None:
        constant = Constant(command.name, command.value)
        state.constants.add(command.name, constant)
    return constant.value
