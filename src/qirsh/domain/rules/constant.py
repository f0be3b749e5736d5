"""The first value of a constant counts."""

from typing import Final

from qirsh.domain.commands.constant import FixConstant
from qirsh.domain.constant import Constant
from qirsh.domain.rule import Rule, Rules
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork


def fix_locks(command: FixConstant, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.constants.add(command.name)


def fix(command: FixConstant, work: UnitOfWork) -> bytes:
    constant = work.constants.get(command.name)
    if constant is None:
        constant = Constant(command.name, command.value)
        work.constants.add(command.name, constant)
    return constant.value


RULES: Final[Rules] = {
    FixConstant: Rule(fix, lock=fix_locks),
}
