"""Accounts are opened, requested and decided on; keys are issued and revoked."""

from typing import Final, get_args

import msgspec
import pytest

from qirsh.domain.account import Kind, State
from qirsh.domain.audit_log import AuditEntry
from qirsh.domain.commands.account import (
    CloseAccount,
    IssueKey,
    MoveAccount,
    OpenHouseAccount,
    RequestCommercial,
    RevokeKey,
    RotateKey,
    TellKeyEnd,
)
from qirsh.domain.counter import REVOCATION, api_keys
from qirsh.domain.identifier import is_account_number
from qirsh.domain.limits import AMOUNT_MAX, BUSINESSES_MAX, KEYS_MAX
from qirsh.domain.mail import Letter
from qirsh.domain.money import CURRENCIES
from qirsh.domain.refusal import Refusal, Refused
from tests.domain.invariant import complaints
from tests.domain.market import NOBODY, SHOP_ORIGIN, Market
from tests.domain.test_account import ALLOWED, KINDS, STATES
from tests.domain.world import START
from tests.each import each

LIVE_STATES: Final = tuple(state for state in get_args(State) if state != "mirrored")


@pytest.fixture
def market() -> Market:
    return Market()


def a_key(account: int, *, key_id: str = "key") -> IssueKey:
    return IssueKey(
        id=key_id,
        account=account,
        hash=key_id.encode().ljust(32),
        hint="hint",
        name="Server",
        scopes="payments:read",
        expires_at=START + 1,
        actor="person 5",
    )


def revocations(market: Market) -> int:
    counter = market.counters.get(REVOCATION)
    return counter.last if counter else 0


@each("to", STATES)
@each("state", LIVE_STATES)
@each("kind", KINDS)
def test_an_operator_makes_the_moves_of_the_table_and_no_others(kind: Kind, state: State, to: State) -> None:
    market = Market()
    # An account that holds money is not closed, so the person is one without.
    number = {"personal": market.join("Newcomer").account, "commercial": market.shop, "house": market.house}[kind]
    market.change("accounts", number, state=state)
    command = MoveAccount(account=number, to=to, operator=market.first.id, reason="why", actor="person 1")
    if (kind, state, to) not in ALLOWED or to == "closed":
        assert market.refuse(command).why is Refusal.MOVE_NOT_ALLOWED
        return
    market.now += 1000
    moved = market.do(command)
    assert (moved.state, moved.updated_at, market.accounts[number]) == (to, START + 1000, moved)
    action = "resumed" if state == "suspended" else to
    assert market.audit[-1] == AuditEntry(START + 1000, "person 1", f"account.{action}", f"account {number}", "why")


@each(("state", "resumes"), [("requested", True), ("suspended", False)])
def test_a_decision_resumes_no_shop_that_was_suspended_meanwhile_nor_the_other_way_round(
    market: Market, state: State, *, resumes: bool
) -> None:
    market.change("accounts", market.shop, state=state)
    command = MoveAccount(market.shop, "approved", market.first.id, "why", "person 1", resumes=resumes)
    assert market.refuse(command).why is Refusal.MOVE_NOT_ALLOWED
    market.do(msgspec.structs.replace(command, resumes=not resumes))
    assert market.accounts[market.shop].state == "approved"


@each("state", LIVE_STATES)
@each("kind", KINDS)
def test_two_operators_close_what_the_table_lets_be_closed_and_nothing_else(kind: Kind, state: State) -> None:
    market = Market()
    number = {"personal": market.join("Newcomer").account, "commercial": market.shop, "house": market.house}[kind]
    market.change("accounts", number, state=state)
    ask = market.propose(CloseAccount(number))
    if (kind, state, "closed") not in ALLOWED:
        assert market.refuse(ask).why is Refusal.MOVE_NOT_ALLOWED
        return
    market.do(ask)
    assert market.accounts[number].state == state
    assert market.audit[-1].action == "account.close_asked"
    market.now += 1000
    market.do(market.confirm())
    assert (market.accounts[number].state, market.accounts[number].updated_at) == ("closed", START + 1000)
    assert (market.audit[-1].action, market.audit[-1].subject) == ("account.closed", f"account {number}")


@each("name", ["till", "test_customer", "mint"])
def test_a_test_account_is_not_closed(market: Market, name: str) -> None:
    ask = market.propose(CloseAccount(getattr(market, name)))
    assert market.refuse(ask).why is Refusal.MOVE_NOT_ALLOWED


@each("to", STATES)
@each("name", ["till", "test_customer", "mint"])
def test_a_test_account_does_not_move(market: Market, name: str, to: str) -> None:
    command = MoveAccount(account=getattr(market, name), to=to, operator=market.first.id, reason="", actor="test")
    assert market.refuse(command).why is Refusal.MOVE_NOT_ALLOWED


@each("to", ["approved", "rejected"])
def test_nobody_decides_on_a_request_of_their_own(market: Market, to: str) -> None:
    market.move(market.second.account, "verified")
    number = market.request_shop(market.second)
    own = MoveAccount(account=number, to=to, operator=market.second.id, reason="", actor="test")
    assert market.refuse(own).why is Refusal.OWN_REQUEST
    market.do(MoveAccount(account=number, to=to, operator=market.first.id, reason="", actor="test"))


def test_an_operator_does_not_verify_themselves(market: Market) -> None:
    own = MoveAccount(account=market.first.account, to="verified", operator=market.first.id, reason="", actor="test")
    assert market.refuse(own).why is Refusal.OWN_REQUEST


def test_of_two_decisions_at_once_the_first_stands_and_leaves_the_only_entry(market: Market) -> None:
    number = market.request_shop(market.owner)
    entries = len(market.audit)
    outcomes = market.together(
        *[
            MoveAccount(account=number, to=to, operator=operator.id, reason="", actor="test")
            for to, operator in (("approved", market.first), ("rejected", market.second), ("approved", market.second))
        ]
    )
    assert outcomes[0].state == "approved"
    assert outcomes[1:] == [Refused(Refusal.MOVE_NOT_ALLOWED)] * 2
    assert [entry.action for entry in market.audit[entries:]] == ["account.approved"]
    assert sum(account.live_account == number for account in market.accounts.values()) == 3


def test_an_approved_shop_gets_a_test_circle_of_its_own(market: Market) -> None:
    shop = market.accounts[market.shop]
    test_accounts = [market.accounts[number] for number in (market.till, market.test_customer, market.mint)]
    assert [account.kind for account in test_accounts] == ["commercial", "personal", "house"]
    for account in test_accounts:
        assert (account.mode, account.state, account.live_account, account.owner) == (
            "test",
            "mirrored",
            shop.number,
            shop.owner,
        )
    assert (test_accounts[0].name, test_accounts[0].return_origins) == (shop.name, shop.return_origins)


def test_the_test_customer_has_plenty_of_every_currency_and_all_of_it_from_the_mint(market: Market) -> None:
    for currency in CURRENCIES:
        assert market.held(market.test_customer, currency) == AMOUNT_MAX
        assert market.held(market.mint, currency) == -AMOUNT_MAX
    assert complaints(market) == []


def test_a_shop_that_comes_back_keeps_its_one_test_circle(market: Market) -> None:
    before = len(market.accounts), len(market.transfers)
    market.move(market.shop, "suspended")
    market.move(market.shop, "approved")
    assert (len(market.accounts), len(market.transfers)) == before


def test_a_rejected_request_opens_nothing(market: Market) -> None:
    number = market.request_shop(market.owner)
    before = set(market.accounts)
    market.move(number, "rejected")
    assert set(market.accounts) == before


def test_a_verified_person_asks_for_a_shop_and_owns_it(market: Market) -> None:
    account = market.accounts[market.request_shop(market.customer)]
    assert (account.kind, account.mode, account.state) == ("commercial", "live", "requested")
    assert (account.owner, account.live_account, account.return_origins) == (market.customer.id, None, SHOP_ORIGIN)
    assert market.audit[-1].action == "account.requested"


@each(
    ("state", "why"),
    [
        ("unverified", Refusal.NOT_VERIFIED),
        ("suspended", Refusal.ACCOUNT_SUSPENDED),
        ("closed", Refusal.ACCOUNT_SUSPENDED),
    ],
)
def test_nobody_asks_for_a_shop_before_or_after_being_verified(market: Market, state: State, why: Refusal) -> None:
    market.change("accounts", market.customer.account, state=state)
    command = RequestCommercial(personal=market.customer.account, name="", return_origins="", actor="test")
    assert market.refuse(command).why is why


@each("name", ["shop", "till", "test_customer", "mint", "house"])
def test_only_a_live_personal_account_asks_for_a_shop(market: Market, name: str) -> None:
    command = RequestCommercial(personal=getattr(market, name), name="", return_origins="", actor="test")
    assert market.refuse(command).why is Refusal.NOT_FOUND


def test_a_house_account_is_open_and_belongs_to_nobody(market: Market) -> None:
    account = market.do(OpenHouseAccount(name="bank desk"))
    assert (account.kind, account.mode, account.state, account.owner) == ("house", "live", "open", None)


def test_account_numbers_are_never_given_twice(market: Market) -> None:
    outcomes = market.together(*[OpenHouseAccount(name=f"bank {n}") for n in range(50)])
    assert len({account.number for account in outcomes}) == 50
    assert all(is_account_number(str(number)) for number in market.accounts)
    assert complaints(market) == []


@each("name", ["shop", "till"])
def test_an_approved_shop_and_its_test_account_get_keys(market: Market, name: str) -> None:
    command = a_key(getattr(market, name))
    key = market.do(command)
    assert market.api_keys == {"key": key}
    assert (key.account, key.hash, key.scopes) == (command.account, command.hash, "payments:read")
    assert (key.created_at, key.expires_at, key.revoked_at) == (START, START + 1, None)
    assert market.audit[-1] == AuditEntry(START, "person 5", "key.issued", "key key", f"account {key.account}")


@each("state", ["requested", "rejected", "suspended", "closed"])
@each("name", ["shop", "till"])
def test_without_approval_there_is_no_key_live_or_test(market: Market, name: str, state: State) -> None:
    market.change("accounts", market.shop, state=state)
    why = Refusal.ACCOUNT_SUSPENDED if state in {"suspended", "closed"} else Refusal.NOT_APPROVED
    assert market.refuse(a_key(getattr(market, name))).why is why


def test_only_a_commercial_account_gets_keys(market: Market) -> None:
    for account in (market.customer.account, market.house, market.test_customer, market.mint, NOBODY):
        assert market.refuse(a_key(account)).why is Refusal.NOT_FOUND


def test_two_keys_of_one_id_are_never_both_issued(market: Market) -> None:
    issued, again = market.together(a_key(market.shop), a_key(market.till))
    assert again == Refused(Refusal.MOVE_NOT_ALLOWED)
    assert market.refuse(a_key(market.shop)).why is Refusal.MOVE_NOT_ALLOWED
    assert market.api_keys == {"key": issued}
    assert [entry.action for entry in market.audit].count("key.issued") == 1


def test_a_revoked_key_ends_once_and_every_process_hears_of_it(market: Market) -> None:
    market.do(a_key(market.shop))
    before = revocations(market)
    market.now += 1000
    revoke = RevokeKey(id="key", actor="test")
    revoked, again = market.together(revoke, revoke)
    assert revoked == again == market.api_keys["key"]
    assert revoked.revoked_at == START + 1000
    market.now += 1000
    assert market.do(revoke) == revoked
    assert revocations(market) == before + 1
    assert [entry.action for entry in market.audit if entry.subject == "key key"] == ["key.issued", "key.revoked"]


def rotating(market: Market, *, old: str = "key", new: str = "new", overlap_ms: int = 1000) -> RotateKey:
    return RotateKey(
        id=new,
        account=market.shop,
        old=old,
        hash=new.encode().ljust(32),
        hint="next",
        overlap_ms=overlap_ms,
        actor="person 5",
        member=market.owner.id,
    )


def test_a_rotated_key_hands_over_all_that_it_may_and_ends_after_the_overlap(market: Market) -> None:
    issued = market.do(msgspec.structs.replace(a_key(market.shop), expires_at=START + 9000, networks="192.0.2.0/24"))
    before = revocations(market)
    market.now += 5000
    made = market.do(rotating(market))
    assert made == msgspec.structs.replace(
        issued, id="new", hash=made.hash, hint="next", created_at=START + 5000, expires_at=START + 5000 + 9000
    )
    assert market.api_keys["key"] == msgspec.structs.replace(issued, replaced_by="new", expires_at=START + 6000)
    assert revocations(market) == before + 1  # Others remember when it was to end.
    assert market.counters[api_keys(market.shop)].last == 2
    assert [entry.action for entry in market.audit if entry.subject == "key key"] == ["key.issued", "key.rotated"]


def test_a_key_whose_time_is_over_hands_nothing_over(market: Market) -> None:
    market.do(msgspec.structs.replace(a_key(market.shop), expires_at=START + 9000))
    market.now = START + 9000
    assert market.refuse(rotating(market)).why is Refusal.MOVE_NOT_ALLOWED


def test_a_key_never_lasts_longer_for_being_rotated(market: Market) -> None:
    market.do(a_key(market.shop))
    market.do(rotating(market))
    assert market.api_keys["key"].expires_at == START + 1


def test_without_an_overlap_the_old_key_ends_at_once_and_makes_room(market: Market) -> None:
    market.do(msgspec.structs.replace(a_key(market.shop), expires_at=None))
    for number in range(KEYS_MAX - 1):
        market.do(a_key(market.shop, key_id=f"other {number}"))
    assert market.refuse(rotating(market)).why is Refusal.TOO_MANY
    made = market.do(rotating(market, overlap_ms=0))
    assert (made.expires_at, made.revoked_at) == (None, None)
    assert market.api_keys["key"].revoked_at == market.now
    assert market.counters[api_keys(market.shop)].last == KEYS_MAX


def test_a_key_is_replaced_once(market: Market) -> None:
    market.do(a_key(market.shop))
    made, again, other = market.together(rotating(market), rotating(market), rotating(market, new="third"))
    assert again == other == Refused(Refusal.MOVE_NOT_ALLOWED)
    market.do(RevokeKey(id="new", actor="test"))
    assert market.refuse(rotating(market, old="new", new="third")).why is Refusal.MOVE_NOT_ALLOWED
    assert set(market.api_keys) == {"key", made.id}


def test_an_owner_is_told_once_of_the_end_of_a_key_that_nobody_has_replaced(market: Market) -> None:
    for key_id in ("key", "revoked", "rotated"):
        market.do(a_key(market.shop, key_id=key_id))
    market.do(RevokeKey(id="revoked", actor="test"))
    market.do(rotating(market, old="rotated"))
    told = [
        market.do(TellKeyEnd(key_id, (Letter(f"{place} {key_id}", b"sealed"),)))
        for place, key_id in enumerate(["key", "key", "revoked", "rotated", "unknown"])
    ]
    assert told == [True, False, False, False, False]
    assert list(market.mails) == ["0 key"]
    assert market.do(rotating(market, new="third")).told_at is None


def test_nobody_rotates_the_key_of_another_account(market: Market) -> None:
    market.do(a_key(market.till))
    assert market.refuse(rotating(market)).why is Refusal.NOT_FOUND
    assert market.refuse(rotating(market, old="unknown")).why is Refusal.NOT_FOUND


def test_an_account_that_holds_money_is_not_closed(market: Market) -> None:
    market.buy(amount=1)
    assert market.refuse(market.propose(CloseAccount(market.shop))).why is Refusal.MONEY_LEFT
    market.agree(market.book(kind="withdrawal", account=market.shop, amount=1, reference="last"))
    market.do(market.propose(CloseAccount(market.shop)))
    market.buy(amount=1)
    assert market.refuse(market.confirm()).why is Refusal.MONEY_LEFT
    close = market.confirm()
    market.agree(market.book(kind="withdrawal", account=market.shop, amount=1, reference="very last"))
    market.do(close)
    assert market.accounts[market.shop].state == "closed"


@each("to", ["suspended", "closed"])
def test_who_loses_a_right_is_known_to_every_process(market: Market, to: str) -> None:
    before = revocations(market)
    market.move(market.shop, to)
    market.move(market.join("Newcomer").account, to)
    assert revocations(market) == before + 3  # A person's sessions are a right of their own.


def test_who_gains_a_right_wakes_nobody(market: Market) -> None:
    before = revocations(market)
    market.open_shop(market.owner)
    market.move(market.second.account, "verified")
    assert revocations(market) == before


def test_only_an_operator_opens_more_businesses_than_one_person_may_ask_for(market: Market) -> None:
    personal = market.customer.account
    asking = RequestCommercial(personal=personal, name="Shop", return_origins="", actor="test")
    for _ in range(BUSINESSES_MAX):
        market.do(asking)
    assert market.refuse(asking) == Refused(Refusal.TOO_MANY)
    market.do(msgspec.structs.replace(asking, operator=market.first.id))


@each("state", ["suspended", "closed"])
def test_the_sessions_of_a_person_end_with_what_their_account_may_do(market: Market, state: str) -> None:
    person = market.join("Newcomer")
    market.move(person.account, "verified")
    before = market.people[market.owner.id]
    market.move(person.account, state)
    assert market.people[person.id].session_generation == 1
    # A business is not where anybody is signed in.
    market.move(market.shop, "suspended")
    assert market.people[market.owner.id] == before
