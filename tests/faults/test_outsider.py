"""Others at the same file: a shell that holds the lock, a reader that stays, a second server, one who deletes it."""

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import apsw
import pytest

from tests.faults.history import History
from tests.faults.load import Load
from tests.faults.served import Served, taken
from tests.forked import start
from tests.line import Line
from tests.live import create, refused, retrieve, wait_until

# With the SQLite that Debian has, not ours.
_LOOK: Final = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
print(connection.execute("SELECT count(*) FROM payment").fetchone()[0])
connection.close()
"""


@contextlib.contextmanager
def _outsider(world: Served, begin: str) -> Iterator[None]:
    """Somebody with a shell, in the middle of a transaction."""
    connection = apsw.Connection(str(world.settings.database))
    try:
        connection.set_busy_timeout(5000)
        connection.execute(begin)
        yield
        connection.execute("ROLLBACK")
    finally:
        connection.close()


def test_a_write_waits_a_little_for_an_outsider_who_holds_the_lock(world: Served) -> None:
    history = History(world)

    async def scene() -> None:
        async with Line(world.settings.port) as line:
            wish = history.create(world.merchants[0], 100)
            with _outsider(world, "BEGIN IMMEDIATE"):
                sending = asyncio.create_task(wish.send(line))
                await taken(world.settings.port)
                assert not sending.done()
            await sending
            assert wish.outcome == "ok"

    world.run(scene())
    history.check()


def test_writes_are_refused_while_an_outsider_holds_the_lock_and_go_on_afterwards(world: Served) -> None:
    merchant = world.merchants[0]
    history = History(world)
    load = Load(world, history, seed=105)
    world.run(load.run(lambda: len(history.operations) >= 200))
    kept = history.having("ok", "create")[0]
    with _outsider(world, "BEGIN IMMEDIATE"):
        # A dozen clients, each batch of them for as long as a writer waits.
        world.run(load.run(lambda: load.refusals["unavailable"] >= 12))
        told = refused(world.send(create(merchant.key)), 503, "unavailable")
        assert "Nothing was done." in told["detail"]
        ready = world.now_ready()
        assert ready.status_code == 503
        assert ["locked" in cause for cause in ready.json()["causes"]] == [True]
        owner = next(one for one in world.merchants if int(one.account) == kept.account)
        assert world.data(retrieve(owner.key, kept.payment_id))["note"] == kept.key
    denied = [one for one in history.having("fail") if one.refusal == "unavailable"]
    world.run(history.retry(denied))
    assert "unavailable" not in {one.refusal for one in denied}
    assert not any(one.was_replayed for one in denied)
    wait_until(lambda: world.now_ready().status_code == 200, 5)
    history.check()
    world.verify()


def test_a_reader_who_stays_for_long_stops_nobody(world: Served) -> None:
    history = History(world)
    load = Load(world, history, seed=106)
    with _outsider(world, "BEGIN; SELECT count(*) FROM payment"):
        world.run(load.run(lambda: len(history.operations) >= 500))
        assert "unavailable" not in load.refusals
        history.check()
    world.verify()


def test_an_outsider_who_leaves_takes_nothing_along(world: Served) -> None:
    """The last connection to close deletes the log, unless it knows that others are there."""
    history = History(world)
    load = Load(world, history, seed=107)
    assert isinstance(world.settings.database, Path)
    log = world.settings.database.with_name(f"{world.settings.database.name}-wal")
    for times in range(1, 4):
        world.run(load.run(lambda enough=times * 100: len(history.operations) >= enough))  # type: ignore[misc]
        command = (sys.executable, "-c", _LOOK, str(world.settings.database))
        seen = subprocess.run(command, capture_output=True, text=True, check=True)
        assert int(seen.stdout) == len(history.having("ok", "create"))
        assert log.stat().st_size > 0
    world.process.kill()
    world.ended()
    world.restart()
    history.check()
    world.verify()


def test_a_second_server_on_the_same_data_is_refused_and_the_first_goes_on(world: Served, tmp_path: Path) -> None:
    history = History(world)
    load = Load(world, history, seed=108)
    link = tmp_path / "another-name"
    link.symlink_to(world.settings.data_dir)
    for folder in (world.settings.data_dir, link):
        environment = {**world.environment, "QIRSH_PORT": "0", "QIRSH_DATA_DIR": str(folder)}
        second = start(("-m", "qirsh", "serve"), env=environment, stderr=subprocess.PIPE)
        world.run(load.run(lambda running=second: running.poll() is not None))  # type: ignore[misc]
        _, complaint = second.communicate()
        assert second.returncode == 2
        assert f"another Qirsh process (pid {world.process.pid})" in complaint
    assert load.refusals["unavailable"] == 0
    history.check()
    world.verify()


@pytest.mark.parametrize("suffix", ["", "-wal", ".lock"])
def test_a_server_whose_file_is_deleted_acknowledges_nothing_more_ends_and_says_why(world: Served, suffix: str) -> None:
    history = History(world)
    load = Load(world, history, seed=109)
    world.run(load.run(lambda: len(history.having("ok")) >= 50))
    file = Path(f"{world.settings.database}{suffix}")
    file.unlink()
    # "overloaded" if one of the server's own workers wrote first.
    answer = world.send(create(world.merchants[0].key))
    assert answer.status_code == 503, answer.text
    assert answer.json()["code"] in {"outcome_unknown", "overloaded"}
    assert world.ended(5) == 70
    # The worker that wrote says it too, as a warning.
    [cause] = [line for line in world.complaints() if "CRITICAL" in line and "deleted or replaced" in line]
    assert f"{file} was deleted or replaced while the service ran" in cause
    if suffix == ".lock":  # The database itself is as it was.
        world.restart()
        assert world.send(create(world.merchants[0].key)).status_code == 201
        world.verify()
