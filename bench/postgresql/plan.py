"""The whole bench on PostgreSQL: seed, fill, then rounds in which everything has its turn; at the end an audit."""

import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Final

import msgspec

from bench.audit import require_clean
from bench.display import Display
from bench.lists import Listed, measure_lists
from bench.load import Run
from bench.measure import CONNECTIONS, Pace, hello_run
from bench.postgresql.books import Books
from bench.postgresql.call import CALLS, HELLO, PAY, PAY_HOT, Call, Loader, Place, ids_file, keys_file
from bench.postgresql.reference import REFERENCES, Pgbench
from bench.sampling import sample
from bench.seed import seed
from bench.target import running_hello, running_service
from qirsh.settings import read_settings
from tests.postgres import PostgresServer

FULL: Final = Pace(rounds=7, seconds=2, lone_seconds=0)
QUICK: Final = Pace(rounds=3, seconds=1, lone_seconds=0)
SHOPS: Final = 64
PAYERS: Final = 64 * SHOPS
PROCESSES: Final = (1, 2)
SMALL: Final = 10_000  # What there is to be retrieved from a database that is otherwise empty.
GROWN: Final = 1_000_000
LARGE: Final = 10_000_000

# Seconds that the display reckons with.
_SEED_S: Final = 20
_FILL_S_PER_MILLION: Final = 15
_AUDIT_S_PER_MILLION: Final = 15
_AUDIT_S_MAX: Final = 200
_AUDIT_GROWTH: Final = 20  # Ten times the rows took fifteen to twenty times as long.
_BETWEEN_S: Final = 0.5  # From one run to the next.


class Options(msgspec.Struct, frozen=True):
    """What was asked for."""

    pace: Pace
    calls: tuple[Call, ...]
    payers: int
    sizes: tuple[int, ...]  # Payments in each database, the smallest first.


class Key(msgspec.Struct, frozen=True):
    """What was run: a call with so many payments and processes, or a yardstick."""

    name: str
    payments: int = 0
    processes: int = 0


class Outcome(msgspec.Struct, frozen=True):
    """What was measured, on books that balanced afterwards."""

    options: Options
    rounds: list[dict[Key, Run]]
    small_at_end: int  # Payments in the smallest database when all was done.
    audits: dict[int, float]  # Payments in each database that was audited, and the seconds it took.
    peak_mb: float  # Of one process of the service.
    lists: list[Listed]  # Empty without growth.

    def median(self, key: Key, value: Callable[[Run], float]) -> float:
        """Of something that each round shows."""
        return median(value(a_round[key]) for a_round in self.rounds)

    def ratio(self, key: Key, beside: Key) -> float:
        """One rate over another of the same round."""
        return median(a_round[key].per_s / a_round[beside].per_s for a_round in self.rounds)


class Plan:
    """Works on one server, in one scratch directory, with one hello beside everything."""

    def __init__(self, options: Options, scratch: Path, display: Display, postgres: PostgresServer) -> None:
        self._options = options
        self._scratch = scratch
        self._display = display
        self._postgres = postgres
        # All processes must tell the same PINs.
        self._secret = secrets.token_hex(32)
        display.say(f"seeding {SHOPS} shops and {options.payers:,} customers")
        self._seeded = postgres.create_database()
        environment = {"QIRSH_DATA_DIR": str(scratch / "seeded"), **self._settings(self._seeded)}
        self._town = seed(read_settings(environment), shops=SHOPS, payers=options.payers)

    def seconds(self) -> float:
        """About how long all of it takes."""
        pace, sizes = self._options.pace, self._options.sizes
        filling_s = _SEED_S + _FILL_S_PER_MILLION * sum(sizes) / 1e6
        audit_s = _AUDIT_S_PER_MILLION * sum(size for size in sizes if size < LARGE) / 1e6
        return filling_s + self._round_s(1) + pace.rounds * self._round_s(pace.seconds) + audit_s

    def carry_out(self) -> Outcome:
        """All of it. Raises `BenchFailed` when the numbers would mean nothing."""
        options, display = self._options, self._display
        display.say("filling pgbench's own database")
        pgbench = Pgbench(self._postgres, self._scratch)
        display.advance(_SEED_S)
        with ExitStack() as stack:
            databases = [self._filled(payments) for payments in options.sizes]
            places = [self._opened(stack, *database) for database in zip(options.sizes, databases, strict=True)]
            hello = stack.enter_context(running_hello(self._scratch / "hello.log"))
            jobs: dict[Key, Callable[[int], Run]] = {
                Key(one.name): lambda seconds, one=one: pgbench.run(one, seconds)  # type: ignore[misc]
                for one in REFERENCES
            }
            jobs[Key(HELLO)] = lambda seconds: hello_run(hello, connections=CONNECTIONS, seconds=seconds)
            jobs |= self._jobs(places)
            display.say("warming")
            self._round(jobs, 1)
            rounds = []
            for number in range(options.pace.rounds):
                display.say(f"round {number + 1} of {options.pace.rounds}")
                rounds.append(self._round(jobs, options.pace.seconds))
            small_at_end = places[0].books.payments()
            peak_mb = max(server.peak_mb() for place in places for server in place.servers)
        lists = self._listed() if GROWN in options.sizes else []
        return Outcome(options, rounds, small_at_end, self._audited(databases), peak_mb, lists)

    def profile(self, directory: Path) -> Iterator[tuple[str, Path, str]]:
        """For each call of one process the file of its stacks, and a listing, which is kept beside it."""
        with ExitStack() as stack:
            place = self._opened(stack, SMALL, self._filled(SMALL))
            for call in self._options.calls:
                self._display.say(f"profiling {call.name}")
                file = directory / f"qirsh-profile-postgresql-{call.name}.raw"
                loader = Loader(call, place, self._town, processes=1)
                yield call.name, file, sample(loader, place.servers[0].pid, file)

    def _jobs(self, places: Sequence[Place]) -> dict[Key, Callable[[int], Run]]:
        """What is compared stands side by side."""
        jobs: dict[Key, Callable[[int], Run]] = {}
        for call in self._options.calls:
            for processes in PROCESSES:
                for place in places:
                    loader = Loader(call, place, self._town, processes=processes)
                    jobs[Key(call.name, place.payments, processes)] = lambda seconds, loader=loader: loader.run(  # type: ignore[misc]
                        connections=CONNECTIONS, seconds=seconds
                    )
        return jobs

    def _listed(self) -> list[Listed]:
        """In a database of its own, in which one shop has all payments."""
        self._display.say(f"filling a database with {GROWN:,} payments of one shop")
        database = self._postgres.create_database(self._seeded)
        town = msgspec.structs.replace(self._town, shops=self._town.shops[:1])
        books = Books(self._postgres.url(database), town)
        try:
            books.add_history(GROWN)
            books.index_payments()
        finally:
            books.close()
        self._display.say("measuring lists")
        data_dir = self._scratch / database
        data_dir.mkdir()
        with running_service(data_dir, **self._settings(database)) as server:
            return measure_lists(server, town.shops[0].key)

    def _audited(self, databases: Sequence[str]) -> dict[int, float]:
        """The smallest two in any case; the largest if it will not take too long."""
        audits: dict[int, float] = {}
        for payments, database in zip(self._options.sizes, databases, strict=True):
            if payments == LARGE and audits[GROWN] * _AUDIT_GROWTH > _AUDIT_S_MAX:
                break
            self._display.say(f"verifying the books with {payments:,} payments")
            began = time.monotonic()
            # Its sorts would otherwise go through the disk.
            require_clean(f"{self._postgres.url(database)}?work_mem=512MB")
            audits[payments] = time.monotonic() - began
            self._display.advance(_AUDIT_S_PER_MILLION * payments / 1e6)
        return audits

    def _round(self, jobs: dict[Key, Callable[[int], Run]], seconds: int) -> dict[Key, Run]:
        seen = {}
        for key, job in jobs.items():
            seen[key] = job(seconds)
            self._display.advance(seconds + _BETWEEN_S)
        return seen

    def _round_s(self, seconds: int) -> float:
        ours = len(self._options.calls) * len(PROCESSES) * len(self._options.sizes)
        return (len(REFERENCES) + 1 + ours) * (seconds + _BETWEEN_S)

    def _filled(self, payments: int) -> str:
        """A database with so many payments."""
        self._display.say(f"filling a database with {payments:,} payments")
        database = self._postgres.create_database(self._seeded)
        scratch = self._scratch / database
        scratch.mkdir()
        books = Books(self._postgres.url(database), self._town)
        try:
            ids = books.add_history(payments)
        finally:
            books.close()
        ids_file(scratch).write_text("\n".join(f"{payment_id} {place + 1}" for payment_id, place in ids))
        keys_file(scratch).write_text("\n".join(shop.key for shop in self._town.shops))
        self._display.advance(_FILL_S_PER_MILLION * payments / 1e6)
        return database

    def _opened(self, stack: ExitStack, payments: int, database: str) -> Place:
        servers = []
        scratch = self._scratch / database
        for number in range(max(PROCESSES)):
            data_dir = scratch / f"process-{number}"
            data_dir.mkdir()
            servers.append(stack.enter_context(running_service(data_dir, **self._settings(database))))
        books = Books(self._postgres.url(database), self._town)
        stack.callback(books.close)
        return Place(payments, servers, books, self._postgres, scratch)

    def _settings(self, database: str) -> dict[str, str]:
        return {"QIRSH_DATABASE_URL": self._postgres.url(database), "QIRSH_SECRET_KEY": self._secret}


def calls_named(names: Sequence[str]) -> tuple[Call, ...]:
    """Whoever asks for pays wants to see them at one shop too."""
    return tuple(call for call in CALLS if call.name in names or (call is PAY_HOT and PAY.name in names))
