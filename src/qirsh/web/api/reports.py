"""What the account took, gave back and paid out in some days, from an opening balance to a closing one."""

from datetime import date

from qirsh.contract.report_views import summary_view
from qirsh.contract.views import data
from qirsh.domain.limits import REPORT_DAYS_MAX
from qirsh.store.reads.totals import TotalsBehind
from qirsh.web.api.parameters import SummaryParameters
from qirsh.web.http.context import Context
from qirsh.web.http.message import Request, Response
from qirsh.web.http.problems import FieldError, Problem
from qirsh.web.http.query import read
from qirsh.web.http.reports import report_of, zone_of


async def summary(context: Context, request: Request) -> Response:
    """Of one currency, for days of the merchant's zone. It is proved against the ledger, or there is none."""
    caller = request.caller
    assert caller is not None
    query = read(SummaryParameters, request.query)
    first, last = date.fromisoformat(query.first), date.fromisoformat(query.last)
    if not 0 <= (last - first).days < REPORT_DAYS_MAX:
        detail = f"Must be `from` or a later day, and make at most {REPORT_DAYS_MAX} days with it."
        raise Problem("validation_failed", errors=[FieldError("to", "out_of_range", detail)])
    zone = await zone_of(context, caller.account)
    try:
        report = await report_of(context, caller.account, query.currency, first=first, last=last, zone=zone)
    except TotalsBehind:
        detail = "The transfers of the account are still being counted. Try again in a minute."
        raise Problem("unavailable", detail=detail) from None
    if not report.is_proved:
        detail = "The totals of these days do not agree with the ledger, and are counted again. Try again in a minute."
        raise Problem("unavailable", detail=detail)
    return Response(200, data(summary_view(report, time_zone=zone.key, is_live=caller.is_live)))
