"""Whether an operator may act, and whether two of them count as two. The one place where this is asked."""

from collections.abc import Callable
from typing import Any

from qirsh.domain.operator import is_new_pair, may_act
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.state import Needs, State

Facts = Callable[[Any, Needs], None]
Needed = Callable[[Any, State, Needs], None]
Decide = Callable[[Any, State], Any]


def by_operator(facts: Facts, needed: Needed, decide: Decide) -> tuple[Facts, Needed, Decide]:
    """The same rule, for commands whose `operator` must be one at this very moment. None: nobody acts as one.

    Who has proved themselves to a face may have been ended or suspended since, so the commit asks again. A command that
    confirms also names who asked, in `asked_by`, so that it can be seen whether they are an operator still.
    """

    def facts_too(command: Any, needs: Needs) -> None:  # noqa: ANN401 - any command with an operator
        facts(command, needs)
        needs.people |= _named(command)  # For the numbers of their accounts, which never change.

    def needed_too(command: Any, state: State, needs: Needs) -> None:  # noqa: ANN401 - the same
        needed(command, state, needs)
        for operator in _named(command):
            needs.operators.add(operator)
            person = state.people.get(operator)
            if person is not None:
                needs.accounts.add(person.account)

    def decide_if_allowed(command: Any, state: State) -> Any:  # noqa: ANN401 - the same, with its own outcome
        if command.operator is not None and not _is_acting(state, command.operator):
            return Refused(Refusal.NOT_OPERATOR)
        return decide(command, state)

    return facts_too, needed_too, decide_if_allowed


def why_not_pair(state: State, *, asks: int, confirms: int) -> Refusal | None:
    """Whatever takes two operators asks here whether these are two."""
    if asks == confirms:
        return Refusal.SECOND_OPERATOR_NEEDED
    if not _is_acting(state, asks):
        return Refusal.ASKER_NOT_OPERATOR
    one, other = state.operators.get(asks), state.operators.get(confirms)
    assert one is not None, "asked for by nobody"
    assert other is not None, "confirmed by nobody"
    return Refusal.APPOINTED_RECENTLY if is_new_pair(one, other, state.now) else None


def _named(command: Any) -> set[int]:  # noqa: ANN401 - any command with an operator
    return {one for one in (command.operator, getattr(command, "asked_by", None)) if one is not None}


def _is_acting(state: State, operator: int) -> bool:
    person = state.people.get(operator)
    return person is not None and may_act(state.operators.get(operator), state.accounts.get(person.account))
