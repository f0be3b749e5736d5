"""The invariants again, for a part of the rows at a time: what a ledger auditor asks while the service serves.

Each query is one look at one moment, finds rows by their keys after $1 up to $2, in plain SQL that both engines run.
The whole is `invariants`; what holds of all parts and was found broken by one is broken there too.
"""

# Every part of every query is a constant of this file.
# ruff: noqa: S608

from typing import Final

from qirsh.domain.limits import AUDIT_ROWS_MAX
from qirsh.store.integrity.invariant import Invariant, rule
from qirsh.store.integrity.invariants import ALL
from qirsh.store.integrity.operator_invariants import agreed_orders, ordered_payouts, own_orders
from qirsh.store.integrity.order_invariants import has_order, moved_once, names_what_it_reverses, taken_back_whole
from qirsh.store.integrity.staff_invariants import member_rules
from qirsh.store.interface import Query

# All balances at once: a few numbers a row, and whatever was made of nothing shows here.
SUMS: Final = ALL[0]
# Of the last numbers alone.
NUMBERS: Final = next(one for one in ALL if one.name == "a number in use was handed out")


def _part(table: str, key: str) -> str:
    """The limit is never reached: it tells PostgreSQL, which plans for any $1 and $2, that the rows are few."""
    return f"(SELECT * FROM {table} WHERE {key} > $1 AND {key} <= $2 ORDER BY {key} LIMIT {2 * AUDIT_ROWS_MAX})"


_T: Final = _part("transfer", "id")
_B: Final = _part("balance", "account")
_P: Final = _part("payment", "number")
_A: Final = _part("account", "number")
_O: Final = _part("bank_order", "reference")
_PAYOUT: Final = _part("payout", "id")
_TOUCHED: Final = f"""WITH part AS {_T},
        touched AS (SELECT debit AS account, currency FROM part UNION SELECT credit, currency FROM part)"""


def _side(side: str, other: str, sign: str) -> str:
    """Each transfer's one side against whatever came before it there."""
    return f"""SELECT t.id, t.{side}, t.{side}_balance, t.currency, t.{side}_sequence,
            coalesce(a.{side}_balance, b.{other}_balance, 0) {sign} t.amount FROM {_T} t
        LEFT JOIN transfer a ON a.{side} = t.{side} AND a.currency = t.currency
            AND a.{side}_sequence = t.{side}_sequence - 1
        LEFT JOIN transfer b ON b.{other} = t.{side} AND b.currency = t.currency
            AND b.{other}_sequence = t.{side}_sequence - 1
        WHERE t.{side}_balance <> coalesce(a.{side}_balance, b.{other}_balance, 0) {sign} t.amount
            OR (a.id IS NULL AND b.id IS NULL) <> (t.{side}_sequence = 1)"""


_FOLLOWS: Final = "transfer {} leaves account {} with {} {} at sequence {}; what came before it makes {}"

# By the ids of transfers: those that are new, and a slice of those that are not.
TRANSFERS: Final = (
    rule(1, "the debit side follows", _FOLLOWS, _side("debit", "credit", "-")),
    rule(1, "the credit side follows", _FOLLOWS, _side("credit", "debit", "+")),
    rule(
        1,
        "whoever was touched has the balance that the last transfer left",
        "balance of account {} in {} is {} at sequence {}, that transfer left {}, and a later one is {}",
        f"""{_TOUCHED} SELECT * FROM (SELECT x.account, x.currency, b.amount, b.sequence,
            coalesce(d.debit_balance, c.credit_balance) AS after, coalesce(
                (SELECT l.id FROM transfer l WHERE l.debit = x.account AND l.currency = x.currency
                    AND l.debit_sequence > b.sequence ORDER BY l.debit_sequence LIMIT 1),
                (SELECT l.id FROM transfer l WHERE l.credit = x.account AND l.currency = x.currency
                    AND l.credit_sequence > b.sequence ORDER BY l.credit_sequence LIMIT 1)) AS later
            FROM touched x LEFT JOIN balance b ON b.account = x.account AND b.currency = x.currency
            LEFT JOIN transfer d ON d.debit = b.account AND d.currency = b.currency AND d.debit_sequence = b.sequence
            LEFT JOIN transfer c ON c.credit = b.account AND c.currency = b.currency
                AND c.credit_sequence = b.sequence) AS found
        WHERE amount IS NULL OR after IS DISTINCT FROM amount OR later IS NOT NULL""",
    ),
    rule(
        2,
        "a transfer stays in its world, and only the house goes below zero",
        "transfer {} goes from account {} ({}, left with {}) to account {} ({}), which may not be",
        f"""SELECT t.id, t.debit, d.kind, t.debit_balance, t.credit, c.kind FROM {_T} t
        LEFT JOIN account d ON d.number = t.debit LEFT JOIN account c ON c.number = t.credit
        WHERE d.number IS NULL OR c.number IS NULL OR t.debit = t.credit OR d.mode <> c.mode
            OR d.live_account IS DISTINCT FROM c.live_account OR (t.debit_balance < 0 AND d.kind <> 'house')""",
    ),
    rule(
        3,
        "a pay transfer has its paid payment",
        "transfer {} pays payment number {}, which is {} and does not match it",
        f"""SELECT t.id, t.payment, p.status FROM {_T} t LEFT JOIN payment p ON p.number = t.payment
        WHERE t.kind = 'pay' AND (p.status = 'paid' AND p.payer = t.debit
            AND p.merchant = t.credit AND p.amount = t.amount AND p.currency = t.currency) IS NOT TRUE""",
    ),
    rule(
        4,
        "refunds sum up to what the payment says",
        "payment number {} of {} has {} refunded, its refund transfers sum to {}",
        f"""SELECT DISTINCT * FROM (SELECT t.payment, p.amount, p.refunded_amount,
            (SELECT sum(r.amount) FROM transfer r WHERE r.payment = t.payment AND r.kind = 'refund') AS total
            FROM {_T} t LEFT JOIN payment p ON p.number = t.payment WHERE t.kind = 'refund') AS found
        WHERE refunded_amount IS NULL OR refunded_amount <> total OR refunded_amount > amount""",
    ),
    rule(
        4,
        "a refund transfer has its refund",
        "transfer {} refunds {} of payment number {}, its refund is {} of {}",
        f"""SELECT t.id, t.amount, t.payment, r.id, r.amount FROM {_T} t
        LEFT JOIN refund r ON r.payment = t.payment AND r.sequence = t.debit_sequence
        WHERE t.kind = 'refund' AND (r.amount = t.amount AND r.created_at = t.created_at) IS NOT TRUE""",
    ),
    rule(
        2,
        "money moves only as commands move it",
        "transfer {} is a {}, which no command makes",
        f"""SELECT t.id, t.kind FROM {_T} t
        WHERE t.kind NOT IN ('pay', 'refund', 'deposit', 'withdrawal', 'mint', 'reversal', 'correction')
            OR (t.kind = 'reversal') <> (t.reverses IS NOT NULL)""",
    ),
    rule(
        6,
        "every change that moved money has its event",
        "payment number {} is {} at version {} and has {} events",
        f"""SELECT DISTINCT * FROM (SELECT p.number, p.status, p.version,
            (SELECT count(*) FROM event e WHERE e.payment = p.number) AS events
            FROM {_T} t JOIN payment p ON p.number = t.payment WHERE t.kind IN ('pay', 'refund')) AS found
        WHERE events <> version - 1""",
    ),
    has_order(_T),
    names_what_it_reverses(_T),
)

# By the numbers of accounts.
BALANCES: Final = (
    rule(
        1,
        "a balance is what its last transfer left",
        "balance of account {} in {} is {} at sequence {}, that transfer left {}",
        f"""SELECT * FROM (SELECT b.account, b.currency, b.amount, b.sequence, coalesce(
            (SELECT max(d.debit_balance) FROM transfer d WHERE d.debit = b.account AND d.currency = b.currency
                AND d.debit_sequence = b.sequence),
            (SELECT max(c.credit_balance) FROM transfer c WHERE c.credit = b.account AND c.currency = b.currency
                AND c.credit_sequence = b.sequence)) AS after
            FROM {_B} b) AS found
        WHERE after IS DISTINCT FROM amount""",
    ),
    rule(
        2,
        "only a house account is below zero, and its balance knows it",
        "balance of account {} in {} is {}, and the account is {}",
        f"""SELECT b.account, b.currency, b.amount, a.kind FROM {_B} b LEFT JOIN account a ON a.number = b.account
        WHERE a.kind IS NULL OR (b.amount < 0 AND a.kind <> 'house')
            OR CAST(b.is_house AS INTEGER) <> CASE WHEN a.kind = 'house' THEN 1 ELSE 0 END""",
    ),
    rule(
        2,
        "a balance holds back what its open payouts ask for",
        "balance of account {} in {} holds {} back, its open payouts ask for {}",
        f"""SELECT * FROM (SELECT b.account, b.currency, b.held, coalesce(
            (SELECT sum(p.amount) FROM payout p WHERE p.account = b.account AND p.currency = b.currency
                AND p.state IN ('asked', 'ordered')), 0) AS asked
            FROM {_B} b) AS found
        WHERE held <> asked""",
    ),
)

# By the numbers of payments.
PAYMENTS: Final = (
    rule(
        3,
        "a payment is paid by exactly one transfer, or by none",
        "payment number {} is {} and has {} pay transfers, of which {} match it",
        f"""SELECT * FROM (SELECT p.number, p.status,
            (SELECT count(*) FROM transfer t WHERE t.payment = p.number AND t.kind = 'pay') AS pays,
            (SELECT count(*) FROM transfer t WHERE t.payment = p.number AND t.kind = 'pay' AND t.debit = p.payer
                AND t.credit = p.merchant AND t.amount = p.amount AND t.currency = p.currency) AS matching
            FROM {_P} p) AS found
        WHERE pays <> matching OR pays <> CASE status WHEN 'paid' THEN 1 ELSE 0 END""",
    ),
    rule(
        4,
        "what was refunded is the sum of its refunds",
        "payment number {} of {} has {} refunded, its refund transfers sum to {}",
        f"""SELECT * FROM (SELECT p.number, p.amount, p.refunded_amount, coalesce(
            (SELECT sum(t.amount) FROM transfer t WHERE t.payment = p.number AND t.kind = 'refund'), 0) AS total
            FROM {_P} p) AS found
        WHERE refunded_amount <> total OR refunded_amount > amount""",
    ),
    rule(
        6,
        "every change of a payment has exactly one event",
        "payment number {} is {} at version {} and has {} events",
        f"""SELECT * FROM (SELECT p.number, p.status, p.version,
            (SELECT count(*) FROM event e WHERE e.payment = p.number) AS events
            FROM {_P} p) AS found
        WHERE events <> version - 1 OR (version = 1) <> (status = 'pending')""",
    ),
    rule(
        6,
        "an event tells of its change",
        "event {} of account {} says {} of version {}, payment number {} of {} is {} at version {}",
        f"""SELECT e.sequence, e.account, e.type, e.version, p.number, p.merchant, p.status, p.version
        FROM {_P} p JOIN event e ON e.payment = p.number
        WHERE e.account <> p.merchant OR e.version > p.version
            OR e.type <> CASE WHEN e.version > 2 THEN 'refund.created' ELSE 'remote_payment.' || p.status END""",
    ),
    rule(
        4,
        "a payment has as many refunds as refund transfers",
        "payment number {} at version {} has {} refunds of {} in all, and {} was refunded",
        f"""SELECT * FROM (SELECT p.number, p.version,
            (SELECT count(*) FROM refund r WHERE r.payment = p.number AND r.version <= p.version) AS refunds,
            (SELECT coalesce(sum(r.amount), 0) FROM refund r WHERE r.payment = p.number) AS total, p.refunded_amount
            FROM {_P} p) AS found
        WHERE refunds <> CASE WHEN version > 2 THEN version - 2 ELSE 0 END OR total <> refunded_amount""",
    ),
    rule(
        5,
        "a payment did not expire before its time",
        "payment number {} expired at {}, and was due at {}",
        f"""SELECT p.number, p.updated_at, p.expires_at FROM {_P} p LEFT JOIN account a ON a.number = p.merchant
        WHERE p.status = 'expired' AND p.updated_at < p.expires_at AND a.mode IS DISTINCT FROM 'test'""",
    ),
)

# By the numbers of accounts.
ACCOUNTS: Final = (
    rule(
        6,
        "an event counter stands at the last event",
        "the event counter of account {} stands at {}, its last event is {}",
        f"""SELECT * FROM (SELECT a.number, c.last,
            (SELECT max(e.sequence) FROM event e WHERE e.account = a.number) AS told
            FROM {_A} a LEFT JOIN event_counter c ON c.account = a.number) AS found
        WHERE last IS DISTINCT FROM told""",
    ),
    rule(
        5,
        "a counter says how many payouts are open",
        "account {} has {} open payouts, and its counter stands at {}",
        f"""SELECT * FROM (SELECT a.number, (SELECT count(*) FROM payout p WHERE p.account = a.number
                AND p.state IN ('asked', 'ordered')) AS times, coalesce(c.last, 0) AS last
            FROM {_A} a LEFT JOIN counter c ON c.name = 'open payouts of account ' || CAST(a.number AS TEXT)) AS found
        WHERE times <> last""",
    ),
)

# By their references, which several houses may share.
BANK_ORDERS: Final = (
    moved_once(_O),
    taken_back_whole(_O),
    agreed_orders(_O),
    own_orders(_O),
)

# By their ids.
PAYOUTS: Final = (
    rule(
        3,
        "a payout that is paid has its bank order, and it matches",
        "payout {} of account {} is {} under the reference {}, and {} bank orders match it",
        f"""SELECT * FROM (SELECT p.id, p.account, p.state, p.reference, (SELECT count(*) FROM bank_order o
                WHERE o.reference = p.reference AND o.payout = p.id AND o.kind = 'withdrawal' AND o.account = p.account
                AND o.currency = p.currency AND o.amount = p.amount) AS orders
            FROM {_PAYOUT} p) AS found
        WHERE orders <> CASE state WHEN 'paid' THEN 1 ELSE 0 END""",
    ),
    ordered_payouts(_PAYOUT),
)

# By the accounts of their businesses. None of it stops money.
STAFF: Final = member_rules(_part("member", "account"), _part("member_cap", "account"))

TOP: Final = Query("SELECT coalesce(max(id), 0) FROM transfer")


def slice_end(table: str, key: str) -> Query:
    """The last of the next $2 keys above $1; NULL at the end."""
    return Query(f"SELECT max(k) FROM (SELECT {key} AS k FROM {table} WHERE {key} > $1 ORDER BY {key} LIMIT $2) AS s")


STAFF_END: Final = slice_end("member", "account")

# Before the first of all keys; where a slice ends; and what is asked of its rows.
SLICES: Final[tuple[tuple[int | str, Query, tuple[Invariant, ...]], ...]] = (
    (0, slice_end("balance", "account"), BALANCES),
    (0, slice_end("payment", "number"), PAYMENTS),
    (0, slice_end("transfer", "id"), TRANSFERS),
    (0, slice_end("account", "number"), ACCOUNTS),
    ("", slice_end("bank_order", "reference"), BANK_ORDERS),
    ("", slice_end("payout", "id"), PAYOUTS),
)
