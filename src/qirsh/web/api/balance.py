"""What the account holds, and how it came to it."""

from qirsh.domain.money import CURRENCIES
from qirsh.store import queries, statement
from qirsh.store.statement import Entry, Places
from qirsh.web.api import parameters
from qirsh.web.api.cursor import cursor, parts_of
from qirsh.web.api.parameters import TransferParameters
from qirsh.web.api.views import BalanceList, BalanceView, TransferPage, TransferView, data, moment
from qirsh.web.http import Request, Response
from qirsh.web.parts import Parts


async def balance(parts: Parts, request: Request) -> Response:
    """What the merchant's account holds."""
    assert request.caller is not None
    return Response(200, data(await balance_list(parts, request.caller.account)))


async def balance_list(parts: Parts, account: int) -> BalanceList:
    """By currency."""
    rows = await parts.store.select(queries.BALANCES_OF, account)
    return BalanceList([BalanceView(currency, amount) for currency, amount in rows])


async def transfers(parts: Parts, request: Request) -> Response:
    """The account's statement, newest first."""
    caller = request.caller
    assert caller is not None
    asked = parameters.read(TransferParameters, request.query)
    places = places_of("t", asked.cursor, asked.currency)
    found = await statement.read_statement(parts.store, caller.account, places, asked.limit + 1)
    shown = found[: asked.limit]
    has_more = len(found) > asked.limit
    next_cursor = cursor_of("t", statement.after(places, shown)) if has_more else None
    return Response(200, data(TransferPage([_view(parts, entry) for entry in shown], next_cursor, has_more)))


def places_of(kind: str, text: str | None, currency: str | None) -> Places:
    """Where the list begins: at a cursor, or at the top."""
    places = statement.from_the_top(currency)
    if text is not None:
        places = {
            code: place
            for code, place in zip(CURRENCIES, parts_of(text, kind, len(CURRENCIES)), strict=True)
            if code in places
        }
    return places


def cursor_of(kind: str, places: Places) -> str:
    """A place for each currency, in the order of the table."""
    return cursor(kind, *(places.get(code, 0) for code in CURRENCIES))


def _view(parts: Parts, entry: Entry) -> TransferView:
    return TransferView(
        f"tr_{entry.currency}_{entry.sequence}",
        entry.kind,
        entry.currency,
        entry.change,
        entry.balance,
        str(entry.other),
        None if entry.payment is None else parts.identifiers.payment_id(entry.payment),
        entry.cash_order,
        moment(entry.created_at),
    )
