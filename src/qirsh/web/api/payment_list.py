"""The list of a merchant's payments: by when they were created, or by when they were paid."""

from qirsh.contract.timestamps import milliseconds
from qirsh.contract.views import PaymentPage, data, payment_view
from qirsh.store.reads.payment_search import END_OF_TIME, PaymentFilter
from qirsh.web.api.parameters import PaymentParameters
from qirsh.web.http import payments
from qirsh.web.http.context import Context
from qirsh.web.http.message import Request, Response
from qirsh.web.http.query import read


async def list_payments(context: Context, request: Request) -> Response:
    """One page."""
    caller = request.caller
    assert caller is not None
    query = read(PaymentParameters, request.query)
    wanted = PaymentFilter(
        merchant=caller.account,
        status=query.status,
        currency=query.currency,
        reference=query.reference,
        created_after=-1 if query.created_after is None else _time(query.created_after),
        created_before=END_OF_TIME if query.created_before is None else _time(query.created_before, is_end=True),
        metadata=tuple(query.metadata.items()),
    )
    paid_after = None if query.paid_after is None else _time(query.paid_after)
    found, next_cursor = await payments.list_payments(
        context, wanted, paid_after=paid_after, cursor=query.cursor, limit=query.limit
    )
    identifiers, base_url, is_live = context.identifiers, context.base_url, caller.is_live
    items = [
        payment_view(payment, identifiers.payment_id(payment.number), base_url=base_url, is_live=is_live)
        for payment in found
    ]
    return Response(200, data(PaymentPage(items, next_cursor, next_cursor is not None)))


def _time(text: str, *, is_end: bool = False) -> int:
    time = milliseconds(text, is_end=is_end)
    assert time is not None, "it was checked when it was read"
    return time
