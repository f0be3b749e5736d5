"""From the commit to the receiver, at light load: in the process that sends, and in another one."""

import json
import secrets
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import Final

import msgspec

from bench.failure import BenchFailed
from bench.seed import seed
from bench.target import Server, running_receiver, running_service
from bench.webhooks.shop import Shop
from qirsh.settings import read_settings
from tests.postgres import PostgresServer

_EVERY_S: Final = 0.03
_ARRIVE_S_MAX: Final = 30.0


class Lags(msgspec.Struct, frozen=True):
    """Milliseconds from what happened to its arrival; what happened has the time of its batch."""

    own: list[int]  # Of the process that sends.
    other: list[int]  # Of one that does not; none on SQLite.


def on_sqlite(scratch: Path, count: int) -> Lags:
    """One process."""
    data_dir = scratch / "lag"
    town = seed(read_settings({"QIRSH_DATA_DIR": str(data_dir)}), shops=1, payers=1)
    with (
        running_receiver(scratch / "lag-receiver.log") as receiver,
        running_service(data_dir, QIRSH_WEBHOOK_NETWORKS="127.0.0.0/8") as server,
    ):
        [own] = _lags(receiver, [server], town.shops[0].key, count)
    return Lags(own, [])


def on_postgresql(scratch: Path, postgres: PostgresServer, count: int) -> Lags:
    """Two processes, of which one sends: the one whose events arrive sooner."""
    settings = {
        "QIRSH_DATABASE_URL": postgres.url(postgres.create_database()),
        "QIRSH_SECRET_KEY": secrets.token_hex(32),
        "QIRSH_WEBHOOK_NETWORKS": "127.0.0.0/8",
    }
    folders = scratch / "lag-1", scratch / "lag-2"
    folders[1].mkdir()
    town = seed(read_settings({"QIRSH_DATA_DIR": str(folders[0]), **settings}), shops=1, payers=1)
    with (
        running_receiver(scratch / "lag-receiver.log") as receiver,
        running_service(folders[0], **settings) as first,
        running_service(folders[1], **settings) as second,
    ):
        own, other = sorted(_lags(receiver, [first, second], town.shops[0].key, count), key=median)
    return Lags(own, other)


def p99(lags: Sequence[int]) -> float:
    """What one of a hundred exceeds."""
    return quantiles(lags, n=100, method="inclusive")[-1]


def _lags(receiver: Server, servers: Sequence[Server], key: str, count: int) -> list[list[int]]:
    shops = [Shop(server, key) for server in servers]
    shops[0].add_endpoint(f"http://127.0.0.1:{receiver.port}/")
    for shop in shops:
        shop.make_event()
    _arrived(receiver, len(shops))  # The line is open now.
    found = []
    for shop in shops:
        for _ in range(count):
            shop.make_event()
            time.sleep(_EVERY_S)
        found.append(_arrived(receiver, count))
        shop.close()
    return found


def _arrived(receiver: Server, count: int) -> list[int]:
    until, lags = time.monotonic() + _ARRIVE_S_MAX, list[int]()
    while len(lags) < count:
        if time.monotonic() > until:
            message = f"{len(lags)} of {count} events have arrived"
            raise BenchFailed(message)
        time.sleep(0.1)
        with urllib.request.urlopen(f"http://127.0.0.1:{receiver.port}/", timeout=10) as answer:
            lags += json.load(answer)
    return lags
