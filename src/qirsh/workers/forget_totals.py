"""Removes totals that are wrong, from the end: what is left is right, and the totaler goes on from there."""

from typing import Final

from qirsh.domain.commands.total import ForgetTotals
from qirsh.domain.limits import TOTAL_ROWS_AT_ONCE
from qirsh.engine.batcher import Engine
from qirsh.store.interface import Query, Store

_QUARTERS_FROM: Final = Query(
    "SELECT quarter FROM account_total WHERE account = $1 AND currency = $2 AND quarter >= $3"
    " ORDER BY quarter DESC LIMIT $4"
)


async def forget_totals(store: Store, engine: Engine, account: int, currency: str, quarter: int) -> None:
    """Those of a quarter hour and all later ones."""
    while rows := await store.search(_QUARTERS_FROM, account, currency, quarter, TOTAL_ROWS_AT_ONCE):
        await engine.submit(ForgetTotals(account, currency, tuple(found for (found,) in rows)))
