"""`qirsh serve` with several processes on one PostgreSQL database."""

import asyncio
import contextlib
import logging
import os
import re
import selectors
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import msgspec
import pytest

from qirsh.cli import running_server
from qirsh.cli.serve import supervisor
from qirsh.web.operator.control import OperatorReply, OperatorRequest
from tests import postgres
from tests.cli.program import House
from tests.cli.serve.family import CLIENTS, SECRET, Family, Town, serving_family
from tests.cli.serve.forked_children import ForkingHouse
from tests.line import Line
from tests.live import PASSWORD, Call, create, pay, retrieve
from tests.waiting import wait_until

WORKERS: Final = 2

# A child that serves at once and does nothing, and one that cannot.
IDLE: Final = "import socket, sys; line = socket.socket(fileno=int(sys.argv[1])); line.sendall(b'x'); line.recv(1)"
FAILING: Final = "raise SystemExit(1)"


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Town:
    return Town(postgres.shared_server(), tmp_path_factory.mktemp("town"))


@pytest.fixture
def family(town: Town, tmp_path: Path) -> Iterator[Family]:
    with serving_family(town, ForkingHouse(tmp_path / "d"), workers=WORKERS) as one:
        yield one


@pytest.fixture
def fresh_family(town: Town, empty: House) -> Iterator[Family]:
    """Its children are programs of their own."""
    with serving_family(town, empty, workers=WORKERS) as one:
        yield one


def test_several_processes_serve_one_address_and_say_so_once(fresh_family: Family) -> None:
    family = fresh_family
    assert len(family.children()) == WORKERS
    wait_until(family.is_ready)
    told = running_server.found(family.settings)
    assert told == running_server.Server(family.parent, family.running.url, family.running.url, WORKERS)
    status = family.house.run("status", QIRSH_DATABASE_URL=str(family.settings.database), QIRSH_SECRET_KEY=SECRET)
    assert f"running as process {family.parent} with {WORKERS} children, ready" in status.stdout
    assert family.running.stop() == 0
    assert family.running.process.stdout is not None
    assert family.running.process.stdout.read() == ""


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_a_signal_to_the_parent_ends_all_of_them_well(number: int, family: Family) -> None:
    children = family.children()
    with socket.create_connection(("127.0.0.1", family.port)) as idle:
        idle.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert idle.recv(65536)
        os.kill(family.parent, number)
        wait_until(lambda: not family.is_listening())
        assert family.running.process.poll() is None
        idle.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert idle.recv(65536).startswith(b"HTTP/1.1 200")
    assert family.running.stop(number) == 0
    assert not [child for child in children if Path(f"/proc/{child}").exists()]
    assert [path.name for path in family.house.folder.iterdir()] == ["chain-head.json"]
    assert family.running.process.stderr is not None
    told = [line.split(" ", 3)[1:3] for line in family.running.process.stderr.read().splitlines()]
    assert {level for level, _ in told} == {"INFO"}
    assert [name for _, name in told if name.startswith("qirsh.cli")] == ["qirsh.cli.serve.command"] * 2


def test_a_terminal_that_closes_on_the_children_too_does_not_end_them(family: Family) -> None:
    children = family.children()
    for child in children:
        os.kill(child, signal.SIGHUP)
    wait_until(family.is_ready)
    assert family.children() == children


def test_a_child_that_is_killed_comes_back(family: Family) -> None:
    first, second = family.children()
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: len(family.children()) == WORKERS and first not in family.children())
    assert second in family.children()
    wait_until(family.is_ready)
    assert running_server.found(family.settings) is not None
    wait_until(lambda: _acted(family).done is not None)
    family.running.stop()
    assert family.running.process.stderr is not None
    assert re.findall(r"process (\d+) was killed by SIGKILL: .*", family.running.process.stderr.read()) == [str(first)]


@pytest.mark.parametrize(
    "what", ["all are replaced", pytest.param("one after another is stopped", marks=pytest.mark.slow)]
)
def test_clients_see_no_failure_when_processes_end_well(what: str, family: Family) -> None:
    before = family.children()
    is_over = threading.Event()
    payments = [0] * CLIENTS
    with ThreadPoolExecutor(1) as beside:
        load = beside.submit(lambda: asyncio.run(_load(family, is_over, payments)))

        def wait_for_a_payment_of_each() -> None:
            seen = list(payments)
            wait_until(lambda: load.done() or all(now > then for now, then in zip(payments, seen, strict=True)))

        try:
            wait_for_a_payment_of_each()
            if what == "all are replaced":
                os.kill(family.parent, signal.SIGHUP)
                wait_until(lambda: len(family.children()) == WORKERS and not {*before} & {*family.children()})
            else:
                for child in before:  # All clients may have met the same one.
                    os.kill(child, signal.SIGTERM)
                    wait_until(lambda: child not in family.children() and len(family.children()) == WORKERS)  # noqa: B023 - waited for
            wait_for_a_payment_of_each()
        finally:
            is_over.set()
        load.result()


async def _load(family: Family, is_over: threading.Event, payments: list[int]) -> None:
    """Each client keeps its connection until it is told that it ends. The first failure ends it all."""

    async def client(number: int) -> None:
        merchant, customer = family.people.merchants[number % 2], family.people.customers[number]
        async with Line(family.port) as line:
            while not is_over.is_set():
                payment_id = (await line.ask(create(merchant.key))).data["id"]
                await asyncio.sleep(number / CLIENTS / 4)  # Some are never idle, others often.
                assert (await line.ask(pay(customer, payment_id))).data["status"] == "paid"
                assert (await line.ask(retrieve(merchant.key, payment_id))).data["status"] == "paid"
                payments[number] += 1

    await asyncio.gather(*(client(number) for number in range(CLIENTS)))


def test_operators_act_before_during_and_after_a_replacement(family: Family) -> None:
    assert _acted(family).done
    before = family.children()
    os.kill(family.parent, signal.SIGHUP)
    while {*before} & {*family.children()}:
        assert _acted(family).done
    assert _acted(family).done
    assert (family.house.folder / "control.sock").stat().st_mode & 0o777 == 0o600


def _acted(family: Family) -> OperatorReply:
    """By the socket alone: the CLI would do it by itself if nobody listened."""
    email = family.people.operators[0].email
    words = {"account": family.people.merchants[0].account}
    wish = OperatorRequest("key issue", words, email, PASSWORD, family.people.code_of(email))
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as connection:
        try:
            connection.connect(str(family.settings.control_socket))
        except ConnectionRefusedError:
            return OperatorReply(code="nobody")
        connection.sendall(msgspec.json.encode(wish) + b"\n")
        with connection.makefile("rb") as lines:
            return msgspec.json.decode(lines.readline(), type=OperatorReply)


def test_nobody_outlives_a_parent_that_is_killed(family: Family) -> None:
    children = family.children()

    async def scene() -> None:
        async with Line(family.port) as idle:
            await idle.ask(Call("GET", "/healthz"))
            os.kill(family.parent, signal.SIGKILL)
            assert (await idle.ask(Call("GET", "/healthz"))).status == 200

    asyncio.run(scene())
    wait_until(lambda: not [child for child in children if Path(f"/proc/{child}").exists()])
    assert running_server.found(family.settings) is None
    assert not family.settings.control_socket.exists()
    with socket.create_server(("127.0.0.1", family.port)):
        pass


def test_a_database_that_cannot_be_used_is_told_once(town: Town, empty: House) -> None:
    url = town.server.url("nowhere")
    ended = ForkingHouse(empty.folder).run("serve", QIRSH_DATABASE_URL=url, QIRSH_WORKERS="3")
    assert (ended.returncode, ended.stdout) == (2, "")
    said = [line for line in ended.stderr.splitlines() if "INFO" not in line]
    assert len(said) == 1
    assert re.match(r"qirsh: the database at [\d.:]+ cannot be used: ", said[0])
    assert list(empty.folder.iterdir()) == []


class Clock:
    """A parent's time: it moves while the parent waits for a moment, and nothing else happens."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()

    class SkippingSelector(selectors.DefaultSelector):
        def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
            found = super().select(timeout and 0)
            if timeout is not None and not found:
                made.now_s += timeout
            return found

    monkeypatch.setattr(supervisor, "time", made)
    monkeypatch.setattr(selectors, "DefaultSelector", SkippingSelector)
    return made


def test_a_child_that_dies_again_and_again_is_started_after_pauses_that_grow(clock: Clock) -> None:
    starts: list[float] = []

    def command(_number: int, _line: int, _row: int) -> list[str]:
        starts.append(clock.now_s)
        if len(starts) == 4:
            signal.raise_signal(signal.SIGTERM)
        return [sys.executable, "-S", "-c", FAILING]

    assert supervisor.Supervisor(1, command, listeners=[], on_ready=lambda _: None).run() == 0
    assert starts == [0, 0, 1, 3]


def test_children_stay_when_those_who_should_replace_them_cannot_serve(caplog: pytest.LogCaptureFixture) -> None:
    numbers: list[int] = []

    def command(number: int, line: int, _row: int) -> list[str]:
        numbers.append(number)
        return [sys.executable, "-S", "-c", *([IDLE, str(line)] if len(numbers) <= WORKERS else [FAILING])]

    class StopAfterFailure(logging.Filter):
        def filter(self, record: logging.LogRecord) -> bool:
            if "the old ones stay" in record.getMessage():
                signal.raise_signal(signal.SIGTERM)
            return True

    with caplog.at_level(logging.INFO), caplog.filtering(StopAfterFailure()):
        parent = supervisor.Supervisor(
            WORKERS, command, listeners=[], on_ready=lambda _: signal.raise_signal(signal.SIGHUP)
        )
        assert parent.run() == 0
    assert numbers == [0, 1, 0]
    assert [record.getMessage() for record in caplog.records] == [
        "replacing all processes, one by one",
        "a new process ended with 1 before it served: the old ones stay",
    ]


def test_a_child_that_does_not_end_is_killed(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    def command(_number: int, line: int, _row: int) -> list[str]:
        return [
            sys.executable,
            "-S",
            "-c",
            f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {IDLE}",
            str(line),
        ]

    parent = supervisor.Supervisor(1, command, listeners=[], on_ready=lambda _: signal.raise_signal(signal.SIGTERM))
    assert parent.run() == 0
    assert [record.getMessage().partition(" does")[2] for record in caplog.records] == [" not end: killed"]
    assert clock.now_s > 30, "longer than the service's time of grace"
