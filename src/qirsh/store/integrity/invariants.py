"""What must always hold of the stored money, as queries that return the rows which break it.

The SQL is plain and takes no arguments, so that both engines run it. Nothing here opens a database.
"""

# Every part of every query is a constant of this file.
# ruff: noqa: S608

from collections.abc import Callable
from typing import Final

from qirsh.domain.limits import AMOUNT_MAX, BALANCE_MAX
from qirsh.store.integrity import hash_chain
from qirsh.store.integrity.bank_invariants import BANK
from qirsh.store.integrity.invariant import Invariant, Select, Violation, rule, total, violations_of
from qirsh.store.integrity.operator_invariants import OPERATORS, STOPS
from qirsh.store.integrity.order_invariants import has_order, moved_once, names_what_it_reverses, taken_back_whole
from qirsh.store.integrity.staff_invariants import STAFF
from qirsh.store.integrity.total_invariants import TOTALS
from qirsh.store.integrity.webhook_invariants import WEBHOOKS


def check(select: Select, progress: Callable[[Invariant], None]) -> list[Violation]:
    """Run every query, at best on one snapshot. `progress` hears of each before it runs."""
    violations = []
    for invariant in ALL:
        progress(invariant)
        violations += violations_of(invariant, select)
    return violations


# Each transfer seen from both of its accounts.
_SIDE: Final = """WITH side AS (
        SELECT id, debit AS account, currency, debit_sequence AS sequence, -amount AS change,
            debit_balance AS after FROM transfer
        UNION ALL SELECT id, credit, currency, credit_sequence, amount, credit_balance FROM transfer)"""
_NOT_AN_AMOUNT: Final = f"NOT BETWEEN 1 AND {AMOUNT_MAX}"

_LEDGER: Final = (
    rule(
        1,
        "per currency, debits equal credits",
        "balances in {} sum to {}, not to zero",
        f"""SELECT currency, {total("amount")} FROM balance
        GROUP BY currency HAVING {total("amount")} <> 0""",
    ),
    rule(
        1,
        "a balance is the sum of its transfers",
        "balance of account {} in {} is {}, its transfers sum to {}",
        f"""{_SIDE},
        moved AS (SELECT account, currency, {total("change")} AS total FROM side GROUP BY account, currency)
        SELECT b.account, b.currency, b.amount, coalesce(m.total, 0)
        FROM balance b LEFT JOIN moved m ON m.account = b.account AND m.currency = b.currency
        WHERE b.amount <> coalesce(m.total, 0)""",
    ),
    rule(
        1,
        "a balance is what its last transfer left",
        "balance of account {} in {} is {} at sequence {}, that transfer left {}, and {} are later",
        """SELECT account, currency, amount, sequence, after, later FROM (
            SELECT b.account, b.currency, b.amount, b.sequence, coalesce(
                (SELECT max(debit_balance) FROM transfer
                WHERE debit = b.account AND currency = b.currency AND debit_sequence = b.sequence),
                (SELECT max(credit_balance) FROM transfer
                WHERE credit = b.account AND currency = b.currency AND credit_sequence = b.sequence)
                ) AS after,
                (SELECT count(*) FROM transfer
                WHERE debit = b.account AND currency = b.currency AND debit_sequence > b.sequence)
                + (SELECT count(*) FROM transfer
                WHERE credit = b.account AND currency = b.currency AND credit_sequence > b.sequence) AS later
            FROM balance b) AS found
        WHERE after IS DISTINCT FROM amount OR later > 0""",
    ),
    rule(
        1,
        "whoever has transfers has a balance",
        "account {} has {} transfers in {} and no balance",
        f"""{_SIDE},
        moved AS (SELECT account, currency, count(*) AS times FROM side GROUP BY account, currency)
        SELECT m.account, m.times, m.currency
        FROM moved m LEFT JOIN balance b ON b.account = m.account AND b.currency = m.currency
        WHERE b.account IS NULL""",
    ),
    rule(
        1,
        "a sequence has no gap and no number twice",
        "transfer {} of account {} in {} has sequence {}, the one before it has {}",
        f"""{_SIDE}, ordered AS (SELECT id, account, currency, sequence,
            lag(sequence, 1, 0) OVER (PARTITION BY account, currency ORDER BY sequence) AS before FROM side)
        SELECT id, account, currency, sequence, before FROM ordered WHERE sequence <> before + 1""",
    ),
    rule(
        1,
        "a balance-after follows from the one before it",
        "transfer {} leaves account {} with {} {} at sequence {}, not with {}",
        f"""{_SIDE}, ordered AS (SELECT id, account, currency, sequence, after,
            change + lag(after, 1, 0) OVER (PARTITION BY account, currency ORDER BY sequence) AS due
            FROM side)
        SELECT id, account, after, currency, sequence, due FROM ordered WHERE after <> due""",
    ),
    rule(
        2,
        "only a house account is below zero",
        "balance of account {} in {} is {}, and the account is {}",
        """SELECT b.account, b.currency, b.amount, a.kind
        FROM balance b JOIN account a ON a.number = b.account
        WHERE b.amount < 0 AND a.kind <> 'house'""",
    ),
    rule(
        2,
        "only a house account was ever below zero",
        "transfer {} leaves account {} with {} {}, and the account is {}",
        f"""{_SIDE} SELECT s.id, s.account, s.after, s.currency, a.kind
        FROM side s JOIN account a ON a.number = s.account WHERE s.after < 0 AND a.kind <> 'house'""",
    ),
    rule(
        2,
        "a balance knows whether its account is of the house",
        "balance of account {} in {} has is_house {}, and the account is {}",
        """SELECT b.account, b.currency, CAST(b.is_house AS INTEGER), a.kind
        FROM balance b JOIN account a ON a.number = b.account
        WHERE CAST(b.is_house AS INTEGER) <> CASE WHEN a.kind = 'house' THEN 1 ELSE 0 END""",
    ),
    rule(
        2,
        "what is held is what open payouts ask for",
        "balance of account {} in {} holds {} back, its open payouts ask for {}",
        """SELECT account, currency, max(held), sum(asked) FROM (
            SELECT account, currency, held, 0 AS asked FROM balance WHERE held <> 0
            UNION ALL SELECT p.account, p.currency, coalesce(b.held, 0), p.amount FROM payout p
            LEFT JOIN balance b ON b.account = p.account AND b.currency = p.currency
            WHERE p.state IN ('asked', 'ordered')) AS found
        GROUP BY account, currency HAVING max(held) <> sum(asked)""",
    ),
    rule(
        2,
        "an amount is in its range",
        "{} {} has the amount {}",
        f"""SELECT 'transfer', CAST(id AS TEXT), amount FROM transfer WHERE amount {_NOT_AN_AMOUNT}
        UNION ALL SELECT 'payment', CAST(number AS TEXT), amount FROM payment WHERE amount {_NOT_AN_AMOUNT}
        UNION ALL SELECT 'refund', id, amount FROM refund WHERE amount {_NOT_AN_AMOUNT}
        UNION ALL SELECT 'bank order', reference, amount FROM bank_order WHERE amount {_NOT_AN_AMOUNT}
        UNION ALL SELECT 'balance of account', CAST(account AS TEXT), amount FROM balance
        WHERE amount NOT BETWEEN -{BALANCE_MAX} AND {BALANCE_MAX}""",
    ),
    rule(
        2,
        "no transfer goes from an account to itself",
        "transfer {} goes from account {} to itself",
        "SELECT id, debit FROM transfer WHERE debit = credit",
    ),
    # The test accounts of one merchant are a world of their own too.
    rule(
        2,
        "no transfer crosses live and test",
        "transfer {} goes from account {} ({}) to account {} ({}), which are not of one world",
        """SELECT t.id, t.debit, d.mode, t.credit, c.mode FROM transfer t
        JOIN account d ON d.number = t.debit JOIN account c ON c.number = t.credit
        WHERE d.mode <> c.mode OR d.live_account IS DISTINCT FROM c.live_account""",
    ),
    rule(
        2,
        "money enters and leaves only through the house",
        "transfer {} is a {} from account {} ({}, {}) to account {} ({})",
        """SELECT t.id, t.kind, t.debit, d.kind, d.mode, t.credit, c.kind FROM transfer t
        JOIN account d ON d.number = t.debit JOIN account c ON c.number = t.credit
        WHERE CASE t.kind
            WHEN 'deposit' THEN d.kind <> 'house' OR c.kind = 'house'
            WHEN 'withdrawal' THEN d.kind = 'house' OR c.kind <> 'house'
            WHEN 'mint' THEN d.kind <> 'house' OR c.kind = 'house' OR d.mode <> 'test'
            WHEN 'reversal' THEN (d.kind = 'house') = (c.kind = 'house')
            WHEN 'correction' THEN (d.kind = 'house') = (c.kind = 'house')
            ELSE d.kind = 'house' OR c.kind = 'house' END""",
    ),
    rule(
        2,
        "money moves only as commands move it",
        "transfer {} is a {} from account {} to account {}, which no command makes",
        """SELECT id, kind, debit, credit FROM transfer
        WHERE kind NOT IN ('pay', 'refund', 'deposit', 'withdrawal', 'mint', 'reversal', 'correction')
            OR (kind = 'reversal') <> (reverses IS NOT NULL)""",
    ),
    moved_once("bank_order"),
    has_order("transfer"),
    taken_back_whole("bank_order"),
    names_what_it_reverses("transfer"),
)

_PAYMENTS: Final = (
    rule(
        3,
        "a paid payment has exactly one pay transfer, and it matches",
        "payment number {} is paid and has {} pay transfers, of which {} match it",
        """SELECT number, pays, matching FROM (SELECT p.number,
            (SELECT count(*) FROM transfer t WHERE t.payment = p.number AND t.kind = 'pay') AS pays,
            (SELECT count(*) FROM transfer t WHERE t.payment = p.number AND t.kind = 'pay'
                AND t.debit = p.payer AND t.credit = p.merchant AND t.amount = p.amount
                AND t.currency = p.currency) AS matching
            FROM payment p WHERE p.status = 'paid') AS found
        WHERE pays <> 1 OR matching <> 1""",
    ),
    rule(
        3,
        "a pay transfer has its paid payment",
        "transfer {} pays payment number {}, whose status is {}",
        """SELECT t.id, t.payment, p.status FROM transfer t LEFT JOIN payment p ON p.number = t.payment
        WHERE t.kind = 'pay' AND p.status IS DISTINCT FROM 'paid'""",
    ),
    rule(
        4,
        "what was refunded is the sum of its refunds, and no more than was paid",
        "payment number {} of {} has {} refunded, its refund transfers sum to {}",
        f"""WITH refunded AS (
            SELECT payment, {total("amount")} AS total FROM transfer WHERE kind = 'refund' GROUP BY payment)
        SELECT p.number, p.amount, p.refunded_amount, coalesce(r.total, 0)
        FROM payment p LEFT JOIN refunded r ON r.payment = p.number
        WHERE p.refunded_amount <> coalesce(r.total, 0) OR p.refunded_amount > p.amount""",
    ),
    rule(
        4,
        "a refund has its transfer, and a refund transfer its refund",
        "refund {} of payment number {} is {}, its transfer moved {}",
        """SELECT r.id, r.payment, r.amount, t.amount FROM refund r LEFT JOIN payment p ON p.number = r.payment
        LEFT JOIN transfer t ON t.kind = 'refund' AND t.payment = r.payment AND t.debit = p.merchant
            AND t.currency = p.currency AND t.debit_sequence = r.sequence
        WHERE t.amount IS DISTINCT FROM r.amount OR r.version > p.version
        UNION ALL SELECT 'that is missing', t.payment, r.amount, t.amount FROM transfer t
        LEFT JOIN refund r ON r.payment = t.payment AND r.sequence = t.debit_sequence
        WHERE t.kind = 'refund' AND r.id IS NULL""",
    ),
    rule(
        4,
        "a refund goes back from the merchant to the payer",
        "transfer {} refunds {} from account {} to account {}, payment number {} is {}",
        """SELECT t.id, t.currency, t.debit, t.credit, t.payment, p.status
        FROM transfer t LEFT JOIN payment p ON p.number = t.payment
        WHERE t.kind = 'refund' AND (p.status IS DISTINCT FROM 'paid' OR t.debit IS DISTINCT FROM p.merchant
            OR t.credit IS DISTINCT FROM p.payer OR t.currency IS DISTINCT FROM p.currency)""",
    ),
    rule(
        5,
        "status and times of a payment agree",
        "payment number {} is {} with payer {}, paid at {}, cancelled at {}, updated at {}, due at {}",
        """SELECT number, status, payer, paid_at, cancelled_at, updated_at, expires_at FROM payment p
        WHERE CASE status
            WHEN 'pending' THEN payer IS NOT NULL OR paid_at IS NOT NULL OR cancelled_at IS NOT NULL
                OR updated_at <> created_at
            WHEN 'paid' THEN payer IS NULL OR paid_at IS NULL OR cancelled_at IS NOT NULL
                OR paid_at >= expires_at OR (version = 2 AND updated_at <> paid_at)
            WHEN 'cancelled' THEN payer IS NOT NULL OR paid_at IS NOT NULL OR cancelled_at IS NULL
                OR cancelled_at >= expires_at OR updated_at <> cancelled_at
            WHEN 'expired' THEN payer IS NOT NULL OR paid_at IS NOT NULL OR cancelled_at IS NOT NULL
                OR (updated_at < expires_at
                AND NOT EXISTS (SELECT 1 FROM account a WHERE a.number = p.merchant AND a.mode = 'test'))
            ELSE TRUE END""",
    ),
    rule(
        5,
        "the version of a payment counts its changes",
        "payment number {} is {} at version {}, and its changes make it {}",
        """WITH refunded AS (
            SELECT payment, count(*) AS times FROM transfer WHERE kind = 'refund' GROUP BY payment),
        counted AS (SELECT p.number, p.status, p.version,
            CASE p.status WHEN 'pending' THEN 1 ELSE 2 END + coalesce(r.times, 0) AS due
            FROM payment p LEFT JOIN refunded r ON r.payment = p.number)
        SELECT number, status, version, due FROM counted WHERE version <> due""",
    ),
    rule(
        5,
        "a number in use was handed out",
        "{} number {} is in use and its counter stands at {}: it would be given again",
        """WITH used AS (SELECT 'payment' AS name, max(number) AS number FROM payment
            UNION ALL SELECT 'person', max(id) FROM person)
        SELECT u.name, u.number, c.last FROM used u LEFT JOIN counter c ON c.name = u.name
        WHERE u.number > coalesce(c.last, 0)""",
    ),
    rule(
        6,
        "every change of a payment has exactly one event",
        "payment number {} is {} at version {} and has {} events for {} versions",
        """WITH told AS (SELECT payment, count(*) AS events, count(DISTINCT version) AS versions,
            min(version) AS first, max(version) AS last FROM event GROUP BY payment)
        SELECT p.number, p.status, p.version, coalesce(t.events, 0), coalesce(t.versions, 0)
        FROM payment p LEFT JOIN told t ON t.payment = p.number
        WHERE coalesce(t.events, 0) <> p.version - 1 OR coalesce(t.versions, 0) <> p.version - 1
            OR t.first < 2 OR t.last > p.version""",
    ),
    # The first change is the move to a final state; all later ones are refunds.
    rule(
        6,
        "an event tells of its change",
        "event {} of account {} says {} of version {} at {}, payment number {} of {} is {} at version {}",
        """SELECT e.sequence, e.account, e.type, e.version, e.created_at,
            e.payment, p.merchant, p.status, p.version
        FROM event e LEFT JOIN payment p ON p.number = e.payment
        WHERE p.number IS NULL OR e.account <> p.merchant OR e.version > p.version OR CASE
            WHEN e.version > 2 THEN e.type <> 'refund.created'
            ELSE e.type <> 'remote_payment.' || p.status OR e.created_at IS DISTINCT FROM CASE p.status
                WHEN 'paid' THEN p.paid_at WHEN 'cancelled' THEN p.cancelled_at ELSE p.updated_at END
            END""",
    ),
    rule(
        6,
        "events are numbered without gaps",
        "event {} of account {} comes after event {}",
        """SELECT sequence, account, before FROM (SELECT account, sequence,
            lag(sequence, 1, 0) OVER (PARTITION BY account ORDER BY sequence) AS before FROM event) AS ordered
        WHERE sequence <> before + 1""",
    ),
    rule(
        6,
        "an event counter stands at the last event",
        "the event counter of account {} stands at {}, its last event is {}",
        """WITH told AS (SELECT account, max(sequence) AS last FROM event GROUP BY account),
        known AS (SELECT account FROM told UNION SELECT account FROM event_counter)
        SELECT k.account, c.last, t.last FROM known k
        LEFT JOIN event_counter c ON c.account = k.account LEFT JOIN told t ON t.account = k.account
        WHERE c.last IS DISTINCT FROM t.last""",
    ),
)

_ACCOUNTS: Final = (
    rule(
        2,
        "a test account mirrors a live commercial account of the same owner",
        "account {} ({}, {}, {}) is a test account of account {} ({}, {})",
        """SELECT a.number, a.kind, a.mode, a.state, a.live_account, l.kind, l.mode
        FROM account a LEFT JOIN account l ON l.number = a.live_account
        WHERE CASE a.mode
            WHEN 'test' THEN a.state <> 'mirrored' OR l.mode IS DISTINCT FROM 'live'
                OR l.kind IS DISTINCT FROM 'commercial' OR l.owner IS DISTINCT FROM a.owner
            ELSE a.live_account IS NOT NULL OR a.state = 'mirrored' END""",
    ),
    rule(
        2,
        "an approved merchant has one test account of each kind, and nobody else has any",
        "account {} ({}, {}) has test accounts: commercial {}, personal {}, house {}",
        """WITH test_accounts AS (SELECT live_account, count(*) AS times,
            sum(CASE kind WHEN 'commercial' THEN 1 ELSE 0 END) AS shops,
            sum(CASE kind WHEN 'personal' THEN 1 ELSE 0 END) AS payers,
            sum(CASE kind WHEN 'house' THEN 1 ELSE 0 END) AS mints
            FROM account WHERE mode = 'test' GROUP BY live_account)
        SELECT a.number, a.kind, a.state, t.shops, t.payers, t.mints
        FROM account a LEFT JOIN test_accounts t ON t.live_account = a.number
        WHERE a.mode = 'live' AND CASE
            WHEN a.kind = 'commercial' AND a.state IN ('approved', 'suspended', 'closed')
            THEN t.times IS NULL OR t.shops <> 1 OR t.payers <> 1 OR t.mints <> 1
            ELSE t.times IS NOT NULL END""",
    ),
    rule(
        2,
        "a person owns their personal account",
        "person {} has account {} ({}, {}), which is owned by person {}",
        """SELECT p.id, p.account, a.kind, a.mode, a.owner
        FROM person p LEFT JOIN account a ON a.number = p.account
        WHERE a.kind IS DISTINCT FROM 'personal' OR a.mode IS DISTINCT FROM 'live'
            OR a.owner IS DISTINCT FROM p.id""",
    ),
)

ALL: Final = (*_LEDGER, *_PAYMENTS, *_ACCOUNTS, *OPERATORS, *WEBHOOKS, *TOTALS, *STAFF, *BANK, STOPS)
# What is wrong for good: it keeps no money from moving again.
REMEMBERED: Final = hash_chain.NAMES | {STOPS.name}
