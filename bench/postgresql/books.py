"""Payments in bulk, past the engine but by its rules: ten million in minutes, and `qirsh verify` finds nothing.

The rows are made by the server itself. Its guards sleep meanwhile, for this session alone; the arithmetic is theirs.
"""

import asyncio
import random
import time
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, Final, TypeVar

import asyncpg

from bench.fill import METADATA, NOTE, RARE_EVERY, RARE_METADATA, common_words
from bench.seed import CURRENCY, Town
from qirsh.domain.counter import PAYMENT
from qirsh.domain.identifier import Identifiers
from qirsh.domain.limits import EPOCH_NUMBERS, PAYMENT_NUMBER_BLOCK

T = TypeVar("T")

_SAMPLED: Final = 20_000
_MONTH_MS: Final = 30 * 24 * 3600 * 1000
_WEEK_MS: Final = 7 * 24 * 3600 * 1000
_HOUR_MS: Final = 3600 * 1000
_PENDING_MS: Final = 12 * _HOUR_MS  # Nothing expires while the bench runs.
_AMOUNT: Final = 2500  # The same for all: what an account has after its n-th transfer is then known without a sum.
# Arguments of all that follows: first number, count, now, epoch, shops, payers. Each of them is named here, because an
# argument that a statement does not use has no type. In each turn every shop has one payment, and all of a turn have
# one status; in each turn of those that are paid every payer pays once. So the place of a row in its account's sequence
# is the number of its turn: sorting ten million rows for it would take longer than writing them.
_HISTORY: Final = f"""
WITH told AS (
    SELECT $1::bigint AS first, $2::bigint AS count, $3::bigint AS now, $4::bigint AS epoch,
        $5::bigint[] AS shops, $6::bigint[] AS payers
), drawn AS (
    SELECT *, i / cardinality(shops) AS turn, cardinality(shops) AS shop_count, cardinality(payers) AS payer_count
    FROM told, generate_series(0, count - 1) i
), dealt AS (
    SELECT *, turn / 100 * 74 + turn % 100 AS paid_turn,
        CASE WHEN turn >= count * 95 / 100 / shop_count THEN 'pending' WHEN turn % 100 < 74 THEN 'paid'
            WHEN turn % 100 < 84 THEN 'cancelled' ELSE 'expired' END AS status
    FROM drawn
), paid AS (
    SELECT *, (paid_turn * shop_count + i % shop_count) / payer_count AS payer_turn,
        paid_turn * shop_count + i % shop_count AS paid_before
    FROM dealt
), history AS (
    SELECT first + i AS number, turn, paid_turn, payer_turn, epoch, status,
        shops[1 + (i + turn * 31) % shop_count] AS merchant,
        CASE status WHEN 'paid' THEN payers[1 + (paid_before + payer_turn * 617) % payer_count] END AS payer,
        now - {_MONTH_MS} + {_MONTH_MS} * i / count AS created_at,
        now - {_MONTH_MS} + {_MONTH_MS} * i / count
            + CASE status WHEN 'pending' THEN {_WEEK_MS} ELSE {_HOUR_MS} END AS expires_at,
        now - {_MONTH_MS} + {_MONTH_MS} * i / count
            + CASE status WHEN 'pending' THEN 0 WHEN 'expired' THEN {_HOUR_MS} ELSE 60000 END AS updated_at
    FROM paid
)
"""  # noqa: S608 - our own numbers
_PAYMENTS: Final = f"""{_HISTORY}
INSERT INTO payment (number, merchant, payer, amount, currency, status, note, metadata, reference, created_at,
    updated_at, expires_at, paid_at, cancelled_at, refunded_amount, version)
SELECT number, merchant, payer, {_AMOUNT}, '{CURRENCY}', status, '{NOTE} ' || number,
    CASE number % {RARE_EVERY} WHEN 0 THEN '{RARE_METADATA}' ELSE '{METADATA}' END, 'R-' || number, created_at,
    updated_at, expires_at, CASE status WHEN 'paid' THEN updated_at END,
    CASE status WHEN 'cancelled' THEN updated_at END, 0, CASE status WHEN 'pending' THEN 1 ELSE 2 END
FROM history
"""  # noqa: S608 - our own words
# A hash looks as random to an index as a client's UUID. Nobody will read this answer again: its length counts, and a
# true id would have to be made outside.
_STORED_RESPONSES: Final = f"""{_HISTORY}
INSERT INTO stored_response (account, key, fingerprint, status, body, created_at)
SELECT merchant, md5(number::text)::uuid::text, decode(md5(number::text), 'hex'), 201,
    convert_to('{{"data":{{"id":"' || lpad(number::text, 16, '0') || '"}}}}', 'UTF8'), created_at
FROM history
"""  # noqa: S608 - our own words
_TRANSFERS: Final = f"""{_HISTORY}
INSERT INTO transfer (kind, debit, credit, currency, amount, debit_sequence, debit_balance, credit_sequence,
    credit_balance, payment, created_at)
SELECT 'pay', payer, merchant, '{CURRENCY}', {_AMOUNT},
    d.sequence + payer_turn + 1, d.amount - {_AMOUNT} * (payer_turn + 1),
    coalesce(c.sequence, 0) + paid_turn + 1, coalesce(c.amount, 0) + {_AMOUNT} * (paid_turn + 1),
    number, updated_at
FROM history JOIN balance d ON d.account = payer AND d.currency = '{CURRENCY}'
    LEFT JOIN balance c ON c.account = merchant AND c.currency = '{CURRENCY}'
WHERE status = 'paid'
"""  # noqa: S608 - our own words
_EVENTS: Final = f"""{_HISTORY}
INSERT INTO event (account, sequence, epoch, type, payment, version, created_at)
SELECT merchant, coalesce(c.last, 0) + turn + 1, epoch, 'remote_payment.' || status, number, 2, updated_at
FROM history LEFT JOIN event_counter c ON c.account = merchant
WHERE status <> 'pending'
"""  # noqa: S608 - our own words
_DEBITS: Final = """
UPDATE balance b SET amount = b.amount - m.total, sequence = b.sequence + m.times
FROM (SELECT debit, currency, sum(amount) AS total, count(*) AS times FROM transfer WHERE payment >= $1
    GROUP BY debit, currency) m
WHERE b.account = m.debit AND b.currency = m.currency
"""
_CREDITS: Final = """
INSERT INTO balance AS b (account, currency, amount, sequence, is_house, held)
SELECT credit, currency, sum(amount), count(*), false, 0 FROM transfer WHERE payment >= $1 GROUP BY credit, currency
ON CONFLICT (account, currency) DO UPDATE SET amount = b.amount + excluded.amount,
    sequence = b.sequence + excluded.sequence
"""
_COUNTED: Final = """
INSERT INTO event_counter AS c (account, last) SELECT account, count(*) FROM event WHERE payment >= $1 GROUP BY account
ON CONFLICT (account) DO UPDATE SET last = c.last + excluded.last
"""
_RESERVED: Final = """
INSERT INTO counter AS c VALUES ($1, $2::bigint + $3) ON CONFLICT (name)
DO UPDATE SET last = greatest(c.last, $2) + $3 RETURNING last
"""
_NOT_TO_INDEX: Final = f"""
INSERT INTO indexed_block SELECT first, first + {PAYMENT_NUMBER_BLOCK - 1}
FROM generate_series($1::bigint, $2::bigint, {PAYMENT_NUMBER_BLOCK}) first
"""  # noqa: S608 - our own numbers
_INDEX_WORDS: Final = f"""
INSERT INTO payment_word
SELECT p.merchant, w.word, p.created_at, p.number, ''
FROM payment p, unnest(CASE p.number % {RARE_EVERY} WHEN 0 THEN $1::text[] ELSE $2::text[] END
    || ARRAY[p.number::text, '=' || p.amount]) w (word)
WHERE p.note = '{NOTE} ' || p.number ORDER BY 1, 2, 3, 4 ON CONFLICT DO NOTHING
"""  # noqa: S608 - our own words
_PENDING: Final = f"""
INSERT INTO payment (number, merchant, amount, currency, status, note, metadata, created_at, updated_at, expires_at,
    refunded_amount, version)
SELECT number, merchant, 1 + number % 100000, '{CURRENCY}', 'pending', '{NOTE} ' || number, '{METADATA}', $3::bigint,
    $3, $3 + {_PENDING_MS}, 0, 1
FROM unnest($1::bigint[], $2::bigint[]) asked (number, merchant)
"""  # noqa: S608 - our own words
# All but those that a reference from elsewhere needs: built at the end they cost a fraction.
_INDEXES: Final = """
SELECT i.indrelid::regclass::text AS on_table, i.indexrelid::regclass::text AS name, c.conname IS NOT NULL AS is_key,
    coalesce(pg_get_constraintdef(c.oid), pg_get_indexdef(i.indexrelid)) AS definition
FROM pg_index i LEFT JOIN pg_constraint c ON c.conindid = i.indexrelid AND c.conrelid = i.indrelid
WHERE i.indrelid = ANY($1::text[]::regclass[])
    AND NOT EXISTS (SELECT 1 FROM pg_constraint f WHERE f.contype = 'f' AND f.conindid = i.indexrelid)
"""
_FOR_FILLING: Final = {
    "session_replication_role": "replica",
    "synchronous_commit": "off",  # The checkpoint at the end makes it durable.
    "work_mem": "1GB",
    "maintenance_work_mem": "1GB",
    "jit": "off",
}


class Books:
    """A database of the service, opened beside it. Threads of the bench do not share one."""

    def __init__(self, url: str, town: Town) -> None:
        self._url = url
        self._town = town
        self._shops = [shop.account for shop in town.shops]
        self._random = random.Random(1)
        self._runner = asyncio.Runner()
        self._connection = self._run(self._connected())
        instance = dict(map(tuple, self._run(self._connection.fetch("SELECT name, value FROM constant"))))
        self._identifiers = Identifiers(instance["identifier_key"])
        self._epoch = int(instance["epoch"])

    def close(self) -> None:
        """Let go of the database."""
        self._run(self._connection.close())
        self._runner.close()

    def payments(self) -> int:
        """How many there are."""
        count: int = self._run(self._connection.fetchval("SELECT count(*) FROM payment"))
        return count

    def add_pending(self, count: int, *, is_hot: bool) -> list[str]:
        """The ids of payments to be paid: of one shop, or of all at random. The service may run."""
        numbers = self._run(self._reserved(count))
        merchants = self._shops[:1] * count if is_hot else self._random.choices(self._shops, k=count)
        now = time.time_ns() // 1_000_000
        self._run(self._connection.execute(_PENDING, list(numbers), merchants, now))
        return [self._identifiers.payment_id(number) for number in numbers]

    def add_history(self, count: int) -> list[tuple[str, int]]:
        """A month of payments with transfers, events and idempotency keys. The service must be stopped.

        What comes back are the ids of some of them, drawn from all, and the place of each one's shop in the town.
        """
        numbers = self._run(self._reserved(count))
        self._run(self._filled(numbers))
        sample = self._random.sample(numbers, min(count, _SAMPLED))
        rows = self._run(
            self._connection.fetch("SELECT number, merchant FROM payment WHERE number = ANY($1::bigint[])", sample)
        )
        places = {account: place for place, account in enumerate(self._shops)}
        return [(self._identifiers.payment_id(number), places[merchant]) for number, merchant in rows]

    def index_payments(self) -> None:
        """All of them, as the service would have done meanwhile."""
        words = [common_words(metadata) for metadata in (RARE_METADATA, METADATA)]
        self._run(self._connection.execute(_INDEX_WORDS, *words))
        self._run(self._connection.execute("VACUUM (ANALYZE) payment_word"))

    async def _filled(self, numbers: range) -> None:
        now = time.time_ns() // 1_000_000
        arguments = (numbers[0], len(numbers), now, self._epoch, self._shops, list(self._town.payers))
        beside = await self._connected()
        try:
            # Two at a time: one connection keeps one core busy.
            await asyncio.gather(
                _fill(self._connection, arguments, {"payment": _PAYMENTS, "event": _EVENTS}),
                _fill(beside, arguments, {"transfer": _TRANSFERS, "stored_response": _STORED_RESPONSES}),
            )
        finally:
            await beside.close()
        for sql in (_DEBITS, _CREDITS, _COUNTED):
            await self._connection.execute(sql, numbers[0])
        await self._connection.execute("VACUUM (ANALYZE) balance, event_counter, counter")
        await self._connection.execute("CHECKPOINT")

    async def _reserved(self, count: int) -> range:
        """Blocks of numbers, as the store takes its own; what they are found by is not the service's work any more."""
        taken = -(-count // PAYMENT_NUMBER_BLOCK) * PAYMENT_NUMBER_BLOCK
        async with self._connection.transaction():
            last: int = await self._connection.fetchval(_RESERVED, PAYMENT, self._epoch * EPOCH_NUMBERS, taken)
            first = last - taken + 1
            await self._connection.execute(_NOT_TO_INDEX, first, last)
        return range(first, first + count)

    async def _connected(self) -> asyncpg.Connection:
        return await asyncpg.connect(self._url, server_settings=_FOR_FILLING)

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(work)


async def _fill(connection: asyncpg.Connection, arguments: Sequence[object], inserts: Mapping[str, str]) -> None:
    found = await connection.fetch(_INDEXES, list(inserts))
    for on_table, name, is_key, _ in found:
        await connection.execute(f"ALTER TABLE {on_table} DROP CONSTRAINT {name}" if is_key else f"DROP INDEX {name}")
    for sql in inserts.values():
        await connection.execute(sql, *arguments)
    for on_table, name, is_key, definition in found:
        await connection.execute(f"ALTER TABLE {on_table} ADD CONSTRAINT {name} {definition}" if is_key else definition)
    # Now, so that it does not run by itself while something is measured.
    await connection.execute(f"VACUUM (ANALYZE) {', '.join(inserts)}")
