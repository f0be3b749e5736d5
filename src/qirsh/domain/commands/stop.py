"""Commands that stop money movement and let it go on."""

from qirsh.domain.command import Command, Proposed
from qirsh.domain.stop import Stop


class StopMoney(Command[Stop | None], frozen=True):
    """A rule was found broken. The outcome is the stop, or None when there is one already."""

    id: int
    reason: str
    actor: str


class LiftStop(Proposed[Stop], frozen=True):
    """Money moves again, after a full check. The outcome is the stop."""

    id: int
