"""Operators sign a person out, block and unblock signing in, and set PINs and second factors back.

That takes two of them, and a day in which the person can stop it. Those of operators go at once, by two admins.
"""

from typing import Final

import msgspec

from qirsh.domain.commands.access import (
    CarryOutReset,
    ChangeAccess,
    KeepSecret,
    RemoveFactors,
    RemoveOperatorFactors,
    ResetPin,
)
from qirsh.domain.commands.proposal import AskProposal, ConfirmProposal
from qirsh.domain.counter import REVOCATION, passkeys
from qirsh.domain.operator import is_acting_operator
from qirsh.domain.operator_role import OperatorRight
from qirsh.domain.pending_reset import PendingReset
from qirsh.domain.person import Login, Person
from qirsh.domain.proposal import Proposal
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.rule import Rule, Rules
from qirsh.domain.rules.login_credentials import are_all_passkeys, end_sessions, remove_passkeys
from qirsh.domain.rules.operator_authority import by_operator
from qirsh.domain.rules.pending_reset import begin_reset, is_waiting, lock_resets
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
        keys.operators.add(login.person)


def _right_to_change(command: ChangeAccess, work: UnitOfWork) -> OperatorRight:
    """Operators are kept out by admins alone: one of support would lock all of them out."""
    if command.change == "unblock":
        return OperatorRight.RESUME
    login = work.logins.get(command.email)
    # Whoever joined in this very batch is none yet.
    operator = None if login is None else work.operators.known.get(login.person)
    return OperatorRight.ASK_SETUP if is_acting_operator(operator) else OperatorRight.RESTRICT


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


# Second factors of an operator, at once.


def factor_locks(command: RemoveFactors | RemoveOperatorFactors, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.logins.add(command.email)
    keys.operators.add(command.person)
    keys.people.add(command.person)
    keys.counters.update({REVOCATION, passkeys(command.person)})
    lock_resets(command.person, keys, "factors")


def why_not_of_operator(command: RemoveOperatorFactors, work: UnitOfWork, by: object) -> Refusal | None:
    if not _is_operator(work, command.person) or _own_login(work, command.email, command.person) is None:
        return Refusal.NOT_FOUND
    if isinstance(by, ConfirmProposal) and not are_all_passkeys(work, command.person, by.passkeys):
        return Refusal.MOVE_NOT_ALLOWED  # One more was made since they were looked for.
    return None


def remove_of_operator(
    command: RemoveOperatorFactors, work: UnitOfWork, _proposal: Proposal, by: AskProposal | ConfirmProposal
) -> None:
    login = _own_login(work, command.email, command.person)
    assert login is not None, "asked a line above"
    _remove_factors(work, login, by.passkeys)


# PIN and second factors of a person, a day later.


def why_not_remove(command: RemoveFactors, work: UnitOfWork, _by: object) -> Refusal | None:
    if _own_login(work, command.email, command.person) is None:
        return Refusal.NOT_FOUND
    # Nobody runs the service with a password alone.
    is_late = _is_operator(work, command.person) or is_waiting(work, command.person, "factors")
    return Refusal.MOVE_NOT_ALLOWED if is_late else None


def remove_later(
    command: RemoveFactors, work: UnitOfWork, proposal: Proposal, _by: AskProposal | ConfirmProposal
) -> None:
    begin_reset(work, command.person, "factors", proposal)


def pin_locks(command: ResetPin, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.people.add(command.person)
    keys.pins.add(command.person)
    lock_resets(command.person, keys, "pin")


def why_not_reset(command: ResetPin, work: UnitOfWork, _by: object) -> Refusal | None:
    person = work.people.get(command.person)
    if person is None or person.erased_at is not None:
        return Refusal.NOT_FOUND
    has_none = work.pins.get(command.person) is None  # They can set one by themselves.
    return Refusal.MOVE_NOT_ALLOWED if has_none or is_waiting(work, command.person, "pin") else None


def reset_later(command: ResetPin, work: UnitOfWork, proposal: Proposal, _by: AskProposal | ConfirmProposal) -> None:
    begin_reset(work, command.person, "pin", proposal)


def carry_out_locks(command: CarryOutReset, _work: UnitOfWork, keys: RowKeys) -> None:
    lock_resets(command.person, keys, command.what)
    keys.people.add(command.person)
    if command.what == "pin":
        keys.pins.add(command.person)
        return
    keys.logins.add(command.email)
    keys.operators.add(command.person)
    keys.passkeys.update(command.passkeys)
    keys.counters.update({REVOCATION, passkeys(command.person)})


def carry_out(command: CarryOutReset, work: UnitOfWork) -> bool:
    """What was found meanwhile may not be true any more: then it is looked for again."""
    reset = work.pending_resets.get((command.person, command.what))
    if reset is None or reset.state != "waits" or work.now < reset.due_at:
        return False
    if command.what == "pin":
        work.pins.remove(command.person)
    elif _is_operator(work, command.person):  # Since it was agreed to.
        _end(work, reset, "kept", "the service", "an operator by now")
        return False
    else:
        login = _own_login(work, command.email, command.person)
        if login is None or not are_all_passkeys(work, command.person, command.passkeys):
            return False
        _remove_factors(work, login, command.passkeys)
    _end(work, reset, "done", "the service", "")
    work.post(command.letters)
    return True


def keep_locks(command: KeepSecret, _work: UnitOfWork, keys: RowKeys) -> None:
    lock_resets(command.person, keys, command.what)


def keep(command: KeepSecret, work: UnitOfWork) -> PendingReset | Refused:
    reset = work.pending_resets.get((command.person, command.what))
    if reset is None:
        return Refused(Refusal.NOT_FOUND)
    if reset.state == "kept":  # The same form again.
        return reset
    if reset.state == "done":
        return Refused(Refusal.MOVE_NOT_ALLOWED)
    work.post(command.letters)
    return _end(work, reset, "kept", command.actor, command.reason)


def _end(work: UnitOfWork, reset: PendingReset, state: str, actor: str, why: str) -> PendingReset:
    ended: PendingReset = msgspec.structs.replace(reset, state=state)
    work.pending_resets.change((reset.person, reset.what), ended)
    told = ", ".join(filter(None, (reset.what, reset.proposal, why)))
    work.note(actor, "access.changed" if state == "done" else "access.kept", f"person {reset.person}", told)
    return ended


def _remove_factors(work: UnitOfWork, login: Login, found: tuple[bytes, ...]) -> None:
    remove_passkeys(work, login.person, found)
    work.logins.change(login.email, msgspec.structs.replace(login, totp_sealed=None, recovery=b"", wrong_codes=0))
    end_sessions(work, login.person)


def _own_login(work: UnitOfWork, email: str, person: int) -> Login | None:
    login = work.logins.get(email)
    return login if login is not None and login.person == person else None


def _is_operator(work: UnitOfWork, person: int) -> bool:
    operator = work.operators.get(person)
    return operator is not None and operator.ended_at is None


RULES: Final[Rules] = {
    ChangeAccess: by_operator(
        Rule(change, lock=change_locks, read_first=change_reads),
        _right_to_change,
    ),
    CarryOutReset: Rule(carry_out, lock=carry_out_locks),
    KeepSecret: by_operator(Rule(keep, lock=keep_locks), OperatorRight.RESTRICT),
}
PROPOSED: Final[ProposedRules] = {
    RemoveFactors: ProposedRule(
        action=lambda _: "remove-factors",
        subject=lambda command: f"person {command.person}",
        asked=lambda _: "access.asked",
        done=lambda _: "access.agreed",
        ask=OperatorRight.ASK_HELP,
        confirm=OperatorRight.CONFIRM_HELP,
        why_not=why_not_remove,
        carry_out=remove_later,
        lock=factor_locks,
        person=lambda command: command.person,
    ),
    ResetPin: ProposedRule(
        action=lambda _: "reset-pin",
        subject=lambda command: f"person {command.person}",
        asked=lambda _: "access.asked",
        done=lambda _: "access.agreed",
        ask=OperatorRight.ASK_HELP,
        confirm=OperatorRight.CONFIRM_HELP,
        why_not=why_not_reset,
        carry_out=reset_later,
        lock=pin_locks,
        person=lambda command: command.person,
    ),
    RemoveOperatorFactors: ProposedRule(
        action=lambda _: "operator remove-factors",
        subject=lambda command: f"person {command.person}",
        asked=lambda _: "access.asked",
        done=lambda _: "access.changed",
        ask=OperatorRight.ASK_SETUP,
        confirm=OperatorRight.CONFIRM_SETUP,
        why_not=why_not_of_operator,
        carry_out=remove_of_operator,
        lock=factor_locks,
        person=lambda command: command.person,
    ),
}
