"""Commands that stop money movement and let it go on."""

from qirsh.domain.command import Command
from qirsh.domain.stop import Stop


class StopMoney(Command[Stop | None], frozen=True):
    """A rule was found broken. The outcome is the stop, or None when there is one already."""

    id: int
    reason: str
    actor: str


class LiftStop(Command[Stop], frozen=True):
    """An operator lets money move again, after a full check. The outcome is the stop."""

    id: int
    reason: str
    actor: str
    operator: int | None = None
