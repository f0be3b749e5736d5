"""Who asks, and in which currencies one can ask."""

from qirsh import __version__
from qirsh.contract.timestamps import timestamp
from qirsh.contract.views import CurrencyList, CurrencyView, KeyView, MeView, data
from qirsh.domain.account import Account
from qirsh.domain.money import CURRENCIES
from qirsh.domain.tables import Tables
from qirsh.web.http.context import Context
from qirsh.web.http.message import Request, Response


async def me(context: Context, request: Request) -> Response:
    """The account and the key that asks."""
    caller = request.caller
    assert caller is not None
    account = await context.store.find(Tables.accounts, caller.account)
    key = await context.store.find(Tables.api_keys, caller.key)
    assert account is not None, "a key without its account"
    assert key is not None, "keys never vanish"
    business = await context.store.find(Tables.businesses, account.live_account or account.number)
    assert business is not None, "a commercial account without its business"
    view = MeView(
        account=str(account.number),
        name=account.name,
        state=(await _answering(context, account)).state,
        livemode=caller.is_live,
        returnOrigins=account.return_origins.split(),
        timeZone=business.time_zone or context.time_zone.key,
        defaultExpiresIn=account.expires_in_s,
        key=KeyView(
            key.id,
            key.name,
            key.hint,
            key.scopes.split(),
            timestamp(key.created_at),
            None if key.expires_at is None else timestamp(key.expires_at),
        ),
        serverVersion=__version__,
    )
    return Response(200, data(view))


async def currencies(_context: Context, _request: Request) -> Response:
    """The table of currencies."""
    items = [CurrencyView(currency.code, currency.exponent) for currency in CURRENCIES.values()]
    return Response(200, data(CurrencyList(items)))


async def _answering(context: Context, account: Account) -> Account:
    """The account whose state counts: of a test account, its live one."""
    if account.live_account is None:
        return account
    live = await context.store.find(Tables.accounts, account.live_account)
    assert live is not None, "a test account without its live one"
    return live
