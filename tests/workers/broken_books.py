"""A database with something of everything in it, and no guards: what is broken there is looked at, and then undone."""

import asyncio
import functools
import shutil
import tempfile
from collections.abc import Coroutine, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from qirsh.engine.clock import ManualClock
from qirsh.engine.entropy import SeededEntropy
from qirsh.store.interface import Store
from qirsh.store.postgres.store import open_postgres
from tests.domain.world import ENTROPY_SEED
from tests.postgres import PostgresServer
from tests.store.filled import (
    FILLED,
    Hand,
    PostgresHand,
    disarmed_on,
    fill,
    filled_on,
    hand_on_a_copy,
    open_store,
)
from tests.until_the_end import until_the_end

T = TypeVar("T")

_TABLES: Final = (
    *("balance", "transfer", "payment", "refund", "event", "event_counter", "counter"),
    *("bank_order", "proposal", "audit", "seal", "stop"),
)


@functools.cache
def filled_file() -> Path:
    """A closed database with something of everything in it. Copy it before you write."""
    path = Path(until_the_end(tempfile.TemporaryDirectory(prefix="qirsh-filled-"))) / "qirsh.db"
    fill(path)
    return path


def copy_filled(path: Path) -> Path:
    """For a test of its own."""
    shutil.copy(filled_file(), path)
    return path


class BrokenBooks:
    """A store, and a hand that breaks what it reads."""

    def __init__(self, hand: Hand, runner: asyncio.Runner, store: Store, *, is_postgres: bool) -> None:
        self.hand = hand
        self.store = store
        self._runner = runner
        # Whatever the ids are that PostgreSQL would give out by itself.
        self._insert = "OVERRIDING SYSTEM VALUE" if is_postgres else ""
        self._is_kept = False

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(work)

    @contextmanager
    def broken(self, sql: str) -> Iterator[None]:
        """All rows are as they were, afterwards."""
        if not self._is_kept:
            for name in _TABLES:
                self.hand.type(f"CREATE TABLE kept_{name} AS SELECT * FROM {name}")  # noqa: S608 - our own names
            self._is_kept = True
        self.hand.type(sql)
        try:
            yield
        finally:
            for name in _TABLES:
                back = f"INSERT INTO {name} {self._insert} SELECT * FROM kept_{name}"  # noqa: S608 - our own names
                self.hand.type(f"DELETE FROM {name}; {back}")  # noqa: S608 - the same


@contextmanager
def opened_books(server: PostgresServer | None, folder: Path, *, has_guards: bool = False) -> Iterator[BrokenBooks]:
    """A copy of its own, whose guards are gone unless they are asked for."""
    with ExitStack() as stack:
        runner = stack.enter_context(asyncio.Runner())
        hand: Hand
        if server is None:
            file = stack.enter_context(hand_on_a_copy(filled_file(), folder))
            if not has_guards:
                file.disarm()
            hand, store = file, cast("Store", open_store(file.path))
        else:
            url = stack.enter_context(server.database(filled_on(server) if has_guards else disarmed_on(server)))
            hand = stack.enter_context(closing(PostgresHand(url, is_kept=True)))
            clock, entropy = ManualClock(FILLED.now), SeededEntropy(ENTROPY_SEED)
            store = runner.run(open_postgres(url, clock=clock, entropy=entropy))
        stack.callback(lambda: runner.run(store.close()))
        yield BrokenBooks(hand, runner, store, is_postgres=server is not None)
