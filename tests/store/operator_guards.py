"""What hands might type about operators and their proposals: `test_schema_refuses_bad_money` types it."""

# Every part of every statement is a constant of this file.
# ruff: noqa: S608

from typing import Final

from qirsh.domain.commands.access import RemoveFactors
from qirsh.domain.commands.account import CloseAccount
from qirsh.domain.commands.operator import AppointOperator, ChangeRoles
from tests.store.agreed_guards import SECOND_ENDED, ends, gets, has
from tests.store.filled import FILLED
from tests.store.money_sql import asked, decided, proposal, said

_ASKED, _EDITED, _REFUSED = FILLED.asked.id, FILLED.edited.id, FILLED.lost.id
_SECOND_ENDS: Final = ends() + SECOND_ENDED
_CHECK: Final = "proposal_\\w*check|CHECK"
_OPERATOR_CHECK: Final = "operator_\\w*check|CHECK"
_ONCE: Final = "decided once, as it was shown"
_OWN: Final = "confirmed by whom it is about"
_KNOWN: Final = "who has changed it is known for ever"
_STAY: Final = "operators get other roles and end once"
_DONE: Final = {"state": "'done'", "decided_at": "1800000000000"}
_APPOINTING: Final = AppointOperator("fourth@example.com", "Fourth", "admin")
APPOINTED_ALONE: Final = proposal(_APPOINTING, "operator create", "appointment", **_DONE)
_APPOINTMENT: Final = "INSERT INTO appointment VALUES ('fourth@example.com', 'Fourth', 'admin', 'pr_new');"
_NOT_AGREED: Final = "appointment: is not what was agreed to"
OPERATOR: Final = "INSERT INTO operator VALUES (3, '{}', {}, 1800000000000, {}, NULL);"


def _change(columns: str, proposal_id: str = _ASKED) -> str:
    return f"UPDATE proposal SET {columns} WHERE id = '{proposal_id}';"


def _of_shop(**changes: str) -> str:
    """A business at which the first operator works."""
    return proposal(CloseAccount(FILLED.shop), "account close", f"account {FILLED.shop}", **changes)


def _of_second(**changes: str) -> str:
    return proposal(ChangeRoles(FILLED.second.id, "admin"), "operator roles", f"person {FILLED.second.id}", **changes)


_OF_SECOND_ACCOUNT: Final = proposal(
    CloseAccount(FILLED.second.account), "account close", f"account {FILLED.second.account}"
)

_BAD_PROPOSALS: Final[dict[str, tuple[str, str]]] = {
    "a proposal confirmed by who asked": (decided(_ASKED, ":first"), _CHECK),
    "a proposal that was always confirmed by who asked": (asked(**_DONE, decided_by=":first"), _CHECK),
    "a proposal refused by who asked": (decided(_ASKED, ":first", "refused"), _CHECK),
    "a proposal refused by nobody": (decided(_ASKED, "NULL", "refused"), _CHECK),
    "a proposal withdrawn by another": (decided(_ASKED, ":second", "withdrawn"), _CHECK),
    "a proposal that an operator let lapse": (decided(_ASKED, ":second", "lapsed"), _CHECK),
    "a proposal confirmed by who changed it": (decided(_EDITED), _CHECK),
    "a proposal that was always confirmed by who changed it": (
        asked(**_DONE, decided_by=":second", editors="'1 2'"),
        _CHECK,
    ),
    "a proposal that nobody has changed any more": (_change("editors = ''", _EDITED), _KNOWN),
    "a proposal that another has changed instead": (_change("editors = '12 21'", _EDITED), _KNOWN),
    **{
        f"a proposal with another {what} that nobody has changed": (_change(f"{what} = {value}"), _KNOWN)
        for what, value in {
            "command": said(FILLED.book(reference="asked", account=FILLED.other.account, amount=1)),
            "action": "'withdrawal'",
            "subject": "'account 1'",
            "reason": "'y'",
        }.items()
    },
    "a proposal confirmed by a former operator": (_SECOND_ENDS + decided(_ASKED), "no operator"),
    "a proposal refused by a former operator": (_SECOND_ENDS + decided(_ASKED, state="refused"), "no operator"),
    "a proposal confirmed by a customer": (decided(_ASKED, str(FILLED.customer.id)), "no operator"),
    "a proposal that a former operator asked for": (
        _SECOND_ENDS + asked(asked_by=":second"),
        "by somebody who is no operator",
    ),
    "a proposal that a customer asked for": (
        asked(asked_by=str(FILLED.customer.id)),
        "by somebody who is no operator",
    ),
    "a proposal that was always confirmed by a former operator": (
        _SECOND_ENDS + asked(**_DONE, decided_by=":second"),
        "by somebody who is no operator",
    ),
    "a proposal confirmed after it was refused": (decided(_REFUSED), _ONCE),
    "a proposal refused after it was confirmed": (decided("pr_1", state="refused"), _ONCE),
    "a proposal confirmed twice": (decided(_ASKED) + decided(_ASKED, decided_at="1800000000001"), _ONCE),
    "a proposal that is open again": (_change("state = 'open', decided_by = NULL, decided_at = NULL", _REFUSED), _ONCE),
    "a proposal whose reason was another": (_change("reason = 'y', editors = '1'", "pr_1"), _ONCE),
    **{
        f"a proposal confirmed with another {what} than was open": (decided(_ASKED, **{what: value}), _ONCE)
        for what, value in {
            "command": said(FILLED.book(reference="asked", account=FILLED.other.account, amount=1)),
            "reason": "'y'",
            "action": "'withdrawal'",
            "subject": "'account 1'",
            "editors": "'1'",
        }.items()
    },
    "a proposal refused with another command than was open": (
        decided(_ASKED, state="refused", command="'{}'", editors="'1'"),
        _ONCE,
    ),
    "a proposal that another asked for": (_change("asked_by = :second"), _ONCE),
    "a proposal that is younger than it was": (_change("asked_at = asked_at + 1"), _ONCE),
    "a proposal under another id": (_change("id = 'pr_other'"), _ONCE),
    "an appointment by one alone while another admin acts": (APPOINTED_ALONE, "by one alone while there are others"),
    "an appointment that waits and is carried out by one alone": (
        proposal(_APPOINTING, "operator create", "appointment") + decided(by="NULL"),
        "carried out by one alone",
    ),
    "money that the only admin moves alone": (
        gets("treasury") + has("treasury") + asked(**_DONE),
        _CHECK,
    ),
    "a proposal that is done by nobody": (decided(_ASKED, "NULL"), f"{_CHECK}|carried out by one alone"),
    "a proposal that was decided and is open": (_change("decided_at = 1800000000000"), _CHECK),
    "a proposal of an open decision": (_change("decided_by = :second"), _CHECK),
    "a proposal that ended in another way": (_change("state = 'dropped', decided_at = 1"), _CHECK),
    "a proposal without a reason": (asked(reason="''"), _CHECK),
    "a proposal that vanished": (f"DELETE FROM proposal WHERE id = '{_ASKED}'", "never vanish"),
    "roles confirmed by who gets them": (_of_second() + decided(), _OWN),
    "roles that were always confirmed by who gets them": (_of_second(**_DONE, decided_by=":second"), _OWN),
    "a proposal about an account that its owner confirms": (_OF_SECOND_ACCOUNT + decided(), _OWN),
    "a proposal about an account that its owner always confirmed": (
        _OF_SECOND_ACCOUNT.replace("'open', NULL, NULL", "'done', :second, 1800000000000"),
        _OWN,
    ),
    "a proposal about a business that one confirms who works there": (
        _of_shop(asked_by=":second") + decided(by=":first"),
        _OWN,
    ),
    "a proposal about a business that one always confirmed who works there": (
        _of_shop(asked_by=":second", **_DONE, decided_by=":first"),
        _OWN,
    ),
}
BAD_OPERATORS: Final[dict[str, tuple[str, str]]] = {
    **_BAD_PROPOSALS,
    **{
        f"an appointment with {what} that nobody agreed to": (f"UPDATE appointment SET {change}", _NOT_AGREED)
        for what, change in {
            "more roles": "roles = 'admin treasury support'",
            "another name": "name = 'Third'",
            "an address": "email = 'other@example.com'",
            "a proposal": f"proposal = '{_ASKED}'",
            "an appointment of another": "proposal = 'pr_0'",
        }.items()
    },
    "an appointment whose proposal is open": (
        proposal(_APPOINTING, "operator create", "appointment") + _APPOINTMENT,
        _NOT_AGREED,
    ),
    "an appointment that was refused": (
        proposal(_APPOINTING, "operator create", "appointment")
        + decided(state="refused", command="'{}'")
        + _APPOINTMENT,
        _NOT_AGREED,
    ),
    "an address of an appointment that was refused": (
        proposal(_APPOINTING, "operator create", "appointment") + decided(state="refused"),
        _CHECK,
    ),
    "a command that is forgotten though it is carried out": (
        proposal(_APPOINTING, "operator create", "appointment") + decided(command="'{}'"),
        _CHECK,
    ),
    "an appointment without a role": (
        proposal(AppointOperator("fourth@example.com", "Fourth", ""), "operator create", "appointment")
        + decided()
        + _APPOINTMENT.replace("'admin'", "''"),
        "appointment_roles_check|CHECK",
    ),
    "a second first operator": (OPERATOR.format("admin", "NULL", "NULL"), "operator"),
    "an operator who needs nobody any more": ("UPDATE operator SET created_by = NULL WHERE person = :second", _STAY),
    "an operator who made themselves one": (OPERATOR.format("admin", "3", "NULL"), "made by somebody who is none"),
    "two operators who made each other": (
        "INSERT INTO operator VALUES (3, 'admin', 4, 1, NULL, NULL), (4, 'admin', 3, 1, NULL, NULL)",
        "made by somebody who is none",
    ),
    "an operator to whom nobody agreed": (OPERATOR.format("support", ":first", "NULL"), "made by one alone"),
    "an operator of a former operator": (
        _SECOND_ENDS + OPERATOR.format("support", ":second", ":first"),
        "made by somebody who is none",
    ),
    "an operator whom a former operator agreed to": (
        _SECOND_ENDS + OPERATOR.format("support", ":first", ":second"),
        "made by somebody who is none",
    ),
    "an operator whom one made twice": (OPERATOR.format("support", ":first", ":first"), _OPERATOR_CHECK),
    "an operator who agreed to themselves": (
        OPERATOR.format("support", ":first", "3"),
        f"{_OPERATOR_CHECK}|made by somebody who is none",
    ),
    "an operator whom nobody asked for": (OPERATOR.format("support", "NULL", ":first"), "operator|CHECK"),
    "an operator without a role": (OPERATOR.format("", ":first", ":second"), _OPERATOR_CHECK),
    "an operator who loses all roles": (gets("") + has(""), _OPERATOR_CHECK),
    "an admin whom nobody would find": (
        gets("treasury admin") + has("treasury admin"),
        _OPERATOR_CHECK,
    ),
    "an operator who was always one": (
        "UPDATE operator SET ended_at = created_at + 1, created_at = 1 WHERE person = :second",
        _STAY,
    ),
    "an operator who ends before they began": (
        ends("(SELECT created_at - 1 FROM operator WHERE person = :second)")
        + "UPDATE operator SET ended_at = created_at - 1 WHERE person = :second",
        _OPERATOR_CHECK,
    ),
    "an operator who ends twice": (
        _SECOND_ENDS + "UPDATE operator SET ended_at = 1800000000001 WHERE person = :second",
        _STAY,
    ),
    "a former operator who acts again": (
        _SECOND_ENDS + "UPDATE operator SET ended_at = NULL, roles = 'auditor' WHERE person = :second",
        _STAY,
    ),
    "a former operator with other roles": (
        _SECOND_ENDS + "UPDATE operator SET roles = 'auditor' WHERE person = :second",
        _STAY,
    ),
    "an operator who vanished": ("DELETE FROM operator WHERE person = :second", "operators never vanish"),
}

GOOD_OPERATORS: Final[dict[str, str]] = {
    "a proposal that is asked for": asked(),
    "an appointment that was agreed to": proposal(_APPOINTING, "operator create", "appointment")
    + decided()
    + _APPOINTMENT,
    "an appointment that is withdrawn": "DELETE FROM appointment",
    "a proposal about a person that another confirms": proposal(
        RemoveFactors("customer@example.com", FILLED.customer.id), "remove-factors", f"person {FILLED.customer.id}"
    )
    + decided(),
    "a proposal that another refuses": decided(_ASKED, state="refused", decision="'no'"),
    "a proposal that who changed it refuses": decided(_EDITED, state="refused"),
    "a proposal that is withdrawn": decided(_ASKED, ":first", "withdrawn"),
    "a proposal that lapses": decided(_ASKED, "NULL", "lapsed"),
    "a proposal that is changed": _change("command = '[]', reason = 'y', editors = '2'"),
    "a proposal that one more changes": _change("reason = 'y', editors = '1 2'", _EDITED),
    "a proposal that the same changes again": _change("reason = 'y'", _EDITED),
    "a proposal about a business that one confirms who works elsewhere": _of_shop() + decided(),
}
OPERATORS_TO_NOWHERE: Final[dict[str, str]] = {
    "an operator who is nobody": "INSERT INTO operator VALUES (404, 'auditor', :first, 1800000000000, :second, NULL)",
}
REPLACED_OPERATORS: Final[dict[str, tuple[str, str]]] = {
    "the first operator replaced": (
        "INSERT OR REPLACE INTO operator VALUES (3, 'admin', NULL, 1, NULL, NULL)",
        "never replaced",
    ),
    "an operator replaced": (
        "INSERT OR REPLACE INTO operator VALUES (:first, 'admin', NULL, 1, NULL, NULL)",
        "never replaced",
    ),
    "the first operator replaced by the second": (
        "UPDATE OR REPLACE operator SET created_by = NULL WHERE person = :second",
        _STAY,
    ),
    "a proposal replaced": (
        asked(id=f"'{_REFUSED}'").replace("INSERT", "INSERT OR REPLACE", 1),
        "proposals are never replaced",
    ),
    "a proposal replaced by another's new id": (
        f"UPDATE OR REPLACE proposal SET id = '{_REFUSED}' WHERE id = '{_ASKED}'",
        _ONCE,
    ),
}
