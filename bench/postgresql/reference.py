"""What PostgreSQL itself does in the same seconds: pgbench, from the same installation, on the same server."""

import re
import subprocess
from pathlib import Path
from statistics import quantiles
from typing import Final

import msgspec

from bench.failure import BenchFailed
from bench.fill import METADATA
from bench.load import Run
from bench.postgresql.server import cpu_s
from tests.postgres import PostgresServer

CLIENTS: Final = 32
THREADS: Final = 2
SCALE: Final = 50  # Not below the clients: they would all queue for a few branches.
_CONNECT_S: Final = 1  # All clients prove their password first, and pgbench counts that as time of the run.
_SAMPLED: Final = 0.1  # Of all transactions, those whose time is written down.

# A payment as the service stores it, without the guards.
_TABLE: Final = """
CREATE TABLE asked (
    number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    merchant BIGINT NOT NULL,
    payer BIGINT,
    amount BIGINT NOT NULL,
    currency TEXT NOT NULL,
    status TEXT NOT NULL,
    note TEXT NOT NULL,
    metadata TEXT NOT NULL,
    reference TEXT,
    return_url TEXT,
    cancel_url TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    paid_at BIGINT,
    cancelled_at BIGINT,
    refunded_amount BIGINT NOT NULL,
    version BIGINT NOT NULL
);
CREATE INDEX asked_due ON asked (expires_at) WHERE status = 'pending';
"""
_BYTES: Final = METADATA.replace(":", "=")  # As many, but pgbench takes a colon for the begin of a variable.
# The times lie close together, as those of a service do: the index then grows in one place.
_SCRIPT: Final = f"""
\\set merchant random(100000000000, 999999999999)
\\set amount random(1, 100000)
\\set now 1790000000000 + random(0, 10000)
\\set due :now + 3600000
INSERT INTO asked (merchant, amount, currency, status, note, metadata, created_at, updated_at, expires_at, \
refunded_amount, version) VALUES (:merchant, :amount, 'SYP', 'pending', 'order', '{_BYTES}', :now, :now, :due, 0, \
1);
"""  # noqa: S608 - our own words


class Reference(msgspec.Struct, frozen=True):
    """One kind of transaction, sent in one way."""

    name: str
    kind: str  # "tpcb" or "insert".
    protocol: str


TPCB: Final = Reference("TPC-B-like", "tpcb", "simple")
TPCB_PREPARED: Final = Reference("TPC-B-like, prepared", "tpcb", "prepared")
INSERT: Final = Reference("insert", "insert", "simple")
INSERT_PREPARED: Final = Reference("insert, prepared", "insert", "prepared")
REFERENCES: Final = (TPCB, TPCB_PREPARED, INSERT, INSERT_PREPARED)


class Pgbench:
    """Has a database of its own."""

    def __init__(self, server: PostgresServer, scratch: Path) -> None:
        self._server = server
        self._scratch = scratch
        self._url = server.url(database := server.create_database())
        self._call("--initialize", "--quiet", f"--scale={SCALE}")
        server.sql(_TABLE, database)
        (scratch / "insert.sql").write_text(_SCRIPT)

    def run(self, reference: Reference, seconds: int) -> Run:
        """One run. A single failed transaction refuses it. While the clients connect, nothing is counted."""
        sent = "--builtin=tpcb-like" if reference.kind == "tpcb" else f"--file={self._scratch / 'insert.sql'}"
        before_s = cpu_s(self._server)
        said = self._call(
            *("--no-vacuum", f"--client={CLIENTS}", f"--jobs={THREADS}", f"--time={seconds + _CONNECT_S}", sent),
            *(f"--protocol={reference.protocol}", "--log", f"--sampling-rate={_SAMPLED}"),
        )
        spent_s = cpu_s(self._server) - before_s
        done, failed, per_s = (
            re.search(pattern, said)
            for pattern in (
                r"transactions actually processed: (\d+)",
                r"failed transactions: (\d+)",
                r"tps = ([\d.]+) \(without initial connection time\)",
            )
        )
        if not (done and failed and per_s) or int(failed[1]) or not int(done[1]):
            message = f"pgbench: {said}"
            raise BenchFailed(message)
        percentiles = quantiles(self._times_ms(), n=100)
        transactions = int(done[1])
        return Run(
            requests=transactions,
            per_s=float(per_s[1]),
            p50_ms=percentiles[49],
            p99_ms=percentiles[98],
            cpu_us=0,
            used=(),
            database_cpu_us=spent_s / transactions * 1e6,
        )

    def _times_ms(self) -> list[float]:
        """Of the sampled transactions; each thread has written a file."""
        times = []
        for file in self._scratch.glob("pgbench_log.*"):
            times += [int(line.split()[2]) / 1000 for line in file.read_text().splitlines()]
            file.unlink()
        return times

    def _call(self, *arguments: str) -> str:
        done = subprocess.run(
            [self._server.binaries / "pgbench", *arguments, self._url],
            cwd=self._scratch,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            message = f"pgbench: {done.stderr[-2000:]}"
            raise BenchFailed(message)
        return done.stdout
