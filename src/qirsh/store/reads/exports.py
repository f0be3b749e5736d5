"""What a merchant takes away: payments, refunds, payouts and transactions between two moments, oldest first.

All of it is read in pages along a key. Between two pages nothing is held: neither a snapshot nor a connection, however
slowly somebody takes what was read.
"""

# Every part of every query is a constant of this file or of the domain.
# ruff: noqa: S608

from collections import Counter
from collections.abc import AsyncGenerator, Iterable, Sequence
from typing import Final

import msgspec

from qirsh.domain.limits import (
    EXPORT_METADATA_COLUMNS_MAX,
    EXPORT_ROWS_AT_ONCE,
    EXPORT_SAMPLE_ROWS,
    EXPORT_SAMPLES,
)
from qirsh.domain.money import CURRENCIES
from qirsh.domain.payment import STATUSES
from qirsh.store.interface import Query, Store
from qirsh.store.reads.account_entries import NamedEntry, entry_pages_between, position_before

_KEYS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])


class Span(msgspec.Struct, frozen=True):
    """Of which account, from when, and until before when, in milliseconds since 1970; and of which currencies."""

    account: int
    begin: int
    end: int
    currencies: tuple[str, ...] = tuple(CURRENCIES)


class ExportedPayment(msgspec.Struct, frozen=True):
    """A payment, with the name of who paid it."""

    number: int
    created_at: int
    status: str
    amount: int
    currency: str
    refunded_amount: int
    payer: int | None
    payer_name: str
    note: str
    reference: str | None
    expires_at: int
    paid_at: int | None
    cancelled_at: int | None
    metadata: str


class ExportedRefund(msgspec.Struct, frozen=True):
    """A refund, with what is known of its payment."""

    id: str
    created_at: int
    amount: int
    currency: str
    payment: int
    payer: int
    payer_name: str
    note: str
    reference: str | None  # Of the payment.
    metadata: str


class ExportedPayout(msgspec.Struct, frozen=True):
    """A payout, and how far it has come."""

    id: str
    created_at: int
    amount: int
    currency: str
    state: str
    reference: str | None
    reason: str
    updated_at: int


_PAYMENT_COLUMNS: Final = ", ".join(
    "coalesce(a.name, '')" if name == "payer_name" else f"p.{name}" for name in ExportedPayment.__struct_fields__
)


def first_after(currencies: Iterable[str]) -> Query:
    """The places of the first payments after a place. Each status and currency is a range of one index.

    A payment keeps its place when its status changes between two pages, so that each is read once. Without limits of
    their own PostgreSQL would sort all that are pending, or all of the account.
    """
    ranges = " UNION ALL ".join(
        "SELECT * FROM (SELECT created_at, number FROM payment"
        f" WHERE merchant = $1 AND status = '{status}' AND currency = '{currency}'"
        " AND (created_at, number) > ($2, $3) AND created_at < $4 ORDER BY created_at, number LIMIT $5) AS a"
        for status in STATUSES
        for currency in currencies
    )
    return Query(f"{ranges} ORDER BY created_at, number LIMIT $5")


def payments_after(currencies: Iterable[str]) -> Query:
    """The first payments after a place."""
    return Query(
        f"WITH c AS ({first_after(currencies)}) SELECT {_PAYMENT_COLUMNS} FROM c JOIN payment p ON p.number = c.number"
        " LEFT JOIN account a ON a.number = p.payer ORDER BY c.created_at, c.number"
    )


def metadata_after(currencies: Iterable[str]) -> Query:
    """Their metadata."""
    return Query(
        f"WITH c AS ({first_after(currencies)}) SELECT p.metadata FROM c JOIN payment p ON p.number = c.number"
    )


def last_payment(currencies: Iterable[str]) -> Query:
    """When the last payment between two moments was made."""
    newest = " UNION ALL ".join(
        "SELECT * FROM (SELECT created_at FROM payment WHERE merchant = $1"
        f" AND status = '{status}' AND currency = '{currency}' AND created_at >= $2 AND created_at < $3"
        " ORDER BY created_at DESC LIMIT 1) AS a"
        for status in STATUSES
        for currency in currencies
    )
    return Query(f"SELECT max(created_at) FROM ({newest}) AS newest")


# Of what leaves the account refunds are nearly all: the others are read with them, and left out.
REFUNDS_BETWEEN: Final = Query(
    "SELECT t.debit_sequence, r.id, t.created_at, t.amount, t.currency, t.payment, t.credit, a.name, r.note,"
    " p.reference, r.metadata FROM"
    " (SELECT debit_sequence, kind, created_at, amount, currency, payment, credit FROM transfer"
    " WHERE debit = $1 AND currency = $2 AND debit_sequence > $3 AND debit_sequence <= $4"
    " ORDER BY debit_sequence LIMIT $5) AS t"
    " LEFT JOIN refund r ON t.kind = 'refund' AND r.payment = t.payment AND r.sequence = t.debit_sequence"
    " LEFT JOIN payment p ON p.number = t.payment JOIN account a ON a.number = t.credit ORDER BY t.debit_sequence"
)
PAYOUTS_AFTER: Final = Query(
    f"SELECT {', '.join(ExportedPayout.__struct_fields__)} FROM payout"
    " WHERE account = $1 AND (created_at, id) > ($2, $3) AND created_at < $4 ORDER BY created_at, id LIMIT $5"
)


async def payment_pages(store: Store, span: Span) -> AsyncGenerator[list[ExportedPayment], None]:
    """By when they were made, each as it is when its page is read."""
    query = payments_after(span.currencies)
    at, number = span.begin, 0  # Numbers begin with 1.
    while True:
        rows = await store.search(query, span.account, at, number, span.end, EXPORT_ROWS_AT_ONCE)
        if rows:
            page = [ExportedPayment(*row) for row in rows]
            at, number = page[-1].created_at, page[-1].number
            yield page
        if len(rows) < EXPORT_ROWS_AT_ONCE:
            return


async def refund_pages(store: Store, span: Span) -> AsyncGenerator[list[ExportedRefund], None]:
    """One currency after the other, each in the order of the ledger."""
    for currency in span.currencies:
        first, last = await _places(store, span, currency)
        while first < last:
            rows = await store.search(REFUNDS_BETWEEN, span.account, currency, first, last, EXPORT_ROWS_AT_ONCE)
            page = [ExportedRefund(*row[1:]) for row in rows if row[1] is not None]
            if page:
                yield page
            if len(rows) < EXPORT_ROWS_AT_ONCE:
                break
            first = rows[-1][0]


async def payout_pages(store: Store, span: Span) -> AsyncGenerator[list[ExportedPayout], None]:
    """By when they were asked for."""
    at, last = span.begin, ""  # No id is empty.
    while True:
        rows = await store.search(PAYOUTS_AFTER, span.account, at, last, span.end, EXPORT_ROWS_AT_ONCE)
        if rows:
            found = [ExportedPayout(*row) for row in rows]
            at, last = found[-1].created_at, found[-1].id
            yield [payout for payout in found if payout.currency in span.currencies]
        if len(rows) < EXPORT_ROWS_AT_ONCE:
            return


async def transaction_pages(store: Store, span: Span) -> AsyncGenerator[list[NamedEntry], None]:
    """One currency after the other, each in the order of the ledger, so that its balances follow each other."""
    for currency in span.currencies:
        first, last = await _places(store, span, currency)
        async for page in entry_pages_between(store, span.account, currency, first=first, last=last):
            yield page


async def commonest_keys(store: Store, span: Span) -> list[str]:
    """Keys of the metadata of these payments, the commonest, in the order of the alphabet.

    They are looked for at some places that lie evenly between the first and the last payment: to look at all of them
    would take as long as the export, before its first byte.
    """
    query = metadata_after(span.currencies)
    [(last,)] = await store.search(last_payment(span.currencies), span.account, span.begin, span.end)
    if last is None:
        return []
    found: Counter[str] = Counter()
    first = await _first_payment(store, span)
    for sample in range(EXPORT_SAMPLES):
        at = first + (last - first) * sample // EXPORT_SAMPLES
        rows = await store.search(query, span.account, at, 0, span.end, EXPORT_SAMPLE_ROWS)
        _count_keys(found, [metadata for (metadata,) in rows])
        if len(rows) < EXPORT_SAMPLE_ROWS:  # There are no more, and later places have only some of these.
            break
    return sorted(key for key, _ in found.most_common(EXPORT_METADATA_COLUMNS_MAX))


def _count_keys(found: Counter[str], samples: Sequence[str]) -> None:
    for metadata in samples:
        if metadata != "{}":
            found.update(_KEYS.decode(metadata).keys())


async def _first_payment(store: Store, span: Span) -> int:
    """When the first of them was made."""
    [(created_at, _)] = await store.search(first_after(span.currencies), span.account, span.begin, 0, span.end, 1)
    found: int = created_at
    return found


async def _places(store: Store, span: Span, currency: str) -> tuple[int, int]:
    """Between which sequences of the ledger the moments lie."""
    first = await position_before(store, span.account, currency, span.begin)
    last = await position_before(store, span.account, currency, span.end)
    return first.sequence, last.sequence
