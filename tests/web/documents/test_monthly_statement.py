"""A monthly statement of a business on paper: one page, every day, and nothing that the ledger does not agree with."""

import io
from datetime import date, timedelta
from typing import Any, Final

import msgspec
import pytest
from pypdf import PdfReader

from qirsh.domain.limits import BALANCE_MAX
from qirsh.domain.report import Report, ReportDay
from qirsh.domain.total import Sums
from qirsh.language.catalog import LANGUAGES
from qirsh.language.figures import date_name
from qirsh.language.local_time import UTC_ZONE
from qirsh.web.documents.monthly_statement import MonthlyStatement
from qirsh.web.documents.pdf import monthly_statement_pdf
from tests.web.papers import NAMES, NEW_YEAR

FIRST: Final = date(2026, 1, 1)


def report(opening: int = 0) -> Report:
    """Of January: each day takes, gives back and pays out a little."""
    days, held = [], opening
    for number in range(31):
        sums = Sums(taken=100 * number, refunded=number, paid_out=number, taken_count=number, refunded_count=1)
        days.append(ReportDay(FIRST + timedelta(days=number), opening=held, sums=sums, closing=held + sums.net))
        held += sums.net
    total = Sums(*(sum(getattr(day.sums, name) for day in days) for name in Sums.__struct_fields__))
    return Report(7, "USD", tuple(days), opening=opening, sums=total, closing=held, faults=())


def statement(of: Report, **changes: Any) -> MonthlyStatement:  # noqa: ANN401 - the fields of the record
    fields: dict[str, Any] = {
        "service_name": "Qirsh",
        "holder": "Damascus Books",
        "account": "482711903356",
        "report": of,
        "time_zone": UTC_ZONE,
        "made_at": NEW_YEAR,
    }
    return MonthlyStatement(**fields | changes)


def text_of(made: MonthlyStatement, code: str) -> str:
    [page] = PdfReader(io.BytesIO(monthly_statement_pdf(made, code))).pages
    return page.extract_text().replace("\u200b", "").replace("\u00a0", " ")


@pytest.mark.parametrize("code", LANGUAGES)
@pytest.mark.parametrize("name", ["ش" * 100, "W" * 100, *(pytest.param(one, marks=pytest.mark.slow) for one in NAMES)])
def test_the_longest_month_of_the_richest_shop_is_one_page(code: str, name: str) -> None:
    rich = report(BALANCE_MAX - 10**6)
    text = text_of(statement(rich, holder=name, is_test=True, is_so_far=True), code)
    assert "4827 1190 3356" in text


def test_it_tells_who_when_how_much_by_day_and_that_it_was_checked() -> None:
    made = report(500)
    text = text_of(statement(made), "en")
    for told in (
        "Monthly statement",
        "Damascus Books",
        "1 January 2026 to 31 January 2026 (UTC)",
        "both balances agree",
    ):
        assert told in text
    assert "Opening balance 5.00" in text
    assert "Taken 465 +465.00" in text
    assert "Closing balance 460.70" in text
    assert "Made on 1 January 2026, 00:00 UTC" in text
    for each in made.days:
        assert date_name(each.day, "en") in text
    assert "So far" not in text
    assert "Test money" not in text


DAY: Final = report().days[3]


@pytest.mark.parametrize(
    "changes",
    [
        {"faults": ("totals say otherwise",)},
        {"closing": 1},
        {"opening": 1},
        {"days": report().days[1:-1]},
        {"days": (*report().days[:3], msgspec.structs.replace(DAY, closing=DAY.closing + 1), *report().days[4:])},
    ],
)
def test_what_does_not_add_up_or_is_not_proved_is_not_made(changes: dict[str, Any]) -> None:
    statement(report())
    with pytest.raises(ValueError, match=r"ledger|balance|days"):
        statement(msgspec.structs.replace(report(), **changes))
