"""The command by which the ledger auditor writes down what it saw."""

from qirsh.domain.command import Command
from qirsh.domain.ledger_check import LedgerSum, Looked


class RecordLedgerChecks(Command[None], frozen=True):
    """Rules were looked at, and perhaps all balances summed. There is no outcome but what is kept of it."""

    checks: tuple[Looked, ...]
    sums: tuple[LedgerSum, ...] = ()  # Their times are those of the commit.
