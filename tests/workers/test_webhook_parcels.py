"""Parcels: the bytes of events are made once while they are kept, and what is kept has bounds."""

from collections.abc import Iterator

import pytest

from qirsh.workers.webhook_parcels import Parcels
from tests.live import InProcess, in_process
from tests.workers.webhooks import Hooks, Shelf

EVENTS = 6


@pytest.fixture(scope="module")
def world() -> Iterator[InProcess]:
    with in_process(None, shops=1, people=0) as world:
        for _ in range(EVENTS):
            world.run(Hooks(world, Shelf()).cancelled(world.merchants[0]))
        yield world


def parcels(world: InProcess, *, bodies: int) -> Parcels:
    """With room for so many bodies."""
    context, account = world.context, int(world.merchants[0].account)
    plain = Parcels(context.store, context.identifiers, context.base_url)
    longest = max(len(parcel.body) for parcel in world.run(plain.page(account, 1, EVENTS)))
    return Parcels(context.store, context.identifiers, context.base_url, kept_bytes_max=bodies * longest)


def numbers(world: InProcess, kept: Parcels, first: int, limit: int) -> list[int]:
    account = int(world.merchants[0].account)
    return [parcel.sequence for parcel in world.run(kept.page(account, first, limit))]


def test_an_event_that_is_read_again_is_not_counted_twice(world: InProcess) -> None:
    kept = parcels(world, bodies=2)
    # Each read begins with one that is not kept, and ends with one that is.
    for _ in range(3 * EVENTS):
        assert numbers(world, kept, 2, 1) == [2]
        assert numbers(world, kept, 1, 2) == [1, 2]
        assert numbers(world, kept, 4, 2) == [4, 5]
    # There is still room for two.
    assert numbers(world, kept, 4, 9) == [4, 5]


def test_more_than_there_is_room_for_is_read_all_the_same(world: InProcess) -> None:
    kept = parcels(world, bodies=2)
    assert numbers(world, kept, 1, EVENTS) == [1, 2, 3, 4, 5, 6]
    assert numbers(world, kept, 5, 9) == [5, 6]
    assert numbers(world, kept, 1, 3) == [1, 2, 3]
