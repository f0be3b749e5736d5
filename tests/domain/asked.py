"""For each command that takes two operators, a market where one has asked for it and others may decide."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from qirsh.domain.commands.access import RemoveFactors, RemoveOperatorFactors, ResetPin
from qirsh.domain.commands.account import CloseAccount, OpenHouse
from qirsh.domain.commands.bank_order import BookBankTransfer, CorrectBalance, ReverseBankTransfer
from qirsh.domain.commands.operator import AppointOperator, ChangeRoles, EndOperator
from qirsh.domain.commands.proposal import ConfirmProposal, decoded
from qirsh.domain.commands.refund import RefundForShop
from qirsh.domain.commands.stop import LiftStop
from qirsh.domain.limits import OPERATOR_NEW_MS
from qirsh.domain.proposal import Proposal
from qirsh.domain.refusal import Refusal
from qirsh.domain.rules.proposal import PROPOSED
from tests.domain.market import Market
from tests.domain.proposal_cases import LINK, SAMPLES
from tests.each import each

every_command = each("kind", PROPOSED)


class Effect(NamedTuple):
    """What is true once the command is carried out, and what a second word on it hears."""

    is_done: Callable[[Market, Any], bool]
    again: Refusal = Refusal.ALREADY_DECIDED


EFFECTS: Final[dict[type[Any], Effect]] = {
    BookBankTransfer: Effect(lambda market, command: (command.house, command.reference) in market.bank_orders),
    CloseAccount: Effect(lambda market, command: market.accounts[command.account].state == "closed"),
    AppointOperator: Effect(lambda market, command: command.email in market.appointments),
    ChangeRoles: Effect(lambda market, command: market.operators[command.person].roles == command.roles),
    EndOperator: Effect(
        lambda market, command: market.operators[command.person].ended_at is not None, again=Refusal.NOT_FOUND
    ),
    RemoveFactors: Effect(lambda market, command: (command.person, "factors") in market.pending_resets),
    ResetPin: Effect(lambda market, command: (command.person, "pin") in market.pending_resets),
    RemoveOperatorFactors: Effect(lambda market, command: market.logins[command.email].totp_sealed is None),
    RefundForShop: Effect(lambda market, command: command.id in market.refunds),
    LiftStop: Effect(lambda market, command: market.stops[command.id].lifted_at is not None),
    CorrectBalance: Effect(lambda market, command: (command.house, command.reference) in market.bank_orders),
    ReverseBankTransfer: Effect(lambda market, command: (command.house, command.reference) in market.bank_orders),
    OpenHouse: Effect(lambda market, command: command.name in {row.name for row in market.accounts.values()}),
}


class Asked:
    """A market where the first operator has asked for a sample, and a fourth may decide as well as the second."""

    def __init__(self, kind: type[Any]) -> None:
        self.market = Market()
        self.market.appoint("Fourth", agrees=self.market.second)
        self.fourth = self.market.logins["fourth@example.com"].person
        self.market.now += OPERATOR_NEW_MS
        self.kind, self.rule = kind, PROPOSED[kind]
        self.command = SAMPLES[kind].make(self.market)
        self.asked: Proposal = self.market.do(self.market.propose(self.command, link=LINK))

    def confirm(self, operator: int | None = None) -> ConfirmProposal:
        return self.market.confirm(self.asked.id, operator=operator, link=LINK)

    def told(self, why: str) -> str:
        """What its audit entries say: which one, who asked, how much money where some moves, and why."""
        told = f"{self.asked.id}, asked by operator {self.market.first.id}"
        if hasattr(self.command, "amount"):
            told += f", {self.command.amount / 100:.2f} {self.command.currency}"
        return f"{told}: {why}"

    def proposal(self) -> Proposal:
        return self.market.proposals[self.asked.id]

    def is_done(self) -> bool:
        return EFFECTS[self.kind].is_done(self.market, decoded(self.proposal()) or self.command)

    def refuse(self, command: Any) -> Refusal:  # noqa: ANN401 - a command about the proposal
        """Nothing happened, and the proposal is as open as it was."""
        why = self.market.refuse(command).why
        assert not self.is_done()
        assert self.proposal().state == "open"
        return why
