"""Whether a person may do something at a business. The one place where rules ask for it, in the commit."""

from typing import Any

from qirsh.domain.account import Account
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.rule import Rule
from qirsh.domain.staff import Right, Role, may, role_of, scopes_beyond
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork


def by_member(rule: Rule, right: Right) -> Rule:
    """The same rule, for commands whose `member` must have the right at `account`. None: no person acts.

    Who was shown a page may have lost their role since, so the commit asks again.
    """

    def read_first(command: Any, keys: RowKeys) -> None:  # noqa: ANN401 - any command with a member
        rule.read_first(command, keys)
        if command.member is not None:
            keys.accounts.add(command.account)
            keys.people.add(command.member)  # For the number of their own account, which never changes.

    def lock(command: Any, work: UnitOfWork, keys: RowKeys) -> None:  # noqa: ANN401 - the same
        rule.lock(command, work, keys)
        if command.member is not None:
            lock_member(work, command.account, command.member, keys)

    def decide(command: Any, work: UnitOfWork) -> Any:  # noqa: ANN401 - the same, with its own result
        if command.member is not None and (why := why_not_member(work, command.account, command.member, right)):
            return Refused(why)
        return rule.decide(command, work)

    return Rule(decide, lock=lock, read_first=read_first, moves_money=rule.moves_money)


def lock_member(work: UnitOfWork, account: int, person: int, keys: RowKeys) -> None:
    """The rows that tell what a person may do there. The account and the person were read first."""
    row, who = work.accounts.get(account), work.people.get(person)
    if row is not None:
        live = row.live_account or row.number
        keys.accounts.update({row.number, live})
        keys.members.add((live, person))
    if who is not None:
        keys.accounts.add(who.account)


def why_not_member(work: UnitOfWork, account: int, person: int, right: Right) -> Refusal | None:
    """Whoever does not work there hears what somebody hears who asks for a number that nobody has.

    A person whose own account is suspended has no rights anywhere.
    """
    role, row, who = role_at(work, account, person), work.accounts.get(account), work.people.get(person)
    if role is None or row is None or who is None:
        return Refusal.NOT_FOUND
    own = work.accounts.get(who.account)
    is_able = own is not None and own.state not in {"suspended", "closed"}
    return None if is_able and may(role, right, row.mode) else Refusal.MISSING_RIGHT


def is_beyond_member(work: UnitOfWork, account: Account, person: int | None, scopes: str) -> bool:
    """Whether a key with these scopes would let the person do more than their role. None: no person gets it."""
    role = None if person is None else role_at(work, account.number, person)
    return role is not None and bool(scopes_beyond(role, scopes.split(), account.mode))


def role_at(work: UnitOfWork, account: int, person: int) -> Role | None:
    """Of a person at the business whose live or test account this is."""
    row = work.accounts.get(account)
    if row is None or row.kind != "commercial":
        return None
    live = work.accounts.get(row.live_account or row.number)
    assert live is not None, "a test account without its live one"
    return role_of(person, live, work.members.get((live.number, person)))
