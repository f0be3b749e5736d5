"""How commands are decided: a rule each."""

from collections.abc import Callable
from typing import Any

import msgspec

from qirsh.domain.command import Command
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork


def _nothing(*_: object) -> None:
    pass


class Rule(msgspec.Struct, frozen=True):
    """What becomes of one kind of command. `decide` gives the command's result or a `Refused`."""

    decide: Callable[[Any, UnitOfWork], Any]
    lock: Callable[[Any, UnitOfWork, RowKeys], None] = _nothing  # The rows that it is decided on.
    read_first: Callable[[Any, RowKeys], None] = _nothing  # Immutable facts that tell which rows to lock.
    moves_money: bool = False  # Refused while money movement is stopped.


Rules = dict[type[Command[Any]], Rule]
