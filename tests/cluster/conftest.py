"""A cluster takes half a minute to start, so one serves all tests that do not spoil it."""

from collections.abc import Iterator

import pytest

from bench.cluster import nodes
from bench.cluster.programs import programs
from bench.cluster.served import ServedCluster, served


@pytest.fixture(scope="module")
def world() -> Iterator[ServedCluster]:
    """Two servers on three nodes. Whoever kills a node brings it back."""
    with nodes.running(programs()) as cluster, served(cluster) as world:
        yield world
