"""Stored responses go some time after their keys are free again."""

from typing import Final

from qirsh.domain.commands.idempotency import ForgetStoredResponses
from qirsh.domain.idempotency import is_forgettable
from qirsh.domain.rule import Rule, Rules
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork


def forget_locks(command: ForgetStoredResponses, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.stored_responses.update(command.keys)


def forget(command: ForgetStoredResponses, work: UnitOfWork) -> int:
    forgotten = 0
    for key in command.keys:
        response = work.stored_responses.get(key)
        # Since it was found the key may have been used again.
        if response is not None and is_forgettable(response, work.now):
            work.stored_responses.remove(key)
            forgotten += 1
    return forgotten


RULES: Final[Rules] = {ForgetStoredResponses: Rule(forget, lock=forget_locks)}
