"""What hands might type of what takes two operators: `test_schema_refuses_bad_money` types it."""

# Every part of every statement is a constant of this file.
# ruff: noqa: S608

from typing import Final

from qirsh.domain.commands.stop import LiftStop
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

BAD_AGREED: Final[dict[str, tuple[str, str]]] = {**_BAD_STOPS}
# What verify says of these is another matter: nobody has logged them.
AGREED: Final[dict[str, str]] = {
    "a stop that two lift": _LIFTING + decided() + _LIFTED,
}
