"""Reports of a business for days of its zone: the one way for the API and for pages."""

from datetime import date, timedelta
from zoneinfo import ZoneInfo

from qirsh.domain.report import Report
from qirsh.language.local_time import midnight_ms
from qirsh.store.reads.reports import read_report
from qirsh.web.http.context import Context


def zone_of(context: Context, _account: int) -> ZoneInfo:
    """In which the days of an account begin."""
    return context.time_zone


def days_between(first: date, last: date) -> list[date]:
    """Both included."""
    return [first + timedelta(days=number) for number in range((last - first).days + 1)]


def midnights(days: list[date], zone: ZoneInfo) -> list[int]:
    """When each begins, and when the last one ends."""
    return [midnight_ms(day, zone) for day in (*days, days[-1] + timedelta(days=1))]


async def report_of(context: Context, account: int, currency: str, first: date, last: date) -> Report:
    """Of some days, both included."""
    days = days_between(first, last)
    moments = midnights(days, zone_of(context, account))
    return await read_report(context.store, account, currency, days=days, moments=moments)
