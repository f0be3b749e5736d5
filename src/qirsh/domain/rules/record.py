"""What changes nothing but is remembered: a line of the audit log, and no more."""

from qirsh.domain.command import RecordCheck
from qirsh.domain.people_command import RecordExport, RecordFailure, RecordLook
from qirsh.domain.state import State


def look(command: RecordLook, state: State) -> None:
    state.note(command.actor, "identity.seen", f"account {command.account}")


def export(command: RecordExport, state: State) -> None:
    state.note(command.actor, "account.exported", f"account {command.account}", command.what)


def failure(command: RecordFailure, state: State) -> None:
    state.note(command.actor, "session.refused", command.subject)


def check(command: RecordCheck, state: State) -> None:
    state.note(command.actor, "ledger.checked", "all rules", command.result)
