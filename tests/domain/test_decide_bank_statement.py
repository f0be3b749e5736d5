"""Files of the bank: lines are kept once, count while a file that has them is imported, and show one order each."""

import msgspec

from qirsh.domain.bank_statement import BankMatch, line_digest
from qirsh.domain.commands.bank_statement import (
    FinishBankStatement,
    MatchBankLines,
    Pair,
    SetBankFormat,
    UnmatchBankLine,
)
from qirsh.domain.limits import BANK_LOADING_MS
from qirsh.domain.refusal import Refusal
from tests.domain.bank_cases import (
    FEE,
    LINES,
    OTHER,
    SLIP,
    adding,
    beginning,
    imported,
    matching,
    removing,
    undoing,
)
from tests.domain.bank_wish import equal_lines
from tests.domain.market import HELD, Market


def line_of(market: Market, line=SLIP):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201 - as it is kept
    return market.bank_lines[market.house, line_digest(line)]


def test_a_file_counts_when_all_its_lines_are_there() -> None:
    market = Market()
    market.do(beginning(market))
    assert market.do(adding(market, SLIP, OTHER)) == 2
    finish = FinishBankStatement("bs_1", market.first.id, "test")
    assert market.refuse(finish).why is Refusal.MOVE_NOT_ALLOWED
    assert market.do(adding(market, SLIP, OTHER)) == 0, "sent again"
    assert market.do(adding(market, FEE)) == 1
    assert market.do(finish).state == "imported"
    assert market.do(finish) == market.bank_statements["bs_1"]
    assert market.bank_statements["bs_1"].stored == 3
    assert market.refuse(adding(market, SLIP)).why is Refusal.MOVE_NOT_ALLOWED


def test_lines_that_two_files_have_are_kept_once_and_go_with_the_last_of_them() -> None:
    market = Market()
    imported(market)
    imported(market, OTHER, FEE, *equal_lines(FEE, 2)[1:], statement="bs_2")
    assert len(market.bank_lines) == 4
    assert [line_of(market, line).files for line in LINES] == [1, 2, 2]
    market.do(undoing(market))
    market.do(removing(market))
    assert {line.reference or line.amount for line in market.bank_lines.values()} == {HELD, -250}
    assert [line_of(market, line).files for line in (OTHER, FEE)] == [1, 1]
    assert market.bank_statements["bs_1"].stored == 0
    assert market.refuse(undoing(market)).why is Refusal.ALREADY_DECIDED


def test_two_equal_lines_of_one_file_are_two() -> None:
    first, second = equal_lines(SLIP, 2)
    assert line_digest(first) == line_digest(msgspec.structs.replace(SLIP, number=99))
    assert line_digest(first) != line_digest(second)


def test_an_undone_file_takes_its_matches_back_with_an_audit_entry() -> None:
    market = Market()
    imported(market)
    market.do(matching(market))
    market.do(undoing(market))
    assert market.do(removing(market)) == 1
    assert market.bank_matches == {}
    assert market.bank_lines == {}
    assert market.audit[-1].action == "bank_line.unmatched"
    assert market.audit[-1].detail == "bs_1, 1: slip 0"


def test_a_match_stays_while_another_file_that_counts_has_the_line() -> None:
    market = Market()
    for statement in ("bs_1", "bs_2"):
        imported(market, statement=statement)
    market.do(matching(market))
    market.do(undoing(market))
    assert market.do(removing(market, other="bs_2")) == 0
    assert line_of(market).matched == "slip 0"
    # One that only says so does not count.
    market.do(undoing(market, "bs_2"))
    assert market.do(removing(market, statement="bs_2", other="bs_1")) == 1


def test_a_line_that_was_matched_since_it_was_looked_at_is_looked_at_again() -> None:
    market = Market()
    imported(market)
    early = removing(market)
    market.do(matching(market))
    market.do(undoing(market))
    assert market.do(early) == 0
    assert line_of(market).matched == "slip 0"
    assert market.bank_statements["bs_1"].stored == 1
    assert market.do(removing(market)) == 1


def test_a_match_moves_no_money_and_can_be_taken_back() -> None:
    market = Market()
    imported(market)
    transfers, balances = list(market.transfers), dict(market.balances)
    done = market.do(matching(market, OTHER, "slip 1"))
    assert done == BankMatch(market.house, "slip 1", line_digest(OTHER), market.first.id, market.now, "hand")
    assert market.do(matching(market, OTHER, "slip 1")) == done, "the same form twice is one match"
    assert (market.transfers, market.balances) == (transfers, balances)
    back = UnmatchBankLine(market.house, "slip 1", line_digest(OTHER), market.first.id, "test")
    market.do(back)
    assert (market.bank_matches, line_of(market, OTHER).matched) == ({}, None)
    assert market.refuse(back).why is Refusal.NOT_FOUND


def test_one_line_shows_one_order_and_one_order_is_shown_by_one_line() -> None:
    market = Market()
    first, second = equal_lines(SLIP, 2)
    imported(market, first, second)
    market.do(matching(market, first, "slip 0"))
    assert market.refuse(matching(market, second, "slip 0")).why is Refusal.ALREADY_MATCHED
    assert market.refuse(matching(market, first, "slip 2")).why is Refusal.ALREADY_MATCHED
    market.do(matching(market, second, "slip 2"))


def test_amount_currency_and_direction_must_be_the_same() -> None:
    market = Market()
    wrong = (
        msgspec.structs.replace(SLIP, amount=HELD + 1),
        msgspec.structs.replace(SLIP, amount=-HELD),
        msgspec.structs.replace(SLIP, currency="TRY"),
    )
    imported(market, *(msgspec.structs.replace(line, number=place) for place, line in enumerate(wrong, 1)))
    for line in wrong:
        assert market.refuse(matching(market, line, "slip 0")).why is Refusal.LINE_DIFFERS
    pairs = tuple(Pair(line_digest(line), "bs_1", "slip 0") for line in wrong)
    assert market.do(MatchBankLines(market.house, pairs, market.first.id, "test")) == 0


def test_many_are_matched_by_their_reference_only_and_each_once() -> None:
    market = Market()
    first, second = equal_lines(SLIP, 2)
    imported(market, first, second, OTHER)
    pairs = (
        *(Pair(line_digest(line), "bs_1", "slip 0") for line in (first, second)),
        Pair(line_digest(OTHER), "bs_1", "slip 1"),
        Pair(line_digest(OTHER), "bs_404", "slip 1"),
    )
    assert market.do(MatchBankLines(market.house, pairs, market.first.id, "test")) == 1
    assert market.bank_matches[market.house, "slip 0"].how == "auto"
    assert market.audit[-1].detail == "1 by their references"


def test_lines_of_a_file_that_does_not_count_are_not_matched() -> None:
    market = Market()
    market.do(beginning(market))
    market.do(adding(market, *LINES))
    assert market.refuse(matching(market)).why is Refusal.NOT_FOUND
    market.now += BANK_LOADING_MS
    market.do(undoing(market))
    assert market.refuse(matching(market)).why is Refusal.NOT_FOUND


def test_a_file_is_not_taken_back_while_it_is_being_imported() -> None:
    market = Market()
    market.do(beginning(market))
    market.do(adding(market, SLIP))
    market.now += BANK_LOADING_MS - 1
    assert market.refuse(undoing(market)).why is Refusal.MOVE_NOT_ALLOWED
    market.now += 1
    assert market.do(undoing(market)).state == "undone"


def test_an_account_that_no_bank_knows_of_has_no_statements() -> None:
    market = Market()
    house = market.open_house("corrections")
    for command in (SetBankFormat(house, "{}", market.first.id, "test"), beginning(market, house=house)):
        assert market.refuse(command).why is Refusal.NOT_FOUND


def test_a_statement_under_the_same_id_is_the_same_or_none() -> None:
    market = Market()
    begun = market.do(beginning(market))
    assert market.do(beginning(market)) == begun
    assert market.refuse(beginning(market, digest=b"x" * 32)).why is Refusal.NOT_FOUND
