"""What hands might type about what the ledger auditor keeps: `test_schema_refuses_bad_money` types it."""

from typing import Final

BAD_LOOKS: Final[dict[str, tuple[str, str]]] = {
    "a rule that held after it was looked at": ("UPDATE ledger_check SET held_at = looked_at + 1", "check|CHECK"),
    "a rule under another name": ("UPDATE ledger_check SET name = name || 'x'", "keep their names"),
    "a rule that vanished": ("DELETE FROM ledger_check", "never vanish"),
    "a rule without a name": ("INSERT INTO ledger_check VALUES ('', 1, 1, '')", "check|CHECK"),
    "a sum of another currency": ("UPDATE ledger_sum SET currency = 'EUR'", "stay what they are of"),
    "a sum that vanished": ("DELETE FROM ledger_sum", "never vanish"),
    "a sum of a kind that there is not": (
        "INSERT INTO ledger_sum VALUES ('live', 'secret', 'USD', 0, 0, 0, 1)",
        "check|CHECK",
    ),
    "a sum of which less than nothing is held": ("UPDATE ledger_sum SET held = -1", "check|CHECK"),
}
REPLACED_LOOKS: Final[dict[str, tuple[str, str]]] = {
    "a rule replaced": (
        "INSERT OR REPLACE INTO ledger_check SELECT name, 1, 1, '' FROM ledger_check",
        "never replaced",
    ),
    "a sum replaced": (
        "INSERT OR REPLACE INTO ledger_sum SELECT mode, kind, currency, 0, 0, 0, 1 FROM ledger_sum",
        "never replaced",
    ),
}
LOOKS_TO_NOWHERE: Final = {"a sum of no currency": "INSERT INTO ledger_sum VALUES ('live', 'house', 'XXX', 0, 0, 0, 1)"}
