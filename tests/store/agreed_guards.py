"""What hands might type of what takes two operators: `test_schema_refuses_bad_money` types it."""

# Every part of every statement is a constant of this file.
# ruff: noqa: S608

from typing import Final

from qirsh.domain.commands.account import CloseAccount
from qirsh.domain.commands.stop import LiftStop
from tests.store.filled import FILLED
from tests.store.money_sql import decided, proposal

_LATER: Final = {"decided_at": "1800000000001"}

# A stop that is open, and one that is lifted at the moment of every decision here.
_STOPPED: Final = "INSERT INTO stop VALUES (2, 1, 'why', NULL, NULL);"
_LIFTED: Final = "UPDATE stop SET lifted_at = 1800000000000, lifted_by = 'me' WHERE id = 2;"
_LIFTING: Final = _STOPPED + proposal(LiftStop(2), "audit lift", "stop 2")
_NOT_LIFTED: Final = "stop: lifted without the agreement of two operators"
_BAD_STOPS: Final[dict[str, tuple[str, str]]] = {
    "a stop that nobody agreed to lift": (_STOPPED + _LIFTED, _NOT_LIFTED),
    "a stop that one operator lifts": (_LIFTING + _LIFTED, _NOT_LIFTED),
    "a stop that was not to be lifted": (_LIFTING + decided(state="refused") + _LIFTED, _NOT_LIFTED),
    "a stop that was lifted at another time": (_LIFTING + decided(**_LATER) + _LIFTED, _NOT_LIFTED),
    "a stop for which another was to be lifted": (
        _STOPPED + proposal(LiftStop(1), "audit lift", "stop 2") + decided() + _LIFTED,
        _NOT_LIFTED,
    ),
    "a stop about which something else was agreed to": (
        _STOPPED + proposal(LiftStop(2), "deposit", "stop 2") + decided() + _LIFTED,
        _NOT_LIFTED,
    ),
}


def _closed(number: int) -> str:
    return f"UPDATE account SET state = 'closed', updated_at = 1800000000000 WHERE number = {number};"


def _closing(number: int) -> str:
    return proposal(CloseAccount(number), "account close", f"account {number}")


_SHOP, _OTHER = FILLED.shop, FILLED.other.account
_NOT_CLOSED: Final = "account: closed without the agreement of two operators"
_ERASED: Final = "UPDATE person SET name = '', erased_at = 1800000000000 WHERE id = {};"
_BAD_ACCOUNTS: Final[dict[str, tuple[str, str]]] = {
    "a shop that nobody agreed to close": (_closed(_SHOP), _NOT_CLOSED),
    "a personal account that nobody agreed to close": (_closed(_OTHER), _NOT_CLOSED),
    "an account that one operator closes": (_closing(_SHOP) + _closed(_SHOP), _NOT_CLOSED),
    "an account that was not to be closed": (
        _closing(_SHOP) + decided(state="refused") + _closed(_SHOP),
        _NOT_CLOSED,
    ),
    "an account that was closed at another time": (_closing(_SHOP) + decided(**_LATER) + _closed(_SHOP), _NOT_CLOSED),
    "an account for which another was to be closed": (_closing(_OTHER) + decided() + _closed(_SHOP), _NOT_CLOSED),
    "an account about which something else was agreed to": (
        proposal(CloseAccount(_SHOP), "deposit", f"account {_SHOP}") + decided() + _closed(_SHOP),
        _NOT_CLOSED,
    ),
    "a shop that is closed because its owner is erased": (
        _ERASED.format(FILLED.owner.id) + _closed(_SHOP),
        _NOT_CLOSED,
    ),
    "a personal account that is closed because another is erased": (
        _ERASED.format(FILLED.customer.id) + _closed(_OTHER),
        _NOT_CLOSED,
    ),
}

BAD_AGREED: Final[dict[str, tuple[str, str]]] = {**_BAD_STOPS, **_BAD_ACCOUNTS}
# What verify says of these is another matter: nobody has logged them.
AGREED: Final[dict[str, str]] = {
    "a stop that two lift": _LIFTING + decided() + _LIFTED,
    "a shop that two close": _closing(_SHOP) + decided() + _closed(_SHOP),
    "a personal account that two close": _closing(_OTHER) + decided() + _closed(_OTHER),
    "a personal account whose owner is erased": _ERASED.format(FILLED.other.id) + _closed(_OTHER),
}
