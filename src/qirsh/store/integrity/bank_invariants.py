"""What must always hold of statements of the bank. No money moves by them, but the books are compared with them.

A part of `invariants`, which runs it.
"""

from typing import Final

from qirsh.store.integrity.invariant import rule

BANK: Final = (
    rule(
        14,
        "a bank line and the bank order that it shows are the same money, and know each other",
        "bank order {} of account {} is matched with a line of {} {}, which says it shows {}; its transfer is {} {}",
        """SELECT m.reference, m.house, l.amount, l.currency, l.matched, t.amount, t.currency FROM bank_match m
        LEFT JOIN bank_line l ON l.house = m.house AND l.digest = m.line
        LEFT JOIN transfer t ON t.bank_order = m.reference AND m.house IN (t.debit, t.credit)
        WHERE (l.matched = m.reference AND t.currency = l.currency
            AND l.amount = CASE WHEN t.debit = m.house THEN t.amount ELSE -t.amount END) IS NOT TRUE""",
    ),
    rule(
        14,
        "a bank line that shows an order is matched with it",
        "a line of {} {} on {} at account {} says it shows {}, and no match does",
        """SELECT l.amount, l.currency, l.day, l.house, l.matched FROM bank_line l
        LEFT JOIN bank_match m ON m.house = l.house AND m.reference = l.matched
        WHERE l.matched IS NOT NULL AND m.line IS DISTINCT FROM l.digest""",
    ),
    rule(
        14,
        "a bank statement has the lines that it says",
        "bank statement {} of account {} is {} with {} of {} lines, and has {}",
        """SELECT s.id, s.house, s.state, s.stored, s.lines, coalesce(n.times, 0) FROM bank_statement s
        LEFT JOIN (SELECT statement, count(*) AS times FROM bank_statement_line GROUP BY statement) n
            ON n.statement = s.id
        WHERE s.stored <> coalesce(n.times, 0) OR (s.state = 'imported' AND s.stored <> s.lines)""",
    ),
    rule(
        14,
        "a bank line knows how many statements have it",
        "a line of {} {} on {} at account {} says that {} statements have it, and {} do",
        """SELECT l.amount, l.currency, l.day, l.house, l.files, coalesce(n.times, 0) FROM bank_line l
        LEFT JOIN (SELECT house, line, count(*) AS times FROM bank_statement_line GROUP BY house, line) n
            ON n.house = l.house AND n.line = l.digest
        WHERE l.files <> coalesce(n.times, 0)""",
    ),
)
NAMES: Final = frozenset(invariant.name for invariant in BANK)
