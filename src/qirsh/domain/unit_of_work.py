"""What a batch of commands knows and changes: rows loaded by key, then added to and changed in memory.

Nothing here touches a database: a store fills the rows before the rules run, and writes what they left.
"""

from collections.abc import Iterator
from typing import Any

from qirsh.domain.audit_log import AuditEntry
from qirsh.domain.counter import Counter
from qirsh.domain.credential_log import CredentialEntry, digest, key_text
from qirsh.domain.identifier import Identifiers
from qirsh.domain.mail import Letter, Mail
from qirsh.domain.table import AttestedRowSet, HoldsKeys, HoldsRows, Table
from qirsh.domain.tables import ATTESTED, Tables


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
            self.mails.add(letter.id, Mail(letter.id, letter.sealed, self.now, self.now, 0, letter.is_urgent))

    def note(self, actor: str, action: str, subject: str, detail: str = "") -> None:
        """An audit entry for what is being decided."""
        self.audit.append(AuditEntry(self.now, actor, action, subject, detail))

    def attest(self) -> None:
        """An entry of the credential log for each row that was added, removed, or changed in what counts.

        Once for a batch, when all of it is decided.
        """
        met = vars(self)
        for table in ATTESTED:
            rows: AttestedRowSet[Any, Any] | None = met.get(table.attribute)
            # Most batches have read rows of two of them, and written none.
            if rows is None or not (rows.changed or rows.added or rows.removed):
                continue
            for key in sorted(rows.removed):
                self._attest(table, rows.before[key], is_there=False)
            for row in rows.added.values():
                self._attest(table, row)
            for key, row in rows.changed.items():
                if table.attested_values(row) != table.attested_values(rows.before[key]):
                    self._attest(table, row)

    def _attest(self, table: Table[Any, Any], row: object, *, is_there: bool = True) -> None:
        key = key_text(*table.attested_key(row))
        made = digest(table.name, key, table.attested_values(row)) if is_there else None
        self.credentials.append(CredentialEntry(self.now, table.name, key, made))
