"""Operators sign a person out, block and unblock signing in, and remove second factors: one asks, another confirms."""

from typing import Final

import msgspec

from qirsh.domain.access_order import AccessOrder
from qirsh.domain.commands.access_order import ConfirmAccessOrder, RequestAccessOrder
from qirsh.domain.counter import REVOCATION, passkeys
from qirsh.domain.person import Login
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.rule import Rule, Rules
from qirsh.domain.rules.login_credentials import end_sessions, remove_passkeys
from qirsh.domain.rules.operator_authority import by_operator, why_not_pair
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork


def ask_reads(command: RequestAccessOrder | ConfirmAccessOrder, keys: RowKeys) -> None:
    keys.logins.add(command.email)


def ask_locks(command: RequestAccessOrder | ConfirmAccessOrder, work: UnitOfWork, keys: RowKeys) -> None:
    keys.logins.add(command.email)
    login = work.logins.get(command.email)
    if login is not None:
        keys.access_orders.add((login.person, command.kind))
        keys.operators.add(login.person)
        keys.people.add(login.person)


def ask(command: RequestAccessOrder, work: UnitOfWork) -> AccessOrder | Refused:
    login = work.logins.get(command.email)
    if login is None:
        return Refused(Refusal.NOT_FOUND)
    if why := _why_not(work, command, login):
        return Refused(why)
    order = AccessOrder(
        person=login.person,
        kind=command.kind,
        asked_by=command.operator,
        asked_at=work.now,
        reason=command.reason,
    )
    work.access_orders.put((order.person, order.kind), order)
    work.note(command.actor, "access.asked", f"person {order.person}", f"{order.kind}: {order.reason}")
    return order


def confirm_locks(command: ConfirmAccessOrder, work: UnitOfWork, keys: RowKeys) -> None:
    ask_locks(command, work, keys)
    keys.counters.add(REVOCATION)
    keys.passkeys.update(command.passkeys)
    login = work.logins.get(command.email)
    if login is not None:
        keys.counters.add(passkeys(login.person))


def confirm(command: ConfirmAccessOrder, work: UnitOfWork) -> AccessOrder | Refused:
    login = work.logins.get(command.email)
    order = None if login is None else work.access_orders.get((login.person, command.kind))
    # An operator may have asked anew after the first look, and this is no longer what was to be agreed to.
    if login is None or order is None or order.asked_by != command.asked_by:
        return Refused(Refusal.NOT_FOUND)
    if order.person == command.operator:
        return Refused(Refusal.OWN_REQUEST)
    if why := why_not_pair(work, asks=order.asked_by, confirms=command.operator):
        return Refused(why)
    if why := _why_not(work, command, login):
        return Refused(why)
    if order.kind == "remove-factors" and not remove_passkeys(work, order.person, command.passkeys):
        return Refused(Refusal.MOVE_NOT_ALLOWED)  # One more was made since they were looked for.
    _carry_out(work, order, login)
    work.access_orders.remove((order.person, order.kind))
    work.post(command.letters)
    work.note(
        command.actor, "access.changed", f"person {order.person}", f"{order.kind}, asked by operator {order.asked_by}"
    )
    return order


def _carry_out(work: UnitOfWork, order: AccessOrder, login: Login) -> None:
    if order.kind == "remove-factors":
        work.logins.change(login.email, msgspec.structs.replace(login, totp_sealed=None, recovery=b"", wrong_codes=0))
    if order.kind == "unblock":
        work.logins.change(login.email, msgspec.structs.replace(login, wrong_codes=0))
    else:
        end_sessions(work, order.person)
    if order.kind in {"block", "unblock"}:
        person = work.people.get(order.person)
        assert person is not None, "a login without its person"
        blocked_at = work.now if order.kind == "block" else None
        work.people.change(person.id, msgspec.structs.replace(person, blocked_at=blocked_at))


def _why_not(work: UnitOfWork, command: RequestAccessOrder | ConfirmAccessOrder, login: Login) -> Refusal | None:
    operator = work.operators.get(login.person)
    if login.person == command.operator:
        return Refusal.OWN_REQUEST
    if command.kind == "remove-factors" and operator is not None and operator.ended_at is None:
        return Refusal.MOVE_NOT_ALLOWED  # Nobody runs the service with a password alone.
    return None


RULES: Final[Rules] = {
    RequestAccessOrder: by_operator(Rule(ask, lock=ask_locks, read_first=ask_reads)),
    ConfirmAccessOrder: by_operator(Rule(confirm, lock=confirm_locks, read_first=ask_reads)),
}
