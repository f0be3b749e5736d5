"""The list of a merchant's payments: by when they were created, or by when they were paid."""

from qirsh.contract.views import PaymentPage, data, payment_view
from qirsh.store.reads.payment_search import END_OF_TIME, PaymentFilter
from qirsh.web.api.parameters import PaymentParameters, moment_ms
from qirsh.web.http import payments
from qirsh.web.http.context import Context
from qirsh.web.http.message import Request, Response
from qirsh.web.http.payment_query import narrow_by_query, read_payment_query
from qirsh.web.http.query import read


async def list_payments(context: Context, request: Request) -> Response:
    """One page."""
    caller = request.caller
    assert caller is not None
    query = read(PaymentParameters, request.query)
    created_after, created_before = moment_ms(query.created_after), moment_ms(query.created_before, is_end=True)
    wanted = PaymentFilter(
        merchant=caller.account,
        status=query.status,
        currency=query.currency,
        reference=query.reference,
        created_after=-1 if created_after is None else created_after,
        created_before=END_OF_TIME if created_before is None else created_before,
        metadata=tuple(query.metadata.items()),
    )
    if query.q is not None:
        asked = read_payment_query(query.q, context.identifiers, may_see_payers=True)
        narrowed = await narrow_by_query(context, asked, wanted)
        if narrowed is None:
            return Response(200, data(PaymentPage([], nextCursor=None, hasMore=False)))
        wanted = narrowed
    found, next_cursor = await payments.list_payments(
        context,
        wanted,
        paid_after=moment_ms(query.paid_after),
        paid_before=moment_ms(query.paid_before, is_end=True),
        cursor=query.cursor,
        limit=query.limit,
    )
    identifiers, base_url, is_live = context.identifiers, context.base_url, caller.is_live
    items = [
        payment_view(payment, identifiers.payment_id(payment.number), base_url=base_url, is_live=is_live)
        for payment in found
    ]
    return Response(200, data(PaymentPage(items, next_cursor, next_cursor is not None)))
