"""What must always hold of the totals of accounts. None of it moves money: what is wrong is made again.

A part of `invariants`, which runs it.
"""

# Every part of every query is a constant of this file.
# ruff: noqa: S608

from typing import Final

from qirsh.domain.ledger import KINDS
from qirsh.domain.total import FIGURES, QUARTER_MS, Figure, figure_of
from qirsh.store.integrity.invariant import rule
from qirsh.store.interface import Query

_NET: Final = "t.taken - t.refunded - t.fees - t.paid_out + t.paid_in + t.corrected"
_LEFT: Final = """coalesce((SELECT d.debit_balance FROM transfer d
                WHERE d.debit = t.account AND d.currency = t.currency AND d.debit_sequence = t.sequence),
            (SELECT c.credit_balance FROM transfer c
                WHERE c.credit = t.account AND c.currency = t.currency AND c.credit_sequence = t.sequence))"""


def _counts(figure: Figure) -> str:
    """Whether a transfer counts for it."""
    kinds = {
        side: ", ".join(f"'{kind}'" for kind in KINDS if figure_of(kind, is_debit=side == "debit") == figure)
        for side in ("debit", "credit")
    }
    conditions = [f"(side = '{side}' AND kind IN ({own}))" for side, own in kinds.items() if own]
    return " OR ".join(conditions)


def _running(figure: Figure) -> str:
    amount = "CASE side WHEN 'debit' THEN -amount ELSE amount END" if figure == "corrected" else "amount"
    return (
        f"sum(CASE WHEN {_counts(figure)} THEN {amount} ELSE 0 END) OVER own AS {figure},"
        f" sum(CASE WHEN {_counts(figure)} THEN 1 ELSE 0 END) OVER own AS {figure}_count"
    )


def _side(side: str) -> str:
    """Transfers that totals should have. Row by row: a join by account alone might compare each with each."""
    return f"""SELECT x.{side} AS account, x.currency, x.{side}_sequence AS sequence, 0 AS is_total, '{side}' AS side,
            x.kind, x.amount, x.created_at, 0 AS quarter, {", ".join(f"0 AS own_{name}" for name in _SUMS)}
            FROM transfer x WHERE x.{side}_sequence <= (SELECT t.sequence FROM account_total t
                WHERE t.account = x.{side} AND t.currency = x.currency ORDER BY t.quarter DESC LIMIT 1)"""


_SUMS: Final = (*FIGURES, *(f"{figure}_count" for figure in FIGURES))
_OWN: Final = ", ".join(_SUMS)
_DIFFERS: Final = " OR ".join(f"own_{name} <> {name}" for name in _SUMS)
_COUNTED: Final = " + ".join(f"{figure}_count" for figure in FIGURES)

TOTALS: Final = (
    rule(
        12,
        "a total is the balance that its last transfer left",
        "the total of account {} in {} for quarter hour {} is {} after {} transfers, the last of them left {}",
        f"""SELECT * FROM (SELECT t.account, t.currency, t.quarter, {_NET} AS net, t.sequence, {_LEFT} AS after
            FROM account_total t) AS found
        WHERE after IS DISTINCT FROM net""",
    ),
    rule(
        12,
        "a total has all transfers up to its quarter hour, each in its place",
        "the total of account {} in {} for quarter hour {} is not the sum of its first {} transfers",
        # Each total stands right after its last transfer.
        f"""WITH stream AS ({_side("debit")} UNION ALL {_side("credit")} UNION ALL
            SELECT account, currency, sequence, 1, '', '', 0, NULL, quarter, {_OWN} FROM account_total),
        counted AS (SELECT account, currency, sequence, is_total, quarter, {", ".join(f"own_{name}" for name in _SUMS)},
            max(created_at) OVER own / {QUARTER_MS} AS latest,
            lead(created_at) OVER (PARTITION BY account, currency ORDER BY sequence, is_total) / {QUARTER_MS} AS next,
            {", ".join(map(_running, FIGURES))} FROM stream
            WINDOW own AS (PARTITION BY account, currency ORDER BY sequence, is_total ROWS UNBOUNDED PRECEDING))
        SELECT account, currency, quarter, sequence FROM counted WHERE is_total = 1
            AND (latest IS DISTINCT FROM quarter OR next <= quarter
                OR sequence <> {_COUNTED} OR {_DIFFERS})""",
    ),
)
NAMES: Final = frozenset(invariant.name for invariant in TOTALS)

# The next $4 rows after a key: what each adds up to, and what the ledger says.
PART: Final = Query(
    f"SELECT t.account, t.currency, t.quarter, {_NET}, {_LEFT} FROM account_total t"
    " WHERE (t.account, t.currency, t.quarter) > ($1, $2, $3) ORDER BY t.account, t.currency, t.quarter LIMIT $4"
)
