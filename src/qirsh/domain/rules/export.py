"""Copies of the books that leave the service."""

from qirsh.domain.people_command import RecordExport
from qirsh.domain.state import Needs, State


def record_needs(_command: RecordExport, _state: State, _needs: Needs) -> None:
    pass


def record(command: RecordExport, state: State) -> None:
    state.note(command.actor, "account.exported", f"account {command.account}", command.what)
