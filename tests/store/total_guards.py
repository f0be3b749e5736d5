"""What hands might type about totals of accounts: `test_schema_refuses_bad_money` types it."""

# Every statement is a constant of this file.
# ruff: noqa: S608

from typing import Final

from qirsh.domain.total import FIGURES, AccountTotal
from tests.domain.totals import totals_of
from tests.store.filled import FILLED

# The shop's first row has one of its two dollar payments.
_FIRST: Final = totals_of(FILLED, FILLED.shop, "USD", 1)[-1]
_BOTH: Final = totals_of(FILLED, FILLED.shop, "USD")[-1]
_OF_SHOP: Final = "account = :shop AND currency = 'USD'"
_LEDGER: Final = "not what the ledger says"
_LESS: Final = "less than the one before"
_CHECK: Final = "account_total_\\w*check|CHECK"


def _row(total: AccountTotal, verb: str = "INSERT", **changes: str) -> str:
    columns = {name: str(getattr(total, name)) for name in AccountTotal.__struct_fields__}
    columns |= {"account": ":shop", "currency": f"'{total.currency}'"} | changes
    return f"{verb} INTO account_total ({', '.join(columns)}) VALUES ({', '.join(columns.values())});"


def _grown(*, where: str = _OF_SHOP, **changes: str) -> str:
    columns = {name: str(getattr(_BOTH, name)) for name in ("sequence", "taken", "taken_count")} | changes
    return (
        f"UPDATE account_total SET {', '.join(f'{name} = {value}' for name, value in columns.items())} WHERE {where};"
    )


_LATER: Final = _row(_BOTH, quarter=str(_BOTH.quarter + 1))
_EUROS: Final = totals_of(FILLED, FILLED.shop, "EUR")[-1]
_FEWER_EUROS: Final = totals_of(FILLED, FILLED.shop, "EUR", _EUROS.sequence - 1)[-1]
_GROWING: Final = ("sequence", *FIGURES, *(f"{figure}_count" for figure in FIGURES))
_NO_EUROS: Final = "DELETE FROM account_total WHERE account = :shop AND currency = 'EUR';"

BAD_TOTALS: Final[dict[str, tuple[str, str]]] = {
    "a total of money that was not taken": (_grown(taken=str(_BOTH.taken + 1)), _LEDGER),
    "a new total of money that was not taken": (
        _row(_BOTH, quarter=str(_BOTH.quarter + 1), taken=str(_BOTH.taken + 1)),
        _LEDGER,
    ),
    "a total past the last transfer": (
        _row(_BOTH, quarter=str(_BOTH.quarter + 1), sequence="3", taken_count="3"),
        _LEDGER,
    ),
    "a total of transfers that nobody counted": (_grown(taken_count="1"), _CHECK),
    "a total that counts a transfer twice": (_grown(taken_count="3"), _CHECK),
    "an amount of no transfers": (_grown(fees="1", paid_in="1"), _CHECK),
    "transfers of no amount": (_grown(taken_count="1", fees_count="1"), _CHECK),
    "a correction of no transfers": (_grown(taken=str(_BOTH.taken - 1), corrected="1"), _CHECK),
    "less than a coin for each": (
        _NO_EUROS + _row(_EUROS, refunded="2", taken=str(_EUROS.taken - _EUROS.refunded + 2)),
        _CHECK,
    ),
    "a total before all time": (_NO_EUROS + _row(_EUROS, quarter="-1"), _CHECK),
    "an earlier total that grows": (
        _LATER + _grown(where=f"{_OF_SHOP} AND quarter = {_FIRST.quarter}"),
        "only the last",
    ),
    "a total before the last one": (_row(_FIRST, quarter=str(_FIRST.quarter - 1)), "only the last|less than"),
    "a later total that has no more": (_row(_FIRST, quarter=str(_FIRST.quarter + 1)), _LESS),
    "a total that falls": (
        _grown(
            **{name: str(getattr(_FEWER_EUROS, name)) for name in _GROWING},
            where="account = :shop AND currency = 'EUR'",
        ),
        _LESS,
    ),
    "a total that took less, and was paid in for it": (
        _grown(taken="1", taken_count="1", paid_in=str(_BOTH.taken - 1), paid_in_count="1"),
        _LESS,
    ),
    "a total of another account": (_grown(account=":till"), "never change"),
    "a total of another currency": (_grown(currency="'SYP'"), "never change"),
    "a total of another quarter hour": (_grown(quarter="1"), "never change"),
    "a hole among the totals": (
        _LATER + f"DELETE FROM account_total WHERE {_OF_SHOP} AND quarter = {_FIRST.quarter};",
        "only the last one is removed",
    ),
}

REPLACED_TOTALS: Final[dict[str, tuple[str, str]]] = {
    "a total replaced": (_row(_BOTH, "INSERT OR REPLACE"), "never replaced"),
}

GOOD_TOTALS: Final[dict[str, str]] = {
    "a total that grows": _grown(),
    "totals that are made again": (f"DELETE FROM account_total WHERE account = :shop AND currency = 'EUR'; {_grown()}"),
}

TOTALS_TO_NOWHERE: Final[dict[str, str]] = {
    "a total of nobody": _row(_FIRST, account="404"),
    "a total in no currency": _row(_FIRST, currency="'XXX'"),
}

assert (_FIRST.sequence, _BOTH.sequence) == (1, 2)
assert all(getattr(_BOTH, figure) == 0 for figure in FIGURES if figure != "taken")
