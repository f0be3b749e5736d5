"""Commands about tries to pay that failed, by those who write them down behind the pays and tidy them."""

from qirsh.domain.command import Command
from qirsh.domain.payment_attempt import AttemptKey, FailedAttempt


class RecordAttempts(Command[int], frozen=True):
    """A process tells which pays failed. The outcome is how many of them are kept."""

    attempts: tuple[FailedAttempt, ...]


class ForgetAttempts(Command[int], frozen=True):
    """Old ones go. The outcome is how many."""

    keys: tuple[AttemptKey, ...]
