"""Accounts are opened, requested, decided on; keys are issued and revoked."""

import msgspec

from qirsh.domain.account import Account, Kind, Mode, may_move
from qirsh.domain.account import State as AccountState
from qirsh.domain.api_key import ApiKey
from qirsh.domain.business import Business
from qirsh.domain.command import IssueKey, MoveAccount, OpenHouseAccount, RequestCommercial, RevokeKey
from qirsh.domain.counter import ACCOUNT, REVOCATION, businesses
from qirsh.domain.money import CURRENCIES
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.rules.identity import accept, need_identity
from qirsh.domain.rules.money import holds_money
from qirsh.domain.rules.standing import need_twin, why_not_acting
from qirsh.domain.rules.trial import fill_purse
from qirsh.domain.state import Needs, State


def open_house_needs(_command: OpenHouseAccount, _state: State, needs: Needs) -> None:
    needs.counters.add(ACCOUNT)


def open_house(command: OpenHouseAccount, state: State) -> Account:
    return _open(state, kind="house", name=command.name, account_state="open")


def request_needs(command: RequestCommercial, _state: State, needs: Needs) -> None:
    needs.accounts.add(command.personal)
    needs.counters |= {ACCOUNT, businesses(command.personal)}


def request(command: RequestCommercial, state: State) -> Account | Refused:
    personal = state.accounts.get(command.personal)
    if personal is None or personal.kind != "personal" or personal.mode != "live":
        return Refused(Refusal.NOT_FOUND)
    if why := why_not_acting(state, personal):
        return Refused(why)
    account = _open(
        state,
        kind="commercial",
        name=command.name,
        account_state="requested",
        owner=personal.owner,
        return_origins=command.return_origins,
    )
    state.businesses.add(account.number, Business(account.number, command.kind, command.registration))
    state.count(businesses(command.personal))
    state.note(command.actor, "account.requested", f"account {account.number}")
    return account


def move_facts(command: MoveAccount, needs: Needs) -> None:
    needs.accounts.add(command.account)


def move_needs(command: MoveAccount, state: State, needs: Needs) -> None:
    needs.accounts.add(command.account)
    needs.counters |= {ACCOUNT, REVOCATION}
    needs.businesses.add(command.account)
    need_identity(state, command.account, needs)
    account = state.accounts.get(command.account)
    if account is not None and account.owner is not None:
        needs.operators.add(account.owner)
    if command.to == "closed":
        needs.balances |= {(command.account, currency) for currency in CURRENCIES}


def move(command: MoveAccount, state: State) -> Account | Refused:
    account = state.accounts.get(command.account)
    if account is None:
        return Refused(Refusal.NOT_FOUND)
    if account.owner == command.operator:
        return Refused(Refusal.OWN_REQUEST)
    if account.mode == "test" or not may_move(account, command.to):
        return Refused(Refusal.MOVE_NOT_ALLOWED)
    if command.to == "closed" and _is_of_operator(state, account):
        return Refused(Refusal.MOVE_NOT_ALLOWED)  # That would be their end, which takes two.
    if command.to == "closed" and holds_money(state, account.number):
        return Refused(Refusal.MONEY_LEFT)
    moved: Account = msgspec.structs.replace(account, state=command.to, updated_at=state.now)
    state.accounts.change(moved.number, moved)
    if account.state == "requested" and moved.state == "approved":
        _open_test_accounts(state, moved)
    if account.state == "requested" and moved.state == "rejected":
        business = state.businesses.get(moved.number)
        assert business is not None, "a commercial account without its business"
        state.businesses.change(moved.number, msgspec.structs.replace(business, reason=command.reason))
    if account.state == "unverified" and moved.state == "verified":
        assert account.owner is not None
        accept(state, account.owner, operator=command.operator)
    if moved.state in {"suspended", "closed"}:
        state.count(REVOCATION)
    state.post(command.letters)
    state.note(command.actor, f"account.{moved.state}", f"account {moved.number}", command.reason)
    return moved


def _is_of_operator(state: State, account: Account) -> bool:
    operator = None if account.owner is None else state.operators.get(account.owner)
    return account.kind == "personal" and operator is not None and operator.ended_at is None


def issue_key_facts(command: IssueKey, needs: Needs) -> None:
    needs.accounts.add(command.account)


def issue_key_needs(command: IssueKey, state: State, needs: Needs) -> None:
    needs.api_keys.add(command.id)
    need_twin(state, command.account, needs)


def issue_key(command: IssueKey, state: State) -> ApiKey | Refused:
    account = state.accounts.get(command.account)
    if account is None or account.kind != "commercial" or command.owner not in {None, account.owner}:
        return Refused(Refusal.NOT_FOUND)
    if why := why_not_acting(state, account):
        return Refused(why)
    if state.api_keys.get(command.id) is not None:
        return Refused(Refusal.MOVE_NOT_ALLOWED)  # One form, one key: it was issued when the form came first.
    key = ApiKey(
        command.id,
        command.account,
        command.hash,
        command.hint,
        command.name,
        command.scopes,
        state.now,
        command.expires_at,
        None,
    )
    state.api_keys.add(key.id, key)
    state.note(command.actor, "key.issued", f"key {key.id}", f"account {key.account}")
    return key


def revoke_key_facts(command: RevokeKey, needs: Needs) -> None:
    needs.api_keys.add(command.id)


def revoke_key_needs(command: RevokeKey, state: State, needs: Needs) -> None:
    needs.api_keys.add(command.id)
    needs.counters.add(REVOCATION)
    key = state.api_keys.get(command.id)
    if key is not None:
        needs.accounts.add(key.account)


def revoke_key(command: RevokeKey, state: State) -> ApiKey | Refused:
    key = state.api_keys.get(command.id)
    account = None if key is None else state.accounts.get(key.account)
    if key is None or account is None or command.owner not in {None, account.owner}:
        return Refused(Refusal.NOT_FOUND)
    if key.revoked_at is not None:
        return key
    revoked: ApiKey = msgspec.structs.replace(key, revoked_at=state.now)
    state.api_keys.change(key.id, revoked)
    state.count(REVOCATION)
    state.note(command.actor, "key.revoked", f"key {key.id}", f"account {key.account}")
    return revoked


def _open(
    state: State,
    *,
    kind: Kind,
    account_state: AccountState,
    name: str,
    owner: int | None = None,
    twin_of: int | None = None,
    return_origins: str = "",
) -> Account:
    number = state.identifiers.account_number(state.count(ACCOUNT))
    mode: Mode = "live" if twin_of is None else "test"
    account = Account(number, kind, mode, owner, twin_of, name, account_state, return_origins, state.now, state.now)
    state.accounts.add(number, account)
    return account


def _open_test_accounts(state: State, live: Account) -> None:
    """The twin, a customer who pays it, and the mint that fills their pockets: no transfer leaves the circle."""

    def open_test(kind: Kind, name: str, return_origins: str = "") -> Account:
        return _open(
            state,
            kind=kind,
            account_state="mirrored",
            name=name,
            owner=live.owner,
            twin_of=live.number,
            return_origins=return_origins,
        )

    open_test("commercial", live.name, live.return_origins)
    payer = open_test("personal", "Test customer")
    mint = open_test("house", "Test mint")
    for currency in CURRENCIES:
        for party in (mint, payer):
            state.balances.absent((party.number, currency))
        fill_purse(state, mint=mint.number, payer=payer.number, currency=currency)
