"""Operators: who runs the service, in which roles, and who made them one."""

import msgspec

from qirsh.domain.account import Account
from qirsh.domain.limits import OPERATOR_NEW_MS
from qirsh.domain.person import Person
from qirsh.domain.staff import Member


class Operator(msgspec.Struct, frozen=True):
    """A person who runs the service."""

    person: int
    roles: str  # One or more, as `operator_role` writes them.
    created_by: int | None  # Who asked for them; None for the first one only.
    created_at: int
    confirmed_by: int | None = None  # Who agreed; None where there was nobody else yet.
    ended_at: int | None = None  # From then on they are a person like others. Who they were stays.


class Appointment(msgspec.Struct, frozen=True):
    """A person is to become an operator: a link was mailed, behind which they alone choose their secrets."""

    email: str
    name: str
    roles: str
    proposal: str


def may_act(operator: Operator | None, person: Person | None, account: Account | None) -> bool:
    """Whether a person acts as an operator, by their row and their own account: an erased person's is closed.

    Whoever may not sign in does not act either: their devices may be in other hands.
    """
    if operator is None or operator.ended_at is not None or account is None:
        return False
    if person is None or person.blocked_at is not None:
        return False
    return account.state not in {"suspended", "closed"}


def has_part(account: Account, member: Member | None, person: int) -> bool:
    """Whether somebody owns an account or works for its business, as their row there says."""
    return account.owner == person or member is not None


def is_acting_operator(operator: Operator | None) -> bool:
    """Whether somebody is one and has not ended, whatever else keeps them from acting."""
    return operator is not None and operator.ended_at is None


def is_admin(operator: Operator) -> bool:
    """Whether they appoint others. One who ended is none."""
    return operator.ended_at is None and "admin" in operator.roles.split()


def makers(operator: Operator) -> frozenset[int]:
    """The operator who asked for them, and the one who agreed."""
    return frozenset(one for one in (operator.created_by, operator.confirmed_by) if one is not None)


def is_new_pair(one: Operator, other: Operator, now: int) -> bool:
    """Whether these two are too close to stand for two people.

    The operator who appoints another may hold the new one's mailbox as well. For some days, in which everybody else has
    read of it, the two do not count as two, and neither do two new ones with a maker in common.
    """
    is_new, is_other_new = (now - operator.created_at < OPERATOR_NEW_MS for operator in (one, other))
    return (
        (is_new and other.person in makers(one))
        or (is_other_new and one.person in makers(other))
        or (is_new and is_other_new and bool(makers(one) & makers(other)))
    )
