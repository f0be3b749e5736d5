"""What hands might type about reversals and corrections: `test_schema_refuses_bad_money` types it."""

# Every part of every statement is a constant of this file.
# ruff: noqa: S608

from typing import Any, Final

from qirsh.domain.commands.proposal import ProposedCommand
from tests.store.filled import FILLED
from tests.store.money_sql import BALANCES, decided, inserted, proposal, transfer

_AGREED: Final = "is not what two operators agreed to"
_NOT_BACK: Final = "does not match the one that it reverses"
_NOT_OF_ORDER: Final = "does not match the bank order"
# The other customer's first deposit, of all that they have.
_BACK: Final = FILLED.reversal("slip 2", reference="back")
_RIGHT: Final = FILLED.correction(reference="right", account=FILLED.other.account)
_USD: Final = "(SELECT {} FROM balance WHERE account = {} AND currency = 'USD')"


def _changed(command: Any, fields: dict[str, Any]) -> Any:  # noqa: ANN401 - one of the two
    return type(command)(**{name: getattr(command, name) for name in command.__struct_fields__} | fields)


def _asked(command: ProposedCommand, action: str, **changes: str) -> str:
    return proposal(command, action, f"account {FILLED.other.account}", **changes)


def _order(command: Any, **changes: str) -> str:  # noqa: ANN401 - the same
    reverses = getattr(command, "reverses", None)
    columns = {
        "house": str(command.house),
        "reference": f"'{command.reference}'",
        "kind": f"'{command.kind}'",
        "account": str(command.account),
        "currency": f"'{command.currency}'",
        "amount": str(command.amount),
        "proposal": "'pr_new'",
        "booked_at": "1800000000000",
        "reverses": "NULL" if reverses is None else f"'{reverses}'",
    }
    return inserted("bank_order", columns | changes)


def _agreed(command: Any, action: str, **changes: str) -> str:  # noqa: ANN401 - the same
    return _asked(command, action) + decided() + _order(command, **changes)


def _moved(kind: str, debit: str, credit: str, amount: int, /, **changes: str) -> str:
    columns = {
        "kind": f"'{kind}'",
        "debit": debit,
        "credit": credit,
        "amount": str(amount),
        "debit_sequence": _USD.format("sequence + 1", debit),
        "debit_balance": _USD.format(f"amount - {amount}", debit),
        "credit_sequence": _USD.format("sequence + 1", credit),
        "credit_balance": _USD.format(f"amount + {amount}", credit),
        "payment": "NULL",
    }
    return transfer(**columns | changes)


def _back(**changes: str) -> str:
    """The transfer of the reversal."""
    columns = {"bank_order": "'back'", "reverses": "(SELECT id FROM transfer WHERE bank_order = 'slip 2')"}
    return _moved("reversal", ":other", ":house", _BACK.amount, **columns | changes)


def _right(**changes: str) -> str:
    """The transfer of the correction."""
    return _moved("correction", ":corrections", ":other", _RIGHT.amount, **{"bank_order": "'right'"} | changes)


def _through(house: int) -> str:
    """The correction as it was agreed to, through another house."""
    return _agreed(_changed(_RIGHT, {"house": house}), "correction")


_OF_PAY: Final = "(SELECT id FROM transfer WHERE payment = :paid)"
BAD_REVERSALS: Final[dict[str, tuple[str, str]]] = {
    "a reversal without its proposal": (_order(_BACK), _AGREED),
    "a reversal whose proposal is open": (_asked(_BACK, "reversal") + _order(_BACK), _AGREED),
    "a reversal under a proposal of a withdrawal": (
        _asked(FILLED.book(kind="withdrawal", reference="back", account=FILLED.other.account), "withdrawal")
        + decided()
        + _order(_changed(_BACK, {"amount": 10_000})),
        _AGREED,
    ),
    "a reversal of another order than was agreed to": (_agreed(_BACK, "reversal", reverses="'slip 3'"), _AGREED),
    "a withdrawal under a proposal of a reversal": (_agreed(_BACK, "reversal", reverses="NULL"), _AGREED),
    **{
        f"a reversal of another {what}": (_agreed(_changed(_BACK, {what: value}), "reversal"), _NOT_BACK)
        for what, value in {
            "amount": _BACK.amount - 1,
            "currency": "EUR",
            "kind": "deposit",
            "account": FILLED.customer.account,
        }.items()
    },
    "a reversal of an order of no bank": (_agreed(_changed(_BACK, {"reverses": "none"}), "reversal"), _NOT_BACK),
    "a reversal of a reversal": (
        _agreed(
            _changed(_BACK, {"reverses": "wrong back", "kind": "deposit", "amount": 10_000}),
            "reversal",
        ),
        _NOT_BACK,
    ),
    "a reversal of a correction": (
        _agreed(
            _changed(
                _BACK,
                {"house": FILLED.corrections, "reverses": "ours", "amount": 10_000, "account": FILLED.owner.account},
            ),
            "reversal",
        ),
        _NOT_BACK,
    ),
    "a reversal without its bank order": (_back(), _NOT_OF_ORDER),
    "a reversal booked as a withdrawal": (
        _agreed(_BACK, "reversal") + _back(kind="'withdrawal'", reverses="NULL"),
        _NOT_OF_ORDER,
    ),
    "a reversal that does not say of what": (
        _agreed(_BACK, "reversal") + _back(reverses="NULL"),
        "_check|CHECK|reverses",
    ),
    "a reversal that says it takes back a payment": (_agreed(_BACK, "reversal") + _back(reverses=_OF_PAY), _NOT_BACK),
    "a reversal that says it takes back another deposit": (
        _agreed(_BACK, "reversal") + _back(reverses="(SELECT id FROM transfer WHERE bank_order = 'slip 0')"),
        _NOT_BACK,
    ),
    "a reversal of another amount than its order's": (
        _agreed(_BACK, "reversal")
        + _back(
            amount="1",
            debit_balance=_USD.format("amount - 1", ":other"),
            credit_balance=_USD.format("amount + 1", ":house"),
        ),
        _NOT_OF_ORDER,
    ),
    "a correction without its proposal": (_order(_RIGHT), _AGREED),
    "a correction through a bank": (_through(FILLED.house), _AGREED),
    "a correction through a test mint": (_through(FILLED.mint), _AGREED),
    "a correction through a customer": (_through(FILLED.customer.account), _AGREED),
    "a deposit through the house of corrections": (
        _asked(FILLED.book(house=FILLED.corrections, reference="right", account=FILLED.other.account), "deposit")
        + decided()
        + _order(_RIGHT),
        _AGREED,
    ),
    "a deposit that calls itself a correction": (
        _asked(FILLED.book(house=FILLED.corrections, reference="right", account=FILLED.other.account), "correction")
        + decided()
        + _order(_RIGHT),
        _AGREED,
    ),
    "a correction booked as a deposit": (_agreed(_RIGHT, "correction") + _right(kind="'deposit'"), _NOT_OF_ORDER),
    "a correction without its bank order": (_right(), _NOT_OF_ORDER),
    "a bank order with something else that it reverses": (
        "UPDATE bank_order SET reverses = 'slip 0' WHERE reference = 'slip'",
        "bank orders never change",
    ),
    "a house account with another name": (
        "UPDATE account SET name = 'corrections 2' WHERE number = :corrections",
        "house account never changes",
    ),
}
GOOD_REVERSALS: Final[dict[str, str]] = {
    "a deposit that is taken back": _agreed(_BACK, "reversal")
    + _back()
    + BALANCES.replace("500", str(_BACK.amount)).replace(":customer", ":other").replace(":shop", ":house")
    + f"INSERT INTO counter VALUES ('reversals of {FILLED.house} slip 2', 1)",
    "a balance that is put right": _agreed(_RIGHT, "correction")
    + _right()
    + BALANCES.replace("500", str(_RIGHT.amount)).replace(":customer", ":corrections").replace(":shop", ":other"),
}
# What its own key refuses.
REVERSED_TWICE: Final[dict[str, tuple[str, str]]] = {
    "an order that is reversed again": (
        _agreed(
            _changed(
                _BACK, {"reverses": "wrong", "amount": 10_000, "kind": "withdrawal", "reference": "wrong back again"}
            ),
            "reversal",
        ),
        "bank_order_house_reverses|never replaced|UNIQUE",
    ),
}
REPLACED_REVERSALS: Final[dict[str, tuple[str, str]]] = {
    "a reversal replaced by another of the same order": (
        (
            "INSERT OR REPLACE INTO bank_order SELECT house, 'another', kind, account, currency, amount, 'pr_0', 1,"
            " payout, reverses FROM bank_order WHERE reference = 'wrong back'"
        ),
        f"never replaced|{_AGREED}",
    ),
    "a transfer replaced by another that reverses the same": (
        (
            "INSERT OR REPLACE INTO transfer SELECT (SELECT max(id) + 1 FROM transfer), kind, debit, credit, currency,"
            " amount, debit_sequence + 1000, debit_balance, credit_sequence + 1000, credit_balance, payment,"
            " bank_order, reverses, created_at FROM transfer WHERE bank_order = 'wrong back'"
        ),
        "never replaced|does not follow",
    ),
}
