"""`qirsh serve` with several processes on one PostgreSQL database."""

import asyncio
import contextlib
import itertools
import logging
import os
import re
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import msgspec
import pytest

from qirsh.cli import running_server
from qirsh.cli.serve.supervisor import Supervisor
from qirsh.web.operator.control import OperatorReply, OperatorRequest
from tests import postgres
from tests.cli.program import House
from tests.cli.serve.family import CLIENTS, SECRET, SOON_S, Family, Town, serving_family
from tests.line import Line
from tests.live import PASSWORD, Call, create, pay, retrieve, wait_until

WORKERS: Final = 2

# A child that serves at once and does nothing, and one that cannot.
IDLE: Final = "import socket, sys, time; socket.socket(fileno=int(sys.argv[1])).sendall(b'x'); time.sleep(60)"
FAILING: Final = "raise SystemExit(1)"


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Town:
    return Town(postgres.shared_server(), tmp_path_factory.mktemp("town"))


@pytest.fixture
def family(town: Town, empty: House) -> Iterator[Family]:
    with serving_family(town, empty, workers=WORKERS) as one:
        yield one


def test_several_processes_serve_one_address_and_say_so_once(family: Family) -> None:
    assert len(family.children()) == WORKERS
    wait_until(family.is_ready, SOON_S)
    told = running_server.found(family.settings)
    assert told == running_server.Server(family.parent, family.running.url, family.running.url, WORKERS)
    status = family.house.run("status", QIRSH_DATABASE_URL=str(family.settings.database), QIRSH_SECRET_KEY=SECRET)
    assert f"running as process {family.parent} with {WORKERS} children, ready" in status.stdout
    assert family.running.stop() == 0
    assert family.running.process.stdout is not None
    assert family.running.process.stdout.read() == ""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_the_parent_ends_all_of_them_well(number: int, family: Family) -> None:
    children = family.children()
    with socket.create_connection(("127.0.0.1", family.port)) as idle:
        idle.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert idle.recv(65536)
        os.kill(family.parent, number)
        wait_until(lambda: not family.is_listening(), SOON_S)
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
    wait_until(family.is_ready, SOON_S)
    assert family.children() == children


def test_a_child_that_is_killed_comes_back(family: Family) -> None:
    first, second = family.children()
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: len(family.children()) == WORKERS and first not in family.children(), SOON_S)
    assert second in family.children()
    wait_until(family.is_ready, SOON_S)
    assert running_server.found(family.settings) is not None
    wait_until(lambda: _acted(family).done is not None, SOON_S)
    family.running.stop()
    assert family.running.process.stderr is not None
    assert re.findall(r"process (\d+) was killed by SIGKILL: .*", family.running.process.stderr.read()) == [str(first)]


@pytest.mark.parametrize("what", ["all are replaced", "one after another is stopped"])
def test_clients_see_no_failure_when_processes_end_well(what: str, family: Family) -> None:
    before = family.children()
    is_over = threading.Event()
    with ThreadPoolExecutor(1) as beside:
        load = beside.submit(lambda: asyncio.run(_load(family, is_over)))
        try:
            time.sleep(0.3)
            if what == "all are replaced":
                os.kill(family.parent, signal.SIGHUP)
                wait_until(lambda: len(family.children()) == WORKERS and not {*before} & {*family.children()}, SOON_S)
            else:
                for child in before:  # All clients may have met the same one.
                    os.kill(child, signal.SIGTERM)
                    wait_until(lambda: child not in family.children() and len(family.children()) == WORKERS, SOON_S)  # noqa: B023 - waited for
            time.sleep(0.3)
        finally:
            is_over.set()
        assert all(load.result())


async def _load(family: Family, is_over: threading.Event) -> list[int]:
    """Each client keeps its connection until it is told that it ends. The first failure ends it all."""

    async def client(number: int) -> int:
        merchant, customer = family.people.merchants[number % 2], family.people.customers[number]
        payments = 0
        async with Line(family.port) as line:
            while not is_over.is_set():
                async with asyncio.timeout(SOON_S):
                    payment_id = (await line.ask(create(merchant.key))).data["id"]
                    await asyncio.sleep(number / CLIENTS / 4)  # Some are never idle, others often.
                    assert (await line.ask(pay(customer, payment_id))).data["status"] == "paid"
                    assert (await line.ask(retrieve(merchant.key, payment_id))).data["status"] == "paid"
                payments += 1
        return payments

    return await asyncio.gather(*(client(number) for number in range(CLIENTS)))


def test_operators_act_before_during_and_after_a_replacement(family: Family) -> None:
    assert _acted(family).done
    before = family.children()
    os.kill(family.parent, signal.SIGHUP)
    during = 0
    while {*before} & {*family.children()}:
        assert _acted(family).done
        during += 1
    assert during > 5
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
    wait_until(lambda: not [child for child in children if Path(f"/proc/{child}").exists()], SOON_S)
    assert running_server.found(family.settings) is None
    assert not family.settings.control_socket.exists()
    with socket.create_server(("127.0.0.1", family.port)):
        pass


def test_a_database_that_cannot_be_used_is_told_once(town: Town, empty: House) -> None:
    url = town.server.url("nowhere")
    ended = empty.run("serve", QIRSH_DATABASE_URL=url, QIRSH_WORKERS="3")
    assert (ended.returncode, ended.stdout) == (2, "")
    said = [line for line in ended.stderr.splitlines() if "INFO" not in line]
    assert len(said) == 1
    assert re.match(r"qirsh: the database at [\d.:]+ cannot be used: ", said[0])
    assert list(empty.folder.iterdir()) == []


def test_a_child_that_dies_again_and_again_is_started_after_pauses_that_grow() -> None:
    starts: list[float] = []

    def command(_number: int, _line: int, _row: int) -> list[str]:
        starts.append(time.monotonic())
        if len(starts) == 4:
            signal.raise_signal(signal.SIGTERM)
        return [sys.executable, "-S", "-c", FAILING]

    assert Supervisor(1, command, listeners=[], on_ready=lambda _: None).run() == 0
    at_once, short, longer = (after - before for before, after in itertools.pairwise(starts))
    assert at_once < 1 <= short
    assert longer >= 2


def test_children_stay_when_those_who_should_replace_them_cannot_serve(caplog: pytest.LogCaptureFixture) -> None:
    numbers: list[int] = []

    def command(number: int, line: int, _row: int) -> list[str]:
        numbers.append(number)
        if len(numbers) <= WORKERS:
            return [sys.executable, "-S", "-c", IDLE, str(line)]
        threading.Timer(1, signal.raise_signal, [signal.SIGTERM]).start()
        return [sys.executable, "-S", "-c", FAILING]

    with caplog.at_level(logging.INFO):
        parent = Supervisor(WORKERS, command, listeners=[], on_ready=lambda _: signal.raise_signal(signal.SIGHUP))
        assert parent.run() == 0
    assert numbers == [0, 1, 0]
    assert [record.getMessage() for record in caplog.records] == [
        "replacing all processes, one by one",
        "a new process ended with 1 before it served: the old ones stay",
    ]


def test_a_child_that_does_not_end_is_killed(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr("qirsh.cli.serve.supervisor._KILL_S", 0.5)

    def command(_number: int, line: int, _row: int) -> list[str]:
        return [
            sys.executable,
            "-S",
            "-c",
            f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {IDLE}",
            str(line),
        ]

    parent = Supervisor(1, command, listeners=[], on_ready=lambda _: signal.raise_signal(signal.SIGTERM))
    assert parent.run() == 0
    assert [record.getMessage().partition(" does")[2] for record in caplog.records] == [" not end: killed"]
