"""Who a person is: they say and show it, an operator decides, and the pictures are forgotten."""

from typing import Final

import msgspec

from qirsh.domain import counter
from qirsh.domain.account import Account
from qirsh.domain.commands.identity import ErasePerson, ForgetImages, ForgetSessions, RejectIdentity, SubmitIdentity
from qirsh.domain.identity import SIDES, Because, Identity, IdentityImage
from qirsh.domain.money import CURRENCIES
from qirsh.domain.operator_role import OperatorRight
from qirsh.domain.person import Person
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.rule import Rule, Rules
from qirsh.domain.rules.login_credentials import end_sessions
from qirsh.domain.rules.money import holds_money
from qirsh.domain.rules.name_word import lock_name, write_name
from qirsh.domain.rules.note import empty_notes
from qirsh.domain.rules.operator_authority import by_operator
from qirsh.domain.rules.pending_reset import keep_what_is, lock_resets
from qirsh.domain.rules.staff import drop_member, drop_views, lock_membership
from qirsh.domain.saved_view import MODES, view_keys
from qirsh.domain.staff import Member
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork

_OVER = frozenset({"rejected", "closed"})


def submit_locks(command: SubmitIdentity, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.accounts.add(command.account)
    keys.identities.add(command.person)
    keys.identity_images.update({(command.person, side) for side in SIDES})


def submit(command: SubmitIdentity, work: UnitOfWork) -> Identity | Refused:
    account = work.accounts.get(command.account)
    if account is None or account.kind != "personal" or account.owner != command.person:
        return Refused(Refusal.NOT_FOUND)
    before = work.identities.get(command.person)
    if account.state != "unverified" or (before is not None and before.state != "rejected"):
        return Refused(Refusal.MOVE_NOT_ALLOWED)
    submitted = Identity(
        person=command.person,
        state="submitted",
        facts_sealed=command.facts_sealed,
        reason="",
        submitted_at=work.now,
        decided_at=None,
        decided_by=None,
        document_mac=command.document_mac,
    )
    work.identities.put(command.person, submitted)
    _forget_images(work, command.person)
    for side, sealed in command.images:
        work.identity_images.add((command.person, side), IdentityImage(command.person, side, sealed))
    work.note(f"person {command.person}", "identity.submitted", f"account {command.account}")
    return submitted


def reject_reads(command: RejectIdentity, keys: RowKeys) -> None:
    keys.accounts.add(command.account)


def reject_locks(command: RejectIdentity, work: UnitOfWork, keys: RowKeys) -> None:
    need_identity(work, command.account, keys)


def reject(command: RejectIdentity, work: UnitOfWork) -> Identity | Refused:
    account = work.accounts.get(command.account)
    if account is None or account.kind != "personal" or account.owner is None:
        return Refused(Refusal.NOT_FOUND)
    if account.owner == command.operator:
        return Refused(Refusal.OWN_REQUEST)
    if is_unseen(work, account.owner, command.seen):
        return Refused(Refusal.CHANGED_MEANWHILE)
    rejected = _decide(
        work, account.owner, "rejected", operator=command.operator, reason=command.reason, because=command.because
    )
    if rejected is None:
        return Refused(Refusal.MOVE_NOT_ALLOWED)
    work.post(command.letters)
    told = ": ".join(filter(None, (command.because, command.reason)))
    work.note(command.actor, "identity.rejected", f"account {account.number}", told)
    return rejected


def need_identity(work: UnitOfWork, account: int, keys: RowKeys) -> None:
    """The operator who decides on a personal account decides on what its owner has shown."""
    row = work.accounts.get(account)
    if row is not None and row.kind == "personal" and row.owner is not None:
        keys.identities.add(row.owner)


def is_unseen(work: UnitOfWork, person: int, seen: int | None) -> bool:
    """Whether another form waits than the one that the operator has looked at."""
    identity = work.identities.get(person)
    waits = identity is not None and identity.state == "submitted"
    return waits and seen is not None and identity is not None and identity.submitted_at != seen


def is_rejected(work: UnitOfWork, person: int) -> bool:
    """Whether another operator has said no to what the person has sent last."""
    identity = work.identities.get(person)
    return identity is not None and identity.state == "rejected"


def accept(work: UnitOfWork, person: int, *, operator: int) -> None:
    """What a person has shown was enough; nothing if an operator knew them without it."""
    _decide(work, person, "verified", operator=operator, reason="")


def forget_locks(command: ForgetImages, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.identities.add(command.person)
    keys.identity_images.update({(command.person, side) for side in SIDES})


def forget(command: ForgetImages, work: UnitOfWork) -> int | Refused:
    identity = work.identities.get(command.person)
    if identity is None or identity.state == "submitted":
        return Refused(Refusal.MOVE_NOT_ALLOWED)
    count = _forget_images(work, command.person)
    if count:
        work.note("service", "identity.forgotten", f"person {command.person}")
    return count


def erase_reads(command: ErasePerson, keys: RowKeys) -> None:
    keys.accounts.add(command.account)  # For its name, which never changes but here.


def erase_locks(command: ErasePerson, work: UnitOfWork, keys: RowKeys) -> None:
    lock_name(work.accounts.get(command.account), keys)
    keys.notes.update(command.notes)
    keys.people.add(command.person)
    keys.pins.add(command.person)
    keys.balances.update({(command.account, currency) for currency in CURRENCIES})
    keys.counters.update({counter.REVOCATION, counter.passkeys(command.person), counter.businesses(command.account)})
    keys.counters.update({counter.open_payouts(account) for account in (command.account, *command.businesses)})
    keys.accounts.update({command.account, *command.businesses})
    keys.logins.add(command.email)
    keys.operators.add(command.person)
    keys.passkeys.update(set(command.passkeys))
    keys.challenges.update(set(command.challenges))
    keys.identities.add(command.person)
    keys.identity_images.update({(command.person, side) for side in SIDES})
    keys.sessions.update(command.sessions)
    lock_resets(command.person, keys)
    keys.counters.add(counter.jobs(command.person))
    for job in command.jobs:
        lock_membership(keys, job, command.person)
    for business in command.businesses:
        keys.saved_views.update(view_keys(business, command.person, *MODES))


def erase(command: ErasePerson, work: UnitOfWork) -> Person | Refused:
    person, login = work.people.get(command.person), work.logins.get(command.email)
    if person is None or person.account != command.account or login is None or login.person != person.id:
        return Refused(Refusal.NOT_FOUND)
    operator = work.operators.get(person.id)
    if operator is not None and operator.ended_at is None:
        return Refused(Refusal.MOVE_NOT_ALLOWED)
    passkeys, businesses, jobs = _own_passkeys(command, work), _own_businesses(command, work), _own_jobs(command, work)
    if (len(passkeys), len(businesses), len(jobs)) != _counted(work, person):
        return Refused(Refusal.MOVE_NOT_ALLOWED)  # One more was made since they were looked for.
    if _has_left_something(command, businesses, work):
        return Refused(Refusal.MONEY_LEFT)
    end_sessions(work, person.id)
    person = work.people.get(person.id)
    assert person is not None
    erased: Person = msgspec.structs.replace(person, name="", phone="", has_notices=False, erased_at=work.now)
    work.people.change(person.id, erased)
    account = work.accounts.get(command.account)
    assert account is not None, "a person without an account"
    closed = msgspec.structs.replace(account, name="", state="closed", updated_at=work.now)
    work.accounts.change(account.number, closed)
    write_name(work, account, closed)
    empty_notes(work, person.id, command.notes)
    work.logins.remove(login.email)
    work.pins.remove(person.id)
    work.identities.remove(person.id)
    keep_what_is(work, person.id)
    _forget_images(work, person.id)
    for passkey in passkeys:
        work.passkeys.remove(passkey)
    work.count(counter.passkeys(person.id), -len(passkeys))
    _forget_sessions(work, person.id, command.sessions)
    for key in command.challenges:
        challenge = work.challenges.get(key)
        if challenge is not None and (challenge.person == person.id or challenge.email == login.email):
            work.challenges.remove(key)
    _leave(work, jobs)
    for business in businesses:
        drop_views(work, business, person.id)
    work.note(command.actor, "person.erased", f"person {person.id}")
    return erased


def forget_sessions_locks(command: ForgetSessions, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.people.add(command.person)
    keys.sessions.update(command.sessions)


def forget_sessions(command: ForgetSessions, work: UnitOfWork) -> int | Refused:
    person = work.people.get(command.person)
    if person is None or person.erased_at is None:
        return Refused(Refusal.MOVE_NOT_ALLOWED)
    count = _forget_sessions(work, person.id, command.sessions)
    if count:
        work.note("service", "sessions.forgotten", f"person {person.id}")
    return count


def _own_passkeys(command: ErasePerson, work: UnitOfWork) -> set[bytes]:
    found = ((passkey, work.passkeys.get(passkey)) for passkey in command.passkeys)
    return {passkey for passkey, known in found if known is not None and known.person == command.person}


def _own_businesses(command: ErasePerson, work: UnitOfWork) -> dict[int, Account]:
    found = (work.accounts.get(business) for business in command.businesses)
    return {
        row.number: row
        for row in found
        if row is not None and (row.owner, row.kind, row.mode) == (command.person, "commercial", "live")
    }


def _own_jobs(command: ErasePerson, work: UnitOfWork) -> list[Member]:
    found = (work.members.get((job, command.person)) for job in sorted(set(command.jobs)))
    return [member for member in found if member is not None]


def _counted(work: UnitOfWork, person: Person) -> tuple[int, int, int]:
    """How many passkeys, businesses and jobs there are."""
    names = (counter.passkeys(person.id), counter.businesses(person.account), counter.jobs(person.id))
    passkeys, businesses, jobs = map(work.counted, names)
    return passkeys, businesses, jobs


def _leave(work: UnitOfWork, jobs: list[Member]) -> None:
    """Those who work there read of it in the log of the business."""
    for job in jobs:
        drop_member(work, job)
        work.note(f"person {job.person}", "staff.erased", f"account {job.account}", job.role)


def _has_left_something(command: ErasePerson, businesses: dict[int, Account], work: UnitOfWork) -> bool:
    return (
        holds_money(work, command.account)
        or any(work.counted(counter.open_payouts(account)) for account in (command.account, *businesses))
        or any(business.state not in _OVER for business in businesses.values())
    )


def _decide(
    work: UnitOfWork, person: int, to: str, *, operator: int, reason: str, because: Because = ""
) -> Identity | None:
    before = work.identities.get(person)
    if before is None or before.state != "submitted":
        return None
    decided: Identity = msgspec.structs.replace(
        before, state=to, reason=reason, because=because, decided_at=work.now, decided_by=operator
    )
    work.identities.change(person, decided)
    return decided


def _forget_sessions(work: UnitOfWork, person: int, sessions: tuple[bytes, ...]) -> int:
    found = ((key, work.sessions.get(key)) for key in set(sessions))
    own = sorted(key for key, session in found if session is not None and session.person == person)
    for key in own:
        work.sessions.remove(key)
    return len(own)


def _forget_images(work: UnitOfWork, person: int) -> int:
    found = [side for side in SIDES if work.identity_images.get((person, side)) is not None]
    for side in found:
        work.identity_images.remove((person, side))
    return len(found)


RULES: Final[Rules] = {
    SubmitIdentity: Rule(submit, lock=submit_locks),
    RejectIdentity: by_operator(Rule(reject, lock=reject_locks, read_first=reject_reads), OperatorRight.DECIDE),
    ForgetImages: Rule(forget, lock=forget_locks),
    ErasePerson: Rule(erase, lock=erase_locks, read_first=erase_reads),
    ForgetSessions: Rule(forget_sessions, lock=forget_sessions_locks),
}
