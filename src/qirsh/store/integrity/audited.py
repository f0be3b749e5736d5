"""The names of all that the ledger auditor asks, in the order in which it asks and operators read."""

from typing import Final

from qirsh.store.integrity import hash_chain, incremental_checks
from qirsh.store.integrity.operator_invariants import STOPS
from qirsh.store.integrity.total_invariants import TOTALS

GUARDS: Final = "the database guards itself"  # As `verify` calls it, on each engine.
TOTALED: Final = TOTALS[0].name  # The one of them that the auditor asks.

_SLICED: Final = [check.name for _, _, checks in incremental_checks.SLICES for check in checks]
# What is found of these stops all money,
OF_MONEY: Final = tuple(dict.fromkeys([incremental_checks.SUMS.name, incremental_checks.NUMBERS.name, *_SLICED]))
# and of these it is told.
TOLD: Final = (
    TOTALED,
    *(check.name for check in incremental_checks.STAFF),
    GUARDS,
    STOPS.name,
    hash_chain.CHAIN.name,
    hash_chain.ROWS.name,
)
