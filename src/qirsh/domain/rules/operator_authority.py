"""Whether an operator may act, and whether two of them count as two. The one place where this is asked."""

from collections.abc import Callable
from typing import Any

from qirsh.domain.account import Account
from qirsh.domain.operator import has_part, is_new_pair, may_act
from qirsh.domain.operator_role import OperatorRight, may
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.rule import Rule
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork


def by_operator(rule: Rule, right: OperatorRight | Callable[[Any, UnitOfWork], OperatorRight]) -> Rule:
    """The same rule, for commands whose `operator` must have the right at this very moment. None: nobody acts as one.

    Who has proved themselves to a face may have been ended or suspended since, or have lost a role, so the commit asks
    again. A command that decides on a proposal also names who asked, in `asked_by`.
    """

    def read_first(command: Any, keys: RowKeys) -> None:  # noqa: ANN401 - any command with an operator
        rule.read_first(command, keys)
        keys.people.update(_named(command))  # For the numbers of their accounts, which never change.

    def lock(command: Any, work: UnitOfWork, keys: RowKeys) -> None:  # noqa: ANN401 - the same
        rule.lock(command, work, keys)
        for operator in _named(command):
            keys.operators.add(operator)
            keys.people.add(operator)
            person = work.people.get(operator)
            if person is not None:
                keys.accounts.add(person.account)

    def decide(command: Any, work: UnitOfWork) -> Any:  # noqa: ANN401 - the same, with its own result
        if command.operator is not None:
            asked = right if isinstance(right, OperatorRight) else right(command, work)
            if why := why_not_operator(work, command.operator, asked):
                return Refused(why)
        return rule.decide(command, work)

    return Rule(decide, lock=lock, read_first=read_first, moves_money=rule.moves_money)


def why_not_operator(work: UnitOfWork, person: int, right: OperatorRight) -> Refusal | None:
    """Whoever is no operator is told only that."""
    if not _is_acting(work, person):
        return Refusal.NOT_OPERATOR
    return None if _holds(work, person, right) else Refusal.MISSING_RIGHT


def why_not_pair(work: UnitOfWork, *, asks: int, confirms: int, asking: OperatorRight) -> Refusal | None:
    """Whatever takes two operators asks here whether these are two, and whether the first still may ask."""
    if asks == confirms:
        return Refusal.SECOND_OPERATOR_NEEDED
    if not _is_acting(work, asks) or not _holds(work, asks, asking):
        return Refusal.ASKER_NOT_OPERATOR
    one, other = work.operators.get(asks), work.operators.get(confirms)
    assert one is not None, "asked for by nobody"
    assert other is not None, "confirmed by nobody"
    return Refusal.APPOINTED_RECENTLY if is_new_pair(one, other, work.now) else None


def why_not_editors(
    work: UnitOfWork, editors: frozenset[int], *, confirms: int, asking: OperatorRight
) -> Refusal | None:
    """The same of those who have changed it since: what is confirmed is their wish as well."""
    other = work.operators.get(confirms)
    assert other is not None, "confirmed by nobody"
    for editor in sorted(editors):
        one = work.operators.get(editor)
        assert one is not None, "changed by nobody"
        if one.ended_at is not None or not may(one.roles, asking):
            return Refusal.ASKER_NOT_OPERATOR
    is_new = any(is_new_pair(one, other, work.now) for one in map(work.operators.get, editors) if one is not None)
    return Refusal.APPOINTED_RECENTLY if is_new else None


def lock_party(account: int, operator: int, keys: RowKeys) -> None:
    """The rows that tell whether an operator has a part in what an account does."""
    keys.accounts.add(account)
    keys.members.add((account, operator))


def is_party(work: UnitOfWork, account: Account, operator: int) -> bool:
    """Who owns an account, or works for the business behind it, decides nothing about it."""
    return has_part(account, work.members.get((account.number, operator)), operator)


def _named(command: Any) -> set[int]:  # noqa: ANN401 - any command with an operator
    return {one for one in (command.operator, getattr(command, "asked_by", None)) if one is not None}


def _is_acting(work: UnitOfWork, operator: int) -> bool:
    person = work.people.get(operator)
    return person is not None and may_act(work.operators.get(operator), person, work.accounts.get(person.account))


def _holds(work: UnitOfWork, person: int, right: OperatorRight) -> bool:
    operator = work.operators.get(person)
    return operator is not None and may(operator.roles, right)
