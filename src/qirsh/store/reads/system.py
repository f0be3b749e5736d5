"""How the service does: its schema, who plays which role, and what waits for each worker."""

# Every part of every query is a constant of this file or of the domain.
# ruff: noqa: S608

from typing import Final

import msgspec

from qirsh.domain.counter import NOTIFIED, TOTALLED
from qirsh.domain.lease import Lease
from qirsh.domain.limits import PAYMENT_NUMBER_BLOCK
from qirsh.store.interface import Query, Store

COUNTED_MAX: Final = 100_000  # Further nobody counts: it is far too many.
_BLOCKS_LOOKED_AT: Final = 16  # Of payments' numbers, the last ones: in others seldom anything waits.
_SCHEMA: Final = Query("SELECT coalesce(max(number), 0) FROM schema_migration")
_VERSIONS: Final = {
    "SQLite": Query("SELECT sqlite_version()"),
    "PostgreSQL": Query("SELECT current_setting('server_version')"),
}
_LEASES: Final = Query(f"SELECT {', '.join(Lease.__struct_fields__)} FROM lease ORDER BY role")
# What waits, and since when the oldest of it does. The first argument is now.
_MAIL: Final = f"SELECT 'mail', count(*), min(created_at) FROM (SELECT created_at FROM mail LIMIT {COUNTED_MAX}) AS m"
_DUE: Final = (
    "SELECT 'payment expirer', count(*), min(expires_at) FROM (SELECT expires_at FROM payment"
    f" WHERE status = 'pending' AND expires_at <= $1 ORDER BY expires_at LIMIT {COUNTED_MAX}) AS d"
)
# Of each block what lies behind the place up to which it is written down.
_INDEX: Final = (
    "SELECT 'payment indexer', count(*), min(created_at) FROM (WITH RECURSIVE block (first, rest) AS"
    f" (SELECT max(number) - (max(number) - 1) % {PAYMENT_NUMBER_BLOCK}, {_BLOCKS_LOOKED_AT - 1} FROM payment"
    f" UNION ALL SELECT first - {PAYMENT_NUMBER_BLOCK}, rest - 1 FROM block WHERE rest > 0)"
    " SELECT p.created_at FROM block JOIN payment p ON p.number > coalesce((SELECT until FROM indexed_block b"
    f" WHERE b.first = block.first), block.first - 1) AND p.number < block.first + {PAYMENT_NUMBER_BLOCK}"
    f" LIMIT {COUNTED_MAX}) AS i"
)


def _behind_seals(worker: str, counter: str) -> str:
    """Of a worker that follows the chain."""
    after = f"coalesce((SELECT last FROM counter WHERE name = '{counter}'), 0)"
    return (
        f"SELECT '{worker}', (SELECT coalesce(max(number), 0) FROM seal) - {after},"
        f" (SELECT at FROM seal WHERE number > {after} ORDER BY number LIMIT 1)"
    )


_EVENTS: Final = (
    "SELECT 'webhook events', coalesce(sum(c.last + 1 - q.next), 0), min((SELECT e.created_at FROM event e"
    " WHERE e.account = q.account AND e.sequence = q.next)) FROM webhook_queue q"
    " JOIN webhook_endpoint n ON n.id = q.endpoint AND n.state = 'enabled'"
    " JOIN event_counter c ON c.account = q.account WHERE q.next <= c.last"
)
_DELIVERIES: Final = (
    "SELECT 'webhook deliveries', count(*), min(due_at) FROM (SELECT due_at FROM webhook_delivery"
    f" WHERE state = 'waiting' LIMIT {COUNTED_MAX}) AS w"
)
_AUDITED: Final = "SELECT 'ledger auditor', 0, max(looked_at) FROM ledger_check"
_STANDBYS: Final = "SELECT 'standbys', count(*), NULL FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')"
_WORKERS: Final = (
    *(_DUE, _INDEX, _behind_seals("totaler", TOTALLED), _behind_seals("notifier", NOTIFIED), _MAIL, _EVENTS),
    _DELIVERIES,
)
_STANDING: Final = {
    "SQLite": Query(" UNION ALL ".join((*_WORKERS, _AUDITED))),
    "PostgreSQL": Query(" UNION ALL ".join((*_WORKERS, _AUDITED, _STANDBYS))),
}


class Waiting(msgspec.Struct, frozen=True):
    """What a worker has before it."""

    worker: str
    count: int  # At most `COUNTED_MAX` of most.
    oldest_at: int | None  # None also where nobody knows.


class Standing(msgspec.Struct, frozen=True):
    """What one look at the database tells of those who work behind."""

    at: int
    waiting: list[Waiting]
    audited_at: int | None  # When the ledger auditor last wrote down what it saw.
    standbys: int | None  # That confirm a commit before it is acknowledged. None: it is SQLite.


async def schema_number(store: Store) -> int:
    """Of the last migration."""
    [(number,)] = await store.select(_SCHEMA)
    return int(number)


async def engine_version(store: Store, engine: str) -> str:
    """As the database says it."""
    [(version,)] = await store.select(_VERSIONS[engine])
    return str(version)


async def leases(store: Store) -> list[Lease]:
    """Who plays which role. There is none where one process plays all."""
    return [Lease(*row) for row in await store.select(_LEASES)]


async def standing(store: Store, engine: str, *, has_mail: bool) -> Standing:
    """Where no mail is sent nobody follows the chain to tell of it, and nothing waits for that."""
    now = await store.now()
    rows = await store.search(_STANDING[engine], now)
    found = {what: (int(count), at) for what, count, at in rows}
    _, audited_at = found.pop("ledger auditor")
    standbys, _ = found.pop("standbys", (None, None))
    if not has_mail:
        del found["notifier"]
    return Standing(now, [Waiting(worker, count, at) for worker, (count, at) in found.items()], audited_at, standbys)
