"""Commands about proposals: asked for, changed, confirmed, refused, withdrawn, or too old."""

from typing import Final

import msgspec

from qirsh.domain.command import Command
from qirsh.domain.commands.access import RemoveFactors, RemoveOperatorFactors, ResetPin
from qirsh.domain.commands.account import CloseAccount, OpenHouse
from qirsh.domain.commands.bank_order import BookBankTransfer, CorrectBalance, ReverseBankTransfer
from qirsh.domain.commands.operator import AppointOperator, ChangeRoles, EndOperator
from qirsh.domain.commands.refund import RefundForShop
from qirsh.domain.commands.stop import LiftStop
from qirsh.domain.mail import Letter
from qirsh.domain.proposal import FORGOTTEN, Proposal

ProposedCommand = (
    AppointOperator
    | BookBankTransfer
    | ChangeRoles
    | CloseAccount
    | EndOperator
    | LiftStop
    | RemoveFactors
    | CorrectBalance
    | OpenHouse
    | ReverseBankTransfer
    | RemoveOperatorFactors
    | ResetPin
    | RefundForShop
)

_decoder: Final = msgspec.json.Decoder(ProposedCommand)


class Mailed(msgspec.Struct, frozen=True):
    """What is mailed once a command is carried out, and what the letters are good for."""

    letters: tuple[Letter, ...] = ()
    token_hash: bytes = b""  # Of the link that a new operator gets.


class AskProposal(Command[Proposal], frozen=True):
    """An operator asks for what another is to confirm. The outcome is the proposal.

    Where there is nobody else who could, it is carried out at once.
    """

    id: str  # One form, one proposal.
    command: ProposedCommand
    reason: str
    operator: int
    actor: str
    letters: tuple[Letter, ...] = ()  # About the proposal itself.
    mailed: Mailed = Mailed()
    passkeys: tuple[bytes, ...] = ()  # All that the person has, as they were found a moment ago.


class EditProposal(Command[Proposal], frozen=True):
    """An operator changes what is asked for, and does not confirm it any more. The outcome is the proposal."""

    id: str
    seen: bytes  # The digest of what was shown to them.
    asked_by: int
    before: ProposedCommand
    command: ProposedCommand
    reason: str
    operator: int
    actor: str


class ConfirmProposal(Command[Proposal], frozen=True):
    """Another operator agrees, and the command is carried out. The outcome is the proposal."""

    id: str
    seen: bytes
    asked_by: int
    command: ProposedCommand  # That of the proposal, which tells what is locked for it.
    operator: int
    actor: str
    mailed: Mailed = Mailed()
    passkeys: tuple[bytes, ...] = ()


class EndProposal(Command[Proposal], frozen=True):
    """It is refused by another operator, or withdrawn by who asked. The outcome is the proposal."""

    id: str
    seen: bytes
    asked_by: int
    command: ProposedCommand
    reason: str
    operator: int
    actor: str
    letters: tuple[Letter, ...] = ()


class LapseProposal(Command[bool], frozen=True):
    """Nobody has decided in time. The outcome is whether it was this command that ended it."""

    id: str
    command: ProposedCommand


def encoded(command: ProposedCommand) -> str:
    """As a proposal keeps it."""
    return msgspec.json.encode(command).decode()


def decoded(proposal: Proposal) -> ProposedCommand | None:
    """The command of a proposal; None where it is kept no longer."""
    return None if proposal.command == FORGOTTEN else _decoder.decode(proposal.command)
