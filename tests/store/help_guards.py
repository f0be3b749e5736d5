"""What hands might type about help for people, and about recoveries: `test_schema_refuses_bad_money` types it."""

# Every part of every statement is a constant of this file.
# ruff: noqa: S608

from typing import Final

from qirsh.domain.commands.access import RemoveFactors, ResetPin
from qirsh.domain.pending_reset import RESET_AFTER_MS
from tests.store.agreed_guards import SECOND_ENDED, ends
from tests.store.filled import FILLED
from tests.store.money_sql import decided, proposal

_CUSTOMER: Final = FILLED.customer.id
_DUE: Final = 1_800_000_000_000 + RESET_AFTER_MS
_NOT_AGREED: Final = "is not what two operators agreed to, a day later"
_ONCE: Final = "ends once, and another one takes another agreement"
_READ_ONCE: Final = "is read once, and never changes otherwise"
_PIN_OF_OTHER: Final = proposal(ResetPin(FILLED.other.id), "reset-pin", f"person {FILLED.other.id}")
_LATER: Final = 1_800_000_009_000
_PIN_AGAIN: Final = proposal(ResetPin(_CUSTOMER), "reset-pin", f"person {_CUSTOMER}") + decided(decided_at=str(_LATER))
_FACTORS: Final = (
    proposal(RemoveFactors("customer@example.com", _CUSTOMER), "remove-factors", f"person {_CUSTOMER}") + decided()
)


def _reset(person: int = FILLED.other.id, what: str = "pin", due_at: int = _DUE, agreed: str = "pr_new") -> str:
    return f"INSERT INTO pending_reset VALUES ({person}, '{what}', {due_at}, '{agreed}', 'waits');"


def _change(columns: str) -> str:
    return f"UPDATE pending_reset SET {columns} WHERE person = {_CUSTOMER};"


def _recovery(columns: str, name: str = "rec_0") -> str:
    return f"UPDATE recovery SET {columns} WHERE id = '{name}';"


_DONE: Final = _change("state = 'done'")
_OVER: Final = FILLED.pending_resets[_CUSTOMER, "pin"].due_at

BAD_HELP: Final[dict[str, tuple[str, str]]] = {
    "a reset that nobody asked for": (_reset(agreed="pr_0"), _NOT_AGREED),
    "a reset that is asked for": (_PIN_OF_OTHER + _reset(), _NOT_AGREED),
    "a reset that was refused": (_PIN_OF_OTHER + decided(state="refused") + _reset(), _NOT_AGREED),
    "a reset of somebody else": (_PIN_OF_OTHER + decided() + _reset(FILLED.owner.id), _NOT_AGREED),
    "a reset of something else": (_PIN_OF_OTHER + decided() + _reset(what="factors"), _NOT_AGREED),
    "a reset at once": (_PIN_OF_OTHER + decided() + _reset(due_at=1_800_000_000_000), _NOT_AGREED),
    "a reset of nothing that there is": (_reset(what="password"), f"{_NOT_AGREED}|pending_reset_\\w*check|CHECK"),
    "a reset that is due sooner": (_change("due_at = due_at - 1"), _ONCE),
    "a reset that is another's": (f"UPDATE pending_reset SET person = {FILLED.other.id}", _ONCE),
    "a reset that is done twice": (_DONE + _DONE, _ONCE),
    "a reset that was done and is kept": (_DONE + _change("state = 'kept'"), _ONCE),
    "a reset by an agreement that was stopped": (
        _DONE + _change(f"proposal = '{FILLED.stopped.id}', due_at = {_OVER} - 1, state = 'waits'"),
        _ONCE,
    ),
    "a reset by an older agreement, later": (
        _DONE + _change(f"proposal = '{FILLED.stopped.id}', due_at = {_OVER} + 1, state = 'waits'"),
        _NOT_AGREED,
    ),
    "a reset that vanished": ("DELETE FROM pending_reset", "never vanish"),
    "a recovery that vanished": ("DELETE FROM recovery", "recoveries never vanish"),
    "a recovery read by somebody who is no admin": (
        _recovery(f"read_by = {_CUSTOMER}, read_at = 1"),
        "no admin|violates foreign key",
    ),
    "a recovery read by a former admin": (
        ends() + SECOND_ENDED + _recovery("read_by = :second, read_at = 1"),
        "no admin",
    ),
    "a recovery read by nobody": (_recovery("read_at = 1"), "no admin"),
    "a recovery that is read twice": (_recovery("read_by = :second, read_at = 2", "rec_1"), _READ_ONCE),
    "a recovery that is unread again": (_recovery("read_by = NULL, read_at = NULL", "rec_1"), _READ_ONCE),
    "a recovery by somebody else": (_recovery("done_by = 'nobody', read_by = :first, read_at = 1"), _READ_ONCE),
    "a recovery of another role": (_recovery("roles = '', read_by = :first, read_at = 1"), _READ_ONCE),
    "a recovery of somebody else": (_recovery("person = :first, read_by = :first, read_at = 1"), _READ_ONCE),
    "a rejected identity without a reason of the list": (
        "UPDATE identity SET because = '' WHERE state = 'rejected'",
        "identity_check|identity_\\w*check|CHECK",
    ),
    "an identity with a reason that there is not": (
        "UPDATE identity SET because = 'ugly'",
        "identity_\\w*check|CHECK",
    ),
}
GOOD_HELP: Final[dict[str, str]] = {
    "a reset that two agreed to": _PIN_OF_OTHER + decided() + _reset(),
    "a reset of factors": _FACTORS + _reset(_CUSTOMER, "factors"),
    "a reset that is carried out": _DONE,
    "a reset that is stopped": _change("state = 'kept'"),
    "another reset after one that is over": _DONE
    + _PIN_AGAIN
    + _change(f"proposal = 'pr_new', due_at = {_LATER + RESET_AFTER_MS}, state = 'waits'"),
    "a recovery that an admin reads": _recovery("read_by = :first, read_at = 1800000000000"),
}
HELP_TO_NOWHERE: Final[dict[str, str]] = {
    "a recovery of nobody": "INSERT INTO recovery VALUES ('rec_9', 404, 'admin', 'root', 1, NULL, NULL)",
}
REPLACED_HELP: Final[dict[str, tuple[str, str]]] = {
    "a reset replaced": (
        _PIN_AGAIN + _reset(_CUSTOMER).replace("INSERT", "INSERT OR REPLACE", 1),
        "pending resets are never replaced",
    ),
    "a recovery replaced": (
        "INSERT OR REPLACE INTO recovery VALUES ('rec_0', :first, 'admin', 'nobody', 1, NULL, NULL)",
        "recoveries are never replaced",
    ),
}
