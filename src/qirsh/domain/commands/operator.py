"""Commands about operators: the first one, those who are appointed after, their roles, and those who end."""

from qirsh.domain.command import Command, Proposed
from qirsh.domain.mail import Letter
from qirsh.domain.operator import Appointment, Operator
from qirsh.domain.person import Person


class MakeOperator(Command[int], frozen=True):
    """A person becomes the first operator, with a second factor. The outcome is the person's id."""

    email: str
    totp_sealed: bytes
    roles: str
    actor: str


class AppointOperator(Proposed[Appointment], frozen=True):
    """Another person is to be an operator. The outcome is the appointment, once its link is mailed."""

    email: str
    name: str
    roles: str


class ChangeRoles(Proposed[Operator], frozen=True):
    """An operator gets other roles. The outcome is the operator."""

    person: int
    roles: str


class EndOperator(Proposed[Operator], frozen=True):
    """An operator is one no longer. The outcome is the operator."""

    person: int


class WithdrawAppointment(Command[Appointment], frozen=True):
    """An appointment that nobody has accepted yet is taken back: its link is dead. The outcome is the appointment."""

    email: str
    operator: int
    actor: str


class AcceptAppointment(Command[Person], frozen=True):
    """The reader of the mail becomes an operator, with secrets that nobody else has seen. The outcome is the person."""

    email: str
    proposal: str  # Of the appointment, as the reader has seen it.
    token_hash: bytes
    language: str
    password_hash: str
    totp_sealed: bytes
    totp_step: int  # Of the code that showed that they have it.
    letters: tuple[Letter, ...] = ()
