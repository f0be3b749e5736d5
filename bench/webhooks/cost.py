"""What a delivery takes beside a bare hello, and what pays lose by it."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

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
from bench.webhooks.shop import Shop
from qirsh.settings import read_settings

_PAYERS: Final = 64
_LOOK_S: Final = 0.02
_BACKLOG_S_GIVEN_UP: Final = 120.0


class Round(msgspec.Struct, frozen=True):
    """What was measured within a few seconds."""

    hello_us: float
    delivery_us: float
    per_s: float
    pays_per_s: float
    pays_again_per_s: float  # The same once more: how much the machine itself moves.
    pays_beside_per_s: float  # With the endpoint.
    pay_us: float  # CPU of the service for a pay,
    pay_beside_us: float  # and with the webhooks that were sent meanwhile.


class Burst(msgspec.Struct, frozen=True):
    """What a long load leaves."""

    seconds: int
    pays: int
    waiting: int
    gone_s: float


class Scene:
    """A service, a shop with one endpoint, and customers who pay."""

    def __init__(self, server: Server, hello: Server, shop: Shop, endpoint: str, *, pays: Loader, log: Path) -> None:
        self._server = server
        self._hello = hello
        self._shop = shop
        self._endpoint = endpoint
        self._pays = pays
        self._connection = apsw.Connection(str(log), flags=apsw.SQLITE_OPEN_READONLY)

    def warm(self) -> None:
        """A first second of everything."""
        self._pays.run(connections=CONNECTIONS, seconds=1)
        self._wait_until_all_is_sent()

    def round(self, seconds: int) -> Round:
        """What piled up while the endpoint was paused is sent by a process that does nothing else."""
        self._shop.pause(self._endpoint)
        without = self._pays.run(connections=CONNECTIONS, seconds=seconds)
        again = self._pays.run(connections=CONNECTIONS, seconds=seconds)
        told = load.run(Load(self._hello, "hello", "/"), connections=CONNECTIONS, seconds=1)
        piled, before_s = self._waiting(), self._server.cpu_s()
        self._shop.enable(self._endpoint)
        took_s = self._wait_until_all_is_sent()
        cpu_s = self._server.cpu_s() - before_s
        beside = self._pays.run(connections=CONNECTIONS, seconds=seconds)
        self._wait_until_all_is_sent()
        return Round(
            hello_us=told.cpu_us,
            delivery_us=cpu_s / piled * 1e6,
            per_s=piled / took_s,
            pays_per_s=without.per_s,
            pays_again_per_s=again.per_s,
            pays_beside_per_s=beside.per_s,
            pay_us=(without.cpu_us + again.cpu_us) / 2,
            pay_beside_us=beside.cpu_us,
        )

    def burst(self, seconds: int) -> Burst:
        """A load for longer, and how long what it left takes."""
        done = self._pays.run(connections=CONNECTIONS, seconds=seconds)
        waiting = self._waiting()
        return Burst(seconds, round(done.per_s * seconds), waiting, self._wait_until_all_is_sent())

    def _waiting(self) -> int:
        """Events without a row."""
        [(last, following)] = self._connection.execute(
            "SELECT c.last, q.next FROM webhook_queue q JOIN event_counter c ON c.account = q.account"
            " WHERE q.endpoint = ?",
            (self._endpoint,),
        )
        return int(last) + 1 - int(following)

    def _wait_until_all_is_sent(self) -> float:
        """Seconds that it took."""
        began = time.monotonic()
        while self._waiting():
            if time.monotonic() - began > _BACKLOG_S_GIVEN_UP:
                message = f"{self._waiting()} events wait still"
                raise BenchFailed(message)
            time.sleep(_LOOK_S)
        return time.monotonic() - began


@contextmanager
def set_up(scratch: Path) -> Iterator[Scene]:
    """On SQLite, in one process. The books must balance in the end."""
    data_dir = scratch / "data"
    town = seed(read_settings({"QIRSH_DATA_DIR": str(data_dir)}), shops=1, payers=_PAYERS)
    database = data_dir / "qirsh.db"
    with (
        running_hello(scratch / "hello.log") as hello,
        running_receiver(scratch / "receiver.log") as receiver,
        running_service(data_dir, QIRSH_WEBHOOK_NETWORKS="127.0.0.0/8") as server,
    ):
        books = Books(data_dir, town)
        shop = Shop(server, town.shops[0].key)
        try:
            endpoint = shop.add_endpoint(f"http://127.0.0.1:{receiver.port}/")
            pays = Loader(PAY, server, town, books, ids=[], scratch=data_dir)
            yield Scene(server, hello, shop, endpoint, pays=pays, log=database)
        finally:
            shop.close()
            books.close()
    require_clean(database)
