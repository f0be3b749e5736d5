"""What changes nothing but is remembered: a line of the audit log, and no more."""

from typing import Final

from qirsh.domain.commands.audit_log import (
    RecordAccountLook,
    RecordAuditExport,
    RecordCheck,
    RecordExport,
    RecordFailure,
    RecordLook,
    RecordShopExport,
)
from qirsh.domain.operator_role import OperatorRight
from qirsh.domain.rule import Rule, Rules
from qirsh.domain.rules.operator_authority import by_operator
from qirsh.domain.rules.staff_authority import by_member
from qirsh.domain.staff import Right
from qirsh.domain.unit_of_work import UnitOfWork


def look(command: RecordLook, work: UnitOfWork) -> None:
    work.note(command.actor, "identity.seen", f"account {command.account}")


def account_look(command: RecordAccountLook, work: UnitOfWork) -> None:
    work.note(command.actor, "account.looked_at", f"account {command.account}")


def export(command: RecordExport, work: UnitOfWork) -> None:
    work.note(command.actor, "account.exported", f"account {command.account}", command.what)


def shop_export(command: RecordShopExport, work: UnitOfWork) -> None:
    work.note(f"person {command.member}", "export.made", f"account {command.account}", command.what)


def failure(command: RecordFailure, work: UnitOfWork) -> None:
    work.note(command.actor, "session.refused", command.subject, command.detail)


def check(command: RecordCheck, work: UnitOfWork) -> None:
    work.note(command.actor, "ledger.checked", "all rules", command.result)


def audit_export(command: RecordAuditExport, work: UnitOfWork) -> None:
    work.note(command.actor, "audit.exported", "audit log", command.what)


RULES: Final[Rules] = {
    RecordCheck: by_operator(Rule(check), OperatorRight.CHECK_LEDGER),
    RecordLook: by_operator(Rule(look), OperatorRight.SEE_PAPERS),
    RecordAccountLook: by_operator(Rule(account_look), OperatorRight.LOOK),
    RecordExport: Rule(export),
    RecordShopExport: by_member(Rule(shop_export), Right.EXPORT),
    RecordFailure: Rule(failure),
    RecordAuditExport: by_operator(Rule(audit_export), OperatorRight.SEE_AUDIT_LOG),
}
