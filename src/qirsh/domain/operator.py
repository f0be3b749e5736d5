"""Operators: who runs the service, who made them one, and who is asked for as the next or as no longer one."""

from typing import Literal

import msgspec

from qirsh.domain.account import Account
from qirsh.domain.limits import OPERATOR_NEW_MS

Kind = Literal["appoint", "end"]


class Operator(msgspec.Struct, frozen=True):
    """A person who runs the service."""

    person: int
    created_by: int | None  # Who asked for them; None for the first one only.
    created_at: int
    confirmed_by: int | None = None  # Who agreed; None where there was nobody else yet.
    ended_at: int | None = None  # From then on they are a person like others. Who they were stays.


class OperatorProposal(msgspec.Struct, frozen=True):
    """A person is to become an operator, or to be one no longer. One for each address; a new one takes its place."""

    email: str
    kind: Kind
    name: str
    person: int | None  # Whose end it is, whatever their address is by now; nobody yet, of an appointment.
    asked_by: int
    asked_at: int
    confirmed_by: int | None = None
    confirmed_at: int | None = None


def may_act(operator: Operator | None, account: Account | None) -> bool:
    """Whether a person acts as an operator, by their row and their own account: an erased person's is closed."""
    if operator is None or operator.ended_at is not None or account is None:
        return False
    return account.state not in {"suspended", "closed"}


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
