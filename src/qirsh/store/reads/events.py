"""Events as they are told: with their payment as it was then, whether somebody pulls them or they are sent."""

from typing import Any, Final

from qirsh.domain.event import ToldEvent
from qirsh.domain.payment import Payment, at_version
from qirsh.domain.refund import Refund
from qirsh.store.interface import Query, Store
from qirsh.store.reads.bisect_by_time import last_before

_OF_EVENT: Final = 6  # Columns before those of the payment.
_OF_PAYMENT: Final = _OF_EVENT + len(Payment.__struct_fields__)

# Events with their payment as it is now, what had been refunded of it then, and the refund that some tell of.
_EVENT_ROWS: Final = (
    "SELECT e.sequence, e.epoch, e.type, e.version, e.created_at,"  # noqa: S608 - our own names
    " CAST((SELECT coalesce(sum(s.amount), 0) FROM refund s WHERE s.payment = e.payment AND s.version <= e.version)"
    f" AS BIGINT), {', '.join(f'p.{name}' for name in Payment.__struct_fields__)},"
    f" {', '.join(f'r.{name}' for name in Refund.__struct_fields__)}"
    " FROM event e JOIN payment p ON p.number = e.payment"
    " LEFT JOIN refund r ON r.payment = e.payment AND r.version = e.version"
    " WHERE e.account = $1"
)
EVENTS_AFTER: Final = Query(f"{_EVENT_ROWS} AND e.sequence > $2 ORDER BY e.sequence LIMIT $3")
EVENTS_OF_TYPE: Final = Query(
    f"{_EVENT_ROWS} AND e.sequence > $2 AND e.sequence <= $3 AND e.type = $4 ORDER BY e.sequence LIMIT $5"
)
EVENT: Final = Query(f"{_EVENT_ROWS} AND e.sequence = $2 AND e.epoch = $3")
EVENT_PAYMENT: Final = Query("SELECT payment FROM event WHERE account = $1 AND sequence = $2 AND epoch = $3")
EVENT_EPOCH: Final = Query("SELECT epoch FROM event WHERE account = $1 AND sequence = $2")
EVENT_UP_TO: Final = Query(
    "SELECT sequence FROM event WHERE account = $1 AND sequence <= $2 AND epoch <= $3 ORDER BY sequence DESC LIMIT 1"
)
EVENT_TIME: Final = Query("SELECT created_at FROM event WHERE account = $1 AND sequence = $2")
LAST_EVENT: Final = Query("SELECT last FROM event_counter WHERE account = $1")


async def last_sequence(store: Store, account: int) -> int:
    """The number of the account's last event; 0 before the first. By a key: it may be asked often."""
    [(last,)] = await store.select(LAST_EVENT, account) or [(0,)]
    found: int = last
    return found


async def first_since(store: Store, account: int, moment: int, last: int) -> int:
    """The number of the first event that happened at the moment or later; one after the last if none did."""

    async def time_of(sequence: int) -> int:
        [(created_at,)] = await store.select(EVENT_TIME, account, sequence)
        found: int = created_at
        return found

    if not last or await time_of(1) >= moment:  # Mostly this look ends it.
        return 1
    return await last_before(moment, last, time_of) + 1


def told_event(account: int, row: tuple[Any, ...]) -> ToldEvent:
    """From a row of the queries above that begin with an event."""
    sequence, epoch, kind, version, created_at, refunded = row[:_OF_EVENT]
    payment = at_version(
        Payment(*row[_OF_EVENT:_OF_PAYMENT]), version=version, updated_at=created_at, refunded_amount=refunded
    )
    refund = None if row[_OF_PAYMENT] is None else Refund(*row[_OF_PAYMENT:])
    return ToldEvent(
        account=account,
        sequence=sequence,
        epoch=epoch,
        type=kind,
        created_at=created_at,
        payment=payment,
        refund=refund,
    )
