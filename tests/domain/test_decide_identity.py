"""Who people are: what they show, who decides, what is forgotten, and what stays of who is erased."""

import msgspec
import pytest

from qirsh.domain.commands.account import IssueKey, MoveAccount, RequestCommercial, RevokeKey
from qirsh.domain.commands.identity import ErasePerson, ForgetImages, ForgetSessions, RejectIdentity, SubmitIdentity
from qirsh.domain.commands.login_credentials import AddPasskey, ChangePin, RemovePasskey, StartChallenge
from qirsh.domain.commands.payout import CancelPayout, RefusePayout, RequestPayout
from qirsh.domain.commands.person import ChangeProfile, Join
from qirsh.domain.commands.proposal import LapseProposal
from qirsh.domain.commands.session import OpenSession
from qirsh.domain.commands.staff import AcceptInvitation
from qirsh.domain.identity import Identity
from qirsh.domain.person import Person
from qirsh.domain.proposal import PROPOSAL_MS
from qirsh.domain.refusal import Refusal, Refused
from tests.domain.invariant import complaints
from tests.domain.market import HELD, PIN, Market
from tests.domain.people_cases import EMAIL, ask_payout, passkey, submit
from tests.domain.proposal_cases import end
from tests.domain.staff_cases import inviting, saving
from tests.domain.staff_cases import join as hire
from tests.each import each


@pytest.fixture
def market() -> Market:
    return Market()


def owner_of(market: Market, account: int) -> int:
    owner = market.accounts[account].owner
    assert owner is not None
    return owner


def test_what_a_person_shows_waits_for_an_operator(market: Market) -> None:
    account = submit(market)
    person = owner_of(market, account)
    assert market.identities[person] == Identity(person, "submitted", b"sealed facts", "", market.now, None, None)
    assert set(market.identity_images) == {(person, "front"), (person, "back")}
    again = SubmitIdentity(person, account, b"other", ())
    assert market.refuse(again).why is Refusal.MOVE_NOT_ALLOWED


def test_verifying_an_account_decides_on_what_was_shown(market: Market) -> None:
    account = submit(market)
    person = owner_of(market, account)
    market.move(account, "verified")
    decided = market.identities[person]
    assert (decided.state, decided.decided_at, decided.decided_by) == ("verified", market.now, market.first.id)


def test_who_is_rejected_reads_why_and_may_try_again_with_other_pictures(market: Market) -> None:
    account = submit(market)
    person = owner_of(market, account)
    market.do(RejectIdentity(account, "not readable", market.first.id, "test"))
    assert (market.identities[person].state, market.identities[person].reason) == ("rejected", "not readable")
    assert market.accounts[account].state == "unverified"
    market.do(SubmitIdentity(person, account, b"better", (("front", b"sharp"),)))
    assert market.identities[person].state == "submitted"
    assert [image.sealed for image in market.identity_images.values()] == [b"sharp"]


def test_two_operators_decide_once(market: Market) -> None:
    account = submit(market)
    verify = MoveAccount(account, "verified", market.first.id, "", "test")
    reject = RejectIdentity(account, "no", market.second.id, "test")
    verified, rejected = market.fork().together(verify, reject)
    assert (verified.state, rejected.why) == ("verified", Refusal.MOVE_NOT_ALLOWED)
    rejected, verified = market.together(reject, verify)
    # An operator may know somebody better than a form does, so the other order ends in both.
    assert (rejected.state, verified.state) == ("rejected", "verified")


def test_pictures_are_forgotten_only_after_the_decision(market: Market) -> None:
    account = submit(market)
    person = owner_of(market, account)
    assert market.refuse(ForgetImages(person)).why is Refusal.MOVE_NOT_ALLOWED
    market.move(account, "verified")
    assert market.do(ForgetImages(person)) == 2
    assert market.identity_images == {}
    assert market.do(ForgetImages(person)) == 0


def erasing(market: Market, person: Person, email: str) -> ErasePerson:
    keys = tuple(key for key, row in market.passkeys.items() if row.person == person.id)
    shops = tuple(
        number for number, row in market.accounts.items() if row.owner == person.id and row.kind != "personal"
    )
    sessions = tuple(key for key, row in market.sessions.items() if row.person == person.id)
    jobs = tuple(account for account, member in market.members if member == person.id)
    return ErasePerson(person.id, person.account, email, keys, shops, "test", sessions=sessions, jobs=jobs)


def test_nothing_tells_who_an_erased_person_was(market: Market) -> None:
    account = submit(market)
    person = market.people[owner_of(market, account)]
    market.do(AddPasskey(b"key", person.id, b"public", 0, "phone", ()))
    market.do(ChangeProfile(person.id, "+963 11 000 0000", "ar", has_notices=True))
    market.do(OpenSession(b"s" * 32, person.id, person.account, "test"))
    erased = market.do(erasing(market, person, "newcomer@example.com"))
    assert (erased.name, erased.phone, erased.erased_at, erased.session_generation) == ("", "", market.now, 1)
    assert (market.accounts[account].name, market.accounts[account].state) == ("", "closed")
    tables = (market.logins, market.pins, market.passkeys, market.identities, market.identity_images, market.sessions)
    for table in tables:
        assert "newcomer" not in repr(table).lower()
        assert not [row for row in table.values() if getattr(row, "person", None) == person.id]
    assert complaints(market) == []
    assert market.refuse(OpenSession(b"n" * 32, person.id, person.account, "test")).why is Refusal.NOT_FOUND
    assert market.refuse(AddPasskey(b"k", person.id, b"", 0, "", ())).why is Refusal.NOT_FOUND
    assert market.refuse(ChangePin(person.id, PIN, "test")).why is Refusal.NOT_FOUND


def test_sessions_go_with_their_person_and_nobody_elses(market: Market) -> None:
    person, other = market.join("Newcomer"), market.customer
    for name, one in ((b"a", person), (b"b", person), (b"o", other)):
        market.do(OpenSession(name * 32, one.id, one.account, "test"))
    assert market.refuse(ForgetSessions(person.id, (b"a" * 32,))).why is Refusal.MOVE_NOT_ALLOWED
    command = msgspec.structs.replace(
        erasing(market, person, "newcomer@example.com"), sessions=(b"a" * 32, b"o" * 32, b"never there".ljust(32))
    )
    market.do(command)
    # What was begun since the sessions were looked for goes a moment later.
    assert set(market.sessions) == {b"b" * 32, b"o" * 32}
    assert market.do(ForgetSessions(person.id, (b"a" * 32, b"b" * 32, b"o" * 32))) == 1
    assert set(market.sessions) == {b"o" * 32}
    assert market.do(ForgetSessions(person.id, (b"b" * 32,))) == 0
    assert market.refuse(ForgetSessions(other.id, (b"o" * 32,))).why is Refusal.MOVE_NOT_ALLOWED
    assert complaints(market) == []


def test_an_erased_person_works_nowhere_and_the_business_reads_of_it(market: Market) -> None:
    person, stays = market.join("Newcomer"), market.other
    hire(market, person, "cashier", {"USD": 5})
    hire(market, stays, "cashier", {"USD": 7})
    for account in (market.shop, market.till):
        market.do(saving(market, account=account, member=person.id))
    market.do(erasing(market, person, "newcomer@example.com"))
    assert set(market.members) == {(market.shop, stays.id)}
    assert set(market.member_caps) == {(market.shop, stays.id, "USD")}
    assert market.saved_views == {}
    assert complaints(market) == []
    told = [entry for entry in market.audit if entry.subject == f"account {market.shop}"][-1]
    assert (told.actor, told.action, told.detail) == (f"person {person.id}", "staff.erased", "cashier")


def test_who_began_to_work_somewhere_a_moment_ago_is_not_erased_without_it(market: Market) -> None:
    person = market.join("Newcomer")
    early = erasing(market, person, "newcomer@example.com")
    market.do(inviting(market, email="newcomer@example.com"))
    joined, refused = market.fork().together(AcceptInvitation("inv_1", person.id), early)
    assert (joined.person, refused.why) == (person.id, Refusal.MOVE_NOT_ALLOWED)
    erased, late = market.together(early, AcceptInvitation("inv_1", person.id))
    assert (erased.id, late.why) == (person.id, Refusal.NOT_FOUND)
    assert complaints(market) == []


def test_an_address_is_free_again_after_an_erasure_in_the_same_commit(market: Market) -> None:
    person = market.join("Newcomer")
    market.do(StartChallenge("sign-up", "newcomer@example.com", None, b"t" * 32, b"code", ()))
    join = Join("newcomer@example.com", "Next", "", "en", "-", b"t" * 32, (b"code",))
    erased, joined = market.together(erasing(market, person, "newcomer@example.com"), join)
    assert type(erased) is Person
    assert type(joined) is Person
    assert market.logins["newcomer@example.com"].person == joined.id


def test_money_a_payout_or_a_business_keeps_a_person(market: Market) -> None:
    assert market.refuse(erasing(market, market.customer, EMAIL)).why is Refusal.MONEY_LEFT
    newcomer = market.join("Newcomer")
    market.move(newcomer.account, "verified")
    shop = market.do(RequestCommercial(newcomer.account, "Shop", "", "test")).number
    assert market.refuse(erasing(market, newcomer, "newcomer@example.com")).why is Refusal.MONEY_LEFT
    market.move(shop, "rejected")
    market.do(erasing(market, newcomer, "newcomer@example.com"))


def test_what_came_since_it_was_looked_for_keeps_a_person(market: Market) -> None:
    newcomer = market.join("Newcomer")
    market.move(newcomer.account, "verified")
    early = erasing(market, newcomer, "newcomer@example.com")
    add, remove = AddPasskey(b"k", newcomer.id, b"", 0, "", ()), RemovePasskey(b"k", newcomer.id, ())
    assert market.together(add, early)[1] == Refused(Refusal.MOVE_NOT_ALLOWED)
    market.do(remove)
    shop = market.do(RequestCommercial(newcomer.account, "Shop", "", "test")).number
    market.move(shop, "rejected")
    assert market.refuse(early).why is Refusal.MOVE_NOT_ALLOWED
    market.do(erasing(market, newcomer, "newcomer@example.com"))
    assert complaints(market) == []


def test_an_open_payout_keeps_a_person_whatever_they_hold(market: Market) -> None:
    newcomer = market.join("Newcomer")
    market.move(newcomer.account, "verified")
    market.deposit(newcomer.account, 500)
    market.do(RequestPayout("po_late", newcomer.account, newcomer.id, "USD", 500, b"bank", (PIN,)))
    market.change("balances", (newcomer.account, "USD"), amount=0)
    assert market.refuse(erasing(market, newcomer, "newcomer@example.com")).why is Refusal.MONEY_LEFT


def test_an_operator_is_not_erased(market: Market) -> None:
    erase = erasing(market, market.first, "operator.one@example.com")
    assert market.refuse(erase).why is Refusal.MOVE_NOT_ALLOWED


def test_a_payout_is_paid_by_two_operators_and_the_money_moves_once(market: Market) -> None:
    payout = market.do(ask_payout(market))
    assert (payout.state, market.held(market.customer.account)) == ("asked", 100_000)
    assert market.do(market.ask(kind="withdrawal", amount=500, payout="po_1")).action == "payout"
    assert (market.payouts["po_1"].state, market.payouts["po_1"].reference) == ("ordered", "slip")
    for reference in ("slip", "another slip"):
        again = market.ask(kind="withdrawal", amount=500, payout="po_1", reference=reference)
        assert market.refuse(again).why is Refusal.MOVE_NOT_ALLOWED
    assert market.refuse(market.confirm(operator=market.first.id)).why is Refusal.SECOND_OPERATOR_NEEDED
    market.do(market.confirm())
    assert market.held(market.customer.account) == 99_500
    assert (market.payouts["po_1"].state, market.payouts["po_1"].bank_sealed) == ("paid", b"")
    assert complaints(market) == []


@each("change", [{"amount": 501}, {"currency": "EUR"}, {"kind": "deposit"}])
def test_an_order_is_exactly_what_was_asked_for(market: Market, change: dict[str, object]) -> None:
    market.do(ask_payout(market))
    order = market.ask(**{"kind": "withdrawal", "amount": 500, "payout": "po_1"} | change)
    assert market.refuse(order).why is Refusal.MOVE_NOT_ALLOWED


def test_what_a_payout_asks_for_is_spent_by_nothing_else(market: Market) -> None:
    market.do(ask_payout(market))
    dear = market.create(amount=HELD - 499)
    assert market.refuse(market.pay(dear)) == Refused(Refusal.INSUFFICIENT_FUNDS)
    again = msgspec.structs.replace(ask_payout(market, "po_2"), amount=HELD - 499)
    assert market.refuse(again) == Refused(Refusal.INSUFFICIENT_FUNDS)
    by_operator = market.ask(kind="withdrawal", amount=HELD - 499, reference="by an operator")
    assert market.refuse(by_operator) == Refused(Refusal.INSUFFICIENT_FUNDS)
    market.buy(amount=HELD - 500)
    market.do(market.ask(kind="withdrawal", amount=500, payout="po_1"))
    market.do(market.confirm())
    assert market.balances[market.customer.account, "USD"].available == 0
    assert market.held(market.customer.account) == 0


def test_what_was_held_for_a_payout_that_ended_can_be_spent(market: Market) -> None:
    market.do(ask_payout(market))
    market.do(RefusePayout("po_1", "no such bank", market.first.id, "test"))
    market.buy(amount=HELD)
    assert complaints(market) == []


@each("how", ["refused", "withdrawn", "lapsed"])
def test_a_payout_that_is_not_paid_after_all_is_as_it_was_asked_for(market: Market, how: str) -> None:
    asked = market.do(ask_payout(market))
    market.do(market.ask(kind="withdrawal", amount=500, payout="po_1"))
    cancel, refuse = CancelPayout("po_1", market.customer.id), RefusePayout("po_1", "no", market.first.id, "test")
    assert market.refuse(cancel).why is Refusal.MOVE_NOT_ALLOWED
    assert market.refuse(refuse).why is Refusal.MOVE_NOT_ALLOWED
    confirm = market.confirm()
    if how == "lapsed":
        market.now += PROPOSAL_MS
        assert market.do(LapseProposal(confirm.id, confirm.command))
    else:
        market.do(end(market, operator=market.first.id if how == "withdrawn" else market.second.id))
    assert market.payouts["po_1"] == msgspec.structs.replace(asked, updated_at=market.now)
    assert market.refuse(market.pay(market.create(amount=HELD))).why is Refusal.INSUFFICIENT_FUNDS
    cancelled, ordered = market.fork(), market
    cancelled.do(cancel)
    cancelled.buy(amount=HELD)
    assert cancelled.refuse(cancelled.confirm()).why is Refusal.ALREADY_DECIDED
    ordered.do(ordered.ask(kind="withdrawal", amount=500, payout="po_1"))  # With the same slip of the bank.
    ordered.do(ordered.confirm())
    assert (ordered.payouts["po_1"].state, ordered.held(ordered.customer.account)) == ("paid", HELD - 500)
    assert complaints(cancelled) == complaints(ordered) == []


def test_a_payout_ends_once(market: Market) -> None:
    market.do(ask_payout(market))
    cancel = CancelPayout("po_1", market.customer.id)
    refuse = RefusePayout("po_1", "no", market.first.id, "test")
    cancelled, refused = market.together(cancel, refuse)
    assert (cancelled.state, cancelled.bank_sealed, refused.why) == ("cancelled", b"", Refusal.MOVE_NOT_ALLOWED)
    assert market.refuse(market.ask(kind="withdrawal", amount=500, payout="po_1")).why is Refusal.MOVE_NOT_ALLOWED


def test_a_wrong_pin_asks_for_nothing_and_counts(market: Market) -> None:
    wish = msgspec.structs.replace(ask_payout(market), pin_macs=(b"wrong",))
    assert market.refuse(wish) == Refused(Refusal.WRONG_PIN, attempts_left=4)
    assert market.pins[market.customer.id].failures == 1
    market.do(msgspec.structs.replace(ask_payout(market), pin_macs=(PIN,)))
    assert market.pins[market.customer.id].failures == 0


def test_an_owner_makes_and_revokes_only_keys_of_their_own(market: Market) -> None:
    passkey(market)
    issue = msgspec.structs.replace(_issue(market), member=market.customer.id)
    assert market.refuse(issue).why is Refusal.NOT_FOUND
    key = market.do(msgspec.structs.replace(issue, member=market.owner.id))
    assert market.refuse(_revoke(market, key.id, market.customer.id)).why is Refusal.NOT_FOUND
    assert market.do(_revoke(market, key.id, market.owner.id)).revoked_at == market.now


def _issue(market: Market) -> IssueKey:
    return IssueKey("key", market.shop, bytes(32), "hint", "", "", None, "test")


def _revoke(market: Market, key: str, member: int) -> RevokeKey:
    return RevokeKey(key, "test", market.shop, member)


def test_what_another_operator_has_rejected_is_accepted_only_once_it_is_sent_again(market: Market) -> None:
    account = submit(market)
    person = market.accounts[account].owner
    assert person is not None
    accept = MoveAccount(account, "verified", market.second.id, "", "test", seen=market.now)
    market.do(RejectIdentity(account, "", market.first.id, "test", (), "not_whole"))
    assert (market.identities[person].because, market.audit[-1].detail) == ("not_whole", "not_whole")
    assert market.refuse(accept).why is Refusal.MOVE_NOT_ALLOWED
    market.now += 1
    market.do(SubmitIdentity(person, account, b"facts", (("front", b"sealed"),), b"mac"))
    assert (market.identities[person].because, market.identities[person].document_mac) == ("", b"mac")
    for seen in (market.now - 1, market.now + 1):
        stale = msgspec.structs.replace(accept, seen=seen)
        assert market.refuse(stale).why is Refusal.CHANGED_MEANWHILE
        no = RejectIdentity(account, "", market.first.id, "test", (), "not_whole", seen)
        assert market.refuse(no).why is Refusal.CHANGED_MEANWHILE
    market.do(msgspec.structs.replace(accept, seen=market.now))
    assert market.accounts[account].state == "verified"
