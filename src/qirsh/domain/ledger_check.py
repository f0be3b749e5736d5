"""What the ledger auditor keeps of its looks: for each rule when it last held, and the sums of all balances.

It is kept for operators to read. Nothing is decided by it: whether money moves is said by `stop`.
"""

from typing import Final, get_args

import msgspec

from qirsh.domain.account import Kind, Mode
from qirsh.domain.money import CURRENCIES

SumKey = tuple[str, str, str]
# Of each there is a sum, though it be of nothing: a sum that is left out would stay as it was.
SUM_KEYS: Final[tuple[SumKey, ...]] = tuple(
    (mode, kind, currency) for mode in get_args(Mode) for kind in get_args(Kind) for currency in CURRENCIES
)


class LedgerCheck(msgspec.Struct, frozen=True):
    """One rule, and what became of it."""

    name: str
    looked_at: int  # When some of its rows were last looked at,
    held_at: int | None  # and when it last held of all of them.
    finding: str  # The first that was wrong since then; empty while nothing is.


class LedgerSum(msgspec.Struct, frozen=True):
    """What the balances of one kind of account add up to, all at one moment."""

    mode: str
    kind: str
    currency: str
    amount: int
    held: int  # Of it, kept for payouts.
    balances: int  # How many.
    at: int


class Looked(msgspec.Struct, frozen=True):
    """What a look at some or all rows of a rule came to."""

    name: str
    is_whole: bool = False  # It was the last of all rows, none of which was wrong.
    finding: str = ""
