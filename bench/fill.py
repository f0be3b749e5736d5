"""Payments in bulk, past the engine but by its rules: a million in seconds, and `qirsh verify` finds nothing.

The arithmetic of every row is the domain's own (`moved`, `transfer`, `of_change`); only the way in is another.
"""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import apsw
import msgspec

from bench.seed import CURRENCY, Town
from qirsh.domain import event, ledger, payment
from qirsh.domain.counter import PAYMENT
from qirsh.domain.event import Event, EventCounter
from qirsh.domain.idempotency import StoredResponse
from qirsh.domain.identifier import Identifiers
from qirsh.domain.ledger import Balance, Transfer
from qirsh.domain.limits import PAYMENT_NUMBER_BLOCK
from qirsh.domain.payment import Payment
from qirsh.domain.payment_index import IndexedBlock
from qirsh.domain.payment_word import words_of
from qirsh.domain.table import Columns
from qirsh.domain.tables import Tables

# Two hundred bytes, as an online shop sends them.
METADATA: Final = (
    '{"order":"A-2026-0018342","customer":"c_9f3e218","channel":"web","basket":[{"sku":"TEA-250","qty":2},'
    '{"sku":"CUP-BLUE","qty":1}],"coupon":"SPRING26","delivery":"courier","city":"Damascus","gift":true}'
)
assert len(METADATA) == 200  # noqa: PLR2004 - what the bench promises
# One payment in a thousand came another way, so that there is something rare to be listed.
RARE: Final = "phone"
RARE_METADATA: Final = METADATA.replace('"web"', f'"{RARE}"')
RARE_EVERY: Final = 1000
NOTE: Final = "order"  # And its number, which its reference has too.


def common_words(metadata: str) -> list[str]:
    """What all payments with this metadata are found by; beside it each has its number and its amount."""
    return words_of(note=NOTE, reference=None, metadata=msgspec.json.decode(metadata))


_CHUNK: Final = 20_000
_INDEX_WORDS: Final = """
INSERT OR IGNORE INTO payment_word SELECT * FROM (
    SELECT p.merchant, w.value, p.created_at, p.number, x''
    FROM payment p, json_each(CASE p.number % ?1 WHEN 0 THEN ?2 ELSE ?3 END) w WHERE p.number BETWEEN ?4 AND ?5
    UNION ALL
    SELECT merchant, CAST(number AS TEXT), created_at, number, x'' FROM payment WHERE number BETWEEN ?4 AND ?5
    UNION ALL
    SELECT merchant, '=' || amount, created_at, number, x'' FROM payment WHERE number BETWEEN ?4 AND ?5
) ORDER BY 1, 2, 3, 4
"""
_MONTH_MS: Final = 30 * 24 * 3600 * 1000
_WEEK_MS: Final = 7 * 24 * 3600 * 1000
# Of each hundred payments before the newest twentieth, which are still pending.
_PAID: Final = 74
_CANCELLED: Final = 84


class _Chunk:
    def __init__(self) -> None:
        self.payments: list[Payment] = []
        self.transfers: list[Transfer] = []
        self.events: list[Event] = []
        self.stored_responses: list[StoredResponse] = []


class Books:
    """A database of the service, opened beside it or while it is stopped."""

    def __init__(self, data_dir: Path, town: Town) -> None:
        self._connection = apsw.Connection(str(data_dir / "qirsh.db"))
        self._connection.set_busy_timeout(10_000)
        self._town = town
        self._merchant = town.shops[0].account
        instance = dict(self._connection.execute("SELECT name, value FROM constant"))
        self._identifiers = Identifiers(instance["identifier_key"])
        self._epoch = int(instance["epoch"])

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def add_pending(self, count: int) -> list[str]:
        """The ids of payments to be paid. Every trigger holds, and the service may run."""
        now = time.time_ns() // 1_000_000
        numbers = self._reserve(count)
        with self._connection:
            asked = [self._asked(number, now, 3_600_000) for number in numbers]
            self._insert(Tables.payments, asked)
        return [self._identifiers.payment_id(number) for number in numbers]

    def add_history(self, count: int, progress: Callable[[int], None]) -> list[str]:
        """A month of payments with transfers, events and idempotency keys. The service must be stopped.

        What comes back are the ids of some of them, drawn from all.
        """
        connection = self._connection
        numbers = self._reserve(count)
        connection.execute("PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF; PRAGMA cache_size = -400000")
        with without_triggers(connection), connection:
            history = _History(self, self._town, numbers, self._epoch)
            for chunk in history.chunks():
                self._insert(Tables.payments, chunk.payments)
                self._insert(Tables.transfers, chunk.transfers)
                self._insert(Tables.events, chunk.events)
                self._insert(Tables.stored_responses, chunk.stored_responses)
                progress(len(chunk.payments))
            self._replace(Tables.balances, [history.credit, *history.debits])
            self._replace(Tables.event_counters, [EventCounter(self._merchant, history.events)])
            words = [msgspec.json.encode(common_words(metadata)).decode() for metadata in (RARE_METADATA, METADATA)]
            connection.execute(_INDEX_WORDS, (RARE_EVERY, *words, numbers[0], numbers[-1]))
        connection.execute("PRAGMA journal_mode = WAL")
        sample = random.sample(numbers, min(count, 20_000))
        return [self._identifiers.payment_id(number) for number in sample]

    def balance(self, account: int) -> Balance | None:
        """What an account holds now."""
        sql = f"SELECT {', '.join(Tables.balances.columns)} FROM balance WHERE account = ? AND currency = ?"  # noqa: S608 - our own names
        row = self._connection.execute(sql, (account, CURRENCY)).fetchone()
        return None if row is None else Balance(*row)

    def last_event(self) -> int:
        """The number of the merchant's last event."""
        sql = "SELECT last FROM event_counter WHERE account = ?"
        row = self._connection.execute(sql, (self._merchant,)).fetchone()
        return row[0] if row else 0

    def _asked(self, number: int, now: int, expires_in_ms: int) -> Payment:
        return _asked(self._merchant, number, now, expires_in_ms)

    def _reserve(self, count: int) -> range:
        """Blocks of numbers, as the store takes its own; what they are found by is not the service's work any more."""
        taken = -(-count // PAYMENT_NUMBER_BLOCK) * PAYMENT_NUMBER_BLOCK
        with self._connection:
            sql = "UPDATE counter SET last = last + ? WHERE name = ? RETURNING last"
            row = self._connection.execute(sql, (taken, PAYMENT)).fetchone()
            if row is None:
                row = (taken,)
                self._connection.execute("INSERT INTO counter VALUES (?, ?)", (PAYMENT, taken))
            first = row[0] - taken + 1
            blocks = range(first, first + taken, PAYMENT_NUMBER_BLOCK)
            self._insert(Tables.indexed_blocks, [IndexedBlock(one, one + PAYMENT_NUMBER_BLOCK - 1) for one in blocks])
        return range(first, first + count)

    def _insert(self, table: Columns[Any], records: Sequence[msgspec.Struct], how: str = "INSERT") -> None:
        places = ", ".join("?" * len(table.columns))
        sql = f"{how} INTO {table.name} ({', '.join(table.columns)}) VALUES ({places})"
        self._connection.executemany(sql, map(msgspec.structs.astuple, records))

    def _replace(self, table: Columns[Any], records: Sequence[msgspec.Struct]) -> None:
        self._insert(table, records, "INSERT OR REPLACE")


class _History:
    """Walks through a month, one payment after another, and keeps the balances as it goes."""

    def __init__(self, books: Books, town: Town, numbers: range, epoch: int) -> None:
        self._merchant = town.shops[0].account
        self._numbers = numbers
        self._epoch = epoch
        self._random = random.Random(1)
        self.credit = books.balance(self._merchant) or Balance(self._merchant, CURRENCY, 0, 0, is_house=False)
        found = [books.balance(payer) for payer in town.payers]
        self.debits = [balance for balance in found if balance is not None]
        assert len(self.debits) == len(town.payers), "a payer without money"
        self.events = books.last_event()

    def chunks(self) -> Iterator[_Chunk]:
        """In order, a few thousand payments each."""
        now = time.time_ns() // 1_000_000
        count = len(self._numbers)
        for first in range(0, count, _CHUNK):
            chunk = _Chunk()
            for index in range(first, min(first + _CHUNK, count)):
                is_new = index >= count * 0.95
                created_at = now - _MONTH_MS + _MONTH_MS * index // count
                self._add(chunk, index, created_at, is_new=is_new)
            yield chunk

    def _add(self, chunk: _Chunk, index: int, created_at: int, *, is_new: bool) -> None:
        number = self._numbers[index]
        # The newest lie days before their end, so that nothing expires while the bench runs.
        asked = _asked(self._merchant, number, created_at, _WEEK_MS if is_new else 3_600_000, reference=f"R-{number}")
        # Nobody will read this answer again: its length counts, and a true id takes longer than all the rest.
        body = b'{"data":{"id":"%016d"}}' % number
        key = f"{self._random.getrandbits(128):032x}"
        key = f"{key[:8]}-{key[8:12]}-{key[12:16]}-{key[16:20]}-{key[20:]}"
        fingerprint = self._random.randbytes(16)
        chunk.stored_responses.append(StoredResponse(asked.merchant, key, fingerprint, 201, body, created_at))
        if is_new:
            chunk.payments.append(asked)
            return
        at = created_at + 60_000
        hundredth = index % 100
        if hundredth < _PAID:
            # Not index % payers: that would give each payer the same hundredths for ever.
            turn = self._random.randrange(len(self.debits))
            changed = payment.moved(asked, "paid", at, payer=self.debits[turn].account)
            transfer, self.debits[turn], self.credit = ledger.transfer(
                "pay", debit=self.debits[turn], credit=self.credit, amount=asked.amount, now=at, payment=number
            )
            chunk.transfers.append(transfer)
        elif hundredth < _CANCELLED:
            changed = payment.moved(asked, "cancelled", at)
        else:
            changed = payment.moved(asked, "expired", asked.expires_at)
        self.events += 1
        chunk.events.append(event.of_change(changed, sequence=self.events, epoch=self._epoch))
        chunk.payments.append(changed)


def _asked(merchant: int, number: int, created_at: int, expires_in_ms: int, *, reference: str | None = None) -> Payment:
    return Payment(
        number,
        merchant,
        None,
        1 + number % 100_000,
        CURRENCY,
        "pending",
        f"{NOTE} {number}",
        METADATA if number % RARE_EVERY else RARE_METADATA,
        reference,
        None,
        None,
        created_at,
        created_at,
        created_at + expires_in_ms,
        None,
        None,
        0,
        1,
    )


@contextmanager
def without_triggers(connection: apsw.Connection) -> Iterator[None]:
    """They check one row at a time what the domain's arithmetic gives anyway, and `verify` looks at all of it."""
    found = list(connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'"))
    for name, _ in found:
        connection.execute(f"DROP TRIGGER {name}")
    yield
    for _, sql in found:
        connection.execute(str(sql))
