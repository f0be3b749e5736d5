"""Commands about who works at a business."""

from qirsh.domain.business import Business
from qirsh.domain.command import Command
from qirsh.domain.mail import Letter
from qirsh.domain.staff import Invitation, Member, Role


class InviteMember(Command[Invitation], frozen=True):
    """Somebody is asked by mail to work at a business. The outcome is the invitation."""

    id: str
    account: int
    email: str
    role: Role
    caps: dict[str, int]  # Of a cashier.
    member: int  # Who asks.
    stale: tuple[str, ...] = ()  # Invitations that are over, or were mailed to the same address: they make room.
    letters: tuple[Letter, ...] = ()


class WithdrawInvitation(Command[Invitation], frozen=True):
    """Nobody shall accept it any more. The outcome is the invitation as it was."""

    id: str
    account: int
    member: int


class AcceptInvitation(Command[Member], frozen=True):
    """Who was asked says yes. The outcome is the member."""

    id: str
    person: int
    letters: tuple[Letter, ...] = ()  # For the owner.


class DeclineInvitation(Command[Invitation], frozen=True):
    """Who was asked says no. The outcome is the invitation as it was."""

    id: str
    person: int


class ChangeMember(Command[Member], frozen=True):
    """A member gets another role, or other caps. The outcome is the member."""

    account: int
    person: int
    role: Role
    caps: dict[str, int]
    member: int  # Who asks.
    letters: tuple[Letter, ...] = ()


class RemoveMember(Command[Member], frozen=True):
    """A member works there no longer: somebody else says so, or they leave. The outcome is the member as it was."""

    account: int
    person: int
    member: int  # Who asks: the person, who leaves, or somebody who may remove them.
    letters: tuple[Letter, ...] = ()


class SetStaffPolicy(Command[Business], frozen=True):
    """The owner says whether members need two-step verification. The outcome is the business."""

    account: int
    needs_two_step: bool
    member: int
