"""`qirsh serve` from its first start to its end."""

import asyncio
import contextlib
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.cli.program import PASSWORD, QIRSH, House, Running
from tests.faults.served import taken
from tests.forked import start
from tests.line import Line
from tests.live import Call, free_port
from tests.waiting import wait_until

READY = "There is no operator yet"
BEGIN = "operator create"

# Ends well when it is told to while it still opens: nothing here is ever ready.
OPENING = """
import asyncio
from qirsh.cli.serve.command import run_until_signal
async def open_for_ever():
    print("opening", flush=True)
    try:
        await asyncio.Event().wait()
    finally:
        print("closed", flush=True)
run_until_signal(open_for_ever())
"""
# With few descriptors.
AS_FROM_A_SHELL = """
import resource
_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
"""
VISIT = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("SELECT count(*) FROM account").fetchall()
connection.close()
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_serve_answers_on_the_address_it_prints_and_ends_well_on_a_signal(number: int, empty: House) -> None:
    with empty.serving("serve", until=READY, is_afresh=number == signal.SIGTERM) as running:
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
            with contextlib.closing(HTTPConnection("127.0.0.1", port)) as line:
                line.request("GET", path, headers={"Host": "pay.example"})
                told.add(line.getresponse().headers["strict-transport-security"])
        process.send_signal(signal.SIGTERM)
    assert told == ({"max-age=63072000; includeSubDomains"} if is_told else {None})


@pytest.mark.parametrize("has_shared_socket", [False, True], ids=["its own socket", "a socket for operators"])
def test_serve_on_an_empty_database_says_how_to_begin_and_what_it_says_works_from_anywhere(
    empty: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, has_shared_socket: bool
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
        monkeypatch.chdir(elsewhere)
        pipe = subprocess.PIPE
        clean = {name: value for name, value in os.environ.items() if not name.startswith("QIRSH_")}
        begin = [*QIRSH, *words, "--password-stdin"]
        with start(begin, env=clean | told, stdin=pipe, stdout=pipe, stderr=pipe) as process:
            begun, complained = process.communicate(f"{PASSWORD}\n")
        assert (process.returncode, complained) == (0, "")
        assert "authenticator key" in begun
        assert not list(elsewhere.iterdir())
        running.stop()
    with empty.serving("serve", until="listening") as running:
        assert running.stop() == 0
        assert running.process.stdout is not None
        assert "operator" not in running.process.stdout.read()


def test_a_signal_answers_a_long_poll_and_a_second_one_changes_nothing(house: House) -> None:
    """That it is answered at once, the tests of faults see."""
    demo = house.demo()
    call = Call("GET", f"/api/v1/remote-payments/{demo['payment']}?wait=30", demo["apiKey"])
    with house.serving("serve", until="listening") as running:
        port = int(running.url.rpartition(":")[2])

        async def scene() -> None:
            async with Line(port) as line:
                await line.connect()
                poll = asyncio.create_task(line.ask(call))
                await taken(port)
                running.process.send_signal(signal.SIGTERM)
                running.process.send_signal(signal.SIGINT)
                assert (await poll).data["status"] == "pending"

        asyncio.run(scene())
        assert running.process.wait() == 0


def test_a_second_interrupt_does_not_cut_off_who_is_still_served(empty: House) -> None:
    with empty.serving("serve", until=READY) as running:
        port = int(running.url.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
            assert client.recv(65536)
            for _ in range(2):
                running.process.send_signal(signal.SIGINT)
                wait_until(lambda: not is_pending(running, signal.SIGINT))
                wait_until(lambda: not is_listening(port))
            client.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
            assert client.recv(65536).startswith(b"HTTP/1.1 200")
        assert running.process.wait() == 0


def is_pending(running: Running, number: int) -> bool:
    """Whether the process has not taken this signal yet."""
    status = Path(f"/proc/{running.process.pid}/status").read_text()
    return bool(int(re.findall(r"^ShdPnd:\s+(\w+)", status, re.MULTILINE)[0], 16) >> (number - 1) & 1)


def is_listening(port: int) -> bool:
    with contextlib.suppress(ConnectionError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False


def test_a_signal_while_it_opens_ends_it_well() -> None:
    with start(["-c", OPENING], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "opening\n"
        process.send_signal(signal.SIGTERM)
        assert process.stdout.read() == "closed\n"
        assert process.wait() == 0


def test_nothing_it_makes_can_be_opened_by_others_whatever_the_umask(empty: House) -> None:
    with empty.serving("serve", until=READY, umask=0):
        found = {path.name: path.lstat().st_mode & 0o777 for path in empty.folder.iterdir()}
        assert empty.folder.stat().st_mode & 0o777 == 0o700
    assert set(found) >= {"qirsh.db", "qirsh.db-wal", "qirsh.db.lock", "secret.key", "control.sock", "serving.json"}
    assert set(found.values()) == {0o600}


def test_the_descriptor_limit_is_raised(empty: House) -> None:
    with empty.serving("serve", until=READY, first=AS_FROM_A_SHELL) as running:
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
