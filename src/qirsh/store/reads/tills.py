"""The tills of an account, as SQL that both engines speak."""

# Every part of every query is a constant of this file or of the domain.
# ruff: noqa: S608

from typing import Final

from qirsh.domain.limits import TILLS_OPEN_MAX
from qirsh.domain.payment import Payment
from qirsh.domain.tables import Tables
from qirsh.domain.till import Till, till_named_in
from qirsh.store.interface import Query, Store

_COLUMNS: Final = ", ".join(Till.__struct_fields__)
_OPEN: Final = Query(
    f"SELECT {_COLUMNS} FROM till WHERE account = $1 AND closed_at IS NULL ORDER BY created_at, id LIMIT $2"
)
_CLOSED: Final = Query(
    f"SELECT {_COLUMNS} FROM till WHERE account = $1 AND closed_at IS NOT NULL"
    " ORDER BY closed_at DESC, created_at DESC, id DESC LIMIT $2"
)
_CLOSED_SHOWN_MAX: Final = 20  # Somebody may open and close them all day: the latest are those that are missed.


async def tills_of(store: Store, account: int) -> list[Till]:
    """The open ones in the order in which they were opened, then those that were closed last."""
    opened = await store.select(_OPEN, account, TILLS_OPEN_MAX)
    closed = await store.select(_CLOSED, account, _CLOSED_SHOWN_MAX)
    return [Till(*row) for row in (*opened, *closed)]


async def till_of_payment(store: Store, payment: Payment) -> Till | None:
    """The one that it was made at. That of another account is like none."""
    named = till_named_in(payment.metadata)
    found = await store.find(Tables.tills, named) if named else None
    return found if found is not None and found.account == payment.merchant else None
