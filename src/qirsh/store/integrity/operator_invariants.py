"""What must always hold of what operators do and count: who made them, whose money they moved, payouts, and counters.

A part of `invariants`, which runs it.
"""

# Every part of every query is a constant of this file.
# ruff: noqa: S608

from typing import Final

from qirsh.domain.limits import OPERATOR_NEW_MS
from qirsh.store.integrity.invariant import Invariant, rule

# As the index has it.
_OF_STOP: Final = "a.subject = 'stop ' || CAST(s.id AS TEXT) AND a.action IN ('money.stopped', 'money.resumed')"
# How many there are of what a counter says.
_COUNTED: Final = """SELECT 'admin' AS name, count(*) AS times FROM operator
            WHERE ended_at IS NULL AND roles LIKE 'admin%'
            UNION ALL SELECT 'open payouts of account ' || CAST(account AS TEXT), count(*) FROM payout
            WHERE state IN ('asked', 'ordered') GROUP BY account
            UNION ALL SELECT 'passkeys of person ' || CAST(person AS TEXT), count(*) FROM passkey GROUP BY person
            UNION ALL SELECT 'webhook endpoints of account ' || CAST(account AS TEXT), count(*) FROM webhook_endpoint
            WHERE state <> 'removed' GROUP BY account"""

# What was not written down at its time cannot be mended later, like the chain of seals.
STOPS: Final = rule(
    9,
    "a stop and its end are in the audit log",
    "stop {}, lifted by {}, is not in the audit log as the table has it: {}",
    f"""SELECT s.id, s.lifted_by, s.reason FROM stop s
        WHERE NOT EXISTS (SELECT 1 FROM audit a WHERE {_OF_STOP}
            AND a.action = 'money.stopped' AND a.at = s.at AND a.detail = s.reason)
        OR (s.lifted_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM audit a WHERE {_OF_STOP}
            AND a.action = 'money.resumed' AND a.at = s.lifted_at AND a.actor = s.lifted_by))""",
)


def agreed_orders(orders: str) -> Invariant:
    """Of some bank orders, or all."""
    return rule(
        3,
        "a bank order is what two operators agreed to",
        "bank order {} of account {}, by proposal {} that is {}, asked by operator {} and confirmed by {}",
        f"""SELECT o.reference, o.house, o.proposal, p.state, p.asked_by, p.decided_by FROM {orders} o
        LEFT JOIN proposal p ON p.id = o.proposal WHERE (p.state = 'done' AND p.decided_by <> p.asked_by
            AND p.action = CASE WHEN o.payout IS NULL THEN o.kind ELSE 'payout' END
            AND p.subject = 'account ' || CAST(o.account AS TEXT)) IS NOT TRUE""",
    )


OPERATORS: Final = (
    rule(
        3,
        "a payout that is paid has its bank order, and it matches",
        "payout {} of account {} is {} under the reference {}, and {} bank orders match it",
        """SELECT id, account, state, reference, orders FROM (
            SELECT p.id, p.account, p.state, p.reference, count(o.reference) AS orders
            FROM payout p LEFT JOIN bank_order o ON o.payout = p.id AND o.reference = p.reference
                AND o.kind = 'withdrawal' AND o.account = p.account AND o.currency = p.currency AND o.amount = p.amount
            GROUP BY p.id, p.account, p.state, p.reference) AS found
        WHERE orders <> CASE state WHEN 'paid' THEN 1 ELSE 0 END""",
    ),
    rule(
        3,
        "a payout that is paid has its transfer",
        "payout {} of account {} is {} by transfer {} of that account in {}, which does not match it",
        """SELECT p.id, p.account, p.state, p.sequence, p.currency FROM payout p
        LEFT JOIN transfer t ON t.debit = p.account AND t.currency = p.currency AND t.debit_sequence = p.sequence
            AND t.kind = 'withdrawal' AND t.amount = p.amount AND t.bank_order = p.reference
        WHERE (p.state = 'paid') <> (t.id IS NOT NULL)""",
    ),
    rule(
        3,
        "a bank order for a payout is that payout's",
        "bank order {} of account {} is for payout {}, which is {} and does not match it",
        """SELECT o.reference, o.house, o.payout, p.state
        FROM bank_order o LEFT JOIN payout p ON p.id = o.payout
        WHERE o.payout IS NOT NULL AND (p.reference = o.reference AND p.account = o.account
            AND p.currency = o.currency AND p.amount = o.amount AND p.state = 'paid') IS NOT TRUE""",
    ),
    rule(
        3,
        "a payout that is ordered has its proposal",
        "payout {} of account {} is ordered under the reference {}, and no open proposal says so",
        """SELECT y.id, y.account, y.reference FROM payout y WHERE y.state = 'ordered' AND NOT EXISTS (
            SELECT 1 FROM proposal p WHERE p.subject = 'account ' || CAST(y.account AS TEXT) AND p.state = 'open'
            AND p.action = 'payout')""",
    ),
    agreed_orders("bank_order"),
    rule(
        3,
        "nobody moves money of their own as an operator",
        "bank order {} of account {} is for account {} of person {}, asked by operator {} and confirmed by {}",
        """SELECT o.reference, o.house, o.account, a.owner, p.asked_by, p.decided_by
        FROM bank_order o JOIN proposal p ON p.id = o.proposal
        JOIN account a ON a.number = o.account WHERE a.owner IN (p.asked_by, p.decided_by)""",
    ),
    rule(
        3,
        "an operator and who made them do not confirm each other's orders at first",
        "bank order {} of account {} was asked by operator {} and confirmed by {}, less than 7 days after one made the"
        " other",
        f"""SELECT o.reference, o.house, p.asked_by, p.decided_by FROM bank_order o
        JOIN proposal p ON p.id = o.proposal JOIN operator n ON n.person IN (p.asked_by, p.decided_by)
        WHERE p.decided_at - n.created_at < {OPERATOR_NEW_MS}
            AND (n.created_by IN (p.asked_by, p.decided_by) OR n.confirmed_by IN (p.asked_by, p.decided_by))""",
    ),
    rule(
        3,
        "an operator was made by others, who were there before",
        "operator {} was made by operator {} and confirmed by {}",
        """SELECT o.person, o.created_by, o.confirmed_by FROM operator o
        WHERE o.person IN (o.created_by, o.confirmed_by) OR o.created_by = o.confirmed_by
            OR EXISTS (SELECT 1 FROM operator m WHERE m.person IN (o.created_by, o.confirmed_by)
                AND (m.created_at > o.created_at OR o.person IN (m.created_by, m.confirmed_by)))
            OR (o.created_by IS NOT NULL AND o.confirmed_by IS NULL AND EXISTS (SELECT 1 FROM operator x
                WHERE x.person NOT IN (o.person, o.created_by) AND x.roles LIKE 'admin%' AND x.created_at < o.created_at
                AND (x.ended_at IS NULL OR x.ended_at > o.created_at)))""",
    ),
    rule(
        5,
        "a counter says how many there are",
        "the counter '{}' stands at {}, and there are {}",
        f"""WITH counted AS ({_COUNTED}),
        known AS (SELECT name FROM counted UNION SELECT name FROM counter
            WHERE name LIKE 'open payouts of account %' OR name LIKE 'passkeys of person %'
            OR name LIKE 'webhook endpoints of account %')
        SELECT k.name, c.last, coalesce(n.times, 0) FROM known k
        LEFT JOIN counter c ON c.name = k.name LEFT JOIN counted n ON n.name = k.name
        WHERE coalesce(c.last, 0) <> coalesce(n.times, 0)""",
    ),
)
