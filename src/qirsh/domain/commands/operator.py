"""Commands about operators: the first one, those who are appointed after, and those who end."""

from qirsh.domain.command import Command
from qirsh.domain.mail import Letter
from qirsh.domain.operator import Kind, OperatorProposal
from qirsh.domain.person import Person


class MakeOperator(Command[int], frozen=True):
    """A person becomes the first operator, with a second factor. The outcome is the person's id."""

    email: str
    totp_sealed: bytes
    actor: str


class AppointOperator(Command[OperatorProposal], frozen=True):
    """An operator proposes another person as operator. The outcome is the proposal.

    While there is only one, that is enough.
    """

    email: str
    name: str
    operator: int
    actor: str
    token_hash: bytes  # Of what the link holds, if it is mailed at once,
    link: tuple[Letter, ...] = ()  # and the letter with it.
    letters: tuple[Letter, ...] = ()


class WithdrawAppointment(Command[OperatorProposal], frozen=True):
    """An appointment that nobody has accepted yet is taken back, and its link is dead. The outcome is the proposal."""

    email: str
    operator: int
    actor: str


class RequestOperatorEnd(Command[OperatorProposal], frozen=True):
    """An operator wants another, or themselves, to be one no longer. The outcome is the proposal."""

    email: str
    operator: int
    actor: str
    letters: tuple[Letter, ...] = ()


class ConfirmOperator(Command[OperatorProposal], frozen=True):
    """Another operator agrees to what was asked for. The outcome is the proposal.

    Of an appointment, the link is mailed now; an end is carried out.
    """

    email: str
    kind: Kind
    asked_by: int  # The operator whose wish it is, as the other one has seen it.
    operator: int
    actor: str
    token_hash: bytes = b""
    link: tuple[Letter, ...] = ()
    letters: tuple[Letter, ...] = ()


class AcceptAppointment(Command[Person], frozen=True):
    """The reader of the mail becomes an operator, with secrets that nobody else has seen. The outcome is the person."""

    email: str
    token_hash: bytes
    language: str
    password_hash: str
    totp_sealed: bytes
    totp_step: int  # Of the code that showed that they have it.
    letters: tuple[Letter, ...] = ()
