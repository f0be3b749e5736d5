"""An operator is let in again from the machine itself, and everybody who runs the service reads of it."""

from typing import Final

import msgspec

from qirsh.domain.commands.recovery import ReadRecovery, RecoverOperator
from qirsh.domain.counter import ADMIN, REVOCATION, passkeys
from qirsh.domain.operator import is_admin
from qirsh.domain.operator_role import ROLES, OperatorRight, written_roles
from qirsh.domain.recovery import Recovery
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.rule import Rule, Rules
from qirsh.domain.rules.login_credentials import are_all_passkeys, end_sessions, remove_passkeys
from qirsh.domain.rules.operator_authority import by_operator
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork


def recover_locks(command: RecoverOperator, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.recoveries.add(command.id)
    keys.logins.add(command.email)
    keys.operators.add(command.person)
    keys.people.add(command.person)
    keys.accounts.add(command.account)
    keys.passkeys.update(command.passkeys)
    keys.counters.update({ADMIN, REVOCATION, passkeys(command.person)})


def recover(command: RecoverOperator, work: UnitOfWork) -> Recovery | Refused:
    login, operator = work.logins.get(command.email), work.operators.get(command.person)
    person, account = work.people.get(command.person), work.accounts.get(command.account)
    if operator is None or operator.ended_at is not None or login is None or login.person != command.person:
        return Refused(Refusal.NOT_FOUND)
    if person is None or account is None or person.account != account.number:
        return Refused(Refusal.NOT_FOUND)
    if account.state == "closed" or not are_all_passkeys(work, command.person, command.passkeys):
        return Refused(Refusal.MOVE_NOT_ALLOWED)
    remove_passkeys(work, command.person, command.passkeys)
    secrets = {"password_hash": command.password_hash, "totp_sealed": command.totp_sealed}
    work.logins.change(login.email, msgspec.structs.replace(login, **secrets, recovery=b"", wrong_codes=0))
    work.people.change(person.id, msgspec.structs.replace(person, blocked_at=None))
    end_sessions(work, person.id)
    if account.state == "suspended":
        resumed = msgspec.structs.replace(account, state="verified", updated_at=work.now)
        work.accounts.change(account.number, resumed)
    if not is_admin(operator):
        held = {role for role in ROLES if role in operator.roles.split()}
        work.operators.change(person.id, msgspec.structs.replace(operator, roles=written_roles({*held, "admin"})))
        work.count(ADMIN)
    recovery = Recovery(id=command.id, person=person.id, roles=operator.roles, done_by=command.by, at=work.now)
    work.recoveries.add(recovery.id, recovery)
    work.post(command.letters)
    work.note(command.by, "operator.recovered", f"person {person.id}", recovery.id)
    return recovery


def read_locks(command: ReadRecovery, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.recoveries.add(command.id)
    keys.counters.add(ADMIN)


def read(command: ReadRecovery, work: UnitOfWork) -> Recovery | Refused:
    recovery = work.recoveries.get(command.id)
    if recovery is None:
        return Refused(Refusal.NOT_FOUND)
    if recovery.read_at is not None:
        return recovery
    if recovery.person == command.operator and work.counted(ADMIN) > 1:
        return Refused(Refusal.OWN_REQUEST)  # Another one is to know of it.
    seen: Recovery = msgspec.structs.replace(recovery, read_by=command.operator, read_at=work.now)
    work.recoveries.change(recovery.id, seen)
    work.note(command.actor, "recovery.read", f"person {recovery.person}", recovery.id)
    return seen


RULES: Final[Rules] = {
    RecoverOperator: Rule(recover, lock=recover_locks),
    ReadRecovery: by_operator(Rule(read, lock=read_locks), OperatorRight.ASK_SETUP),
}
