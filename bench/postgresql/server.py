"""The one PostgreSQL of a bench: as durable as it comes, on a real disk, watched from outside through /proc."""

import os
import secrets
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from bench.target import process_cpu_s
from tests import postgres
from tests.postgres import PostgresServer

# For pgbench and for the service they are the same.
SETTINGS: Final = {
    "max_wal_size": "8GB",  # Filling would otherwise be a row of checkpoints.
    "max_connections": "200",  # All processes on all databases stay connected beside pgbench's clients.
}


@contextmanager
def running(disk: Path) -> Iterator[PostgresServer]:
    """Everything else is at its default."""
    before = tempfile.tempdir
    tempfile.tempdir = str(disk)  # Where the server's folder is made, owned by the server's user.
    try:
        with postgres.server(**SETTINGS) as server:
            yield server
    finally:
        tempfile.tempdir = before


@contextmanager
def kept(folder: Path) -> Iterator[PostgresServer]:
    """One whose data stay in a folder of its own, and are found there by the next."""
    told = folder / "told"
    if not told.exists():  # Whatever is there was not made to its end.
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        if os.geteuid() == 0:
            shutil.chown(folder, "nobody")
    password = told.read_text() if told.exists() else secrets.token_hex(16)
    one = PostgresServer(postgres.installations()["18"], folder, password=password, **SETTINGS)
    told.write_text(password)
    try:
        yield one
    finally:
        one.stop(signal.SIGINT)  # With a checkpoint, so that the next start is quick.


def cpu_s(server: PostgresServer) -> float:
    """User and system time so far of all its processes: backends come and go with their connections."""
    pid = server.process.pid
    while True:
        own, ended = process_cpu_s(pid)
        alive = 0.0
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            try:
                alive += process_cpu_s(int(child))[0]
            except (FileNotFoundError, ProcessLookupError):
                continue
        # Whoever ended in between would count twice or not at all.
        if process_cpu_s(pid)[1] == ended:
            return own + ended + alive
