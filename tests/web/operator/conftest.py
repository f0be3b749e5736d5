"""One world for the tests of a file: to open one costs more than most tests of the console."""

import contextlib
from collections.abc import Callable, Iterator
from itertools import islice

import pytest

from tests.live import START, InProcess, in_process
from tests.postgres import PostgresServer

Opened = Callable[[int, int], InProcess]
_SESSION_MS = 3_600_000  # A session of an app lives longer.


class _Shared:
    """A world, and its people whom no test has met."""

    def __init__(self, world: InProcess) -> None:
        self._world = world
        self._merchants, self._customers = iter(world.merchants), iter(world.customers)

    def with_others(self, shops: int, people: int) -> InProcess:
        """The same world, with other people."""
        world = self._world
        merchants, customers = [*islice(self._merchants, shops)], [*islice(self._customers, people)]
        if world.now_ms() > START + _SESSION_MS:
            customers = [world.anew(customer) for customer in customers]
        world.merchants, world.customers = [], []  # Where all were met, new ones join.
        merchants += [world.merchant() for _ in range(shops - len(merchants))]
        customers += [world.customer() for _ in range(people - len(customers))]
        world.merchants, world.customers = merchants, customers
        return world


@pytest.fixture(scope="module")
def shared(engine: PostgresServer | None) -> Iterator[_Shared]:
    """Tests share its operators, its lists of what waits, and its clock, which only moves ahead."""
    with in_process(engine, shops=24, people=70) as world:
        yield _Shared(world)
        assert world.violations() == []


@pytest.fixture
def alone() -> None:
    """For a test that counts all there is, or changes what the others rely on: its world is its own."""


@pytest.fixture
def opened(request: pytest.FixtureRequest, engine: PostgresServer | None) -> Iterator[Opened]:
    """So many shops and people whom no other test has met."""
    with contextlib.ExitStack() as stack:

        def own(shops: int, people: int) -> InProcess:
            world = stack.enter_context(in_process(engine, shops=shops, people=people))
            stack.callback(lambda: _check(world))
            return world

        shared = None if "alone" in request.fixturenames else request.getfixturevalue("shared")
        yield own if shared is None else shared.with_others


def _check(world: InProcess) -> None:
    assert world.violations() == []
