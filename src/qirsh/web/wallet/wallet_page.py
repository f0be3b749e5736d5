"""The wallet's first page: what there is, what moved last, and what to do next."""

from typing import Final

from qirsh.domain.money import CURRENCIES
from qirsh.domain.tables import Tables
from qirsh.language.identity_reasons import identity_reason
from qirsh.store.reads import account_entries, queries
from qirsh.store.reads.account_entries import read_named_entries
from qirsh.web.html.page_context import PageContext, signed_in
from qirsh.web.html.waiting_payment import find_waiting_payment
from qirsh.web.http.message import Response
from qirsh.web.wallet.transaction_row import rows_of

_LATEST: Final = 5


@signed_in
async def show_wallet(page: PageContext) -> Response:
    """As it stands now."""
    context, number = page.context, page.user.account
    account, person = (
        await context.store.find(Tables.accounts, number),
        await context.store.find(Tables.people, page.person),
    )
    identity = await context.store.find(Tables.identities, page.person)
    assert account is not None, "a session without its account"
    assert person is not None, "a session without its person"
    rows = await context.store.select(queries.AVAILABLE_BALANCES, number)
    balances = [(currency, amount, kept) for currency, amount, kept in rows if amount or kept]
    movements, _ = await read_named_entries(context.store, number, account_entries.newest(None), {}, _LATEST)
    # The currency that moved last stands first.
    balances.sort(key=lambda funds: not movements or funds[0] != movements[0].currency)
    return page.render(
        "wallet/home.html",
        name=person.name,
        account=number,
        state=account.state,
        identity=identity.state if identity else "",
        reason=identity_reason(page.request.language, identity.because, identity.reason) if identity else "",
        balances=balances or [(next(iter(CURRENCIES)), 0, 0)],
        rows=rows_of(context, movements),
        deposit_hint=context.deposit_hint,
        waiting=await find_waiting_payment(page, account, identity),
    )
