"""Reports of a business for days of its zone: the one way for the API and for pages."""

from datetime import date, timedelta
from zoneinfo import ZoneInfo

from qirsh.domain.report import Report
from qirsh.domain.tables import Tables
from qirsh.language.local_time import midnight_ms
from qirsh.store.reads.reports import read_report
from qirsh.web.http.context import Context


async def zone_of(context: Context, number: int) -> ZoneInfo:
    """In which the days of a merchant's account begin."""
    account = await context.store.find(Tables.accounts, number)
    assert account is not None
    business = await context.store.find(Tables.businesses, account.live_account or account.number)
    assert business is not None, "a commercial account without its business"
    return ZoneInfo(business.time_zone) if business.time_zone else context.time_zone


def days_between(first: date, last: date) -> list[date]:
    """Both included."""
    return [first + timedelta(days=number) for number in range((last - first).days + 1)]


def midnights(days: list[date], zone: ZoneInfo) -> list[int]:
    """When each begins, and when the last one ends."""
    return [midnight_ms(day, zone) for day in (*days, days[-1] + timedelta(days=1))]


async def report_of(
    context: Context, account: int, currency: str, *, first: date, last: date, zone: ZoneInfo
) -> Report:
    """Of some days, both included."""
    days = days_between(first, last)
    return await read_report(context.store, account, currency, days=days, moments=midnights(days, zone))
