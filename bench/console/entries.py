"""A long audit log, written past the engine: before everybody else comes, so that its numbers ascend with time."""

import random
import time
from collections.abc import Iterator
from itertools import islice
from typing import Final

from bench.dashboard import fill_postgresql, fill_sqlite
from bench.dashboard.history import DAY_MS, DAYS
from bench.fill import without_triggers
from qirsh.domain.audit_log import AuditEntry
from qirsh.domain.tables import Tables

RARE_ACTION: Final = "password.spent"
_RARE_EVERY: Final = 1000
_ACTIONS: Final = (
    *("session.opened", "session.opened", "session.closed", "export.made", "pin.changed", "password.changed"),
    *("payout.asked", "payout.cancelled", "key.issued", "key.rotated", "view.saved", "email.changed"),
)
_BY_OPERATORS: Final = ("account.looked_at", "identity.seen", "message.sent", "note.added")
_AT_ONCE: Final = 50_000


class SqliteBooks(fill_sqlite.ShopBooks):
    """A database of SQLite, while the service is stopped."""

    def add_entries(self, entries: Iterator[AuditEntry]) -> None:
        """All of them."""
        connection = self._connection
        connection.execute("PRAGMA synchronous = OFF; PRAGMA cache_size = -400000")
        with without_triggers(connection):
            while some := list(islice(entries, _AT_ONCE)):
                with connection:
                    self._insert(Tables.audit, some)


class PostgresqlBooks(fill_postgresql.ShopBooks):
    """A database of PostgreSQL."""

    def add_entries(self, entries: Iterator[AuditEntry]) -> None:
        """All of them."""
        while some := list(islice(entries, _AT_ONCE)):
            self._run(self._copy(Tables.audit, some))


def entries_of(count: int, *, people: int, operators: list[int], accounts: list[int]) -> Iterator[AuditEntry]:
    """Of ninety days, most by people about themselves, one in five by operators about anybody."""
    draw = random.Random(4)
    now = time.time_ns() // 1_000_000
    for index in range(count):
        at = now - DAYS * DAY_MS + DAYS * DAY_MS * index // count
        person = draw.randrange(1, people + 1)
        about = f"account {draw.choice(accounts)}" if index % 10 == 0 else f"person {person}"
        if index % 5 == 0:
            operator = draw.choice(operators)
            actor = f"operator {operator} (os user bench)" if index % 3 else f"operator {operator}"
            yield AuditEntry(at, actor, draw.choice(_BY_OPERATORS), about, f"case {index}")
        else:
            action = RARE_ACTION if index % _RARE_EVERY == 1 else draw.choice(_ACTIONS)
            yield AuditEntry(at, f"person {person}", action, about, "" if index % 2 else f"from device {index}")
