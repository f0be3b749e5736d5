"""Who works at a shop: invited, joined, changed, gone; and what each role may do, asked in the commit."""

import itertools
from datetime import date, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

import pytest

from qirsh.domain import counter
from qirsh.domain.api_key import SCOPES
from qirsh.domain.command import Command
from qirsh.domain.commands.account import IssueKey, RotateKey
from qirsh.domain.commands.staff import (
    AcceptInvitation,
    ChangeMember,
    DeclineInvitation,
    RemoveMember,
    SetStaffPolicy,
    WithdrawInvitation,
)
from qirsh.domain.commands.staff_payment import CancelPaymentByHand, CreatePaymentByHand
from qirsh.domain.limits import INVITATION_MS
from qirsh.domain.payment import Payment, PaymentAct
from qirsh.domain.refusal import Refusal
from qirsh.domain.staff import GRANTABLE, MEMBER_ROLES, ROLES, MemberCap, Right, Role, may, read_caps, written_caps
from qirsh.language.local_time import midnight_ms
from tests.domain.market import HELD, Market
from tests.domain.staff_cases import INVITATION, inviting, join, refunding
from tests.domain.webhook_cases import creating
from tests.each import each

# As the owners of the product wrote it down: + always, t at the test account, - never.
MATRIX: Final = """
see_payments          + + + + + +
see_payers            + + + + - -
see_money             + + + - t +
take_payments         + + - + t -
refund                + + - + t -
manage_shop           + + - - - -
integrate             + + - - + -
export                + + + - - -
request_payouts       + - + - - -
manage_bank_accounts  + - - - - -
see_keys              + + - - + -
manage_keys           + t - - + -
see_staff             + + - - - -
manage_staff          + + - - - -
set_staff_policy      + - - - - -
see_activity          + + - - - -
answer_operators      + - - - - -
belong                + + + + + +
"""


@pytest.fixture
def market() -> Market:
    return Market()


def test_every_role_has_the_rights_that_were_decided() -> None:
    said = {line.split()[0]: line.split()[1:] for line in MATRIX.strip().splitlines()}
    assert set(said) == set(Right)
    for right, grants in said.items():
        for role, grant in zip(ROLES, grants, strict=True):
            assert may(role, Right(right), "live") == (grant == "+"), (role, right)
            assert may(role, Right(right), "test") == (grant in {"+", "t"}), (role, right)


def test_nobody_grants_a_role_with_a_right_that_they_lack() -> None:
    for role, granted in GRANTABLE.items():
        assert role not in granted
        for other, right, mode in itertools.product(granted, Right, ("live", "test")):
            assert may(role, right, mode) or not may(other, right, mode), (role, other, right)  # type: ignore[arg-type]


def test_caps_are_written_as_they_are_read() -> None:
    caps = {"USD": 5000, "SYP": 1}
    assert read_caps(written_caps(caps)) == caps
    assert read_caps("") == {}


def test_whom_the_link_was_mailed_to_joins_once(market: Market) -> None:
    market.do(inviting(market))
    assert market.refuse(AcceptInvitation(INVITATION, market.other.id)).why is Refusal.NOT_FOUND
    member = market.do(AcceptInvitation(INVITATION, market.customer.id))
    assert (member.role, member.invited_by) == ("cashier", market.owner.id)
    assert market.invitations == {}
    assert market.refuse(AcceptInvitation(INVITATION, market.customer.id)).why is Refusal.NOT_FOUND
    assert market.counters[counter.members(market.shop)].last == 1


def test_a_link_is_over_after_a_week_when_it_is_taken_back_and_when_it_is_declined(market: Market) -> None:
    market.do(inviting(market))
    market.do(DeclineInvitation(INVITATION, market.customer.id))
    assert market.refuse(AcceptInvitation(INVITATION, market.customer.id)).why is Refusal.NOT_FOUND
    market.do(inviting(market))
    market.do(WithdrawInvitation(INVITATION, market.shop, market.owner.id))
    assert market.refuse(AcceptInvitation(INVITATION, market.customer.id)).why is Refusal.NOT_FOUND
    market.do(inviting(market))
    market.now += INVITATION_MS
    assert market.refuse(AcceptInvitation(INVITATION, market.customer.id)).why is Refusal.NOT_FOUND


def test_the_same_form_invites_once_and_another_takes_its_place(market: Market) -> None:
    first = market.do(inviting(market))
    assert market.do(inviting(market)) == first
    second = market.do(inviting(market, id="inv_other", role="viewer", caps={}, stale=(INVITATION,)))
    assert list(market.invitations.values()) == [second]
    assert market.counters[counter.invitations(market.shop)].last == 1


def test_what_is_named_as_stale_and_is_not_stays(market: Market) -> None:
    market.do(inviting(market))
    market.do(inviting(market, id="inv_other", email="other.customer@example.com", stale=(INVITATION,)))
    assert len(market.invitations) == 2


def test_the_owner_of_the_shop_cannot_join_it(market: Market) -> None:
    market.do(inviting(market, email="owner@example.com"))
    assert market.refuse(AcceptInvitation(INVITATION, market.owner.id)).why is Refusal.MOVE_NOT_ALLOWED


def test_a_manager_manages_cashiers_and_viewers_only(market: Market) -> None:
    manager = join(market, market.other, "manager").person
    for role in MEMBER_ROLES:
        wish = inviting(market, role=role, caps={}, member=manager, id=f"inv_{role}")
        if role in {"cashier", "viewer"}:
            market.do(wish)
        else:
            assert market.refuse(wish).why is Refusal.MISSING_RIGHT
    person = join(market, market.customer, "accountant").person
    for refused in (
        ChangeMember(market.shop, person, "viewer", {}, manager),
        RemoveMember(market.shop, person, manager),
        ChangeMember(market.shop, manager, "viewer", {}, manager),
        SetStaffPolicy(market.shop, needs_two_step=True, member=manager),
    ):
        assert market.refuse(refused).why is Refusal.MISSING_RIGHT


def test_a_member_leaves_and_takes_what_they_might_refund_along(market: Market) -> None:
    person = join(market, market.customer, "cashier", {"USD": 5}).person
    assert list(market.member_caps.values()) == [MemberCap(market.shop, person, "USD", 5)]
    market.do(RemoveMember(market.shop, person, person))
    assert (market.members, market.member_caps) == ({}, {})
    assert market.counters[counter.members(market.shop)].last == 0


def test_a_cashier_who_becomes_something_else_has_no_caps(market: Market) -> None:
    person = join(market, market.customer, "cashier", {"USD": 5, "EUR": 6}).person
    market.do(ChangeMember(market.shop, person, "cashier", {"EUR": 7}, market.owner.id))
    assert [(cap.currency, cap.amount) for cap in market.member_caps.values()] == [("EUR", 7)]
    market.do(ChangeMember(market.shop, person, "viewer", {"EUR": 7}, market.owner.id))
    assert market.member_caps == {}


def test_what_happens_to_staff_is_written_down(market: Market) -> None:
    person = join(market, market.customer, "viewer").person
    market.do(ChangeMember(market.shop, person, "developer", {}, market.owner.id))
    market.do(ChangeMember(market.shop, person, "cashier", {"USD": 5}, market.owner.id))
    market.do(ChangeMember(market.shop, person, "cashier", {"USD": 5}, market.owner.id))
    market.do(ChangeMember(market.shop, person, "cashier", {"USD": 7, "EUR": 2}, market.owner.id))
    market.do(RemoveMember(market.shop, person, market.owner.id))
    told = [(entry.action, entry.actor, entry.detail) for entry in market.audit if entry.action.startswith("staff.")]
    owner = f"person {market.owner.id}"
    assert told == [
        ("staff.invited", owner, f"viewer, inv_{person}_viewer"),
        ("staff.joined", f"person {person}", "viewer"),
        ("staff.role_changed", owner, f"person {person}, viewer to developer"),
        ("staff.role_changed", owner, f"person {person}, developer to cashier, USD:5"),
        ("staff.caps_changed", owner, f"person {person}, cashier, USD:7 EUR:2"),
        ("staff.removed", owner, f"person {person}, cashier"),
    ]


def _asked(market: Market, account: int, person: int) -> dict[Right, Command[Any]]:
    """One command for each right that a rule asks for."""
    payment = market.create(merchant=account).number
    paid = market.buy() if account == market.shop else market.do(market.pay_as_test(market.create(merchant=account)))
    key = IssueKey(
        id="key",
        account=account,
        hash=bytes(32),
        hint="",
        name="",
        scopes="",
        expires_at=None,
        actor="test",
        member=person,
    )
    return {
        Right.TAKE_PAYMENTS: CancelPaymentByHand(payment=payment, merchant=account, member=person),
        Right.REFUND: refunding(market, paid, amount=1, member=person),
        Right.INTEGRATE: creating(account, member=person),
        Right.MANAGE_KEYS: key,
    }


@each("mode", ["live", "test"])
@each("role", ROLES)
def test_a_rule_asks_for_the_right_at_the_account_that_it_is_about(market: Market, role: Role, mode: Any) -> None:  # noqa: ANN401 - live or test
    account = market.shop if mode == "live" else market.till
    person = market.owner.id if role == "owner" else join(market, market.other, role, {"USD": HELD}).person
    for right, command in _asked(market, account, person).items():
        if may(role, right, mode):
            market.do(command)
        else:
            assert market.refuse(command).why is Refusal.MISSING_RIGHT


def _key(account: int, person: int, scopes: str, name: str) -> IssueKey:
    return IssueKey(name, account, name.encode().ljust(32), "", "", scopes, None, "test", member=person)


@each(
    ("role", "mode", "beyond"),
    [
        ("owner", "live", set()),
        ("developer", "live", {"refunds:write", "balance:read"}),
        ("owner", "test", set()),
        ("manager", "test", set()),
        ("developer", "test", set()),
    ],
)
def test_a_key_gives_no_more_than_who_gets_its_secret_may_do(
    market: Market, role: Role, mode: str, beyond: set[str]
) -> None:
    account = market.shop if mode == "live" else market.till
    person = market.owner.id if role == "owner" else join(market, market.other, role).person
    for number, scope in enumerate(SCOPES):
        theirs, owners = f"theirs_{number}", f"owners_{number}"
        issue = _key(account, person, f"payments:read {scope}", theirs)
        market.do(_key(account, market.owner.id, f"payments:read {scope}", owners))
        rotate = RotateKey(f"next_{number}", account, owners, scope.encode().ljust(32), "", 0, "test", member=person)
        for command in (issue, rotate):
            if scope in beyond:
                assert market.refuse(command).why is Refusal.MISSING_RIGHT
            else:
                market.do(command)


def test_who_does_not_work_there_any_more_or_is_suspended_does_nothing(market: Market) -> None:
    person = join(market, market.other, "manager").person
    commands = _asked(market, market.shop, person)
    market.change("accounts", market.other.account, state="suspended")
    for command in commands.values():
        assert market.refuse(command).why is Refusal.MISSING_RIGHT
    market.change("accounts", market.other.account, state="verified")
    market.do(RemoveMember(market.shop, person, market.owner.id))
    for command in commands.values():
        assert market.refuse(command).why is Refusal.NOT_FOUND


def test_who_did_it_by_hand_is_kept_with_the_version(market: Market) -> None:
    person = join(market, market.other, "manager").person
    made = market.do(CreatePaymentByHand(merchant=market.shop, amount=100, currency="USD", member=person))
    market.do(CancelPaymentByHand(payment=made.number, merchant=market.shop, member=market.owner.id))
    paid = market.buy()
    market.do(refunding(market, paid, amount=1, member=person))
    shop, now = market.shop, market.now
    assert market.payment_acts == [
        PaymentAct(made.number, 1, person, account=shop, act="created", at=now),
        PaymentAct(made.number, 2, market.owner.id, account=shop, act="cancelled", at=now),
        PaymentAct(paid.number, 3, person, account=shop, act="refunded", at=now),
    ]


def test_a_refund_is_of_the_payment_that_was_seen(market: Market) -> None:
    paid = market.buy()
    market.do(refunding(market, paid, amount=1))
    assert market.refuse(refunding(market, paid, id="rf_2", amount=1)).why is Refusal.CHANGED_MEANWHILE
    market.do(refunding(market, paid, id="rf_2", amount=1, version=3))


def test_a_cashier_refunds_up_to_the_cap_of_a_day_and_currency(market: Market) -> None:
    person = join(market, market.other, "cashier", {"USD": 150}).person
    day, paid = market.now - 1000, market.buy(amount=300)
    ask: dict[str, Any] = {"member": person, "day_began_at": day}

    def again(amount: int, **changes: Any) -> Any:  # noqa: ANN401 - the fields of the command
        payment = market.payments[paid.number]
        return refunding(market, payment, amount=amount, **ask | changes)

    assert market.refuse(again(151)).why is Refusal.REFUND_CAP
    market.do(again(100))
    assert market.refuse(again(51)).why is Refusal.REFUND_CAP
    market.do(again(50))
    assert market.refuse(again(1)).why is Refusal.REFUND_CAP
    # The owner has no cap, and takes nothing from the cashier's. Another currency has its own.
    market.do(again(1, member=market.owner.id))
    assert market.refuse(refunding(market, market.buy(currency="EUR"), **ask)).why is Refusal.REFUND_CAP
    # A clock that went back makes no new day.
    assert market.refuse(again(1, day_began_at=day - 86_400_000)).why is Refusal.REFUND_CAP
    market.do(again(149, day_began_at=day + 86_400_000))


def test_a_cashier_does_not_refund_what_they_paid_themselves(market: Market) -> None:
    cashier = join(market, market.customer, "cashier", {"USD": 150}).person
    paid = market.buy()
    assert market.refuse(refunding(market, paid, amount=1, member=cashier)).why is Refusal.OWN_PAYMENT
    colleague = join(market, market.other, "cashier", {"USD": 150}).person
    market.do(refunding(market, paid, amount=1, member=colleague))
    market.do(ChangeMember(market.shop, cashier, "manager", {}, market.owner.id))
    market.do(refunding(market, market.payments[paid.number], amount=1, member=cashier))


def test_a_smaller_cap_holds_for_the_same_day(market: Market) -> None:
    person = join(market, market.other, "cashier", {"USD": 150}).person
    paid = market.buy(amount=300)
    market.do(refunding(market, paid, amount=100, member=person))
    market.do(ChangeMember(market.shop, person, "cashier", {"USD": 100}, market.owner.id))
    again = refunding(market, market.payments[paid.number], amount=1, member=person)
    assert market.refuse(again).why is Refusal.REFUND_CAP


def _again(market: Market, paid: Payment, person: int, amount: int, **changes: Any) -> Command[Any]:  # noqa: ANN401 - the fields of the command
    return refunding(market, market.payments[paid.number], amount=amount, member=person, **changes)


def test_another_role_and_back_begins_no_new_day(market: Market) -> None:
    person, paid = join(market, market.other, "cashier", {"USD": 150}).person, market.buy(amount=400)
    market.do(_again(market, paid, person, 100))
    market.do(ChangeMember(market.shop, person, "manager", {}, market.owner.id))
    market.do(_again(market, paid, person, 40))  # A manager has no cap, and what they refund counts all the same.
    market.do(ChangeMember(market.shop, person, "cashier", {"USD": 150}, market.owner.id))
    assert market.refuse(_again(market, paid, person, 11)).why is Refusal.REFUND_CAP
    market.do(_again(market, paid, person, 10))


def test_a_cap_that_is_emptied_and_set_again_begins_no_new_day(market: Market) -> None:
    person, paid = join(market, market.other, "cashier", {"USD": 150}).person, market.buy(amount=400)
    market.do(_again(market, paid, person, 100))
    market.do(ChangeMember(market.shop, person, "cashier", {}, market.owner.id))
    assert market.refuse(_again(market, paid, person, 1)).why is Refusal.REFUND_CAP
    market.do(ChangeMember(market.shop, person, "cashier", {"USD": 150}, market.owner.id))
    assert market.refuse(_again(market, paid, person, 51)).why is Refusal.REFUND_CAP
    market.do(_again(market, paid, person, 50))


def test_who_is_removed_and_invited_again_has_the_same_day(market: Market) -> None:
    person, paid = join(market, market.other, "cashier", {"USD": 150}).person, market.buy(amount=400)
    market.do(_again(market, paid, person, 100))
    market.do(RemoveMember(market.shop, person, market.owner.id))
    join(market, market.other, "cashier", {"USD": 150})
    assert market.refuse(_again(market, paid, person, 51)).why is Refusal.REFUND_CAP
    market.do(_again(market, paid, person, 50))


def test_another_time_zone_gives_no_second_day(market: Market) -> None:
    person, paid = join(market, market.other, "cashier", {"USD": 150}).person, market.buy(amount=400)
    day, damascus, kiritimati = date(2026, 11, 17), ZoneInfo("Asia/Damascus"), ZoneInfo("Pacific/Kiritimati")
    market.do(_again(market, paid, person, 150, day_began_at=midnight_ms(day, damascus)))
    moved = midnight_ms(day + timedelta(days=1), kiritimati)
    assert moved > midnight_ms(day, damascus)
    assert market.refuse(_again(market, paid, person, 1, day_began_at=moved)).why is Refusal.REFUND_CAP
    market.do(_again(market, paid, person, 150, day_began_at=midnight_ms(day + timedelta(days=2), kiritimati)))


@each("day", [date(2026, 3, 29), date(2026, 10, 25), date(2026, 11, 17)])
def test_every_next_day_is_new_also_when_clocks_change(market: Market, day: date) -> None:
    person, paid = join(market, market.other, "cashier", {"USD": 150}).person, market.buy(amount=400)
    for began in (day, day + timedelta(days=1)):
        market.do(_again(market, paid, person, 150, day_began_at=midnight_ms(began, ZoneInfo("Europe/Berlin"))))


def test_two_cashiers_of_one_batch_share_a_payment_and_not_a_cap(market: Market) -> None:
    people = [
        join(market, market.other, "cashier", {"USD": 100}).person,
        join(market, market.first, "cashier", {"USD": 100}).person,
    ]
    paid = market.buy(amount=100)
    wishes = [
        refunding(market, paid, id=f"rf_{each}", amount=60, member=each, day_began_at=market.now) for each in people
    ]
    first, second = market.together(*wishes)
    assert first.amount == 60
    assert second.why is Refusal.REFUND_EXCEEDS
    assert list(market.refund_tallies) == [(market.shop, people[0], "USD")]
