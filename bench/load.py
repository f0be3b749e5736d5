"""One run of wrk against one server or several, and what it showed. A run with a single failed request is refused."""

import random
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from bench.failure import BenchFailed
from bench.target import Server, tail

_LUA: Final = Path(__file__).parent / "lua"
_seeds: Final = random.Random()  # Two runs with one seed would send the same idempotency keys.


class Run(msgspec.Struct, frozen=True):
    """What was seen from outside, by the client and through /proc."""

    requests: int
    per_s: float
    p50_ms: float
    p99_ms: float
    cpu_us: float  # Of the servers, for each request.
    used: tuple[int, ...]  # Lines that each script took from its file, sent or not.
    database_cpu_us: float = 0  # Of a database that has processes of its own.


class Load(msgspec.Struct, frozen=True):
    """What one wrk sends, and where to."""

    server: Server
    script: str
    path: str
    arguments: Sequence[str] = ()


class _Said(msgspec.Struct):
    """The line that `done.lua` prints."""

    requests: int
    per_s: float
    p50_ms: float
    p99_ms: float
    bad_status: int
    socket_errors: int
    used: int


def seed() -> str:
    """Another one for each run."""
    return str(_seeds.randrange(1, 2**31))


def run(*loads: Load, connections: int, seconds: int) -> Run:
    """Load all at the same time, with an even share of the connections each.

    Rates are added; of two medians it is their mean that counts, and of other percentiles the worst.
    """
    before_s = sum(load.server.cpu_s() for load in loads)
    started = [_started(load, connections=connections // len(loads), seconds=seconds) for load in loads]
    ended = [wrk.communicate() for wrk in started]
    cpu_s = sum(load.server.cpu_s() for load in loads) - before_s
    said = [_understood(load, *output) for load, output in zip(loads, ended, strict=True)]
    requests = sum(one.requests for one in said)
    return Run(
        requests=requests,
        per_s=sum(one.per_s for one in said),
        p50_ms=sum(one.p50_ms * one.requests for one in said) / requests,
        p99_ms=max(one.p99_ms for one in said),
        cpu_us=cpu_s / requests * 1e6,
        used=tuple(one.used for one in said),
    )


def _started(load: Load, *, connections: int, seconds: int) -> subprocess.Popen[str]:
    # One thread of wrk is enough, and two crowd out the server.
    return subprocess.Popen(
        [
            *("wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "10s", "-s", f"{load.script}.lua"),
            *(f"http://127.0.0.1:{load.server.port}{load.path}", "--", *load.arguments),
        ],
        cwd=_LUA,  # The scripts find each other by name.
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _understood(load: Load, output: str, errors: str) -> _Said:
    try:
        said = msgspec.json.decode(output.strip().rpartition("\n")[2], type=_Said)
    except msgspec.MsgspecError:
        message = f"wrk said nothing of its run: {output[-1000:]} {errors[-1000:]}"
        raise BenchFailed(message) from None
    if said.bad_status or said.socket_errors or not said.requests:
        message = (
            f"{load.script}: of {said.requests} requests {said.bad_status} were refused"
            f" and {said.socket_errors} had socket errors; the server's log: {tail(load.server.log)}"
        )
        raise BenchFailed(message)
    return said
