"""Events: what each tells."""

import pytest

from qirsh.domain import event
from qirsh.domain.payment import Status, moved
from tests.domain.market import Market


@pytest.mark.parametrize("to", ["paid", "cancelled", "expired"])
def test_an_event_tells_what_changed_and_when(to: Status) -> None:
    changed = moved(Market().create(), to, 5000, payer=None)
    assert event.of_change(changed, sequence=3, epoch=2) == event.Event(
        account=changed.merchant,
        sequence=3,
        epoch=2,
        type=f"remote_payment.{to}",
        payment=changed.number,
        version=2,
        created_at=5000,
    )


def test_every_move_of_a_payment_has_a_type_and_no_type_is_without_its_move() -> None:
    assert sorted(event.TYPES) == ["remote_payment.cancelled", "remote_payment.expired", "remote_payment.paid"]
