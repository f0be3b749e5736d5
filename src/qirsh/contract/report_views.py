"""The shapes of reports, as the merchant's server sees them."""

import msgspec

from qirsh.domain.report import Report


class SummaryView(msgspec.Struct):
    """From an opening balance to a closing one: `opening` + `taken` - ... + `corrected` = `closing`."""

    currency: str
    first: str = msgspec.field(name="from")
    last: str = msgspec.field(name="to")
    timeZone: str  # noqa: N815 - the name in JSON
    opening: int
    taken: int
    refunded: int
    fees: int
    paidOut: int  # noqa: N815
    paidIn: int  # noqa: N815
    corrected: int
    closing: int
    takenCount: int  # noqa: N815
    refundedCount: int  # noqa: N815
    feesCount: int  # noqa: N815
    paidOutCount: int  # noqa: N815
    paidInCount: int  # noqa: N815
    correctedCount: int  # noqa: N815
    livemode: bool


def summary_view(report: Report, *, time_zone: str, is_live: bool) -> SummaryView:
    """Of a report that is proved."""
    assert report.is_proved
    sums = report.sums
    return SummaryView(
        currency=report.currency,
        first=report.days[0].day.isoformat(),
        last=report.days[-1].day.isoformat(),
        timeZone=time_zone,
        opening=report.opening,
        taken=sums.taken,
        refunded=sums.refunded,
        fees=sums.fees,
        paidOut=sums.paid_out,
        paidIn=sums.paid_in,
        corrected=sums.corrected,
        closing=report.closing,
        takenCount=sums.taken_count,
        refundedCount=sums.refunded_count,
        feesCount=sums.fees_count,
        paidOutCount=sums.paid_out_count,
        paidInCount=sums.paid_in_count,
        correctedCount=sums.corrected_count,
        livemode=is_live,
    )
