"""People are invited to work at a business, accept, get another role, and leave."""

from typing import Final

import msgspec

from qirsh.domain.business import Business
from qirsh.domain.commands.staff import (
    AcceptInvitation,
    ChangeMember,
    DeclineInvitation,
    InviteMember,
    RemoveMember,
    SetStaffPolicy,
    WithdrawInvitation,
)
from qirsh.domain.counter import invitations, jobs, members
from qirsh.domain.limits import INVITATION_MS, INVITATIONS_MAX, MEMBERS_MAX
from qirsh.domain.money import CURRENCIES
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.rule import Rule, Rules
from qirsh.domain.rules.account_eligibility import why_not_acting
from qirsh.domain.rules.staff_authority import by_member, role_at
from qirsh.domain.saved_view import MODES, view_keys
from qirsh.domain.staff import (
    GRANTABLE,
    MEMBER_ROLES,
    Invitation,
    Member,
    MemberCap,
    Right,
    Role,
    read_caps,
    written_caps,
)
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork


def invite_locks(command: InviteMember, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.invitations.update((command.id, *command.stale))
    keys.counters.update({members(command.account), invitations(command.account)})


def invite(command: InviteMember, work: UnitOfWork) -> Invitation | Refused:
    account = work.accounts.get(command.account)
    assert account is not None
    if command.role not in _grantable(work, command.account, command.member):
        return Refused(Refusal.MISSING_RIGHT)
    if account.mode != "live":
        return Refused(Refusal.NOT_FOUND)
    if why := why_not_acting(work, account):
        return Refused(why)
    before = work.invitations.get(command.id)
    if before is not None:
        return before if before.account == account.number else Refused(Refusal.NOT_FOUND)  # The same form again.
    for stale in command.stale:
        found = work.invitations.get(stale)
        is_over = found is not None and (found.expires_at <= work.now or found.email == command.email)
        if found is not None and found.account == account.number and is_over:
            _end(work, found)
    if work.counted(members(account.number)) >= MEMBERS_MAX or (
        work.counted(invitations(account.number)) >= INVITATIONS_MAX
    ):
        return Refused(Refusal.TOO_MANY)
    invitation = Invitation(
        id=command.id,
        account=account.number,
        email=command.email,
        role=command.role,
        caps=written_caps(_caps(command.role, command.caps)),
        invited_by=command.member,
        created_at=work.now,
        expires_at=work.now + INVITATION_MS,
    )
    work.invitations.add(invitation.id, invitation)
    work.count(invitations(account.number))
    work.post(command.letters)
    # The address is not written down: it may be that of somebody who never answers. While they may, the id leads to it.
    detail = _told(invitation.role, invitation.id, invitation.caps)
    work.note(f"person {command.member}", "staff.invited", f"account {account.number}", detail)
    return invitation


def withdraw_locks(command: WithdrawInvitation, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.invitations.add(command.id)
    keys.counters.add(invitations(command.account))


def withdraw(command: WithdrawInvitation, work: UnitOfWork) -> Invitation | Refused:
    invitation = work.invitations.get(command.id)
    if invitation is None or invitation.account != command.account:
        return Refused(Refusal.NOT_FOUND)
    if invitation.role not in _grantable(work, command.account, command.member):
        return Refused(Refusal.MISSING_RIGHT)
    _end(work, invitation)
    work.note(f"person {command.member}", "staff.invitation_withdrawn", f"account {command.account}", invitation.role)
    return invitation


def answer_reads(command: AcceptInvitation | DeclineInvitation, keys: RowKeys) -> None:
    keys.invitations.add(command.id)


def answer_locks(command: AcceptInvitation | DeclineInvitation, work: UnitOfWork, keys: RowKeys) -> None:
    keys.invitations.add(command.id)
    invitation = work.invitations.get(command.id)
    if invitation is not None:
        account = invitation.account
        keys.counters.update({members(account), invitations(account), jobs(command.person)})
        keys.accounts.add(account)
        keys.logins.add(invitation.email)
        keys.members.add((account, command.person))
        keys.member_caps.update((account, command.person, currency) for currency in CURRENCIES)


def accept(command: AcceptInvitation, work: UnitOfWork) -> Member | Refused:
    invitation = _asked(command, work)
    if type(invitation) is Refused:
        return invitation
    account = work.accounts.get(invitation.account)
    assert account is not None, "an invitation to nowhere"
    if why := why_not_acting(work, account):
        return Refused(why)
    if role_at(work, account.number, command.person) is not None:
        return Refused(Refusal.MOVE_NOT_ALLOWED)  # They work there.
    if work.counted(members(account.number)) >= MEMBERS_MAX:
        return Refused(Refusal.TOO_MANY)
    _end(work, invitation)
    member = Member(
        account=account.number,
        person=command.person,
        role=invitation.role,
        invited_by=invitation.invited_by,
        created_at=work.now,
        updated_at=work.now,
    )
    work.members.add((member.account, member.person), member)
    work.count(members(member.account))
    work.count(jobs(member.person))
    _set_caps(work, member, read_caps(invitation.caps))
    work.post(command.letters)
    work.note(f"person {command.person}", "staff.joined", f"account {member.account}", member.role)
    return member


def decline(command: DeclineInvitation, work: UnitOfWork) -> Invitation | Refused:
    invitation = _asked(command, work)
    if type(invitation) is Refused:
        return invitation
    _end(work, invitation)
    work.note(f"person {command.person}", "staff.declined", f"account {invitation.account}", invitation.role)
    return invitation


def member_locks(command: ChangeMember | RemoveMember, _work: UnitOfWork, keys: RowKeys) -> None:
    lock_membership(keys, command.account, command.person)


def change(command: ChangeMember, work: UnitOfWork) -> Member | Refused:
    member = work.members.get((command.account, command.person))
    allowed = _grantable(work, command.account, command.member)
    # So nobody changes what they may do themselves: no role may grant itself.
    if command.role not in allowed or (member is not None and member.role not in allowed):
        return Refused(Refusal.MISSING_RIGHT)
    if member is None:
        return Refused(Refusal.NOT_FOUND)
    changed: Member = msgspec.structs.replace(member, role=command.role, updated_at=work.now)
    work.members.change((member.account, member.person), changed)
    rows = [work.member_caps.get((member.account, member.person, currency)) for currency in CURRENCIES]
    before = {row.currency: row.amount for row in rows if row is not None}
    after = _caps(changed.role, command.caps)
    _set_caps(work, changed, command.caps)
    if changed.role != member.role:
        work.post(command.letters)
        _note(
            work,
            command.member,
            "role_changed",
            changed,
            _told(f"{member.role} to {changed.role}", written_caps(after)),
        )
    elif before != after:
        _note(work, command.member, "caps_changed", changed, _told(changed.role, written_caps(after)))
    return changed


def remove(command: RemoveMember, work: UnitOfWork) -> Member | Refused:
    member = work.members.get((command.account, command.person))
    is_leaving = command.person == command.member
    allowed = _grantable(work, command.account, command.member)
    if not is_leaving and (not allowed or (member is not None and member.role not in allowed)):
        return Refused(Refusal.MISSING_RIGHT)
    if member is None:
        return Refused(Refusal.NOT_FOUND)
    drop_member(work, member)
    work.post(command.letters)
    _note(work, command.member, "left" if is_leaving else "removed", member, member.role)
    return member


def lock_membership(keys: RowKeys, account: int, person: int) -> None:
    """All that `drop_member` removes and counts."""
    keys.members.add((account, person))
    keys.member_caps.update((account, person, currency) for currency in CURRENCIES)
    keys.saved_views.update(view_keys(account, person, *MODES))
    keys.counters.update({members(account), jobs(person)})


def drop_member(work: UnitOfWork, member: Member) -> None:
    """With what they might refund, and the views that they have saved."""
    work.members.remove((member.account, member.person))
    for currency in CURRENCIES:
        work.member_caps.remove((member.account, member.person, currency))
    drop_views(work, member.account, member.person)
    work.count(members(member.account), -1)
    work.count(jobs(member.person), -1)


def drop_views(work: UnitOfWork, account: int, person: int) -> None:
    """All that a person has saved at a business, live and test."""
    for place in view_keys(account, person, *MODES):
        work.saved_views.remove(place)


def policy_locks(command: SetStaffPolicy, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.businesses.add(command.account)


def set_policy(command: SetStaffPolicy, work: UnitOfWork) -> Business | Refused:
    business = work.businesses.get(command.account)
    if business is None:  # A test account has none of its own.
        return Refused(Refusal.NOT_FOUND)
    if business.needs_two_step != command.needs_two_step:
        business = msgspec.structs.replace(business, needs_two_step=command.needs_two_step)
        work.businesses.change(business.account, business)
        word = "required" if command.needs_two_step else "not_required"
        work.note(f"person {command.member}", f"staff.two_step_{word}", f"account {business.account}")
    return business


def _asked(command: AcceptInvitation | DeclineInvitation, work: UnitOfWork) -> Invitation | Refused:
    """What they were asked, if it was they and is not over. Whoever else has the link learns nothing by it."""
    invitation = work.invitations.get(command.id)
    if invitation is None or invitation.expires_at <= work.now:
        return Refused(Refusal.NOT_FOUND)
    login = work.logins.get(invitation.email)
    if login is None or login.person != command.person:
        return Refused(Refusal.NOT_FOUND)
    return invitation


def _grantable(work: UnitOfWork, account: int, person: int) -> tuple[Role, ...]:
    role = role_at(work, account, person)
    return GRANTABLE.get(role, ()) if role is not None else ()


def _end(work: UnitOfWork, invitation: Invitation) -> None:
    work.invitations.remove(invitation.id)
    work.count(invitations(invitation.account), -1)


def _caps(role: Role, caps: dict[str, int]) -> dict[str, int]:
    assert role in MEMBER_ROLES
    assert set(caps) <= set(CURRENCIES)
    return {currency: amount for currency, amount in caps.items() if amount > 0} if role == "cashier" else {}


def _set_caps(work: UnitOfWork, member: Member, caps: dict[str, int]) -> None:
    """What was refunded today is counted elsewhere, and stays refunded today."""
    wanted = _caps(member.role, caps)
    for currency in CURRENCIES:
        key = (member.account, member.person, currency)
        before = work.member_caps.get(key)
        if currency not in wanted:
            work.member_caps.remove(key)
        elif before is None:
            work.member_caps.add(key, MemberCap(*key, amount=wanted[currency]))
        else:
            work.member_caps.change(key, msgspec.structs.replace(before, amount=wanted[currency]))


def _told(*parts: str) -> str:
    return ", ".join(part for part in parts if part)


def _note(work: UnitOfWork, actor: int, action: str, member: Member, detail: str) -> None:
    work.note(f"person {actor}", f"staff.{action}", f"account {member.account}", f"person {member.person}, {detail}")


RULES: Final[Rules] = {
    InviteMember: by_member(Rule(invite, lock=invite_locks), Right.MANAGE_STAFF),
    WithdrawInvitation: by_member(Rule(withdraw, lock=withdraw_locks), Right.MANAGE_STAFF),
    AcceptInvitation: Rule(accept, lock=answer_locks, read_first=answer_reads),
    DeclineInvitation: Rule(decline, lock=answer_locks, read_first=answer_reads),
    ChangeMember: by_member(Rule(change, lock=member_locks), Right.MANAGE_STAFF),
    RemoveMember: by_member(Rule(remove, lock=member_locks), Right.BELONG),
    SetStaffPolicy: by_member(Rule(set_policy, lock=policy_locks), Right.SET_STAFF_POLICY),
}
