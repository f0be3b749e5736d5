"""Rounds: hello, case, hello, case, so that whatever else this machine does meets both alike; medians of ratios."""

from collections.abc import Callable
from statistics import median
from typing import Final

import msgspec

from bench import load
from bench.case import Case, Loader
from bench.disk import CommitProbe
from bench.load import Run
from bench.target import Server

CONNECTIONS: Final = 64
_COMMIT_S: Final = 0.4


class Pace(msgspec.Struct, frozen=True):
    """How long and how often."""

    rounds: int
    seconds: int  # At 64 connections.
    lone_seconds: int  # At one connection.

    @property
    def round_s(self) -> float:
        """What one round takes."""
        return 2 * self.seconds + 2 * self.lone_seconds + _COMMIT_S


FULL: Final = Pace(rounds=7, seconds=4, lone_seconds=1)
QUICK: Final = Pace(rounds=3, seconds=2, lone_seconds=1)


class Round(msgspec.Struct, frozen=True):
    """What was measured within a few seconds, and so can be compared."""

    hello: Run
    case: Run
    lone_hello: Run
    lone_case: Run
    commit_ms: float


class Measured(msgspec.Struct, frozen=True):
    """One case on one database."""

    case: Case
    rounds: list[Round]
    peak_mb: float

    def median(self, value: Callable[[Round], float]) -> float:
        """Of something that each round shows."""
        return median(value(a_round) for a_round in self.rounds)

    @property
    def cpu_ratio(self) -> float:
        """The headline."""
        return self.median(lambda r: r.case.cpu_us / r.hello.cpu_us)

    @property
    def rate_ratio(self) -> float:
        """Requests for each hello in the same time."""
        return self.median(lambda r: r.case.per_s / r.hello.per_s)

    @property
    def lone_ratio(self) -> float:
        """A lone caller's wait over that for one hello and one durable commit."""
        return self.median(lambda r: r.lone_case.p50_ms / (r.lone_hello.p50_ms + r.commit_ms))


def measure(
    case: Case,
    *,
    pace: Pace,
    hello: Server,
    server: Server,
    loader: Loader,
    probe: CommitProbe,
    progress: Callable[[], None],
) -> Measured:
    """All rounds of one case. The first second of each server is thrown away."""
    _hello(hello, connections=CONNECTIONS, seconds=1)
    loader.run(connections=CONNECTIONS, seconds=1)
    rounds = []
    for _ in range(pace.rounds):
        rounds.append(_round(pace, hello, loader, probe))
        progress()
    return Measured(case, rounds, server.peak_mb())


def _round(pace: Pace, hello: Server, loader: Loader, probe: CommitProbe) -> Round:
    many_hellos = _hello(hello, connections=CONNECTIONS, seconds=pace.seconds)
    many_cases = loader.run(connections=CONNECTIONS, seconds=pace.seconds)
    # What is added up and what it is compared with are as close in time as can be.
    lone_hello = _hello(hello, connections=1, seconds=pace.lone_seconds)
    before_ms = probe.p50_ms(_COMMIT_S / 2)
    lone_case = loader.run(connections=1, seconds=pace.lone_seconds)
    after_ms = probe.p50_ms(_COMMIT_S / 2)
    # A commit that something else held up would flatter the service.
    return Round(many_hellos, many_cases, lone_hello, lone_case, min(before_ms, after_ms))


def _hello(server: Server, *, connections: int, seconds: int) -> Run:
    return load.run(server, "hello", "/", connections=connections, seconds=seconds)
