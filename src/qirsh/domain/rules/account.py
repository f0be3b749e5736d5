"""Accounts are opened, requested, decided on; keys are issued and revoked."""

from typing import Final

import msgspec

from qirsh.domain.account import Account, Kind, Mode, may_move
from qirsh.domain.account import State as AccountState
from qirsh.domain.api_key import ApiKey
from qirsh.domain.business import Business
from qirsh.domain.commands.account import (
    CloseAccount,
    IssueKey,
    MoveAccount,
    RequestCommercial,
    RevokeKey,
    RotateKey,
    TellKeyEnd,
)
from qirsh.domain.commands.proposal import AskProposal, ConfirmProposal
from qirsh.domain.counter import ACCOUNT, REVOCATION, api_keys, businesses
from qirsh.domain.limits import BUSINESSES_MAX, KEY_OVERLAP_MS_MAX, KEYS_MAX
from qirsh.domain.money import CURRENCIES
from qirsh.domain.operator_role import OperatorRight
from qirsh.domain.proposal import Proposal
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.rule import Rule, Rules
from qirsh.domain.rules.account_eligibility import lock_live_account, why_not_acting
from qirsh.domain.rules.identity import accept, is_rejected, is_unseen, need_identity
from qirsh.domain.rules.login_credentials import end_sessions
from qirsh.domain.rules.money import holds_money
from qirsh.domain.rules.name_word import write_name
from qirsh.domain.rules.operator_authority import by_operator, is_party, lock_party
from qirsh.domain.rules.proposed import ProposedRule, ProposedRules
from qirsh.domain.rules.staff_authority import by_member, is_beyond_member
from qirsh.domain.rules.test_mode import fill_purse
from qirsh.domain.staff import Right
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork


def request_locks(command: RequestCommercial, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.accounts.add(command.personal)
    keys.counters.update({ACCOUNT, businesses(command.personal)})


def request(command: RequestCommercial, work: UnitOfWork) -> Account | Refused:
    personal = work.accounts.get(command.personal)
    if personal is None or personal.kind != "personal" or personal.mode != "live":
        return Refused(Refusal.NOT_FOUND)
    if why := why_not_acting(work, personal):
        return Refused(why)
    # A person who needs more talks to the operators.
    if command.operator is None and work.counted(businesses(command.personal)) >= BUSINESSES_MAX:
        return Refused(Refusal.TOO_MANY)
    account = open_account(
        work,
        kind="commercial",
        name=command.name,
        account_state="requested",
        owner=personal.owner,
        return_origins=command.return_origins,
    )
    work.businesses.add(account.number, Business(account.number, command.kind, command.registration))
    work.count(businesses(command.personal))
    work.note(command.actor, "account.requested", f"account {account.number}")
    return account


def move_reads(command: MoveAccount, keys: RowKeys) -> None:
    keys.accounts.add(command.account)


def move_locks(command: MoveAccount, work: UnitOfWork, keys: RowKeys) -> None:
    lock_party(command.account, command.operator, keys)
    keys.counters.update({ACCOUNT, REVOCATION})
    keys.businesses.add(command.account)
    need_identity(work, command.account, keys)
    _lock_owner(work, command.account, keys)


def move(command: MoveAccount, work: UnitOfWork) -> Account | Refused:
    account = work.accounts.get(command.account)
    if account is None:
        return Refused(Refusal.NOT_FOUND)
    if is_party(work, account, command.operator):
        return Refused(Refusal.OWN_REQUEST)
    is_other_act = command.resumes is not None and command.resumes != (account.state == "suspended")
    if account.mode == "test" or command.to == "closed" or is_other_act or not may_move(account, command.to):
        return Refused(Refusal.MOVE_NOT_ALLOWED)
    if why := _why_not_as_seen(command, work, account):
        return Refused(why)
    moved: Account = msgspec.structs.replace(account, state=command.to, updated_at=work.now)
    work.accounts.change(moved.number, moved)
    if account.state == "requested" and moved.state == "approved":
        _open_test_accounts(work, moved)
    if account.state == "requested" and moved.state == "rejected":
        business = work.businesses.get(moved.number)
        assert business is not None, "a commercial account without its business"
        work.businesses.change(moved.number, msgspec.structs.replace(business, reason=command.reason))
    if account.state == "unverified" and moved.state == "verified":
        assert account.owner is not None
        accept(work, account.owner, operator=command.operator)
    if moved.state == "suspended":
        _take_rights(work, moved)
    work.post(command.letters)
    action = "resumed" if account.state == "suspended" else moved.state
    work.note(command.actor, f"account.{action}", f"account {moved.number}", command.reason)
    return moved


def _why_not_as_seen(command: MoveAccount, work: UnitOfWork, account: Account) -> Refusal | None:
    """Who knows a person without it need not have seen what they sent. To who has, another may have said no."""
    if account.state != "unverified" or account.owner is None or command.seen is None:
        return None
    if is_rejected(work, account.owner):
        return Refusal.MOVE_NOT_ALLOWED
    return Refusal.CHANGED_MEANWHILE if is_unseen(work, account.owner, command.seen) else None


def _right_to_move(command: MoveAccount, work: UnitOfWork) -> OperatorRight:
    account = work.accounts.get(command.account)
    if command.to == "suspended":  # As with signing in, operators are kept out by admins alone.
        is_of_operator = account is not None and account.kind == "personal" and _is_of_operator(work, account)
        return OperatorRight.ASK_SETUP if is_of_operator else OperatorRight.RESTRICT
    return OperatorRight.RESUME if account is not None and account.state == "suspended" else OperatorRight.DECIDE


def close_reads(command: CloseAccount, keys: RowKeys) -> None:
    keys.accounts.add(command.account)


def close_locks(command: CloseAccount, work: UnitOfWork, keys: RowKeys) -> None:
    keys.accounts.add(command.account)
    keys.counters.add(REVOCATION)
    keys.balances.update({(command.account, currency) for currency in CURRENCIES})
    _lock_owner(work, command.account, keys)


def why_not_close(command: CloseAccount, work: UnitOfWork, _by: object) -> Refusal | None:
    account = work.accounts.get(command.account)
    if account is None:
        return Refusal.NOT_FOUND
    # Of an operator it would be their end, which is another proposal.
    if account.mode == "test" or not may_move(account, "closed") or _is_of_operator(work, account):
        return Refusal.MOVE_NOT_ALLOWED
    return Refusal.MONEY_LEFT if holds_money(work, account.number) else None


def close(command: CloseAccount, work: UnitOfWork, _proposal: Proposal, _by: AskProposal | ConfirmProposal) -> None:
    account = work.accounts.get(command.account)
    assert account is not None, "asked a line above"
    closed: Account = msgspec.structs.replace(account, state="closed", updated_at=work.now)
    work.accounts.change(closed.number, closed)
    _take_rights(work, closed)


def _lock_owner(work: UnitOfWork, number: int, keys: RowKeys) -> None:
    account = work.accounts.get(number)
    if account is not None and account.owner is not None:
        keys.operators.add(account.owner)
        keys.people.add(account.owner)


def _take_rights(work: UnitOfWork, account: Account) -> None:
    """Whoever is signed in as a person may be the reason. The owner can sign in again, and read."""
    work.count(REVOCATION)
    if account.kind == "personal":
        assert account.owner is not None
        end_sessions(work, account.owner)


def _is_of_operator(work: UnitOfWork, account: Account) -> bool:
    operator = None if account.owner is None else work.operators.get(account.owner)
    return account.kind == "personal" and operator is not None and operator.ended_at is None


def issue_key_reads(command: IssueKey, keys: RowKeys) -> None:
    keys.accounts.add(command.account)


def issue_key_locks(command: IssueKey, work: UnitOfWork, keys: RowKeys) -> None:
    keys.api_keys.add(command.id)
    keys.counters.add(api_keys(command.account))
    lock_live_account(work, command.account, keys)


def issue_key(command: IssueKey, work: UnitOfWork) -> ApiKey | Refused:
    account = work.accounts.get(command.account)
    if account is None or account.kind != "commercial":
        return Refused(Refusal.NOT_FOUND)
    if is_beyond_member(work, account, command.member, command.scopes):
        return Refused(Refusal.MISSING_RIGHT)
    if why := why_not_acting(work, account):
        return Refused(why)
    if work.api_keys.get(command.id) is not None:
        return Refused(Refusal.MOVE_NOT_ALLOWED)  # One form, one key: it was issued when the form came first.
    if command.member is not None and work.counted(api_keys(account.number)) >= KEYS_MAX:
        return Refused(Refusal.TOO_MANY)
    key = ApiKey(
        id=command.id,
        account=command.account,
        hash=command.hash,
        hint=command.hint,
        name=command.name,
        scopes=command.scopes,
        networks=command.networks,
        created_at=work.now,
        expires_at=command.expires_at,
        revoked_at=None,
        replaced_by=None,
        told_at=None,
    )
    work.api_keys.add(key.id, key)
    work.count(api_keys(account.number))
    work.post(command.letters)
    work.note(command.actor, "key.issued", f"key {key.id}", f"account {key.account}")
    return key


def rotate_key_reads(command: RotateKey, keys: RowKeys) -> None:
    keys.accounts.add(command.account)


def rotate_key_locks(command: RotateKey, work: UnitOfWork, keys: RowKeys) -> None:
    keys.api_keys.update({command.id, command.old})
    keys.counters.update({REVOCATION, api_keys(command.account)})
    lock_live_account(work, command.account, keys)


def rotate_key(command: RotateKey, work: UnitOfWork) -> ApiKey | Refused:
    assert 0 <= command.overlap_ms <= KEY_OVERLAP_MS_MAX
    account, old = work.accounts.get(command.account), work.api_keys.get(command.old)
    if account is None or old is None or old.account != account.number:
        return Refused(Refusal.NOT_FOUND)
    if is_beyond_member(work, account, command.member, old.scopes):  # They would see the secret of the new one.
        return Refused(Refusal.MISSING_RIGHT)
    if why := why_not_acting(work, account):
        return Refused(why)
    # One form, one key. And a key that has ended, or was replaced, has nothing left to hand over.
    is_over = old.revoked_at is not None or (old.expires_at is not None and old.expires_at <= work.now)
    if work.api_keys.get(command.id) is not None or is_over or old.replaced_by is not None:
        return Refused(Refusal.MOVE_NOT_ALLOWED)
    if command.overlap_ms and work.counted(api_keys(account.number)) >= KEYS_MAX:
        return Refused(Refusal.TOO_MANY)
    key: ApiKey = msgspec.structs.replace(
        old,
        id=command.id,
        hash=command.hash,
        hint=command.hint,
        created_at=work.now,
        expires_at=None if old.expires_at is None else work.now + old.expires_at - old.created_at,
        told_at=None,
    )
    work.api_keys.add(key.id, key)
    if command.overlap_ms:
        end = work.now + command.overlap_ms
        expires_at = end if old.expires_at is None else min(end, old.expires_at)
        ended: ApiKey = msgspec.structs.replace(old, replaced_by=key.id, expires_at=expires_at)
        work.count(api_keys(account.number))
    else:
        ended = msgspec.structs.replace(old, replaced_by=key.id, revoked_at=work.now)
    work.api_keys.change(old.id, ended)
    work.count(REVOCATION)  # Whoever remembers the old key, remembers when it was to end.
    work.post(command.letters)
    work.note(command.actor, "key.rotated", f"key {old.id}", f"account {key.account}, now key {key.id}")
    return key


def tell_key_end_locks(command: TellKeyEnd, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.api_keys.add(command.id)


def tell_key_end(command: TellKeyEnd, work: UnitOfWork) -> bool:
    key = work.api_keys.get(command.id)
    if key is None or key.told_at is not None or key.revoked_at is not None or key.replaced_by is not None:
        return False
    work.api_keys.change(key.id, msgspec.structs.replace(key, told_at=work.now))
    work.post(command.letters)
    return True


def revoke_key_reads(command: RevokeKey, keys: RowKeys) -> None:
    keys.api_keys.add(command.id)


def revoke_key_locks(command: RevokeKey, work: UnitOfWork, keys: RowKeys) -> None:
    keys.api_keys.add(command.id)
    keys.counters.add(REVOCATION)
    key = work.api_keys.get(command.id)
    if key is not None:
        keys.counters.add(api_keys(key.account))


def revoke_key(command: RevokeKey, work: UnitOfWork) -> ApiKey | Refused:
    key = work.api_keys.get(command.id)
    if key is None or command.account not in {None, key.account}:
        return Refused(Refusal.NOT_FOUND)
    if key.revoked_at is not None:
        return key
    revoked: ApiKey = msgspec.structs.replace(key, revoked_at=work.now)
    work.api_keys.change(key.id, revoked)
    work.count(api_keys(key.account), -1)
    work.count(REVOCATION)
    # The account stands first: by it the entry is found.
    detail = f"account {key.account}: {command.reason}" if command.reason else f"account {key.account}"
    work.note(command.actor, "key.revoked", f"key {key.id}", detail)
    return revoked


def open_account(
    work: UnitOfWork,
    *,
    kind: Kind,
    account_state: AccountState,
    name: str,
    owner: int | None = None,
    live_account: int | None = None,
    return_origins: str = "",
) -> Account:
    """With the next number, which holds the counter of accounts."""
    number = work.identifiers.account_number(work.count(ACCOUNT))
    mode: Mode = "live" if live_account is None else "test"
    account = Account(
        number=number,
        kind=kind,
        mode=mode,
        owner=owner,
        live_account=live_account,
        name=name,
        state=account_state,
        return_origins=return_origins,
        created_at=work.now,
        updated_at=work.now,
    )
    work.accounts.add(number, account)
    write_name(work, None, account)
    return account


def _open_test_accounts(work: UnitOfWork, live: Account) -> None:
    """The test account, a customer who pays it, and the mint that fills their pockets: no transfer leaves them."""

    def open_test(kind: Kind, name: str, return_origins: str = "") -> Account:
        return open_account(
            work,
            kind=kind,
            account_state="mirrored",
            name=name,
            owner=live.owner,
            live_account=live.number,
            return_origins=return_origins,
        )

    open_test("commercial", live.name, live.return_origins)
    payer = open_test("personal", "Test customer")
    mint = open_test("house", "Test mint")
    for currency in CURRENCIES:
        for party in (mint, payer):
            work.balances.absent((party.number, currency))
        fill_purse(work, mint=mint.number, payer=payer.number, currency=currency)


RULES: Final[Rules] = {
    RequestCommercial: by_operator(Rule(request, lock=request_locks), OperatorRight.DECIDE),
    MoveAccount: by_operator(Rule(move, lock=move_locks, read_first=move_reads), _right_to_move),
    IssueKey: by_operator(
        by_member(Rule(issue_key, lock=issue_key_locks, read_first=issue_key_reads), Right.MANAGE_KEYS),
        OperatorRight.DECIDE,
    ),
    TellKeyEnd: Rule(tell_key_end, lock=tell_key_end_locks),
    RotateKey: by_member(Rule(rotate_key, lock=rotate_key_locks, read_first=rotate_key_reads), Right.MANAGE_KEYS),
    RevokeKey: by_operator(
        by_member(Rule(revoke_key, lock=revoke_key_locks, read_first=revoke_key_reads), Right.MANAGE_KEYS),
        OperatorRight.RESTRICT,
    ),
}
PROPOSED: Final[ProposedRules] = {
    CloseAccount: ProposedRule(
        action=lambda _: "account close",
        subject=lambda command: f"account {command.account}",
        asked=lambda _: "account.close_asked",
        done=lambda _: "account.closed",
        ask=OperatorRight.ASK_CLOSE,
        confirm=OperatorRight.CONFIRM_CLOSE,
        why_not=why_not_close,
        carry_out=close,
        lock=close_locks,
        read_first=close_reads,
        account=lambda command: command.account,
    ),
}
