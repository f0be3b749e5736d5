"""Tills of a shop: opened and closed by who may, and the payments that customers make there."""

from typing import Final

import pytest

from qirsh.domain import counter
from qirsh.domain.commands.staff import RemoveMember
from qirsh.domain.commands.till import CloseTill, CreatePaymentAtTill
from qirsh.domain.limits import AMOUNT_MAX, TILL_PAYMENT_MS_MAX, TILLS_OPEN_MAX
from qirsh.domain.refusal import Refusal
from qirsh.domain.staff import Role
from qirsh.domain.till import is_takeable, is_till_id, takes
from tests.domain.market import Market
from tests.domain.staff_cases import TILL, join, opening
from tests.each import each

FIXED: Final = {"amount": 250, "minimum": None, "maximum": None}


@pytest.fixture
def market() -> Market:
    return Market()


def at_till(market: Market, amount: int = 100, till: str = TILL) -> CreatePaymentAtTill:
    return CreatePaymentAtTill(till, market.shop, amount)


def test_a_payment_at_a_till_is_what_the_till_says_and_names_it(market: Market) -> None:
    till = market.do(opening(market))
    made = market.do(at_till(market, 5000))
    assert (made.merchant, made.amount, made.currency, made.status) == (market.shop, 5000, "USD", "pending")
    assert (made.note, made.metadata) == ("Tea", f'{{"till":"{till.id}"}}')
    assert market.payment_acts == []
    assert market.do(market.pay(made)).status == "paid"


@each(("expires_in_s", "lasts_ms"), [(300, 300_000), (604_800, TILL_PAYMENT_MS_MAX)])
def test_a_payment_at_a_till_expires_within_the_hour(market: Market, expires_in_s: int, lasts_ms: int) -> None:
    market.do(opening(market))
    market.change("accounts", market.shop, expires_in_s=expires_in_s)
    made = market.do(at_till(market))
    assert made.expires_at - made.created_at == lasts_ms


def test_a_till_takes_its_amount_or_what_lies_within_its_bounds(market: Market) -> None:
    opened, fixed = market.do(opening(market)), market.do(opening(market, id="till_fixed", **FIXED))
    assert [takes(opened, amount) for amount in (99, 100, 5000, 5001)] == [False, True, True, False]
    assert [takes(fixed, amount) for amount in (249, 250, 251)] == [False, True, False]
    for amount in (99, 5001):
        with pytest.raises(AssertionError):
            market.do(at_till(market, amount))


@each(
    ("amount", "minimum", "maximum", "is_good"),
    [
        (1, None, None, True),
        (AMOUNT_MAX, None, None, True),
        (None, 1, 1, True),
        (None, 1, AMOUNT_MAX, True),
        (0, None, None, False),
        (AMOUNT_MAX + 1, None, None, False),
        (1, 1, None, False),
        (1, 1, 2, False),
        (None, None, None, False),
        (None, 1, None, False),
        (None, None, 1, False),
        (None, 0, 1, False),
        (None, 2, 1, False),
        (None, 1, AMOUNT_MAX + 1, False),
    ],
)
def test_what_a_till_may_take(
    market: Market, amount: int | None, minimum: int | None, maximum: int | None, *, is_good: bool
) -> None:
    assert is_takeable(amount, minimum, maximum) == is_good
    command = opening(market, amount=amount, minimum=minimum, maximum=maximum)
    if is_good:
        market.do(command)
    else:
        with pytest.raises(AssertionError):
            market.do(command)


def test_one_form_opens_one_till(market: Market) -> None:
    first = market.do(opening(market))
    assert market.do(opening(market, name="Another", **FIXED)) == first
    assert market.counters[counter.open_tills(market.shop)].last == 1
    other = market.open_shop(market.other)
    command = opening(market, account=other, member=market.other.id)
    assert market.refuse(command).why is Refusal.NOT_FOUND


def test_a_closed_till_takes_nothing_and_makes_room_for_another(market: Market) -> None:
    for number in range(TILLS_OPEN_MAX):
        market.do(opening(market, id=f"till_{number}"))
    assert market.refuse(opening(market)).why is Refusal.TOO_MANY
    market.do(opening(market, account=market.till))  # The test account has its own.
    closed = market.do(CloseTill("till_7", market.shop, market.owner.id))
    assert market.do(CloseTill("till_7", market.shop, market.owner.id)) == closed
    assert market.refuse(at_till(market, till="till_7")).why is Refusal.MOVE_NOT_ALLOWED
    market.do(opening(market, id="till_one_more"))
    assert market.counters[counter.open_tills(market.shop)].last == TILLS_OPEN_MAX


def test_a_till_of_another_shop_is_none(market: Market) -> None:
    other = market.open_shop(market.other)
    market.do(opening(market))
    assert market.refuse(CloseTill(TILL, other, market.other.id)).why is Refusal.NOT_FOUND
    assert market.refuse(CloseTill(TILL, market.till, market.owner.id)).why is Refusal.NOT_FOUND
    assert market.refuse(CreatePaymentAtTill(TILL, other, 100)).why is Refusal.NOT_FOUND
    assert market.refuse(CreatePaymentAtTill(TILL, market.till, 100)).why is Refusal.NOT_FOUND


def test_a_suspended_shop_takes_nothing_also_at_tills_of_its_test_account(market: Market) -> None:
    market.do(opening(market, account=market.till))
    market.change("accounts", market.shop, state="suspended")
    assert market.refuse(CreatePaymentAtTill(TILL, market.till, 100)).why is Refusal.ACCOUNT_SUSPENDED
    assert market.refuse(CloseTill(TILL, market.till, market.owner.id)).why is Refusal.ACCOUNT_SUSPENDED


@each("role", ["manager", "accountant", "cashier", "developer", "viewer"])
def test_managers_open_and_close_tills_and_no_other_member(market: Market, role: Role) -> None:
    person = join(market, market.other, role).person
    for account in (market.shop, market.till):
        commands = [opening(market, id=f"till_{account}", account=account, member=person)]
        commands.append(CloseTill(f"till_{account}", account, person))  # type: ignore[arg-type]
        for command in commands:
            if role == "manager":
                market.do(command)
            else:
                assert market.refuse(command).why is Refusal.MISSING_RIGHT
    market.do(RemoveMember(market.shop, person, market.owner.id))
    assert market.refuse(opening(market, member=person)).why is Refusal.NOT_FOUND


def test_the_audit_log_says_who_opened_and_closed_a_till(market: Market) -> None:
    market.do(opening(market))
    market.do(CloseTill(TILL, market.shop, market.owner.id))
    noted = [(entry.actor, entry.action, entry.subject, entry.detail) for entry in market.audit[-2:]]
    who, where, what = f"person {market.owner.id}", f"account {market.shop}", f"{TILL} Table 4"
    assert noted == [(who, "till.opened", where, what), (who, "till.closed", where, what)]


def test_ids_of_tills_are_told_from_others() -> None:
    assert is_till_id(TILL)
    for text in (
        "",
        "till_",
        TILL.upper(),
        TILL[:-1],
        f"{TILL}0",
        f"{TILL}\n",
        TILL.replace("0", "\u0660"),
        f"x{TILL}",
    ):
        assert not is_till_id(text)
