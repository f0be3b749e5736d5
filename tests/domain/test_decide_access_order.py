"""Operators change how a person signs in: two of them, at once, and never for themselves."""

from typing import Any

import msgspec
import pytest

from qirsh.domain.access_order import KINDS
from qirsh.domain.commands.access_order import ConfirmAccessOrder, RequestAccessOrder
from qirsh.domain.commands.login_credentials import AddPasskey, SetSecondFactor
from qirsh.domain.commands.person import AddPerson
from qirsh.domain.commands.session import OpenSession
from qirsh.domain.limits import WRONG_CODES_MAX
from qirsh.domain.refusal import Refusal
from tests.domain.invariant import complaints
from tests.domain.market import Market
from tests.domain.people_cases import EMAIL, LETTERS, passkey


@pytest.fixture
def market() -> Market:
    market = Market()
    market.do(SetSecondFactor(EMAIL, market.customer.id, b"seed", 5, b"codes", ()))
    return market


def asking(market: Market, kind: Any, email: str = EMAIL) -> RequestAccessOrder:  # noqa: ANN401 - a kind
    return RequestAccessOrder(email, kind, "lost phone", market.first.id, "operator 1")


def agreeing(market: Market, kind: Any, **changes: Any) -> ConfirmAccessOrder:  # noqa: ANN401 - the fields of the command
    command = ConfirmAccessOrder(EMAIL, kind, market.first.id, market.second.id, "operator 2")
    return msgspec.structs.replace(command, **changes)


def opening(market: Market) -> OpenSession:
    return OpenSession(b"h" * 32, market.customer.id, market.customer.account, "test", "", EMAIL, "-", 9)


@pytest.mark.parametrize("kind", KINDS)
def test_one_alone_changes_nothing(market: Market, kind: str) -> None:
    before = market.people[market.customer.id], market.logins[EMAIL]
    market.do(asking(market, kind))
    assert market.refuse(agreeing(market, kind, operator=market.first.id)).why is Refusal.SECOND_OPERATOR_NEEDED
    assert (market.people[market.customer.id], market.logins[EMAIL]) == before
    market.do(agreeing(market, kind, letters=LETTERS))
    assert (market.access_orders, set(market.mails)) == ({}, {"letter"})
    assert market.refuse(agreeing(market, kind)).why is Refusal.NOT_FOUND
    assert complaints(market) == []


def test_a_blocked_person_does_not_enter_until_unblocked(market: Market) -> None:
    market.do(asking(market, "block"))
    market.do(agreeing(market, "block"))
    assert market.people[market.customer.id].session_generation == 1
    assert market.refuse(opening(market)).why is Refusal.SIGN_IN_BLOCKED
    by_passkey = msgspec.structs.replace(opening(market), passkey=passkey(market))
    assert market.refuse(by_passkey).why is Refusal.SIGN_IN_BLOCKED
    market.change("logins", EMAIL, wrong_codes=WRONG_CODES_MAX)
    market.do(asking(market, "unblock"))
    market.do(agreeing(market, "unblock"))
    market.do(opening(market))


def test_all_factors_are_removed_or_none(market: Market) -> None:
    key = passkey(market)
    market.do(AddPasskey(b"of another", market.other.id, b"public", 0, "phone", ()))
    market.do(asking(market, "remove-factors"))
    assert market.refuse(agreeing(market, "remove-factors")).why is Refusal.MOVE_NOT_ALLOWED
    market.do(agreeing(market, "remove-factors", passkeys=(key, b"of another")))
    login = market.logins[EMAIL]
    assert (login.totp_sealed, login.recovery, set(market.passkeys)) == (None, b"", {b"of another"})
    assert market.people[market.customer.id].session_generation == 1


def test_what_another_has_asked_meanwhile_is_not_agreed_to(market: Market) -> None:
    market.do(asking(market, "sign-out"))
    assert market.refuse(agreeing(market, "sign-out", asked_by=market.second.id)).why is Refusal.NOT_FOUND
    assert market.refuse(agreeing(market, "block")).why is Refusal.NOT_FOUND
    assert market.refuse(agreeing(market, "sign-out", operator=market.customer.id)).why is Refusal.NOT_OPERATOR


def test_no_operator_does_it_for_themselves_or_loses_the_factor(market: Market) -> None:
    one, two = "operator.one@example.com", "operator.two@example.com"
    assert market.refuse(asking(market, "unblock", one)).why is Refusal.OWN_REQUEST
    assert market.refuse(asking(market, "remove-factors", two)).why is Refusal.MOVE_NOT_ALLOWED
    market.do(asking(market, "unblock", two))
    assert market.refuse(agreeing(market, "unblock", email=two)).why is Refusal.OWN_REQUEST


def test_an_order_about_who_joins_in_the_same_commit_is_decided_after_it(market: Market) -> None:
    join = AddPerson("new@example.com", "New", "-", "test")
    ask = asking(market, "block", "new@example.com")
    with pytest.raises(KeyError):  # The batch is run again, one command after the other.
        market.fork().together(join, ask)
    person = market.do(join)
    assert market.do(ask).person == person.id
