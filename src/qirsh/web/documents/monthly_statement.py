"""A monthly statement of a business as a record: what its report says of a month, proved. Else it cannot be made."""

from itertools import pairwise
from zoneinfo import ZoneInfo

import msgspec

from qirsh.domain.report import Report


class MonthlyStatement(msgspec.Struct, frozen=True, kw_only=True):
    """Days of one month of a zone, in one currency."""

    service_name: str
    holder: str
    account: str
    report: Report
    time_zone: ZoneInfo
    made_at: int
    is_test: bool = False
    is_so_far: bool = False  # The month is not over.

    def __post_init__(self) -> None:
        report = self.report
        if not report.is_proved:
            raise ValueError("the ledger does not agree with it")
        if report.opening + report.sums.net != report.closing:
            raise ValueError("the opening balance and what moved do not make the closing balance")
        edges = [(report.opening, report.opening), *((day.opening, day.closing) for day in report.days)]
        is_whole = all(before[1] == after[0] for before, after in pairwise(edges)) and edges[-1][1] == report.closing
        if not is_whole or any(day.opening + day.sums.net != day.closing for day in report.days):
            raise ValueError("its days do not follow each other")
