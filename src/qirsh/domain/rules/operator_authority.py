"""Whether an operator may act, and whether two of them count as two. The one place where this is asked."""

from typing import Any

from qirsh.domain.operator import is_new_pair, may_act
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.rule import Rule
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork


def by_operator(rule: Rule) -> Rule:
    """The same rule, for commands whose `operator` must be one at this very moment. None: nobody acts as one.

    Who has proved themselves to a face may have been ended or suspended since, so the commit asks again. A command that
    confirms also names who asked, in `asked_by`, so that it can be seen whether they are an operator still.
    """

    def read_first(command: Any, keys: RowKeys) -> None:  # noqa: ANN401 - any command with an operator
        rule.read_first(command, keys)
        keys.people.update(_named(command))  # For the numbers of their accounts, which never change.

    def lock(command: Any, work: UnitOfWork, keys: RowKeys) -> None:  # noqa: ANN401 - the same
        rule.lock(command, work, keys)
        for operator in _named(command):
            keys.operators.add(operator)
            person = work.people.get(operator)
            if person is not None:
                keys.accounts.add(person.account)

    def decide(command: Any, work: UnitOfWork) -> Any:  # noqa: ANN401 - the same, with its own result
        if command.operator is not None and not _is_acting(work, command.operator):
            return Refused(Refusal.NOT_OPERATOR)
        return rule.decide(command, work)

    return Rule(decide, lock=lock, read_first=read_first, moves_money=rule.moves_money)


def why_not_pair(work: UnitOfWork, *, asks: int, confirms: int) -> Refusal | None:
    """Whatever takes two operators asks here whether these are two."""
    if asks == confirms:
        return Refusal.SECOND_OPERATOR_NEEDED
    if not _is_acting(work, asks):
        return Refusal.ASKER_NOT_OPERATOR
    one, other = work.operators.get(asks), work.operators.get(confirms)
    assert one is not None, "asked for by nobody"
    assert other is not None, "confirmed by nobody"
    return Refusal.APPOINTED_RECENTLY if is_new_pair(one, other, work.now) else None


def _named(command: Any) -> set[int]:  # noqa: ANN401 - any command with an operator
    return {one for one in (command.operator, getattr(command, "asked_by", None)) if one is not None}


def _is_acting(work: UnitOfWork, operator: int) -> bool:
    person = work.people.get(operator)
    return person is not None and may_act(work.operators.get(operator), work.accounts.get(person.account))
