"""Wrong codes after a right password: told after some, and in the end the password is good for nothing."""

import pytest

from qirsh.domain.commands.login_credentials import ChangePassword, CountWrongCode, ResetPassword, SetSecondFactor
from qirsh.domain.commands.session import OpenSession, UseLoginCode
from qirsh.domain.limits import WRONG_CODES_MAX, WRONG_CODES_TOLD
from qirsh.domain.mail import Letter
from qirsh.domain.refusal import Refusal, Refused
from tests.domain.market import Market
from tests.domain.people_cases import EMAIL, TOKEN, challenge, passkey


@pytest.fixture
def market() -> Market:
    market = Market()
    market.do(SetSecondFactor(EMAIL, market.customer.id, b"seed", 5, b"r" * 32, ()))
    return market


def wrong(market: Market) -> CountWrongCode:
    return CountWrongCode(EMAIL, market.customer.id, "-", (), ())


def opening(market: Market, step: int, passkey: bytes = b"") -> OpenSession:
    person, account = market.customer.id, market.customer.account
    return OpenSession(bytes([step]) * 32, person, account, "test", "", EMAIL, "-", step, passkey=passkey)


def spend(market: Market) -> None:
    market.together(*[wrong(market)] * WRONG_CODES_MAX)


def test_some_are_told_of_and_the_last_one_ends_the_password(market: Market) -> None:
    for number in range(1, WRONG_CODES_MAX + 3):
        letters = (Letter(f"warning {number}", b""),), (Letter(f"ending {number}", b""),)
        told = market.do(CountWrongCode(EMAIL, market.customer.id, "-", *letters))
        assert told == min(number, WRONG_CODES_MAX)
    assert set(market.mails) == {f"warning {WRONG_CODES_TOLD}", f"ending {WRONG_CODES_MAX}"}
    assert [entry.action for entry in market.audit].count("password.spent") == 1


def test_a_spent_password_opens_nothing_with_the_right_code(market: Market) -> None:
    market.together(*[wrong(market)] * (WRONG_CODES_MAX - 1))
    last, opened = market.together(wrong(market), opening(market, 6))
    assert (last, opened) == (WRONG_CODES_MAX, Refused(Refusal.PASSWORD_SPENT))
    assert market.refuse(UseLoginCode(market.customer.id, EMAIL, "-", 7, b"")).why is Refusal.PASSWORD_SPENT
    assert market.refuse(UseLoginCode(market.customer.id, EMAIL, "-", 0, b"r" * 32)).why is Refusal.PASSWORD_SPENT


def test_a_passkey_opens_all_the_same(market: Market) -> None:
    spend(market)
    market.do(opening(market, 6, passkey(market)))


@pytest.mark.parametrize("way", ["reset", "change"])
def test_a_new_password_begins_anew(market: Market, way: str) -> None:
    spend(market)
    if way == "reset":
        challenge(market, "reset")
        market.do(ResetPassword(EMAIL, TOKEN, "-", ()))
    else:
        market.do(ChangePassword(EMAIL, market.customer.id, "-", ()))
    assert market.logins[EMAIL].wrong_codes == 0
    market.do(opening(market, 6))


@pytest.mark.parametrize(
    "proof", [{"totp_step": 6, "recovery_hash": b""}, {"totp_step": 0, "recovery_hash": b"r" * 32}]
)
def test_a_right_code_forgives_the_wrong_ones_before_it(market: Market, proof: dict[str, int | bytes]) -> None:
    market.together(*[wrong(market)] * (WRONG_CODES_MAX - 1))
    market.do(UseLoginCode(market.customer.id, EMAIL, "-", **proof))  # type: ignore[arg-type]
    assert market.logins[EMAIL].wrong_codes == 0


def test_codes_after_a_password_that_was_changed_meanwhile_do_not_count(market: Market) -> None:
    market.do(ChangePassword(EMAIL, market.customer.id, "new", ()))
    assert market.refuse(wrong(market)).why is Refusal.NOT_FOUND
    assert market.logins[EMAIL].wrong_codes == 0


def test_without_a_second_factor_nothing_is_spent(market: Market) -> None:
    market.do(SetSecondFactor(EMAIL, market.customer.id, None, 5, b"", (), b"seed"))
    spend(market)
    market.do(opening(market, 6))
