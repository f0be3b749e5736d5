"""What a batch of commands knows and changes: rows loaded by key, then added to and changed in memory.

Nothing here touches a database: a store fills the rows before the rules run, and writes what they left.
"""

from collections.abc import Iterator

from qirsh.domain.audit_log import AuditEntry
from qirsh.domain.counter import Counter
from qirsh.domain.identifier import Identifiers
from qirsh.domain.mail import Letter, Mail
from qirsh.domain.table import HoldsKeys, HoldsRows
from qirsh.domain.tables import Tables


class RowKeys(Tables, HoldsKeys):
    """Keys of the rows that commands will be decided on: a set for each table."""


class UnitOfWork(Tables, HoldsRows):
    """The batch's world: the time, what is loaded of the tables, and the rows that are only ever appended."""

    def __init__(self, *, now: int, epoch: int, identifiers: Identifiers, payment_numbers: Iterator[int]) -> None:
        self.now = now
        self.epoch = epoch
        self.identifiers = identifiers
        self.payment_numbers = payment_numbers
        self.is_money_stopped = False  # The engine knows; commands that move money are then refused.

    def count(self, name: str, change: int = 1) -> int:
        """The next number of a counter, or how many there are now."""
        last = self.counted(name) + change
        self.counters.put(name, Counter(name, last))
        return last

    def counted(self, name: str) -> int:
        """The last number of a counter."""
        counter = self.counters.get(name)
        return counter.last if counter else 0

    def post(self, letters: tuple[Letter, ...]) -> None:
        """Letters go out once what is being decided is durable."""
        for letter in letters:
            self.mails.add(letter.id, Mail(letter.id, letter.sealed, self.now, self.now, 0))

    def note(self, actor: str, action: str, subject: str, detail: str = "") -> None:
        """An audit entry for what is being decided."""
        self.audit.append(AuditEntry(self.now, actor, action, subject, detail))
