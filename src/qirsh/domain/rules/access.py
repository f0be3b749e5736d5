"""Operators sign a person out, block and unblock signing in, and remove second factors, which takes two."""

from typing import Final

import msgspec

from qirsh.domain.commands.access import ChangeAccess, RemoveFactors
from qirsh.domain.commands.proposal import AskProposal, ConfirmProposal
from qirsh.domain.counter import REVOCATION, passkeys
from qirsh.domain.operator_role import OperatorRight
from qirsh.domain.person import Person
from qirsh.domain.proposal import Proposal
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.rule import Rule, Rules
from qirsh.domain.rules.login_credentials import are_all_passkeys, end_sessions, remove_passkeys
from qirsh.domain.rules.operator_authority import by_operator
from qirsh.domain.rules.proposed import ProposedRule, ProposedRules
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork


def change_reads(command: ChangeAccess, keys: RowKeys) -> None:
    keys.logins.add(command.email)


def change_locks(command: ChangeAccess, work: UnitOfWork, keys: RowKeys) -> None:
    keys.logins.add(command.email)
    keys.counters.add(REVOCATION)
    login = work.logins.get(command.email)
    if login is not None:
        keys.people.add(login.person)


def change(command: ChangeAccess, work: UnitOfWork) -> Person | Refused:
    login = work.logins.get(command.email)
    # Of an address that became somebody else's in this very batch the rows are not there: the batch falls back.
    person = None if login is None else work.people.get(login.person)
    if login is None or person is None:
        return Refused(Refusal.NOT_FOUND)
    if person.id == command.operator:
        return Refused(Refusal.OWN_REQUEST)
    if command.change == "unblock":
        work.logins.change(login.email, msgspec.structs.replace(login, wrong_codes=0))
    else:
        end_sessions(work, person.id)
        person = work.people.get(person.id)
        assert person is not None
    if command.change != "sign-out":
        person = msgspec.structs.replace(person, blocked_at=work.now if command.change == "block" else None)
        work.people.change(person.id, person)
    work.post(command.letters)
    work.note(command.actor, "access.changed", f"person {person.id}", f"{command.change}: {command.reason}")
    return person


def factor_locks(command: RemoveFactors, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.logins.add(command.email)
    keys.operators.add(command.person)
    keys.people.add(command.person)
    keys.counters.update({REVOCATION, passkeys(command.person)})


def why_not(command: RemoveFactors, work: UnitOfWork, by: object) -> Refusal | None:
    login, operator = work.logins.get(command.email), work.operators.get(command.person)
    if login is None or login.person != command.person:
        return Refusal.NOT_FOUND
    if operator is not None and operator.ended_at is None:
        return Refusal.MOVE_NOT_ALLOWED  # Nobody runs the service with a password alone.
    if isinstance(by, ConfirmProposal) and not are_all_passkeys(work, command.person, by.passkeys):
        return Refusal.MOVE_NOT_ALLOWED  # One more was made since they were looked for.
    return None


def carry_out(command: RemoveFactors, work: UnitOfWork, _proposal: Proposal, by: AskProposal | ConfirmProposal) -> None:
    login = work.logins.get(command.email)
    assert login is not None, "asked a line above"
    remove_passkeys(work, command.person, by.passkeys)
    work.logins.change(login.email, msgspec.structs.replace(login, totp_sealed=None, recovery=b"", wrong_codes=0))
    end_sessions(work, command.person)


RULES: Final[Rules] = {
    ChangeAccess: by_operator(
        Rule(change, lock=change_locks, read_first=change_reads),
        lambda command, _: OperatorRight.RESUME if command.change == "unblock" else OperatorRight.RESTRICT,
    ),
}
PROPOSED: Final[ProposedRules] = {
    RemoveFactors: ProposedRule(
        action=lambda _: "remove-factors",
        subject=lambda command: f"person {command.person}",
        asked=lambda _: "access.asked",
        done=lambda _: "access.changed",
        ask=OperatorRight.ASK_HELP,
        confirm=OperatorRight.CONFIRM_HELP,
        why_not=why_not,
        carry_out=carry_out,
        lock=factor_locks,
        person=lambda command: command.person,
    ),
}
