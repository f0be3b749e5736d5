"""One run of wrk against one server, and what it showed. A run with a single failed request is refused."""

import random
import subprocess
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
    cpu_us: float  # Of the server, for each request.
    used: int  # Lines that the script took from its file, sent or not.


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


def run(server: Server, script: str, path: str, *arguments: str, connections: int, seconds: int) -> Run:
    """Load for some seconds. One thread of wrk is enough, and two crowd out the server."""
    before = server.cpu_s()
    wrk = subprocess.run(
        [
            *("wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "10s", "-s", f"{script}.lua"),
            *(f"http://127.0.0.1:{server.port}{path}", "--", *arguments),
        ],
        cwd=_LUA,  # The scripts find each other by name.
        capture_output=True,
        text=True,
        check=False,
    )
    cpu_s = server.cpu_s() - before
    try:
        said = msgspec.json.decode(wrk.stdout.strip().rpartition("\n")[2], type=_Said)
    except msgspec.MsgspecError:
        message = f"wrk said nothing of its run: {wrk.stdout[-1000:]} {wrk.stderr[-1000:]}"
        raise BenchFailed(message) from None
    if said.bad_status or said.socket_errors or not said.requests:
        message = (
            f"{script}: of {said.requests} requests {said.bad_status} were refused"
            f" and {said.socket_errors} had socket errors; the server's log: {tail(server.log)}"
        )
        raise BenchFailed(message)
    return Run(said.requests, said.per_s, said.p50_ms, said.p99_ms, cpu_s / said.requests * 1e6, said.used)
