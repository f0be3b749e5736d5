"""One endpoint as the sender works for it: what it may try, and when."""

import asyncio
from typing import Final

import msgspec
import pytest

from qirsh.domain.limits import WEBHOOK_FAILURES_MAX
from qirsh.domain.webhook import WebhookQueue
from qirsh.workers.webhook_lane import Lane, Try
from qirsh.workers.webhook_pace import Floor
from qirsh.workers.webhook_parcels import Parcel
from tests.domain.webhook_cases import ROW

NOW: Final = 1_000_000
QUEUE: Final = WebhookQueue(ROW.id, ROW.account, 1, 0, None, None, None, None, "", None)
RESTING: Final = msgspec.structs.replace(QUEUE, failures=WEBHOOK_FAILURES_MAX, resting_since=1, due_at=NOW)


def lane(queue: WebhookQueue, events: int = 9) -> Lane:
    made = Lane(ROW, queue, target=None, keys=(), have_rows=frozenset(), unrecorded=frozenset())
    made.take_page([Parcel(number, f"evt_{number}", "remote_payment.paid", b"") for number in range(1, events + 1)])
    return made


def test_one_that_rests_has_one_try_when_it_is_due_and_no_other_before_that_is_recorded() -> None:
    resting = lane(RESTING)
    assert resting.choose(NOW - 1) is None
    tried = resting.choose(NOW)
    assert tried is not None
    resting.end_try(tried.sequence, has_failed=True)
    assert resting.choose(NOW + 1) is None
    # Recorded, it rests on; and the next try is due later.
    resting.learn(tried.sequence)
    resting.queue = msgspec.structs.replace(RESTING, due_at=NOW + 5000)
    assert resting.choose(NOW + 4999) is None
    again = resting.choose(NOW + 5000)
    assert again is not None
    assert again.sequence != tried.sequence


def test_one_that_does_not_rest_goes_on_until_so_many_have_failed_that_it_may() -> None:
    awake = lane(QUEUE)
    for number in range(1, WEBHOOK_FAILURES_MAX + 1):
        tried = awake.choose(NOW)
        assert tried is not None
        assert tried.sequence == number
        awake.end_try(number, has_failed=True)
    assert awake.choose(NOW) is None
    for number in range(1, WEBHOOK_FAILURES_MAX + 1):
        awake.learn(number)
    assert awake.choose(NOW) is not None


def test_a_try_that_is_ended_before_it_began_gives_its_room_back() -> None:
    async def scene() -> None:
        ended, floor = lane(QUEUE), Floor()
        begun = asyncio.create_task(asyncio.sleep(0))
        ended.tries[1] = Try(begun, floor.enter(ended.pace))
        ended.end()
        with pytest.raises(asyncio.CancelledError):
            await begun
        assert (floor.in_flight, ended.pace.in_flight) == (0, 0)

    asyncio.run(scene())
