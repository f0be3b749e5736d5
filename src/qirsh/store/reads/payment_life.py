"""What happened to one payment, and who did it by hand, as SQL that both engines speak."""

from typing import Final

import msgspec

from qirsh.domain.event import Event
from qirsh.domain.limits import REFUNDS_MAX
from qirsh.domain.payment import Payment
from qirsh.domain.payment_attempt import PaymentAttempt
from qirsh.domain.refund import Refund
from qirsh.store.interface import Query, Store
from qirsh.store.reads.payment_attempts import attempts_of
from qirsh.store.reads.queries import REFUNDS_OF

_ACTS: Final = Query(
    "SELECT a.version, p.name FROM payment_act a JOIN person p ON p.id = a.person WHERE a.payment = $1"
    " ORDER BY a.version"
)
_EVENTS: Final = Query(
    f"SELECT {', '.join(Event.__struct_fields__)} FROM event WHERE payment = $1 AND account = $2 ORDER BY version"  # noqa: S608 - our own names
)
# As the merchant sees them. Two queries, since each kind has an index of its own.
_PAID: Final = Query(
    "SELECT kind, amount, credit_balance, created_at FROM transfer WHERE payment = $1 AND kind = 'pay'"
)
_REFUNDED: Final = Query(
    "SELECT kind, -amount, debit_balance, created_at FROM transfer WHERE payment = $1 AND kind = 'refund'"
    " ORDER BY debit_sequence"
)


class LedgerLine(msgspec.Struct, frozen=True):
    """One transfer of a payment, and what its merchant held after it."""

    kind: str
    change: int
    balance: int
    at: int


class PaymentLife(msgspec.Struct, frozen=True):
    """All that is known of it."""

    refunds: list[Refund]
    acts: dict[int, str]  # Who of the staff brought it to a version by hand. An erased person has no name.
    events: list[Event]
    transfers: list[LedgerLine]
    attempts: list[PaymentAttempt]  # Those that failed, as far as they were noted and are kept.


async def life_of(store: Store, payment: Payment) -> PaymentLife:
    """In the order in which it happened."""
    refunds = await store.select(REFUNDS_OF, payment.number, 0, REFUNDS_MAX)
    transfers = [*await store.select(_PAID, payment.number), *await store.select(_REFUNDED, payment.number)]
    return PaymentLife(
        refunds=[Refund(*row) for row in refunds],
        acts=dict(await store.select(_ACTS, payment.number)),
        events=[Event(*row) for row in await store.select(_EVENTS, payment.number, payment.merchant)],
        transfers=[LedgerLine(*row) for row in transfers],
        attempts=await attempts_of(store, payment.number),
    )
