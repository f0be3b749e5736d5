"""SQL typed by hand into a real database: whatever is bad money, the database refuses by itself.

Each bad statement is tried twice: as the database is, where it must be refused, and with its guards taken away,
where it must be accepted, so that it is surely the guard that refused it and not a slip in the statement.
"""

# Every statement is a constant of this file.
# ruff: noqa: S608

from pathlib import Path
from typing import Final

import pytest

from tests.postgres import installations
from tests.store.agreed_guards import AGREED, BAD_AGREED, HOUSE_OPENED, gets, has
from tests.store.bank_guards import BAD_BANK, BANK_TO_NOWHERE, GOOD_BANK, REPLACED_BANK
from tests.store.conftest import ON_SQLITE_FIRST, Engine
from tests.store.filled import FILLED, Denied, Hand, SqliteHand
from tests.store.guarded import accepts_each_without_guards, refuses_each
from tests.store.help_guards import BAD_HELP, GOOD_HELP, HELP_TO_NOWHERE, REPLACED_HELP
from tests.store.ledger_guards import BAD_LOOKS, LOOKS_TO_NOWHERE, REPLACED_LOOKS
from tests.store.money_sql import BALANCES, TRANSFER, agreed, deposit, transfer
from tests.store.note_guards import BAD_NOTES, GOOD_NOTES, NOTES_TO_NOWHERE, REPLACED_NOTES
from tests.store.operator_guards import (
    APPOINTED_ALONE,
    BAD_OPERATORS,
    GOOD_OPERATORS,
    OPERATOR,
    OPERATORS_TO_NOWHERE,
    REPLACED_OPERATORS,
)
from tests.store.order_guards import BAD_ORDERS, GOOD_ORDERS, ORDERS_TO_NOWHERE, REPLACED_ORDERS, TWICE
from tests.store.restore_guards import BAD_RESTORES, GOOD_RESTORES, REPLACED_RESTORES
from tests.store.reversal_guards import BAD_REVERSALS, GOOD_REVERSALS, REPLACED_REVERSALS, REVERSED_TWICE
from tests.store.staff_guards import BAD_STAFF, GOOD_STAFF, REPLACED_STAFF, STAFF_TO_NOWHERE
from tests.store.total_guards import BAD_TOTALS, GOOD_TOTALS, REPLACED_TOTALS, TOTALS_TO_NOWHERE
from tests.store.webhook_guards import BAD_WEBHOOKS, GOOD_WEBHOOKS, REPLACED_WEBHOOKS, WEBHOOKS_TO_NOWHERE

PAID: Final = """
    UPDATE payment SET status = 'paid', payer = :customer, paid_at = 1800000000000, updated_at = 1800000000000,
    version = 2 WHERE number = :pending;"""
EVENT: Final = """
    INSERT INTO event SELECT :shop, last + 1, 0, 'remote_payment.paid', :pending, 2, 1800000000000
    FROM event_counter WHERE account = :shop;
    UPDATE event_counter SET last = last + 1 WHERE account = :shop;"""


# In a currency that the till has not held.
TO_TILL: Final = {"credit": ":till", "credit_sequence": "1", "credit_balance": "500"}
# Test money in that currency, of which the mint has made some once.
MINT: Final = TO_TILL | {
    "kind": "'mint'",
    "payment": "NULL",
    "currency": "'EUR'",
    "debit": ":mint",
    "debit_sequence": "2",
    "debit_balance": "-1000000000000499",
}


FIRST_ACCOUNT: Final = "(SELECT account FROM person WHERE id = :first)"


def back(amount: int = 100, **changes: str) -> str:
    """So much of what was paid goes back, and both balances follow."""
    columns = {
        "kind": "'refund'",
        "payment": ":paid",
        "debit": ":shop",
        "credit": ":customer",
        "debit_sequence": TRANSFER["credit_sequence"],
        "debit_balance": f"{TRANSFER['credit_balance']} - 500 - {amount}",
        "credit_sequence": TRANSFER["debit_sequence"],
        "credit_balance": f"{TRANSFER['debit_balance']} + 500 + {amount}",
        "amount": str(amount),
    }
    return transfer(**columns | changes) + BALANCES.replace("500", f"-{amount}")


def refund_row(verb: str = "INSERT", **changes: str) -> str:
    """The refund of the last transfer."""
    columns = {
        "id": "'re_new'",
        "payment": ":paid",
        "version": "3",
        "amount": "100",
        "note": "''",
        "metadata": "'{}'",
        "sequence": "(SELECT sequence FROM balance WHERE account = :shop AND currency = 'USD')",
        "created_at": "9",
    } | changes
    return f"{verb} INTO refund ({', '.join(columns)}) VALUES ({', '.join(columns.values())});"


REFUNDED: Final = "UPDATE payment SET refunded_amount = 100, version = 3, updated_at = 9 WHERE number = :paid;"
# 100 of what was paid go back.
REFUND: Final = (
    back() + refund_row() + REFUNDED + EVENT.replace("'remote_payment.paid', :pending, 2", "'refund.created', :paid, 3")
)

AUDIT: Final = "INSERT INTO audit (id, at, actor, action, subject, detail) VALUES ({}, 1, 'a', 'b', 'c', 'd')"

# What is typed, and what the database says.
BAD: Final[dict[str, tuple[str, str]]] = {
    # Balances.
    "a balance below zero": (
        "UPDATE balance SET amount = -1 WHERE account = :customer AND currency = 'USD'",
        "balance",
    ),
    "a balance that is raised": (
        "UPDATE balance SET amount = amount + 1 WHERE account = :customer",
        "last transfer left",
    ),
    "a house balance that is raised": (
        "UPDATE balance SET amount = amount + 1 WHERE account = :house",
        "last transfer",
    ),
    "a balance that goes back in time": (
        (
            "UPDATE balance SET (amount, sequence) = (SELECT credit_balance, 1 FROM transfer WHERE credit = :customer"
            " AND currency = 'USD' AND credit_sequence = 1) WHERE account = :customer AND currency = 'USD'"
        ),
        "last transfer left",
    ),
    "a balance of the future": (
        "UPDATE balance SET sequence = sequence + 1 WHERE account = :customer",
        "last transfer",
    ),
    "a balance from nothing": ("INSERT INTO balance VALUES (:other, 'SYP', 1, 1, FALSE, 0)", "last transfer left"),
    "a customer who calls himself the house": (
        "UPDATE balance SET is_house = TRUE WHERE account = :customer",
        "kind never change",
    ),
    "a new balance that lies about the house": (
        transfer(**MINT) + "INSERT INTO balance VALUES (:till, 'EUR', 500, 1, TRUE, 0)",
        "only a house account",
    ),
    "a balance that changes hands": ("UPDATE balance SET account = :second WHERE account = :other", "never change"),
    "a balance that vanishes": ("DELETE FROM balance WHERE account = :customer", "never vanish"),
    # Transfers.
    "an overdraft": (
        agreed({"kind": "withdrawal", "account": FILLED.shop, "amount": 501})
        + transfer(
            kind="'withdrawal'",
            payment="NULL",
            bank_order="'new'",
            debit=":shop",
            credit=":house",
            debit_sequence=TRANSFER["credit_sequence"],
            debit_balance=f"{TRANSFER['credit_balance']} - 500 - 501",
            credit_sequence="(SELECT sequence + 1 FROM balance WHERE account = :house AND currency = 'USD')",
            credit_balance="(SELECT amount + 501 FROM balance WHERE account = :house AND currency = 'USD')",
            amount="501",
        ),
        "below zero",
    ),
    "a second pay transfer of a paid payment": (
        transfer(
            payment=":paid_too",
            amount="200",
            debit_balance=f"{TRANSFER['debit_balance']} + 300",
            credit_balance=f"{TRANSFER['credit_balance']} - 300",
        ),
        "never replaced|transfer_pay",
    ),
    "a second pay transfer of a pending payment": (
        transfer()
        + transfer(
            debit_sequence=f"{TRANSFER['debit_sequence']} + 1",
            debit_balance=f"{TRANSFER['debit_balance']} - 500",
            credit_sequence=f"{TRANSFER['credit_sequence']} + 1",
            credit_balance=f"{TRANSFER['credit_balance']} + 500",
        ),
        "never replaced|transfer_pay",
    ),
    "a pay transfer to someone else": (
        transfer(
            credit=":other",
            credit_sequence=TRANSFER["credit_sequence"].replace(":shop", ":other"),
            credit_balance=TRANSFER["credit_balance"].replace(":shop", ":other"),
        ),
        "does not match",
    ),
    "a pay transfer of another amount": (
        transfer(
            amount="499",
            debit_balance=f"{TRANSFER['debit_balance']} + 1",
            credit_balance=f"{TRANSFER['credit_balance']} - 1",
        ),
        "does not match",
    ),
    "a pay transfer in another currency": (
        transfer(
            currency="'EUR'",
            debit_sequence="(SELECT sequence + 1 FROM balance WHERE account = :customer AND currency = 'EUR')",
            debit_balance="(SELECT amount - 500 FROM balance WHERE account = :customer AND currency = 'EUR')",
            credit_sequence="(SELECT sequence + 1 FROM balance WHERE account = :shop AND currency = 'EUR')",
            credit_balance="(SELECT amount + 500 FROM balance WHERE account = :shop AND currency = 'EUR')",
        ),
        "does not match",
    ),
    "a pay transfer of a cancelled payment": (transfer(payment=":cancelled"), "does not match"),
    "a pay transfer without a payment": (transfer(payment="NULL"), "does not match|transfer_check"),
    "a pay transfer of no payment at all": (transfer(payment="404"), "does not match"),
    "a transfer of nothing": (
        transfer(**MINT | {"amount": "0", "debit_balance": "-999999999999999", "credit_balance": "0"}),
        "amount BETWEEN|amount_check",
    ),
    "a transfer of less than nothing": (
        transfer(**MINT | {"amount": "-500", "debit_balance": "-999999999999499", "credit_balance": "-500"}),
        "amount BETWEEN|amount_check",
    ),
    "a transfer to itself": (
        transfer(**MINT | {"credit": ":mint", "credit_sequence": "3", "credit_balance": "-999999999999999"}),
        "follow|debit <> credit|transfer_check",
    ),
    "a transfer from live to test": (
        agreed({"account": FILLED.till})
        + deposit(":till", "'new'", credit_sequence="1", credit_balance="10000", currency="'USD'"),
        "modes",
    ),
    "a transfer from test to live": (
        transfer(
            **MINT
            | {
                "credit": ":customer",
                "credit_sequence": "(SELECT sequence + 1 FROM balance WHERE account = :customer AND currency = 'EUR')",
                "credit_balance": "(SELECT amount + 500 FROM balance WHERE account = :customer AND currency = 'EUR')",
            }
        ),
        "modes",
    ),
    "a transfer between the test accounts of two merchants": (
        "INSERT INTO account VALUES (100000000001, 'commercial', 'live', 5, NULL, 'Two', 'approved', '', 1, 1,"
        " NULL, NULL, 3600);"
        "INSERT INTO account VALUES (100000000002, 'commercial', 'test', 5, 100000000001, 'Two', 'mirrored', '', 1, 1,"
        " NULL, NULL, 3600);" + transfer(**MINT | {"credit": "100000000002"}),
        "modes|merchants",
    ),
    "a transfer that leaves a gap": (
        transfer(debit_sequence=f"{TRANSFER['debit_sequence']} + 1"),
        "debit side does not follow",
    ),
    "a transfer that leaves a gap for its taker": (
        transfer(credit_sequence=f"{TRANSFER['credit_sequence']} + 1"),
        "credit side does not follow",
    ),
    "a transfer with a sequence from before": (transfer(debit_sequence="2"), "never replaced|transfer_debit"),
    "a transfer with sequence zero": (transfer(debit_sequence="0", debit_balance="-500"), "does not follow"),
    "a transfer with a sequence of the other side": (
        transfer(debit_sequence="1", debit_balance="-500"),
        "debit side does not follow",
    ),
    "a transfer with a wrong balance after it": (
        transfer(debit_balance=f"{TRANSFER['debit_balance']} + 1"),
        "debit side does not follow",
    ),
    "a transfer with a wrong balance for its taker": (
        transfer(credit_balance=f"{TRANSFER['credit_balance']} + 1"),
        "credit side does not follow",
    ),
    "a first transfer that takes nothing from who pays it": (
        transfer(debit=FIRST_ACCOUNT, debit_sequence="1", debit_balance="100"),
        "debit side does not follow",
    ),
    "a payment paid by who has nothing": (
        transfer(debit=FIRST_ACCOUNT, debit_sequence="1", debit_balance="-500"),
        "below zero",
    ),
    "a cancelled payment paid": (
        transfer(
            payment=":cancelled",
            amount="100",
            debit_balance=f"{TRANSFER['debit_balance']} + 400",
            credit_balance=f"{TRANSFER['credit_balance']} - 400",
        ),
        "does not match the payment",
    ),
    "a transfer that changed": ("UPDATE transfer SET amount = amount + 1 WHERE payment = :paid", "never change"),
    "a transfer that changed its time": ("UPDATE transfer SET created_at = 0", "never change"),
    "a transfer that vanished": ("DELETE FROM transfer WHERE payment = :paid", "never vanish"),
    "a live mint": (
        transfer(
            kind="'mint'",
            payment="NULL",
            debit=":house",
            credit=":customer",
            debit_sequence="(SELECT sequence + 1 FROM balance WHERE account = :house AND currency = 'USD')",
            debit_balance="(SELECT amount - 500 FROM balance WHERE account = :house AND currency = 'USD')",
            credit_sequence=TRANSFER["debit_sequence"],
            credit_balance=f"{TRANSFER['debit_balance']} + 1000",
        ),
        "transfer",
    ),
    "a payment paid by the house": (
        transfer(
            debit=":house",
            debit_sequence="(SELECT sequence + 1 FROM balance WHERE account = :house AND currency = 'USD')",
            debit_balance="(SELECT amount - 500 FROM balance WHERE account = :house AND currency = 'USD')",
        ),
        "transfer",
    ),
    "a fee from one customer to another": (
        transfer(
            kind="'fee'",
            payment=":paid",
            credit=":other",
            credit_sequence=TRANSFER["credit_sequence"].replace(":shop", ":other"),
            credit_balance=TRANSFER["credit_balance"].replace(":shop", ":other"),
        ),
        "kind|transfer_check1",
    ),
    "a fee for an operator": (
        transfer(kind="'fee'", payment=":paid", credit=FIRST_ACCOUNT, credit_sequence="1", credit_balance="500"),
        "kind|transfer_check1",
    ),
    "a reversal that mirrors a pay": (
        transfer(
            kind="'reversal'",
            payment="NULL",
            reverses="(SELECT id FROM transfer WHERE payment = :paid)",
            debit=":shop",
            credit=":customer",
            debit_sequence=TRANSFER["credit_sequence"],
            debit_balance=f"{TRANSFER['credit_balance']} - 500 - 300",
            credit_sequence=TRANSFER["debit_sequence"],
            credit_balance=f"{TRANSFER['debit_balance']} + 500 + 300",
            amount="300",
        ),
        "kind|reverses|transfer_check|does not match the bank order",
    ),
    "a pay that says it reverses another": (
        transfer(reverses="(SELECT id FROM transfer WHERE payment = :paid)"),
        "reverses|transfer_check",
    ),
    "a refund to someone who did not pay": (
        transfer(
            kind="'refund'",
            payment=":paid",
            debit=":shop",
            debit_sequence=TRANSFER["credit_sequence"],
            debit_balance=f"{TRANSFER['credit_balance']} - 500 - 100",
            credit=":other",
            credit_sequence=TRANSFER["credit_sequence"].replace(":shop", ":other"),
            credit_balance=f"{TRANSFER['credit_balance'].replace(':shop', ':other')} - 400",
            amount="100",
        ),
        "transfer",
    ),
    # Payments.
    "paid without a transfer": (PAID, "paid without its transfer"),
    "paid by someone else than the transfer says": (
        transfer() + PAID.replace(":customer", ":other"),
        "paid without its transfer",
    ),
    "paid as it is made": (
        (
            "INSERT INTO payment SELECT 99, merchant, payer, amount, currency, status, note, metadata,"
            " reference, return_url,"
            " cancel_url, created_at, updated_at, expires_at, paid_at, cancelled_at, 0, version FROM payment"
            " WHERE number = :paid"
        ),
        "begins pending",
    ),
    "a payment for nothing": (
        (
            "INSERT INTO payment SELECT 99, merchant, payer, 0, currency, status, note, metadata, reference,"
            " return_url,"
            " cancel_url, created_at, updated_at, expires_at, paid_at, cancelled_at, 0, version FROM payment"
            " WHERE number = :pending"
        ),
        "amount BETWEEN|amount_check",
    ),
    "another amount": ("UPDATE payment SET amount = 1, version = 2 WHERE number = :pending", "never changes"),
    "another merchant": ("UPDATE payment SET merchant = :till, version = 2 WHERE number = :pending", "never changes"),
    "another note": ("UPDATE payment SET note = 'x', version = version + 1 WHERE number = :paid", "never changes"),
    "other metadata": ("UPDATE payment SET metadata = '{}', version = 2 WHERE number = :pending", "never changes"),
    "another time limit": ("UPDATE payment SET expires_at = 1, version = 2 WHERE number = :pending", "never changes"),
    "another number": ("UPDATE payment SET number = 99, version = 2 WHERE number = :pending", "never changes"),
    "a cancelled payment resurrected": (
        "UPDATE payment SET status = 'pending', cancelled_at = NULL, version = 3 WHERE number = :cancelled",
        "final state is final",
    ),
    "an expired payment resurrected": (
        "UPDATE payment SET status = 'pending', version = 3 WHERE number = :expired",
        "final state is final",
    ),
    "a paid payment that is pending again": (
        "UPDATE payment SET status = 'pending', payer = NULL, paid_at = NULL, version = 3 WHERE number = :paid",
        "final state is final",
    ),
    "a paid payment that is cancelled": (
        (
            "UPDATE payment SET status = 'cancelled', payer = NULL, paid_at = NULL, cancelled_at = 1, version = 3"
            " WHERE number = :paid"
        ),
        "final state is final",
    ),
    "a paid payment with another payer": (
        "UPDATE payment SET payer = :other, version = 3 WHERE number = :paid",
        "final state is final",
    ),
    "a version that falls": ("UPDATE payment SET version = 1 WHERE number = :paid", "version only grows"),
    "a change without a version": ("UPDATE payment SET updated_at = 1 WHERE number = :paid", "version only grows"),
    "a refund without a transfer": (
        "UPDATE payment SET refunded_amount = 1, version = 3 WHERE number = :paid",
        "refunded without transfers",
    ),
    "a refund whose transfer has no refund of its own": (back() + REFUNDED, "refunded without a refund"),
    "a refund of another sum than its refunds": (
        back() + refund_row() + REFUNDED.replace("= 100", "= 99"),
        "refunded without transfers",
    ),
    "a payment of which more was refunded than its last refund": (
        "UPDATE payment SET refunded_amount = refunded_amount + 1, version = 5 WHERE number = :refunded",
        "refunded without transfers",
    ),
    "more refunds than a payment may have": (
        back() + refund_row(version="23") + REFUNDED.replace("version = 3", "version = 23"),
        "version",
    ),
    "refunds above what was paid": (
        back(301) + refund_row(amount="301") + REFUNDED.replace("= 100", "= 301"),
        "does not match|payment_check|refunded_amount",
    ),
    "refund transfers above what was paid": (back(301), "does not match the payment it refunds"),
    "two refund transfers above what was paid": (back(200) + back(101), "does not match the payment it refunds"),
    "a refund transfer of what has all gone back": (
        back(1, payment=":returned").replace("'USD'", "'EUR'"),
        "does not match the payment it refunds",
    ),
    "a refund transfer of what was cancelled": (
        back(payment=":cancelled"),
        "does not match the payment it refunds",
    ),
    # Refunds.
    "a refund object without a transfer": (refund_row(sequence="99"), "refund: without its transfer"),
    "a refund object for the transfer of a pay": (refund_row(amount="200"), "refund: without its transfer"),
    "a refund object of another amount than its transfer": (
        back() + refund_row(amount="101"),
        "refund: without its transfer",
    ),
    "a refund object for another payment than its transfer": (
        back() + refund_row(payment=":paid_too"),
        "refund: without its transfer",
    ),
    "a refund object for another's transfer in another currency": (
        "INSERT INTO refund SELECT 're_new', :paid, 3, amount, '', '{}', sequence, 9 FROM refund WHERE id = 're_1'",
        "refund: without its transfer",
    ),
    "a second refund object for one transfer": (
        (
            "INSERT INTO refund SELECT 're_new', payment, version + 1, amount, '', '{}', sequence, 9 FROM refund"
            " WHERE id = 're_1'"
        ),
        "never replaced|refund_transfer",
    ),
    "a second refund object for one version": (
        back() + refund_row() + back() + refund_row(id="'re_newer'"),
        "never replaced|refund_payment",
    ),
    "a refund object of a version that no refund has": (
        back() + refund_row(version="2"),
        "version BETWEEN 3 AND 22|refund_version_check",
    ),
    "a refund object that changed": ("UPDATE refund SET note = 'x' WHERE id = 're_1'", "refunds never change"),
    "a refund object of more": ("UPDATE refund SET amount = amount + 1 WHERE id = 're_1'", "refunds never change"),
    "a refund object that vanished": ("DELETE FROM refund WHERE id = 're_1'", "refunds never vanish"),
    "a refund that is taken back": (
        REFUND + "UPDATE payment SET refunded_amount = 0, version = 4 WHERE number = :paid",
        "refunds only grow",
    ),
    "a refund of more than was paid": (
        "UPDATE payment SET refunded_amount = amount + 1, version = 3 WHERE number = :paid",
        "refund|payment_check",
    ),
    "a refund of what was not paid": (
        "UPDATE payment SET refunded_amount = 1, version = 2 WHERE number = :pending",
        "refund|payment_check",
    ),
    "a payment that vanished": ("DELETE FROM payment WHERE number = :pending", "never vanish"),
    "a payment expired before its time": (
        "UPDATE payment SET status = 'expired', version = 2, updated_at = expires_at - 1 WHERE number = :pending",
        "expired before its time",
    ),
    # What is held.
    "more held than there is": (
        "UPDATE balance SET held = amount + 1 WHERE account = :customer AND currency = 'USD'",
        "held <= amount|balance_check",
    ),
    # Counters.
    **{
        f"a counter of {name} that falls": (
            f"UPDATE counter SET last = last - 1 WHERE name = '{name}'",
            "never given again",
        )
        for name in ("payment", "person", "account")
    },
    "a counter under another name": ("UPDATE counter SET name = 'x' WHERE name = 'person'", "never given again"),
    "a counter beyond all numbers": (
        "UPDATE counter SET last = 9223372036854775807 WHERE name = 'payment'",
        "last BETWEEN|counter_last_check",
    ),
    "a counter that vanished": ("DELETE FROM counter WHERE name = 'person'", "counters never vanish"),
    "a counter of events ahead of them": (
        "UPDATE event_counter SET last = last + 1 WHERE account = :shop",
        "stand at the last event",
    ),
    "a counter of events behind them": (
        "UPDATE event_counter SET last = last - 1 WHERE account = :shop",
        "stand at the last event",
    ),
    "a counter of events that are not there": (
        "INSERT INTO event_counter VALUES (:other, 1)",
        "stand at the last event",
    ),
    "a counter of events that changes hands": (
        "UPDATE event_counter SET account = :other WHERE account = :till",
        "last event|never changes",
    ),
    "a counter of events that vanished": ("DELETE FROM event_counter WHERE account = :shop", "never vanish"),
    # Events.
    "an event that leaves a gap": (
        (
            "INSERT INTO event SELECT account, last + 2, 0, 'remote_payment.paid', :paid, 3, 1 FROM event_counter"
            " WHERE account = :shop"
        ),
        "leaves a gap",
    ),
    "an event without its change": (
        (
            "INSERT INTO event SELECT account, last + 1, 0, 'remote_payment.paid', :pending, 2, 1 FROM event_counter"
            " WHERE account = :shop"
        ),
        "without its change",
    ),
    "an event of another's payment": (
        (
            "INSERT INTO event SELECT account, last + 1, 0, 'remote_payment.paid', :tested, 2, 1 FROM event_counter"
            " WHERE account = :shop"
        ),
        "never replaced|event_payment",
    ),
    "an event that changed": ("UPDATE event SET type = 'remote_payment.expired'", "never change"),
    "an event that vanished": ("DELETE FROM event WHERE payment = :paid", "never vanish"),
    # Who decides.
    "an installation without its key": ("DELETE FROM constant", "constants never vanish"),
    "a key under another name": (
        "UPDATE constant SET name = 'k' WHERE name = 'identifier_key'",
        "constants never change",
    ),
    "an audit entry that changed": ("UPDATE audit SET actor = 'nobody' WHERE id = 1", "never change"),
    "an audit entry that vanished": ("DELETE FROM audit WHERE id = 1", "never vanish"),
    "a customer who becomes the house": (
        "UPDATE account SET kind = 'house', owner = NULL, state = 'open' WHERE number = :customer",
        "never change",
    ),
    "a test account that becomes live": (
        "UPDATE account SET mode = 'live', live_account = NULL, state = 'approved' WHERE number = :till",
        "never change",
    ),
    "an account that vanished": ("DELETE FROM account WHERE number = :other", "never vanish"),
    **BAD_OPERATORS,
    **BAD_AGREED,
    **BAD_HELP,
    **BAD_ORDERS,
    **BAD_REVERSALS,
    **BAD_WEBHOOKS,
    **BAD_STAFF,
    **BAD_LOOKS,
    **BAD_NOTES,
    **BAD_RESTORES,
    **BAD_TOTALS,
    **BAD_BANK,
}

# SQLite's own: REPLACE removes the row in its way without a word to the triggers of DELETE.
REPLACED: Final[dict[str, tuple[str, str]]] = {
    "another key of the ids": ("INSERT OR REPLACE INTO constant VALUES ('identifier_key', x'00')", "never replaced"),
    "a transfer replaced by its id": (
        transfer("INSERT OR REPLACE", id="(SELECT id FROM transfer WHERE payment = :paid)"),
        "never replaced|not the next",
    ),
    "a transfer replaced by its place with the payer": (
        transfer("INSERT OR REPLACE", **MINT | {"debit_sequence": "1", "debit_balance": "-500"}),
        "never replaced",
    ),
    "a transfer replaced by its place with the taker": (
        agreed() + deposit(":other", "'new'", "INSERT OR REPLACE", credit_sequence="1", credit_balance="10000"),
        "never replaced",
    ),
    "a transfer replaced by its payment": (
        transfer()
        + transfer(
            "INSERT OR REPLACE",
            debit_sequence=f"{TRANSFER['debit_sequence']} + 1",
            debit_balance=f"{TRANSFER['debit_balance']} - 500",
            credit_sequence=f"{TRANSFER['credit_sequence']} + 1",
            credit_balance=f"{TRANSFER['credit_balance']} + 500",
        ),
        "never replaced",
    ),
    "the last of all ids": (transfer(id="9223372036854775807"), "not the next|id BETWEEN"),
    "an id that leaves a gap": (transfer(id="(SELECT max(id) + 2 FROM transfer)"), "not the next"),
    "an audit entry of the last of all ids": (AUDIT.format("9223372036854775807"), "not the next|id BETWEEN"),
    "an audit entry after a gap": (AUDIT.format("(SELECT max(id) + 2 FROM audit)"), "not the next"),
    "a counter replaced": ("INSERT OR REPLACE INTO counter VALUES ('payment', 1)", "never replaced"),
    "a counter of events replaced": (
        "INSERT OR REPLACE INTO event_counter SELECT account, last + 1 FROM event_counter WHERE account = :shop",
        "never replaced",
    ),
    "a balance replaced by an old one": (
        (
            "INSERT OR REPLACE INTO balance SELECT credit, currency, credit_balance, 1, 0, 0 FROM transfer"
            " WHERE credit = :customer AND currency = 'USD' AND credit_sequence = 1"
        ),
        "never replaced",
    ),
    "a payment replaced by itself, unpaid": (
        (
            "INSERT OR REPLACE INTO payment SELECT number, merchant, NULL, amount, currency, 'pending', note, metadata,"
            " reference, return_url, cancel_url, created_at, created_at, expires_at, NULL, NULL, 0, 1 FROM payment"
            " WHERE number = :paid"
        ),
        "never replaced",
    ),
    "a refund replaced by its id": (
        back() + refund_row("INSERT OR REPLACE", id="'re_1'"),
        "never replaced",
    ),
    "a refund replaced by its version": (
        back() + refund_row() + back() + refund_row("INSERT OR REPLACE", id="'re_newer'"),
        "never replaced",
    ),
    "a refund replaced by its transfer": (
        (
            "INSERT OR REPLACE INTO refund SELECT 're_new', payment, 9, amount, 'x', '{}', sequence, 9 FROM refund"
            " WHERE id = 're_1'"
        ),
        "never replaced",
    ),
    "an event replaced by its number": (
        (
            "INSERT OR REPLACE INTO event SELECT account, sequence, epoch, 'forged', payment, version, 1 FROM event"
            " WHERE payment = :paid"
        ),
        "never replaced",
    ),
    "an event replaced by its payment": (
        (
            "INSERT OR REPLACE INTO event SELECT account, (SELECT last + 1 FROM event_counter c WHERE c.account"
            " = e.account),"
            " epoch, 'forged', payment, version, 1 FROM event e WHERE payment = :paid"
        ),
        "never replaced",
    ),
    "an audit entry replaced": (
        "INSERT OR REPLACE INTO audit SELECT id, at, 'nobody', action, subject, detail FROM audit WHERE id = 1",
        "never replaced",
    ),
    "a seal replaced": (
        "INSERT OR REPLACE INTO seal SELECT number, at + 1, content, hash FROM seal",
        "never replaced|does not follow",
    ),
    "a stop replaced": (
        "INSERT OR REPLACE INTO stop SELECT id, at, 'another', NULL, NULL FROM stop",
        "never replaced|begins open",
    ),
    "an account replaced by one of the house": (
        (
            "INSERT OR REPLACE INTO account SELECT number, 'house', mode, NULL, NULL, name, 'open', '', 1, 1,"
            " NULL, NULL, 3600"
            " FROM account"
            " WHERE number = :customer"
        ),
        "never replaced|a house account without",
    ),
    "a house account replaced by its name": (
        (
            "INSERT OR REPLACE INTO account SELECT 100000000001, kind, mode, NULL, NULL, name, state, '', 1, 1,"
            " NULL, NULL, 3600"
            " FROM account"
            " WHERE number = :house"
        ),
        "never replaced",
    ),
    "a house account replaced by another's new name": (
        (HOUSE_OPENED + "UPDATE OR REPLACE account SET name = 'bank' WHERE number = 100000000001"),
        "never replaced|house account never changes",
    ),
    **REPLACED_OPERATORS,
    **REPLACED_HELP,
    **REPLACED_ORDERS,
    **REPLACED_REVERSALS,
    **REPLACED_WEBHOOKS,
    **REPLACED_STAFF,
    **REPLACED_LOOKS,
    **REPLACED_NOTES,
    **REPLACED_RESTORES,
    **REPLACED_TOTALS,
    **REPLACED_BANK,
}


# PostgreSQL's own: TRUNCATE takes all rows without a word to the triggers of DELETE.
TRUNCATED: Final = (
    "transfer",
    "balance",
    "payment",
    "refund",
    "bank_order",
    "bank_statement",
    "bank_format",
    "event",
    "audit",
    "account",
    "person",
    "operator",
    "proposal",
    "payout",
    "constant",
    "seal",
    "stop",
    "restore",
    "counter",
    "event_counter",
    "webhook_endpoint",
    "webhook_attempt",
    "payment_act",
)
# And an id may be given by hand.
OVERRIDDEN: Final[dict[str, tuple[str, str]]] = {
    "the last of all ids": (transfer(id="9223372036854775807"), "transfer_id_check"),
    "an id that was not handed out": (transfer(id="1000000"), "not the next"),
    "an audit entry of the last of all ids": (AUDIT.format("9223372036854775807"), "audit_id_check"),
    "an audit entry whose id was not handed out": (AUDIT.format("1000000"), "not the next"),
}


def test_the_database_refuses(subtests: pytest.Subtests, any_hand: Hand) -> None:
    refuses_each(subtests, any_hand, BAD | TWICE | REVERSED_TWICE)


@ON_SQLITE_FIRST
def test_only_its_guard_stands_in_the_way(subtests: pytest.Subtests, any_hand: Hand) -> None:
    accepts_each_without_guards(subtests, any_hand, BAD)


def test_the_database_lets_one_admin_appoint_while_there_is_no_other(any_hand: Hand) -> None:
    any_hand.type(gets("treasury") + has("treasury"))
    before = any_hand.rows()
    any_hand.type(APPOINTED_ALONE + OPERATOR.format("admin", ":first", "NULL"))
    after = any_hand.rows()
    assert [len(after[name]) - len(before[name]) for name in ("proposal", "operator")] == [1, 1]


def test_the_database_accepts_what_two_operators_agreed_to(subtests: pytest.Subtests, any_hand: Hand) -> None:
    before = any_hand.rows()
    for name, sql in AGREED.items():
        with subtests.test(name), any_hand.tentative():
            any_hand.type(sql)
            after = any_hand.rows()
            assert {table for table in after if after[table] != before[table]} - {"proposal"}


def test_sqlite_refuses_to_replace_a_row(subtests: pytest.Subtests, hand: SqliteHand) -> None:
    refuses_each(subtests, hand, REPLACED)
    accepts_each_without_guards(subtests, hand, REPLACED)


# SQLite has no such statements.
@pytest.mark.parametrize("any_engine", installations(), indirect=True, scope="session")
def test_postgresql_refuses_to_empty_a_table_or_to_be_given_an_id(subtests: pytest.Subtests, any_hand: Hand) -> None:
    bad = {f"no rows in {table}": (f"TRUNCATE {table} CASCADE", "never vanish") for table in TRUNCATED} | {
        name: (sql.replace(" VALUES", " OVERRIDING SYSTEM VALUE VALUES", 1), why)
        for name, (sql, why) in OVERRIDDEN.items()
    }
    refuses_each(subtests, any_hand, bad)
    accepts_each_without_guards(subtests, any_hand, bad)


GOOD: Final[dict[str, str]] = {
    "a payment that is paid": transfer() + BALANCES + PAID + EVENT,
    "a refund": REFUND,
    "a refund of all that was paid, in two": back(100)
    + refund_row()
    + REFUNDED
    + EVENT.replace("'remote_payment.paid', :pending, 2", "'refund.created', :paid, 3")
    + back(200)
    + refund_row(id="'re_newer'", amount="200", version="4")
    + REFUNDED.replace("= 100, version = 3", "= 300, version = 4")
    + EVENT.replace("'remote_payment.paid', :pending, 2", "'refund.created', :paid, 4"),
    "a payment that is cancelled": """
    UPDATE payment SET status = 'cancelled', cancelled_at = 1800000000000, updated_at = 1800000000000, version = 2
    WHERE number = :pending;"""
    + EVENT.replace("remote_payment.paid", "remote_payment.cancelled"),
    "a payment whose time is over": """
    UPDATE payment SET status = 'expired', updated_at = expires_at, version = 2 WHERE number = :pending;"""
    + EVENT.replace("remote_payment.paid", "remote_payment.expired").replace(
        "2, 1800000000000", "2, (SELECT expires_at FROM payment WHERE number = :pending)"
    ),
    "a counter that grows": "UPDATE counter SET last = last + 1 WHERE name = 'payment'",
    "an audit entry": "INSERT INTO audit (at, actor, action, subject, detail) VALUES (1, 'a', 'b', 'c', 'd')",
    **GOOD_OPERATORS,
    **GOOD_HELP,
    **GOOD_ORDERS,
    **GOOD_REVERSALS,
    **GOOD_WEBHOOKS,
    **GOOD_STAFF,
    **GOOD_NOTES,
    **GOOD_RESTORES,
    **GOOD_TOTALS,
    **GOOD_BANK,
}


def test_the_database_accepts(subtests: pytest.Subtests, any_hand: Hand) -> None:
    before = any_hand.rows()
    for name, sql in GOOD.items():
        with subtests.test(name), any_hand.tentative():
            any_hand.type(sql)
            assert any_hand.rows() != before


@ON_SQLITE_FIRST
def test_nothing_is_wrong_with_what_it_accepts(subtests: pytest.Subtests, any_engine: Engine, tmp_path: Path) -> None:
    for name, sql in GOOD.items():
        with subtests.test(name), any_engine.kept(tmp_path) as (hand, violations):
            hand.type(sql)
            assert violations() == []


PAYMENT: Final = """INSERT INTO payment SELECT 99, {}, NULL, amount, {}, status, note, metadata, reference, return_url,
    cancel_url, created_at, updated_at, expires_at, NULL, NULL, 0, version FROM payment WHERE number = :pending"""
TO_NOWHERE: Final[dict[str, str]] = {
    "a payment to nobody": PAYMENT.format("404", "currency"),
    "a payment in no currency": PAYMENT.format("merchant", "'XXX'"),
    "a pay for no payment": transfer(payment="404"),
    "test money for nobody": transfer(**MINT | {"credit": "404"}),
    "a PIN of nobody": "INSERT INTO pin SELECT 404, mac, 0 FROM pin LIMIT 1",
    **OPERATORS_TO_NOWHERE,
    **HELP_TO_NOWHERE,
    **ORDERS_TO_NOWHERE,
    **WEBHOOKS_TO_NOWHERE,
    **STAFF_TO_NOWHERE,
    **LOOKS_TO_NOWHERE,
    **NOTES_TO_NOWHERE,
    **TOTALS_TO_NOWHERE,
    **BANK_TO_NOWHERE,
}


# In the words of a foreign key, or of the trigger that looks before it.
NOWHERE: Final = (
    "(?i)foreign key|across|no merchant|does not match|agreed to|payment: |webhook (queue|delivery): |account total: "
)


def test_the_database_refuses_a_reference_that_leads_nowhere(subtests: pytest.Subtests, any_hand: Hand) -> None:
    if isinstance(any_hand, SqliteHand):
        any_hand.follow_references()
    refuses_each(subtests, any_hand, {name: (sql, NOWHERE) for name, sql in TO_NOWHERE.items()})


@ON_SQLITE_FIRST
def test_only_the_reference_stands_in_the_way(subtests: pytest.Subtests, any_hand: Hand) -> None:
    accepts_each_without_guards(subtests, any_hand, {name: (sql, NOWHERE) for name, sql in TO_NOWHERE.items()})


def test_a_failed_statement_leaves_the_copy_as_it_was(any_engine: Engine, tmp_path: Path) -> None:
    with any_engine.kept(tmp_path) as (hand, violations):
        before = hand.rows()
        with pytest.raises(Denied):
            hand.type(transfer() + PAID.replace(":customer", ":other"))
        assert hand.rows() == before
        assert violations() == []
