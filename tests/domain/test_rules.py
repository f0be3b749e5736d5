"""Every command has a rule, and every rule gives what its command promises."""

from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from qirsh.domain.command import Command, Proposed
from qirsh.domain.commands.proposal import ProposedCommand
from qirsh.domain.commands.stop import StopMoney
from qirsh.domain.decide import RULES
from qirsh.domain.refusal import Refused
from qirsh.domain.rules import lease
from qirsh.domain.rules.proposal import PROPOSED
from tests.each import each


def promised(kind: type[Command[Any]]) -> set[Any]:
    """What `Command[...]` names, piece by piece."""
    [base] = kind.__orig_bases__  # type: ignore[attr-defined]
    return pieces(get_args(base)[0])


def pieces(hint: Any) -> set[Any]:  # noqa: ANN401 - a type
    found = get_args(hint) if get_origin(hint) in {Union, UnionType} else (hint,)
    return {type(None) if piece is None else piece for piece in found}


def given(decide: Any) -> set[Any]:  # noqa: ANN401 - a function of a rule
    # What an operator does is wrapped; what is inside knows its result.
    for cell in getattr(decide, "__closure__", None) or ():
        if hasattr(cell.cell_contents, "decide"):
            return given(cell.cell_contents.decide)
    return pieces(get_type_hints(decide)["return"]) - {Refused}


def kinds_of(kind: type[Any]) -> set[type[Any]]:
    """All that are made from it, at any depth."""
    below = kind.__subclasses__()
    return {*below, *(one for each in below for one in kinds_of(each))}


def test_every_command_has_a_rule() -> None:
    # What takes two operators is carried out by the proposal that holds it, and by nothing else.
    assert set(PROPOSED) == kinds_of(Proposed) == set(get_args(ProposedCommand))
    assert set(RULES) == kinds_of(Command) - kinds_of(Proposed) - {Proposed}


@each("kind", RULES)
def test_a_rule_gives_what_its_command_promises(kind: type[Command[Any]]) -> None:
    assert given(RULES[kind].decide) == promised(kind)


def test_another_result_is_noticed() -> None:
    [hold] = lease.RULES.values()
    assert given(hold.decide) == {bool}
    assert given(hold.decide) != promised(StopMoney)
