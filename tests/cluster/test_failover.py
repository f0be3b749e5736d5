"""A machine of the database is lost under load: nothing acknowledged is, and the servers go on by themselves."""

import pytest

from bench.cluster.served import ServedCluster
from bench.failover.load import SteadyLoad
from bench.failover.scene import How, kill_standbys, lose_leader
from tests.faults.history import History

pytestmark = pytest.mark.slow

_PER_S = 50.0


@pytest.fixture(scope="module")
def load(world: ServedCluster) -> SteadyLoad:
    """One history for all tests: whatever was acknowledged in one is still there after the next."""
    return SteadyLoad(world, History(world), per_s=_PER_S, seed=17)


@pytest.mark.parametrize("how", ["killed", "silent"])
def test_a_leader_that_is_lost_under_load_takes_nothing_acknowledged_along(
    world: ServedCluster, load: SteadyLoad, how: How
) -> None:
    servers = world.processes
    loss = world.run(lose_leader(world, load, how))
    assert loss.new != loss.old
    assert loss.read_back >= loss.toll.acknowledged > 0
    assert loss.toll.unknown == loss.toll.resolved.total()
    assert world.processes == servers, world.logs()
    world.verify()


def test_without_a_standby_nothing_is_acknowledged_and_with_them_all_is_there_once(
    world: ServedCluster, load: SteadyLoad
) -> None:
    servers = world.processes
    standstill = world.run(kill_standbys(world, load, seconds=25))
    assert standstill.begun > 0
    assert standstill.looked > 0
    assert (standstill.acknowledged, standstill.shown_paid) == (0, 0)
    assert standstill.toll.refused > 0
    assert world.processes == servers, world.logs()
    world.verify()
