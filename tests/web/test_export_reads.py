"""What exports read: each row once and in its order, whatever the pages, the ledger's own amounts, and nothing held."""

import random
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from qirsh.domain.money import CURRENCIES
from qirsh.store.reads import account_entries, exports
from qirsh.store.reads.exports import (
    ExportedPayment,
    Span,
    commonest_keys,
    payment_pages,
    payout_pages,
    refund_pages,
    transaction_pages,
)
from tests.live import Customer, InProcess, Merchant, cancel, pay, refund

T = TypeVar("T")
MINUTE_MS = 60_000
USED = ("USD", "TRY")


def rows_of(world: InProcess, pages: AsyncGenerator[list[T], None]) -> list[T]:
    async def taken() -> list[T]:
        return [row async for page in pages for row in page]

    return world.run(taken())


def lived(world: InProcess, merchant: Merchant, customer: Customer, chance: random.Random, steps: int = 60) -> None:
    """Payments of all statuses in some currencies, refunds, and money that goes to the bank."""
    paid: list[str] = []
    for step in range(steps):
        amount = chance.randrange(1, 10_000)
        metadata = {"order": f"A-{step}", "weight": step / 4} | ({f"key{step}": True} if step % 7 == 0 else {})
        what = chance.random()
        if what < 0.7 or not paid:
            payment = world.payment(
                merchant,
                amount=amount,
                currency=chance.choice(USED),
                metadata=metadata,
                reference=f"R{step}",
                expiresIn=300,
            )
            if what < 0.5:
                world.data(pay(customer, payment))
                paid.append(payment)
            elif what < 0.6:
                world.data(cancel(merchant.key, payment))
        elif what < 0.9:
            world.send(refund(merchant.key, chance.choice(paid), amount=chance.randrange(1, 200), note="Back"))
        elif world.held(merchant.account) > 100:
            world.withdraw(merchant.account, 100)
        world.clock.advance(chance.choice((0, 0, 1, MINUTE_MS, 3 * MINUTE_MS)))


@pytest.fixture(autouse=True)
def _short_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exports, "EXPORT_ROWS_AT_ONCE", 4)
    monkeypatch.setattr(account_entries, "STATEMENT_LINES_AT_ONCE", 3)


def spans(world: InProcess, merchant: Merchant, begin: int, chance: random.Random) -> list[Span]:
    end = world.now_ms() + 1
    account = int(merchant.account)
    cuts = sorted(chance.randrange(begin, end) for _ in range(2))
    return [
        Span(account, 0, end),
        Span(account, begin, cuts[0]),
        Span(account, cuts[0], cuts[1]),
        Span(account, cuts[1], end, ("TRY",)),
        Span(account, end, end + 1),
    ]


@pytest.mark.both_engines
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_every_row_between_two_moments_is_read_once_and_in_order(still: InProcess, seed: int) -> None:
    chance = random.Random(seed)
    merchant, customer, begin = still.merchant(), still.customer(), still.now_ms()
    lived(still, merchant, customer, chance)
    store = still.context.store
    for span in spans(still, merchant, begin, chance):
        within = f"created_at >= {span.begin} AND created_at < {span.end}"
        listed = ", ".join(f"'{code}'" for code in span.currencies)
        payments = rows_of(still, payment_pages(store, span))
        refunds = rows_of(still, refund_pages(store, span))
        entries = rows_of(still, transaction_pages(store, span))
        with still.books() as books:
            assert [_told(payment) for payment in payments] == books.select(
                "SELECT p.number, p.created_at, p.status, p.amount, p.currency, p.refunded_amount, p.payer,"  # noqa: S608
                " p.reference, p.paid_at, p.metadata, coalesce(a.name, '') FROM payment p"
                " LEFT JOIN account a ON a.number = p.payer"
                f" WHERE p.merchant = ? AND p.{within.replace(' AND ', ' AND p.')} AND p.currency IN ({listed})"
                " ORDER BY p.created_at, p.number",
                span.account,
            )
            for code in span.currencies:
                of_refunds = [(r.id, r.amount, r.created_at, r.payment, r.payer) for r in refunds if r.currency == code]
                assert of_refunds == books.select(
                    "SELECT r.id, r.amount, r.created_at, r.payment, p.payer FROM refund r"  # noqa: S608
                    f" JOIN payment p ON p.number = r.payment WHERE p.merchant = ? AND p.currency = '{code}'"
                    f" AND r.{within.replace(' AND ', ' AND r.')} ORDER BY r.sequence",
                    span.account,
                )
                assert [(e.change, e.balance, e.sequence) for e in entries if e.currency == code] == books.select(
                    "SELECT CASE WHEN credit = ? THEN amount ELSE -amount END,"  # noqa: S608
                    " CASE WHEN credit = ? THEN credit_balance ELSE debit_balance END,"
                    " CASE WHEN credit = ? THEN credit_sequence ELSE debit_sequence END AS place FROM transfer"
                    f" WHERE (credit = ? OR debit = ?) AND currency = '{code}' AND {within} ORDER BY place",
                    *[span.account] * 5,
                )
    assert payments == []
    whole = Span(int(merchant.account), 0, still.now_ms() + 1)
    for code in CURRENCIES:
        entries = rows_of(still, transaction_pages(store, whole))
        assert sum(entry.change for entry in entries if entry.currency == code) == still.held(merchant.account, code)


def _told(payment: ExportedPayment) -> tuple[Any, ...]:
    return (
        payment.number,
        payment.created_at,
        payment.status,
        payment.amount,
        payment.currency,
        payment.refunded_amount,
        payment.payer,
        payment.reference,
        payment.paid_at,
        payment.metadata,
        payment.payer_name,
    )


@pytest.mark.both_engines
def test_a_payment_whose_status_changes_between_two_pages_is_read_once(still: InProcess) -> None:
    merchant, customer = still.merchant(), still.customer()
    made = [still.payment(merchant, currency=USED[n % 2]) for n in range(11)]
    with still.books() as books:
        numbers = [books.payment_number(payment) for payment in made]
    pages = payment_pages(still.context.store, Span(int(merchant.account), 0, still.now_ms() + 1))
    found: list[ExportedPayment] = []
    for changed in (made[1], made[9], made[5]):
        found += still.run(_next(pages))
        still.data(pay(customer, changed))
    assert [payment.number for payment in found] == numbers
    assert [payment.status for payment in found] == [*["pending"] * 9, "paid", "pending"]


async def _next(pages: AsyncGenerator[list[T], None]) -> list[T]:
    return await anext(pages)


@pytest.mark.both_engines
def test_payouts_are_read_by_when_they_were_asked_for(still: InProcess) -> None:
    merchant, store = still.merchant(), still.context.store
    begin, account = still.now_ms(), int(merchant.account)
    empty = "x''" if isinstance(still.settings.database, Path) else "''"
    rows = [
        f"('po_{n:02d}', {account}, '{USED[n % 2]}', 5, {empty}, 'asked', NULL, '', {begin + n // 4}, {begin})"
        for n in range(11)
    ]
    columns = "id, account, currency, amount, bank_sealed, state, reference, reason, created_at, updated_at"
    still.database.meddle("payout", f"INSERT INTO payout ({columns}) VALUES {', '.join(rows)}")  # noqa: S608
    span = Span(account, begin, begin + 2)
    assert [payout.id for payout in rows_of(still, payout_pages(store, span))] == [f"po_{n:02d}" for n in range(8)]


def test_nothing_of_another_account_is_read(still: InProcess) -> None:
    merchant, other, customer = still.merchant(), still.merchant(), still.customer()
    payment = still.paid(other, customer, amount=500)
    still.data(refund(other.key, payment, amount=5))
    span = Span(int(merchant.account), 0, still.now_ms() + 1)
    readers: tuple[Callable[..., AsyncGenerator[list[Any], None]], ...] = (
        payment_pages,
        refund_pages,
        transaction_pages,
        payout_pages,
    )
    assert [rows_of(still, read(still.context.store, span)) for read in readers] == [[], [], [], []]
    assert still.run(commonest_keys(still.context.store, span)) == []


@pytest.mark.both_engines
def test_the_commonest_keys_are_found_at_some_places_between_the_first_and_the_last(
    still: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "EXPORT_SAMPLE_ROWS", 3)
    monkeypatch.setattr(exports, "EXPORT_METADATA_COLUMNS_MAX", 3)
    merchant = still.merchant()
    begin = still.now_ms()
    for step in range(40):
        still.payment(merchant, metadata={"order": "A", "z": step, **({"late": 1} if step > 20 else {"early": []})})
        still.clock.advance(MINUTE_MS)
    store, account = still.context.store, int(merchant.account)
    assert still.run(commonest_keys(store, Span(account, 0, still.now_ms()))) in (
        ["early", "order", "z"],
        ["late", "order", "z"],
    )
    monkeypatch.setattr(exports, "EXPORT_METADATA_COLUMNS_MAX", 50)
    assert still.run(commonest_keys(store, Span(account, 0, still.now_ms()))) == ["early", "late", "order", "z"]
    late = Span(account, begin + 30 * MINUTE_MS, still.now_ms())
    assert still.run(commonest_keys(store, late)) == ["late", "order", "z"]
