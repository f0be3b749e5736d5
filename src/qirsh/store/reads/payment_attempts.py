"""Tries to pay that failed, as SQL that both engines speak."""

from typing import Final

from qirsh.domain.limits import ATTEMPTS_OF_PAYMENT_MAX
from qirsh.domain.payment_attempt import PaymentAttempt
from qirsh.store.interface import Query, Store

_OF_PAYMENT: Final = Query(
    f"SELECT {', '.join(PaymentAttempt.__struct_fields__)} FROM payment_attempt"  # noqa: S608 - our own names
    " WHERE payment = $1 ORDER BY at, place LIMIT $2"
)
OLD_ATTEMPTS: Final = Query("SELECT payment, place FROM payment_attempt WHERE at < $1 ORDER BY at LIMIT $2")


async def attempts_of(store: Store, payment: int) -> list[PaymentAttempt]:
    """Those of a payment that are kept, in the order in which they happened."""
    return [PaymentAttempt(*row) for row in await store.select(_OF_PAYMENT, payment, ATTEMPTS_OF_PAYMENT_MAX)]
