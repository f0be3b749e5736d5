"""The command by which a database that was put back becomes fit to be served."""

from qirsh.domain.challenge import Purpose
from qirsh.domain.command import Command
from qirsh.domain.pending_reset import ResetKey
from qirsh.domain.restore import Restore
from qirsh.domain.webhook import DeliveryKey


class RecordRestore(Command[Restore], frozen=True):
    """The database is that of an earlier time, and nobody serves it yet. The outcome is the restore.

    What ends with it was found a moment ago. Money stands still afterwards.
    """

    taken_at: int
    done_by: str
    last_transfer: int
    last_seal: int
    last_stop: int
    epoch_above: int = 0  # The highest epoch that is known to have been, where that is not the database's own.
    sessions: tuple[bytes, ...] = ()
    operator_sessions: tuple[int, ...] = ()
    challenges: tuple[tuple[Purpose, str], ...] = ()
    resets: tuple[ResetKey, ...] = ()  # Those that wait.
    mails: tuple[str, ...] = ()
    leases: tuple[str, ...] = ()
    queues: tuple[tuple[str, int], ...] = ()  # Webhook endpoints and their accounts.
    deliveries: tuple[DeliveryKey, ...] = ()  # Those that wait.
