"""Processes of `qirsh serve` on one PostgreSQL database, each to be killed and started again on the same port."""

import contextlib
import os
import secrets
import signal
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from pathlib import Path
from typing import Final, Self

import asyncpg

from qirsh.settings import Settings, read_settings
from tests.database import database_at
from tests.faults.history import BESIDE, History
from tests.faults.load import AWAY, GOOD_DAY, Load
from tests.faults.served import NETWORKS, scratch_folder, verify
from tests.forked import Process, start
from tests.line import Answer, Line, Lost, NotSent, until_answered
from tests.line_to_database import LineBeside
from tests.live import Call, InProcess, Live, environment, free_port
from tests.postgres import PostgresServer
from tests.waiting import wait_until

_LIFE_MS: Final = 300_000  # The shortest that a payment may be given.


class FoundedDatabase:
    """People and money in a database, made once and copied for each test."""

    def __init__(self, server: PostgresServer) -> None:
        self.server = server
        self.name = server.create_database()
        self.secret = secrets.token_hex(32)
        with scratch_folder() as folder, InProcess(self.place(server.url(self.name), folder), _now_ms) as world:
            world.settle(shops=3, people=6)
        self.people = world

    def place(self, url: str, folder: Path) -> Settings:
        """Of one process."""
        told = {"QIRSH_DATABASE_URL": url, "QIRSH_SECRET_KEY": self.secret, "QIRSH_RATE_LIMITS": "off"}
        return read_settings({"QIRSH_DATA_DIR": str(folder), "QIRSH_PORT": str(free_port()), **told})

    @contextlib.contextmanager
    def copy(self) -> Iterator[str]:
        """The address of a database that is there meanwhile."""
        with self.server.database(self.name) as url:
            yield url


class Several(Live):
    """The real program, twice. They may reach their database by other addresses than those who look at it.

    Patient ones do not give up after seconds, see `patience.py`.
    """

    history: History  # Of all that was asked of them.
    line: LineBeside  # By which the second of them reaches its database, or both.

    def __init__(
        self, founded: FoundedDatabase, folder: Path, url: str, *addresses: str, is_patient: bool = False
    ) -> None:
        self.url, self.is_patient = url, is_patient
        self._program = "tests.faults.patience" if is_patient else "qirsh"
        places = []
        for number, address in enumerate(addresses or (url, url)):
            (folder / str(number)).mkdir()
            places.append(founded.place(address, folder / str(number)))
        super().__init__(*places)
        self.database = database_at(founded.place(url, folder).database)
        self.operators, self.merchants = founded.people.operators, founded.people.merchants
        self.customers = founded.people.customers

    def __enter__(self) -> Self:
        try:
            super().__enter__()
            self.history = History(self)
        except BaseException:
            self.stop(signal.SIGKILL)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop(signal.SIGKILL)  # Whoever is patient would not end after a scene that has failed.
        super().__exit__()

    def start(self) -> None:
        """Until all are ready."""
        for number in range(len(self.places)):
            self.spawn(number)
        self.run(self.ready())

    def revive(self) -> None:
        """However a test has left them, the next finds both."""
        self.line.comes_back()
        for number, process in enumerate(self.processes):
            process.send_signal(signal.SIGCONT)
            if process.poll() is not None:
                self.spawn(number)
        self.run(self.ready())

    @property
    def processes(self) -> list[Process]:
        return [self.process, *self._beside]

    def spawn(self, number: int) -> None:
        """Begin to start one again."""
        process = self._spawned(self.places[number])
        if number == 0:
            self.process = process
        else:
            self._beside[number - 1 : number] = [process]

    def _spawned(self, place: Settings) -> Process:
        with _log_of(place).open("ab") as log:
            told = {**os.environ, **NETWORKS, **environment(place)}
            return start(("-m", self._program, "serve"), env=told, stdout=log, stderr=log)

    # What they say of themselves.

    def player(self, role: str, *, but: int = -1) -> int:
        """The number of the process that was the last to take the role, once that is another than one."""
        taken: list[str] = []

        def is_taken() -> bool:
            taken[:] = [_last_line(_log_of(place), f"this process is now the {role}") for place in self.places]
            return any(taken) and taken.index(max(taken)) != but

        wait_until(is_taken)
        return taken.index(max(taken))

    def lease(self, role: str) -> tuple[str, int]:
        """Who has it, and until when."""
        with self.books() as books:
            ((holder, until),) = books.select("SELECT holder, until FROM lease WHERE role = ?", role)
        return holder, until

    async def look(self, number: int, path: str = "/readyz") -> Answer | None:
        """None while nobody listens."""
        async with Line(self.places[number].port) as line:
            try:
                return await line.ask(Call("GET", path))
            except (NotSent, Lost):
                return None

    async def ready(self, *numbers: int) -> None:
        """Until these are, or all."""

        async def is_ready(number: int) -> bool | None:
            answer = await self.look(number)
            assert answer is not None or self.processes[number].poll() is None, _log_of(self.places[number]).read_text()
            return (answer is not None and answer.status == 200) or None

        for number in numbers or range(len(self.places)):
            await until_answered(lambda number=number: is_ready(number))  # type: ignore[misc]

    @contextlib.asynccontextmanager
    async def connected(self) -> AsyncIterator["asyncpg.Connection"]:
        """To the database, past the service. Left open by a scene that fails, it would keep the loop from closing."""
        outsider = await asyncpg.connect(self.url)
        try:
            yield outsider
        finally:
            outsider.terminate()

    def verify(self) -> None:
        """As an operator would: all rules hold."""
        verify({**os.environ, **environment(self.settings)})

    # Payments that expire.

    def make_due(self, seconds: Iterable[float]) -> None:
        """Payments whose time is over so many seconds from now."""
        start = _now_ms()
        late_ms = 0
        # Made by one whose clock is late.
        with InProcess(self.settings, lambda: start - _LIFE_MS + late_ms) as late:
            for wait_s in seconds:
                late_ms = int(wait_s * 1000)
                late.payment(self.merchants[0], None, note=BESIDE, expiresIn=_LIFE_MS // 1000)

    def all_expired(self) -> bool:
        """Whether all of those have."""
        with self.books() as books:
            return not books.select(
                "SELECT p.number FROM payment p LEFT JOIN event e ON e.payment = p.number"
                " WHERE p.note = ? AND e.payment IS NULL",
                BESIDE,
            )


def settle(world: Several, history: History, load: Load) -> int:
    """After a fault: what is unknown is asked again, and all is as clients were told. Returns how many were done."""
    world.database.close()  # Its connections may be of a server that is gone.
    unknown = history.having("unknown")
    world.run(history.retry(unknown))
    for operation in unknown:
        load.resolved(operation)
    history.check()
    return sum(operation.was_replayed for operation in unknown)


def well_again(world: Several, load: Load) -> None:
    """The same, where callers may have heard that the database was away."""
    settle(world, world.history, load)
    assert load.refusals.keys() <= AWAY | GOOD_DAY


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _log_of(place: Settings) -> Path:
    return place.data_dir / "server.log"


def _last_line(log: Path, words: str) -> str:
    """It begins with its time; empty if there is none."""
    return max((line for line in log.read_text().splitlines() if words in line), default="")
