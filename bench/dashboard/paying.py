"""Payments at an even pace, each created by the shop and paid by a customer: `python -m bench.dashboard.paying`.

The times are those from when each should have been sent: a service that is late is not spared what waits meanwhile.
"""

import asyncio
import itertools
import json
import secrets
import sys
import time
from pathlib import Path
from typing import Final, TextIO

import msgspec
import uvloop

from bench.case import PAYMENTS_PATH
from bench.dashboard.history import amount_of, metadata_of
from bench.seed import CURRENCY, PIN

_CONNECTIONS: Final = 32
_FIRST: Final = 10**7  # Order numbers that the history does not have.


class Orders(msgspec.Struct, frozen=True):
    """What a process of it is told, in a file."""

    port: int
    per_s: float
    key: str
    sessions: list[str]
    results: str  # A file: a line for each payment.


class _Line:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def post(self, path: str, token: str, body: str, key: str = "") -> tuple[int, bytes]:
        sent = body.encode()
        once = f"idempotency-key: {key}\r\n" if key else ""
        self._writer.write(
            f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {token}\r\n{once}"
            f"content-type: application/json\r\ncontent-length: {len(sent)}\r\n\r\n".encode()
            + sent
        )
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.partition(b"content-length:")[2].split(b"\r\n", 1)[0])
        return int(head.split(b" ", 2)[1]), await self._reader.readexactly(length)


async def _pay(orders: Orders, lines: "asyncio.Queue[_Line]", number: int, due: float, results: TextIO) -> None:
    line = await lines.get()
    body = (
        f'{{"amount":{amount_of(number)},"currency":"{CURRENCY}","note":"order {number}",'
        f'"reference":"R-{number}","metadata":{metadata_of(number)}}}'
    )
    status, answer = await line.post(PAYMENTS_PATH, orders.key, body, secrets.token_hex(16))
    created = time.monotonic()
    if status == 201:  # noqa: PLR2004 - it was created
        payment_id = json.loads(answer)["data"]["id"]
        session = orders.sessions[number % len(orders.sessions)]
        path = f"/api/v1/wallet/remote-payments/{payment_id}/pay"
        status, answer = await line.post(path, session, f'{{"pin":"{PIN}"}}')
    lines.put_nowait(line)
    took = (created - due) * 1000, (time.monotonic() - created) * 1000
    said = "" if status == 200 else answer.decode()[:300].replace("\n", " ")  # noqa: PLR2004 - it is paid
    results.write(f"{due:.3f} {took[0]:.2f} {took[1]:.2f} {said}\n")
    results.flush()


async def pay_on(orders: Orders, results: TextIO) -> None:
    """Until it is ended."""
    lines: asyncio.Queue[_Line] = asyncio.Queue()
    for _ in range(_CONNECTIONS):
        lines.put_nowait(_Line(*await asyncio.open_connection("127.0.0.1", orders.port)))
    began = time.monotonic()
    # Another first number for each run: an order is made once.
    first = _FIRST + int(time.time()) % 10**6 * 1000
    async with asyncio.TaskGroup() as group:
        for turn in itertools.count():
            due = began + turn / orders.per_s
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            group.create_task(_pay(orders, lines, first + turn, due, results))


if __name__ == "__main__":
    told = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Orders)
    with Path(told.results).open("w") as file:
        uvloop.run(pay_on(told, file))
