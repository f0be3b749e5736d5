"""What the account holds, and how it came to it."""

from qirsh.contract.timestamps import timestamp
from qirsh.contract.views import BalanceList, BalanceView, TransferPage, TransferView, data, transfer_id
from qirsh.store.reads import account_entries, queries
from qirsh.store.reads.account_entries import Cursor, Entry
from qirsh.web.api.parameters import EntryParameters, moment_ms
from qirsh.web.http.context import Context
from qirsh.web.http.cursor import cursor_of, read_cursor
from qirsh.web.http.message import Request, Response
from qirsh.web.http.query import read


async def balance(context: Context, request: Request) -> Response:
    """What the merchant's account holds."""
    assert request.caller is not None
    return Response(200, data(await balance_list(context, request.caller.account)))


async def balance_list(context: Context, account: int) -> BalanceList:
    """By currency."""
    rows = await context.store.select(queries.BALANCES_OF, account)
    return BalanceList([BalanceView(currency, amount) for currency, amount in rows])


async def transfers(context: Context, request: Request) -> Response:
    """The account's statement, newest first."""
    caller = request.caller
    assert caller is not None
    query = read(EntryParameters, request.query)
    begin, floors = await bounds(context, caller.account, "t", query)
    found, positions = await account_entries.read_entries(context.store, caller.account, begin, floors, query.limit + 1)
    shown = found[: query.limit]
    has_more = len(found) > query.limit
    next_cursor = cursor_of("t", account_entries.cursor_after(positions, shown)) if has_more else None
    return Response(200, data(TransferPage([_view(context, entry) for entry in shown], next_cursor, has_more)))


async def bounds(context: Context, account: int, kind: str, query: EntryParameters) -> tuple[Cursor, Cursor]:
    """Where this page of a list along the account's entries begins in each currency, and where the list ends."""
    after = moment_ms(query.created_after)
    return await account_entries.within(
        context.store,
        account,
        read_cursor(kind, query.cursor, query.currency),
        begin=None if after is None else after + 1,
        end=moment_ms(query.created_before, is_end=True),
    )


def _view(context: Context, entry: Entry) -> TransferView:
    return TransferView(
        id=transfer_id(
            transfer=entry.transfer,
            currency=entry.currency,
            sequence=entry.sequence,
            restores=context.store.instance.restores,
        ),
        kind=entry.kind,
        currency=entry.currency,
        amount=entry.change,
        balance=entry.balance,
        account=str(entry.other),
        paymentId=None if entry.payment is None else context.identifiers.payment_id(entry.payment),
        refundId=entry.refund,
        reference=entry.bank_order,
        createdAt=timestamp(entry.created_at),
    )
