"""One process at a time plays a role, and a dead one loses it."""

import pytest

from qirsh.domain.commands.lease import HoldLease
from qirsh.domain.lease import Lease
from qirsh.domain.limits import LEASE_MS
from tests.domain.world import START, World


@pytest.fixture
def world() -> World:
    return World()


def test_the_first_who_asks_has_the_role(world: World) -> None:
    assert world.do(HoldLease("sweeper", "a", 1000)) is True
    assert world.leases == {"sweeper": Lease("sweeper", "a", START + 1000)}


def test_nobody_else_has_it_before_it_runs_out(world: World) -> None:
    world.do(HoldLease("sweeper", "a", 1000))
    world.now = START + 999
    assert world.do(HoldLease("sweeper", "b", 1000)) is False
    assert world.leases["sweeper"] == Lease("sweeper", "a", START + 1000)


def test_it_goes_to_another_at_the_moment_it_runs_out(world: World) -> None:
    world.do(HoldLease("sweeper", "a", 1000))
    world.now = START + 1000
    assert world.do(HoldLease("sweeper", "b", 1000)) is True
    assert world.leases["sweeper"].holder == "b"


def test_its_holder_renews_it_also_when_it_has_run_out(world: World) -> None:
    world.do(HoldLease("sweeper", "a", 1000))
    for later in (500, 5000):
        world.now = START + later
        assert world.do(HoldLease("sweeper", "a", 1000)) is True
        assert world.leases["sweeper"].until == START + later + 1000


def test_who_gives_it_up_leaves_it_free_at_once(world: World) -> None:
    world.do(HoldLease("sweeper", "a", 1000))
    world.do(HoldLease("sweeper", "a", 0))
    assert world.do(HoldLease("sweeper", "b", 1000)) is True


def test_roles_are_apart_and_two_who_ask_at_once_do_not_both_have_one(world: World) -> None:
    asked = [HoldLease("sweeper", "a", 9), HoldLease("sweeper", "b", 9), HoldLease("cook", "b", 9)]
    assert world.together(*asked) == [True, False, True]


def test_one_that_reaches_further_ahead_than_a_lease_lasts_is_nobody_s(world: World) -> None:
    world.do(HoldLease("sweeper", "a", LEASE_MS))
    assert world.do(HoldLease("sweeper", "b", LEASE_MS)) is False
    world.now -= 1  # The clock was set back, or a hand has written it.
    assert world.do(HoldLease("sweeper", "b", LEASE_MS)) is True
    assert world.leases["sweeper"] == Lease("sweeper", "b", START - 1 + LEASE_MS)
