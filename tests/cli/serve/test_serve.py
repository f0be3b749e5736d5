"""`qirsh serve` from its first start to its end."""

import contextlib
import resource
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.cli.program import PASSWORD, House
from tests.live import free_port

READY = "There is no operator yet"
BEGIN = "operator create"

# Ends well when it is told to while it still opens: nothing here is ever ready.
OPENING = """
import asyncio
from qirsh.cli.serve.command import run_until_signal
async def open_for_ever():
    print("opening", flush=True)
    try:
        await asyncio.sleep(60)
    finally:
        print("closed", flush=True)
run_until_signal(open_for_ever())
"""
VISIT = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("SELECT count(*) FROM account").fetchall()
connection.close()
"""


@pytest.fixture
def few_descriptors() -> Iterator[None]:
    """As a shell has them."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_serve_answers_on_the_address_it_prints_and_ends_well_on_a_signal(number: int, empty: House) -> None:
    with empty.serving("serve", until=READY, is_afresh=True) as running:
        assert running.get("/healthz") == {"status": "ok"}
        assert running.stop(number) == 0
        assert running.process.stderr is not None
        lines = running.process.stderr.read().splitlines()
    told = [line.split(" ", 3)[1:3] for line in lines if "head of the chain of seals: " not in line]
    assert told == [["INFO", "qirsh.cli.serve.command"]] * 2
    assert len(lines) - len(told) in {1, 2}, "the house account is the first that is sealed"
    assert {path.name for path in empty.folder.iterdir()} == {
        "chain-head.json",
        "qirsh.db",
        "qirsh.db.lock",
        "secret.key",
    }


@pytest.mark.parametrize(("scheme", "is_told"), [("https", True), ("http", False)])
def test_browsers_are_told_to_stay_with_https_where_it_is_https(empty: House, scheme: str, *, is_told: bool) -> None:
    port = free_port()
    told = set()
    with empty.started("serve", QIRSH_PORT=str(port), QIRSH_BASE_URL=f"{scheme}://pay.example") as process:
        assert process.stdout is not None
        assert any(READY in line for line in process.stdout)
        for path in ("/healthz", "/sign-in", "/nowhere"):
            with contextlib.closing(HTTPConnection("127.0.0.1", port, timeout=20)) as line:
                line.request("GET", path, headers={"Host": "pay.example"})
                told.add(line.getresponse().headers["strict-transport-security"])
        process.send_signal(signal.SIGTERM)
    assert told == ({"max-age=63072000; includeSubDomains"} if is_told else {None})


@pytest.mark.parametrize("has_shared_socket", [False, True], ids=["its own socket", "a socket for operators"])
def test_serve_on_an_empty_database_says_how_to_begin_and_what_it_says_works_from_anywhere(
    empty: House, tmp_path: Path, *, has_shared_socket: bool
) -> None:
    path = f"{empty.folder}/operators.sock"
    shared = empty.serving("serve", until=BEGIN, QIRSH_CONTROL_SOCKET=path)
    with shared if has_shared_socket else empty.serving("serve", until=BEGIN) as running:
        setting, program, *words = shlex.split(running.printed.splitlines()[-1])
        assert program == "qirsh"
        told = dict([setting.split("=", 1)])
        assert told == ({"QIRSH_CONTROL_SOCKET": path} if has_shared_socket else {"QIRSH_DATA_DIR": str(empty.folder)})
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        begun = subprocess.run(
            [sys.executable, "-m", "qirsh", *words, "--password-stdin"],
            cwd=elsewhere,
            env={name: value for name, value in empty.environment().items() if not name.startswith("QIRSH_")} | told,
            input=f"{PASSWORD}\n",
            capture_output=True,
            text=True,
            check=True,
        )
        assert "authenticator key" in begun.stdout
        assert not list(elsewhere.iterdir())
        running.stop()
    with empty.serving("serve", until="listening") as running:
        time.sleep(0.1)
        running.stop()
        assert running.process.stdout is not None
        assert "operator" not in running.process.stdout.read()


def test_a_signal_answers_a_long_poll_at_once_and_a_second_one_changes_nothing(house: House) -> None:
    demo = house.demo()
    answers: list[str] = []
    with house.serving("serve", until="listening") as running:
        path = f"/api/v1/remote-payments/{demo['payment']}?wait=30"
        poller = threading.Thread(target=lambda: answers.append(str(running.get(path, demo["apiKey"]))))
        poller.start()
        time.sleep(0.5)
        begin = time.monotonic()
        running.process.send_signal(signal.SIGTERM)
        assert running.stop(signal.SIGINT) == 0
        assert time.monotonic() - begin < 10
        poller.join()
    assert "pending" in answers[0]


def test_a_second_interrupt_does_not_cut_off_who_is_still_served(empty: House) -> None:
    with empty.serving("serve", until=READY) as running:
        port = int(running.url.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
            assert client.recv(65536)
            for _ in range(2):
                running.process.send_signal(signal.SIGINT)
                time.sleep(0.3)
            client.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
            assert client.recv(65536).startswith(b"HTTP/1.1 200")
        assert running.process.wait(10) == 0


def test_a_signal_while_it_opens_ends_it_well() -> None:
    with subprocess.Popen([sys.executable, "-c", OPENING], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "opening\n"
        process.send_signal(signal.SIGTERM)
        assert process.stdout.read() == "closed\n"
    assert process.returncode == 0


def test_nothing_it_makes_can_be_opened_by_others_whatever_the_umask(empty: House) -> None:
    with empty.serving("serve", until=READY, umask=0):
        found = {path.name: path.lstat().st_mode & 0o777 for path in empty.folder.iterdir()}
        assert empty.folder.stat().st_mode & 0o777 == 0o700
    assert set(found) >= {"qirsh.db", "qirsh.db-wal", "qirsh.db.lock", "secret.key", "control.sock", "serving.json"}
    assert set(found.values()) == {0o600}


def test_the_descriptor_limit_is_raised(empty: House, few_descriptors: None) -> None:  # noqa: ARG001 - inherited
    with empty.serving("serve", until=READY, is_afresh=True) as running:
        limits = Path(f"/proc/{running.process.pid}/limits").read_text().splitlines()
    [line] = [line for line in limits if line.startswith("Max open files")]
    soft, hard = line.split()[3:5]
    assert soft == hard


def test_a_visitor_with_an_older_sqlite_does_not_take_the_log_away_from_a_server(empty: House) -> None:
    # The shell deletes the -wal file when it leaves as the last one; the server's lock must tell it that it is not.
    with empty.serving("serve", until=READY) as running:
        log = empty.folder / "qirsh.db-wal"
        before = log.stat().st_ino
        subprocess.run([sys.executable, "-c", VISIT, empty.database], check=True)
        assert log.stat().st_ino == before
        descriptors = Path(f"/proc/{running.process.pid}/fd")
        assert not [link for link in descriptors.iterdir() if link.readlink().name.endswith("(deleted)")]


def test_a_server_that_was_killed_is_not_taken_for_a_running_one(empty: House) -> None:
    with empty.serving("serve", until=READY) as running:
        running.stop(signal.SIGKILL)
    assert (empty.folder / "serving.json").exists()
    assert "not running" in empty.run("status").stdout
    with empty.serving("serve", until=READY) as running:
        assert f"process {running.process.pid}, ready" in empty.run("status").stdout


def test_a_lost_secret_is_not_replaced_in_silence(house: House) -> None:
    (house.folder / "secret.key").unlink()
    ended = house.invoke("serve")
    assert ended.returncode == 2
    assert "secret.key is missing" in ended.stderr
    assert not (house.folder / "secret.key").exists()


@pytest.mark.parametrize("is_there", [True, False], ids=["empty", "missing"])
@pytest.mark.parametrize("key", ["", "0123456789abcdef" * 2])
def test_a_lost_database_is_not_replaced_by_an_empty_one(house: House, key: str, *, is_there: bool) -> None:
    house.database.unlink()
    if is_there:
        house.database.touch()
    before = {path.name: path.read_bytes() for path in house.folder.iterdir()}
    # In a process of its own: one that is not refused would serve for ever.
    ended = house.run("serve", **({"QIRSH_SECRET_KEY": key} if key else {}))
    assert ended.returncode == 2
    assert f"there is {house.folder / 'secret.key'} but nothing in {house.database}: put" in ended.stderr
    assert {path.name: path.read_bytes() for path in house.folder.iterdir()} == before
    (house.folder / "secret.key").rename(house.folder / "moved away")
    with house.serving("serve", until=READY):
        pass


def test_a_log_without_its_database_is_not_served_and_not_deleted(empty: House) -> None:
    empty.folder.mkdir()
    (empty.folder / "qirsh.db-wal").write_bytes(b"what was acknowledged last")
    ended = empty.run("serve")
    assert ended.returncode == 2
    assert "qirsh.db-wal is there without its database: put that back, or move this away" in ended.stderr
    assert (empty.folder / "qirsh.db-wal").read_bytes() == b"what was acknowledged last"
    assert not empty.database.exists()


def test_a_database_is_not_served_with_the_secret_of_another(house: House) -> None:
    ended = house.invoke("serve", QIRSH_SECRET_KEY="0123456789abcdef" * 2)
    assert ended.returncode == 2
    assert "not the one that this database was made with" in ended.stderr
