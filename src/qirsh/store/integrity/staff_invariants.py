"""What must always hold of who works at a business. None of it is money by itself, but a row too many lets somebody in.

A part of `invariants`, which runs it. Not that no more was refunded than a cap: it may have been lowered since.
"""

# Every part of every query is a constant of this file, or of `incremental_checks`.
# ruff: noqa: S608

from typing import Final

from qirsh.domain.staff import MEMBER_ROLES
from qirsh.store.integrity.invariant import Invariant, rule

_ROLES: Final = ", ".join(f"'{role}'" for role in MEMBER_ROLES)


def member_rules(members: str, caps: str) -> tuple[Invariant, ...]:
    """For all of them, or for a part of each."""
    return (
        rule(
            13,
            "a member works at a live business of somebody else, and is still there",
            "person {} is {} at account {} ({}, {}) of person {}, and was erased at {}",
            f"""SELECT m.person, m.role, m.account, a.kind, a.mode, a.owner, p.erased_at FROM {members} m
            LEFT JOIN account a ON a.number = m.account LEFT JOIN person p ON p.id = m.person
            WHERE (a.kind = 'commercial' AND a.mode = 'live' AND a.owner <> m.person AND m.role IN ({_ROLES})
                AND p.id IS NOT NULL AND p.erased_at IS NULL) IS NOT TRUE""",
        ),
        rule(
            13,
            "only cashiers have caps",
            "person {} may refund {} {} a day at account {}, where their role is {}",
            f"""SELECT c.person, c.amount, c.currency, c.account, m.role FROM {caps} c
            LEFT JOIN member m ON m.account = c.account AND m.person = c.person
            WHERE m.role IS DISTINCT FROM 'cashier' OR c.amount <= 0""",
        ),
    )


STAFF: Final = (
    *member_rules("member", "member_cap"),
    rule(
        13,
        "what a person refunded in a day was refunded at a live business",
        "person {} refunded {} {} at account {} ({}, {}), in a day",
        """SELECT t.person, t.used, t.currency, t.account, a.kind, a.mode FROM refund_tally t
        LEFT JOIN account a ON a.number = t.account
        WHERE (a.kind = 'commercial' AND a.mode = 'live' AND t.used >= 0) IS NOT TRUE""",
    ),
    rule(
        13,
        "an invitation is to a live business, with a role that there is",
        "invitation {} to account {} ({}, {}) is for the role {}, with the caps '{}'",
        f"""SELECT i.id, i.account, a.kind, a.mode, i.role, i.caps FROM invitation i
        LEFT JOIN account a ON a.number = i.account
        WHERE (a.kind = 'commercial' AND a.mode = 'live' AND i.role IN ({_ROLES})
            AND (i.caps = '' OR i.role = 'cashier')) IS NOT TRUE""",
    ),
    rule(
        13,
        "a business counts who works there and who was invited",
        "the counter '{}' stands at {}, and there are {}",
        """WITH counted AS (
            SELECT 'members of account ' || CAST(account AS TEXT) AS name, count(*) AS times FROM member
            GROUP BY account
            UNION ALL SELECT 'invitations of account ' || CAST(account AS TEXT), count(*) FROM invitation
            GROUP BY account),
        known AS (SELECT name FROM counted UNION SELECT name FROM counter
            WHERE name LIKE 'members of account %' OR name LIKE 'invitations of account %')
        SELECT k.name, c.last, coalesce(n.times, 0) FROM known k
        LEFT JOIN counter c ON c.name = k.name LEFT JOIN counted n ON n.name = k.name
        WHERE coalesce(c.last, 0) <> coalesce(n.times, 0)""",
    ),
)
NAMES: Final = frozenset(invariant.name for invariant in STAFF)
