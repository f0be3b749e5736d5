"""Rounds of hello and the case on each database in turn: whatever else this machine does meets all of them alike."""

from collections.abc import Callable, Sequence
from statistics import median
from typing import Final

import msgspec

from bench import load
from bench.case import Case, Loader
from bench.disk import CommitProbe
from bench.load import Load, Run
from bench.target import Server

CONNECTIONS: Final = 64
_COMMIT_S: Final = 0.4
START_S: Final = 5  # Servers start, and are warmed.


class Pace(msgspec.Struct, frozen=True):
    """How long and how often."""

    rounds: int
    seconds: int  # At 64 connections.
    lone_seconds: int  # At one connection.

    def case_s(self, *, databases: int) -> float:
        """About what one case takes."""
        return START_S + self.rounds * self.round_s(databases=databases)

    def round_s(self, *, databases: int) -> float:
        """About what one round takes."""
        return (1 + databases) * (self.seconds + self.lone_seconds) + databases * _COMMIT_S


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


def growth(empty: Measured, grown: Measured) -> float:
    """The rate on the grown database over that on the empty one, round by round."""
    return median(large.case.per_s / small.case.per_s for small, large in zip(empty.rounds, grown.rounds, strict=True))


def measure(
    case: Case,
    *,
    pace: Pace,
    hello: Server,
    loaders: Sequence[Loader],
    probe: CommitProbe,
    progress: Callable[[], None],
) -> list[Measured]:
    """All rounds of one case, each on every database in turn. The first second of each server is thrown away."""
    hello_run(hello, connections=CONNECTIONS, seconds=1)
    for loader in loaders:
        loader.run(connections=CONNECTIONS, seconds=1)
    rounds = []
    for _ in range(pace.rounds):
        rounds.append(_round(pace, hello, loaders, probe))
        progress()
    by_loader = zip(loaders, zip(*rounds, strict=True), strict=True)
    return [Measured(case, list(its_rounds), loader.server.peak_mb()) for loader, its_rounds in by_loader]


def _round(pace: Pace, hello: Server, loaders: Sequence[Loader], probe: CommitProbe) -> list[Round]:
    many_hellos = hello_run(hello, connections=CONNECTIONS, seconds=pace.seconds)
    many_cases = [loader.run(connections=CONNECTIONS, seconds=pace.seconds) for loader in loaders]
    lone_hello = hello_run(hello, connections=1, seconds=pace.lone_seconds)
    rounds = []
    for loader, many in zip(loaders, many_cases, strict=True):
        before_ms = probe.p50_ms(_COMMIT_S / 2)
        lone = loader.run(connections=1, seconds=pace.lone_seconds)
        after_ms = probe.p50_ms(_COMMIT_S / 2)
        # The lower one: a commit that something else held up would flatter the service.
        rounds.append(Round(many_hellos, many, lone_hello, lone, min(before_ms, after_ms)))
    return rounds


def hello_run(server: Server, *, connections: int, seconds: int) -> Run:
    """The yardstick, once."""
    return load.run(Load(server, "hello", "/"), connections=connections, seconds=seconds)
