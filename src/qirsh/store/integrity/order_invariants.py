"""What must always hold of bank orders and the transfers that they made, and of those that take another one back.

A part of `invariants` and of `incremental_checks`, which run it: of all rows, or of some.
"""

# Every part of every query is a constant of this file.
# ruff: noqa: S608

from typing import Final

from qirsh.store.integrity.invariant import Invariant, rule

BY_ORDER: Final = "('deposit', 'withdrawal', 'reversal', 'correction')"
# What its transfer is called; the account of the house, which tells whether it corrects, is `h`.
KIND: Final = """CASE WHEN o.reverses IS NOT NULL THEN 'reversal' WHEN h.name = 'corrections' THEN 'correction'
                ELSE o.kind END"""
# The order's transfer goes the order's way.
_IS_ITS_WAY: Final = """t.debit = CASE o.kind WHEN 'deposit' THEN o.house ELSE o.account END
                AND t.credit = CASE o.kind WHEN 'deposit' THEN o.account ELSE o.house END"""


def moved_once(orders: str) -> Invariant:
    """Of some bank orders, or all."""
    return rule(
        3,
        "a bank order has exactly one transfer, and it matches",
        "bank order {} of account {} has {} transfers, of which {} match it",
        f"""SELECT reference, house, moves, matching FROM (
            SELECT o.reference, o.house, count(t.id) AS moves, coalesce(sum(CASE WHEN t.kind = {KIND}
                AND t.amount = o.amount AND t.currency = o.currency AND {_IS_ITS_WAY} THEN 1 ELSE 0 END), 0) AS matching
            FROM {orders} o LEFT JOIN account h ON h.number = o.house LEFT JOIN transfer t
                ON t.bank_order = o.reference AND t.bank_order IS NOT NULL AND o.house IN (t.debit, t.credit)
            GROUP BY o.house, o.reference) AS found
        WHERE moves <> matching OR matching <> 1""",
    )


def has_order(transfers: str) -> Invariant:
    """Of some transfers, or all."""
    return rule(
        3,
        "a transfer between the house and an account has its bank order",
        "transfer {} is a {} by the bank order {}, which does not match it",
        f"""SELECT t.id, t.kind, t.bank_order FROM {transfers} t
        WHERE t.kind IN {BY_ORDER} AND NOT EXISTS (SELECT 1 FROM bank_order o JOIN account h ON h.number = o.house
            WHERE o.reference = t.bank_order AND t.kind = {KIND} AND o.amount = t.amount AND o.currency = t.currency
            AND {_IS_ITS_WAY})""",
    )


def taken_back_whole(orders: str) -> Invariant:
    """Of some bank orders, or all."""
    return rule(
        3,
        "a reversal takes back one order of its house, whole and once",
        "bank order {} of account {} reverses {}, which does not match it, or which {} orders reverse",
        f"""SELECT reference, house, reverses, times FROM (
            SELECT o.reference, o.house, o.reverses, (SELECT count(*) FROM bank_order x
                    WHERE x.house = o.house AND x.reverses = o.reverses) AS times,
                CASE WHEN b.reverses IS NULL AND b.kind <> o.kind AND b.account = o.account AND b.currency = o.currency
                    AND b.amount = o.amount AND h.name <> 'corrections' AND o.payout IS NULL THEN 1 ELSE 0 END AS fits
            FROM {orders} o JOIN account h ON h.number = o.house
            LEFT JOIN bank_order b ON b.house = o.house AND b.reference = o.reverses
            WHERE o.reverses IS NOT NULL) AS found
        WHERE times <> 1 OR fits <> 1""",
    )


def names_what_it_reverses(transfers: str) -> Invariant:
    """Of some transfers, or all."""
    return rule(
        3,
        "a reversal names the transfer that it takes back",
        "transfer {} by the bank order {} reverses transfer {}, which does not match it",
        f"""SELECT t.id, t.bank_order, t.reverses FROM {transfers} t
        WHERE t.reverses IS NOT NULL AND (NOT EXISTS (SELECT 1 FROM transfer b
            JOIN bank_order o ON o.reverses = b.bank_order AND o.house IN (b.debit, b.credit)
            WHERE b.id = t.reverses AND o.reference = t.bank_order AND b.debit = t.credit AND b.credit = t.debit
            AND b.amount = t.amount AND b.currency = t.currency)
            OR (SELECT count(*) FROM transfer x WHERE x.reverses = t.reverses AND x.reverses IS NOT NULL) > 1)""",
    )
