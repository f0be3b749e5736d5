"""A business is told of a month's statement once, and never of an earlier month again."""

from datetime import date

from qirsh.domain.commands.account import MoveAccount
from qirsh.domain.commands.statement import AnnounceStatement
from qirsh.domain.mail import Letter
from qirsh.domain.statement_notice import StatementNotice, month_before, month_number
from tests.domain.market import Market
from tests.each import each


def announcing(market: Market, month: int, account: int | None = None) -> AnnounceStatement:
    return AnnounceStatement(account or market.shop, month, (Letter(f"{month} {len(market.mails)}", b"sealed"),))


def test_each_month_is_told_once_and_months_go_on() -> None:
    market = Market()
    told = [market.do(announcing(market, month)) for month in (202611, 202611, 202610, 202701)]
    assert told == [True, False, False, True]
    assert list(market.mails) == ["202611 0", "202701 1"]
    assert market.statement_notices == {market.shop: StatementNotice(market.shop, 202701)}


def test_nobody_else_is_told() -> None:
    market = Market()
    for account in (market.till, market.house, market.customer.account, 404):
        assert market.do(announcing(market, 202611, account)) is False
    market.do(MoveAccount(market.shop, "suspended", market.first.id, "", "test"))
    assert market.do(announcing(market, 202611)) is False
    assert market.mails == {}


@each(
    ("day", "before", "number"),
    [
        (date(2027, 1, 31), date(2026, 12, 1), 202701),
        (date(2028, 3, 1), date(2028, 2, 1), 202803),
        (date(2026, 12, 31), date(2026, 11, 1), 202612),
    ],
)
def test_months_are_numbers_that_grow(day: date, before: date, number: int) -> None:
    assert (month_before(day), month_number(day)) == (before, number)
