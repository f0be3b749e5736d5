"""What becomes of each kind of command that takes two operators: what a rule is to `rule`, this is to proposals."""

from collections.abc import Callable
from typing import Any

import msgspec

from qirsh.domain.command import Proposed
from qirsh.domain.commands.proposal import AskProposal, ConfirmProposal
from qirsh.domain.operator_role import OperatorRight
from qirsh.domain.proposal import Proposal
from qirsh.domain.refusal import Refusal
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork


def _nothing(*_: object) -> None:
    pass


def _nobody(*_: object) -> None:
    return None


class ProposedRule(msgspec.Struct, frozen=True, kw_only=True):
    """Everything about it that is not about proposals as such."""

    action: Callable[[Any], str]  # As the command line names it.
    subject: Callable[[Any], str]  # As audit entries name it; without an address.
    asked: Callable[[Any], str]  # What an audit entry says when it is asked for,
    done: Callable[[Any], str]  # and when it is carried out.
    ask: OperatorRight
    confirm: OperatorRight
    # Why it could not be carried out now, as it was asked for, changed or confirmed.
    why_not: Callable[[Any, UnitOfWork, Any], Refusal | None]
    carry_out: Callable[[Any, UnitOfWork, Proposal, AskProposal | ConfirmProposal], None]
    lock: Callable[[Any, UnitOfWork, RowKeys], None] = _nothing
    read_first: Callable[[Any, RowKeys], None] = _nothing
    account: Callable[[Any], int | None] = _nobody  # Whose owner and staff have no part in it.
    person: Callable[[Any], int | None] = _nobody  # Whom it is about.
    may_ask_for_self: bool = False
    is_alone: Callable[[UnitOfWork], bool] = lambda _: False  # Whether there is nobody who could confirm.
    moves_money: bool = False
    is_forgotten: bool = False  # What it holds is not kept if it comes to nothing.
    begin: Callable[[Any, UnitOfWork], None] = _nothing  # Something is kept for it from now on,
    drop: Callable[[Any, UnitOfWork], None] = _nothing  # or no longer.


ProposedRules = dict[type[Proposed[Any]], ProposedRule]
