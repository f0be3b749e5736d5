"""What must always hold of what operators do and count: who made them, whose money they moved, payouts, and counters.

A part of `invariants`, which runs it.
"""

# Every part of every query is a constant of this file.
# ruff: noqa: S608

from typing import Final

from qirsh.domain.limits import OPERATOR_NEW_MS
from qirsh.domain.pending_reset import RESET_AFTER_MS
from qirsh.store.integrity.invariant import Invariant, rule
from qirsh.store.integrity.order_invariants import KIND

# As the index has it.
_OF_STOP: Final = "a.subject = 'stop ' || CAST(s.id AS TEXT) AND a.action IN ('money.stopped', 'money.resumed')"
# How many there are of what a counter says.
_COUNTED: Final = """SELECT 'admin' AS name, count(*) AS times FROM operator
            WHERE ended_at IS NULL AND roles LIKE 'admin%'
            UNION ALL SELECT 'open payouts of account ' || CAST(account AS TEXT), count(*) FROM payout
            WHERE state IN ('asked', 'ordered') GROUP BY account
            UNION ALL SELECT 'passkeys of person ' || CAST(person AS TEXT), count(*) FROM passkey GROUP BY person
            UNION ALL SELECT 'webhook endpoints of account ' || CAST(account AS TEXT), count(*) FROM webhook_endpoint
            WHERE state <> 'removed' GROUP BY account
            UNION ALL SELECT 'reversals of ' || CAST(house AS TEXT) || ' ' || reverses, count(*) FROM bank_order
            WHERE reverses IS NOT NULL GROUP BY house, reverses"""

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


def _holds(field: str, value: str) -> str:
    """Whether the command of a proposal, as JSON, has this in a field. Both engines know no other way to ask.

    No text in it can look like a field: its quotes are escaped. What operators type is printable, so nothing else is.
    """
    return f"replace(p.command, '\"{field}\":' || {value}, '') <> p.command"


def _number(value: str) -> str:
    return f"CAST({value} AS TEXT) || ','"


def _text(value: str) -> str:
    return f"""'"' || replace(replace({value}, '\\', '\\\\'), '"', '\\"') || '"'"""


# Nobody locks the row of who decides: another commit may end them while theirs is under way.
_AT_ONCE_MS: Final = 60_000
_EDITORS: Final = "' ' || p.editors || ' '"
_IS_BY_EDITOR: Final = f"replace({_EDITORS}, ' ' || CAST(p.decided_by AS TEXT) || ' ', '') <> {_EDITORS}"
_SAYS_PAYOUT: Final = _holds("payout", f"coalesce({_text('o.payout')}, 'null')")
_SAYS_ORDER: Final = " AND ".join(
    (
        _holds("kind", _text("o.kind")),
        _holds("house", _number("o.house")),
        _holds("reference", _text("o.reference")),
        _holds("account", _number("o.account")),
        _holds("currency", _text("o.currency")),
        _holds("amount", _number("o.amount")),
        # Only what books a transfer knows of payouts.
        f"(({KIND}) IN ('reversal', 'correction') OR {_SAYS_PAYOUT})",
        f"(o.reverses IS NULL OR {_holds('reverses', _text('o.reverses'))})",
        _holds(
            "type",
            "CASE WHEN o.reverses IS NOT NULL THEN '\"ReverseBankTransfer\"'"
            " WHEN h.name = 'corrections' THEN '\"CorrectBalance\"' ELSE '\"BookBankTransfer\"' END",
        ),
    )
)
_OTHER_ADMIN: Final = """EXISTS (SELECT 1 FROM operator x
                WHERE x.person NOT IN ({made}, {maker}) AND x.roles LIKE 'admin%' AND x.created_at < {at}
                AND (x.ended_at IS NULL OR x.ended_at > {at})
                -- They may be one only since.
                AND NOT EXISTS (SELECT 1 FROM proposal r WHERE r.subject = 'person ' || CAST(x.person AS TEXT)
                    AND r.action = 'operator roles' AND r.state = 'done' AND r.decided_at >= {at})
                AND NOT EXISTS (SELECT 1 FROM recovery v WHERE v.person = x.person AND v.at >= {at}
                    AND v.roles NOT LIKE 'admin%'))"""


def agreed_orders(orders: str) -> Invariant:
    """Of some bank orders, or all."""
    return rule(
        3,
        "a bank order is what two operators agreed to",
        "bank order {} of account {} is not what its proposal {} says, which is {}, asked by operator {} and confirmed"
        " by {}",
        f"""SELECT o.reference, o.house, o.proposal, p.state, p.asked_by, p.decided_by FROM {orders} o
        LEFT JOIN account h ON h.number = o.house
        LEFT JOIN proposal p ON p.id = o.proposal WHERE (p.state = 'done' AND p.decided_by <> p.asked_by
            AND NOT ({_IS_BY_EDITOR}) AND p.action = CASE WHEN o.payout IS NULL THEN {KIND} ELSE 'payout' END
            AND p.subject = 'account ' || CAST(o.account AS TEXT) AND {_SAYS_ORDER}) IS NOT TRUE""",
    )


def own_orders(orders: str) -> Invariant:
    """The same."""
    return rule(
        3,
        "nobody moves money of their own as an operator",
        "bank order {} of account {} is for account {} of person {}, asked by operator {} and confirmed by {}",
        f"""SELECT o.reference, o.house, o.account, a.owner, p.asked_by, p.decided_by
        FROM {orders} o JOIN proposal p ON p.id = o.proposal
        JOIN account a ON a.number = o.account WHERE a.owner IN (p.asked_by, p.decided_by)""",
    )


def ordered_payouts(payouts: str) -> Invariant:
    """Of some payouts, or all."""
    return rule(
        3,
        "a payout is ordered by the one proposal that is open for it, or asked for",
        "payout {} of account {} is {} under the reference {}, and {} open proposals say so of {} that are for it",
        f"""SELECT id, account, state, reference, saying, waiting FROM (
            SELECT y.id, y.account, y.state, y.reference, count(p.id) AS waiting,
                coalesce(sum(CASE WHEN {_holds("reference", _text("y.reference"))} THEN 1 ELSE 0 END), 0) AS saying
            FROM {payouts} y LEFT JOIN proposal p ON p.subject = 'account ' || CAST(y.account AS TEXT)
                AND p.state = 'open' AND p.action = 'payout' AND {_holds("payout", _text("y.id"))}
            GROUP BY y.id, y.account, y.state, y.reference) AS found
        WHERE waiting <> CASE state WHEN 'ordered' THEN 1 ELSE 0 END OR saying <> waiting""",
    )


_PROPOSALS: Final = (
    rule(
        3,
        "a proposal is decided once, and done by another than who asked for it or changed it",
        "proposal {} ({}) is {}, asked by operator {}, changed by operators '{}', decided by {} at {}",
        f"""SELECT p.id, p.action, p.state, p.asked_by, p.editors, p.decided_by, p.decided_at FROM proposal p
        WHERE (p.state = 'open') <> (p.decided_at IS NULL) OR CASE p.state
            WHEN 'done' THEN p.decided_by = p.asked_by OR {_IS_BY_EDITOR}
                OR (p.decided_by IS NULL AND p.action <> 'operator create')
            WHEN 'refused' THEN p.decided_by IS NULL OR p.decided_by = p.asked_by
            WHEN 'withdrawn' THEN p.decided_by IS DISTINCT FROM p.asked_by
            WHEN 'open' THEN p.decided_by IS NOT NULL
            WHEN 'lapsed' THEN p.decided_by IS NOT NULL
            ELSE TRUE END""",
    ),
    rule(
        3,
        "a proposal is asked for and decided by operators",
        "proposal {} ({}) is {}, asked by operator {} at {}, decided by {} at {}",
        f"""SELECT p.id, p.action, p.state, p.asked_by, p.asked_at, p.decided_by, p.decided_at FROM proposal p
        LEFT JOIN operator a ON a.person = p.asked_by LEFT JOIN operator d ON d.person = p.decided_by
        WHERE a.person IS NULL OR p.asked_at < a.created_at - {_AT_ONCE_MS} OR p.asked_at > a.ended_at + {_AT_ONCE_MS}
            OR (p.decided_by IS NOT NULL AND (d.person IS NULL OR p.decided_at < d.created_at - {_AT_ONCE_MS}
                OR p.decided_at > d.ended_at + {_AT_ONCE_MS}))
            OR (p.state = 'done' AND p.decided_by IS NULL
                AND {_OTHER_ADMIN.format(made="p.asked_by", maker="p.asked_by", at="p.decided_at")})""",
    ),
    rule(
        3,
        "nobody confirms a proposal about themselves, their account or their employer",
        "proposal {} ({}) about {} was confirmed by operator {}",
        """SELECT p.id, p.action, p.subject, p.decided_by FROM proposal p
        WHERE p.state = 'done' AND (p.subject = 'person ' || CAST(p.decided_by AS TEXT)
            OR EXISTS (SELECT 1 FROM account a
                WHERE a.owner = p.decided_by AND p.subject = 'account ' || CAST(a.number AS TEXT))
            OR EXISTS (SELECT 1 FROM member m WHERE m.person = p.decided_by
                AND p.subject = 'account ' || CAST(m.account AS TEXT) AND m.created_at < p.decided_at))""",
    ),
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
    ordered_payouts("payout"),
    agreed_orders("bank_order"),
    own_orders("bank_order"),
    *_PROPOSALS,
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
        "an appointment is what was agreed to",
        "the appointment by proposal {} that is {} is not what that says",
        f"""SELECT a.proposal, p.state FROM appointment a LEFT JOIN proposal p ON p.id = a.proposal
        WHERE (p.state = 'done' AND p.action = 'operator create' AND {_holds("email", _text("a.email"))}
            AND {_holds("name", _text("a.name"))} AND {_holds("roles", _text("a.roles"))}) IS NOT TRUE""",
    ),
    rule(
        3,
        "what is set back for a person is what two operators agreed to, a day later",
        "the {} of person {} is set back at {} by proposal {}, which does not say so",
        f"""SELECT r.what, r.person, r.due_at, r.proposal FROM pending_reset r LEFT JOIN proposal p ON p.id = r.proposal
        WHERE (p.state = 'done' AND p.action = CASE r.what WHEN 'pin' THEN 'reset-pin' ELSE 'remove-factors' END
            AND p.subject = 'person ' || CAST(r.person AS TEXT)
            AND r.due_at = p.decided_at + {RESET_AFTER_MS}) IS NOT TRUE""",
    ),
    rule(
        3,
        "an operator was made by others, who were there before",
        "operator {} was made by operator {} and confirmed by {}",
        f"""SELECT o.person, o.created_by, o.confirmed_by FROM operator o
        WHERE o.person IN (o.created_by, o.confirmed_by) OR o.created_by = o.confirmed_by
            OR EXISTS (SELECT 1 FROM operator m WHERE m.person IN (o.created_by, o.confirmed_by)
                AND (m.created_at > o.created_at OR o.person IN (m.created_by, m.confirmed_by)))
            OR (o.created_by IS NOT NULL AND o.confirmed_by IS NULL
                AND {_OTHER_ADMIN.format(made="o.person", maker="o.created_by", at="o.created_at")})""",
    ),
    rule(
        5,
        "a counter says how many there are",
        "the counter '{}' stands at {}, and there are {}",
        f"""WITH counted AS ({_COUNTED}),
        known AS (SELECT name FROM counted UNION SELECT name FROM counter
            WHERE name LIKE 'open payouts of account %' OR name LIKE 'passkeys of person %'
            OR name LIKE 'webhook endpoints of account %' OR name LIKE 'reversals of %')
        SELECT k.name, c.last, coalesce(n.times, 0) FROM known k
        LEFT JOIN counter c ON c.name = k.name LEFT JOIN counted n ON n.name = k.name
        WHERE coalesce(c.last, 0) <> coalesce(n.times, 0)""",
    ),
)
