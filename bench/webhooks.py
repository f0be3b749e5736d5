"""What a delivery costs beside a bare hello, and what pays lose by it. Run as `python -m bench.webhooks`."""

import argparse
import json
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from statistics import median
from typing import Any, Final

import apsw
import msgspec

from bench import load
from bench.audit import require_clean
from bench.case import PAY, Loader
from bench.failure import BenchFailed
from bench.fill import Books
from bench.load import Load
from bench.measure import CONNECTIONS
from bench.seed import seed
from bench.target import Server, running_hello, running_receiver, running_service
from qirsh.settings import read_settings

CPU_RATIO_MAX: Final = 4.0  # CPU time of a delivery over that of a hello.
PER_S_MIN: Final = 4000
PAY_RATIO_MIN: Final = 0.85  # The rate of pays with a healthy endpoint over that without.
BACKLOG_S_MAX: Final = 10.0
_PAYERS: Final = 64
_LOOK_S: Final = 0.02
_BACKLOG_S_GIVEN_UP: Final = 120.0


class Endpoint:
    """The one endpoint of the shop, paused or enabled by its API."""

    def __init__(self, server: Server, key: str, url: str, data_dir: Path) -> None:
        self._server = server
        self._key = key
        self._id: str = self._call("POST", "", {"url": url})["id"]
        self._connection = apsw.Connection(str(data_dir / "qirsh.db"), flags=apsw.SQLITE_OPEN_READONLY)

    def pause(self) -> None:
        self._call("PATCH", f"/{self._id}", {"state": "paused"})

    def enable(self) -> None:
        self._call("PATCH", f"/{self._id}", {"state": "enabled"})

    def waiting(self) -> int:
        """Events without a row."""
        [(last, following)] = self._connection.execute(
            "SELECT c.last, q.next FROM webhook_queue q JOIN event_counter c ON c.account = q.account"
            " WHERE q.endpoint = ?",
            (self._id,),
        )
        return int(last) + 1 - int(following)

    def wait_until_all_is_sent(self) -> float:
        """Seconds that it took."""
        began = time.monotonic()
        while self.waiting():
            if time.monotonic() - began > _BACKLOG_S_GIVEN_UP:
                message = f"{self.waiting()} events wait still"
                raise BenchFailed(message)
            time.sleep(_LOOK_S)
        return time.monotonic() - began

    def _call(self, method: str, path: str, body: dict[str, str]) -> Any:  # noqa: ANN401 - JSON
        request = urllib.request.Request(
            f"http://127.0.0.1:{self._server.port}/api/v1/webhook-endpoints{path}",
            json.dumps(body).encode(),
            {"authorization": f"Bearer {self._key}", "content-type": "application/json"},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310 - the same
            return json.load(answer)["data"]


class Round(msgspec.Struct, frozen=True):
    """What was measured within a few seconds."""

    hello_us: float
    delivery_us: float
    per_s: float
    pay_ratio: float
    backlog_s: float


def measure(server: Server, hello: Server, endpoint: Endpoint, pays: Loader, seconds: int) -> Round:
    """Pays without and with the endpoint; what has piled up meanwhile is sent by a process that does nothing else."""
    endpoint.pause()
    without = pays.run(connections=CONNECTIONS, seconds=seconds)
    told = load.run(Load(hello, "hello", "/"), connections=CONNECTIONS, seconds=1)
    piled, before_s = endpoint.waiting(), server.cpu_s()
    endpoint.enable()
    took_s = endpoint.wait_until_all_is_sent()
    cpu_s = server.cpu_s() - before_s
    beside = pays.run(connections=CONNECTIONS, seconds=seconds)
    backlog_s = endpoint.wait_until_all_is_sent()
    return Round(told.cpu_us, cpu_s / piled * 1e6, piled / took_s, beside.per_s / without.per_s, backlog_s)


def main() -> int:
    """Prints the figures; ends with 1 when a request failed."""
    parser = argparse.ArgumentParser(prog="python -m bench.webhooks", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=4)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="qirsh-bench-") as name:
        scratch = Path(name)
        data_dir = scratch / "data"
        town = seed(read_settings({"QIRSH_DATA_DIR": str(data_dir)}), shops=1, payers=_PAYERS)
        with (
            running_hello(scratch / "hello.log") as hello,
            running_receiver(scratch / "receiver.log") as receiver,
            running_service(data_dir, QIRSH_WEBHOOK_NETWORKS="127.0.0.0/8") as server,
        ):
            books = Books(data_dir, town)
            try:
                endpoint = Endpoint(server, town.shops[0].key, f"http://127.0.0.1:{receiver.port}/", data_dir)
                pays = Loader(PAY, server, town, books, ids=[], scratch=data_dir)
                pays.run(connections=CONNECTIONS, seconds=1)
                endpoint.wait_until_all_is_sent()
                rounds = [measure(server, hello, endpoint, pays, arguments.seconds) for _ in range(arguments.rounds)]
            finally:
                books.close()
        require_clean(data_dir / "qirsh.db")
    _show(rounds)
    return 0


def _show(rounds: list[Round]) -> None:
    ratio = median(one.delivery_us / one.hello_us for one in rounds)
    per_s, pay_ratio = median(one.per_s for one in rounds), median(one.pay_ratio for one in rounds)
    backlog_s = max(one.backlog_s for one in rounds)
    us = median(one.delivery_us for one in rounds), median(one.hello_us for one in rounds)
    print(f"CPU of a delivery {us[0]:.0f} us, of a hello {us[1]:.0f} us")
    for text, is_met in (
        (f"ratio {ratio:.2f}, at most {CPU_RATIO_MAX}", ratio <= CPU_RATIO_MAX),
        (
            f"{per_s:.0f} deliveries a second by a process that does nothing else, at least {PER_S_MIN}",
            per_s >= PER_S_MIN,
        ),
        (
            f"pays with an endpoint over pays without {pay_ratio:.2f}, at least {PAY_RATIO_MIN}",
            pay_ratio >= PAY_RATIO_MIN,
        ),
        (f"backlog after a burst gone in {backlog_s:.1f} s, at most {BACKLOG_S_MAX}", backlog_s <= BACKLOG_S_MAX),
    ):
        print(f"{text}: {'held' if is_met else 'missed'}")


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BenchFailed as failure:
        sys.exit(str(failure))
