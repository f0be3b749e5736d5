"""Others at the same file: a shell that holds the lock, a reader that stays, a second server, one who deletes it."""

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import apsw
import pytest

from tests.faults.load import Load
from tests.faults.served import Served, taken
from tests.forked import start
from tests.line import Line, Lost, NotSent
from tests.live import create, refused, retrieve
from tests.waiting import wait_until

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


def test_a_write_waits_for_an_outsider_who_holds_the_lock(shimmed: Served) -> None:
    history = shimmed.history

    async def scene() -> None:
        async with Line(shimmed.settings.port) as line:
            wish = history.create(shimmed.merchants[0], 100)
            await line.connect()
            with _outsider(shimmed, "BEGIN IMMEDIATE"):
                sending = asyncio.create_task(wish.send(line))
                await taken(shimmed.settings.port)
                assert not sending.done()
            await sending
            assert wish.outcome == "ok"

    shimmed.run(scene())
    history.check()


def test_writes_are_refused_while_an_outsider_holds_the_lock_and_go_on_afterwards(lasting: Served) -> None:
    world, history = lasting, lasting.history
    merchant = world.merchants[0]
    load = Load(world, history, seed=105)
    world.run(load.run(_until_more(world, 30)))
    kept = history.having("ok", "create")[0]
    with _outsider(world, "BEGIN IMMEDIATE"):
        # A dozen clients, each batch of them for as long as a writer waits.
        world.run(load.run(lambda: load.refusals["unavailable"] >= 12))
        told = refused(world.send(create(merchant.key)), 503, "unavailable")
        assert "Nothing was done." in told["detail"]
        ready = world.now_ready()
        assert ready.status_code == 503
        assert any("locked" in cause for cause in ready.json()["causes"])
        owner = next(one for one in world.merchants if int(one.account) == kept.account)
        assert world.data(retrieve(owner.key, kept.payment_id))["note"] == kept.key
    denied = [one for one in history.having("fail") if one.refusal == "unavailable"]
    world.run(history.retry(denied))
    assert "unavailable" not in {one.refusal for one in denied}
    assert not any(one.was_replayed for one in denied)
    wait_until(lambda: world.now_ready().status_code == 200)
    history.check()


def test_a_reader_who_stays_for_long_stops_nobody(lasting: Served) -> None:
    load = Load(lasting, lasting.history, seed=106)
    with _outsider(lasting, "BEGIN; SELECT count(*) FROM payment"):
        lasting.run(load.run(_until_more(lasting, 100)))
        assert "unavailable" not in load.refusals
        lasting.history.check()


def test_an_outsider_who_leaves_takes_nothing_along(lasting: Served) -> None:
    """The last connection to close deletes the log, unless it knows that others are there."""
    world, history = lasting, lasting.history
    load = Load(world, history, seed=107)
    assert isinstance(world.settings.database, Path)
    log = world.settings.database.with_name(f"{world.settings.database.name}-wal")
    for _ in range(2):
        world.run(load.run(_until_more(world, 30)))
        command = (sys.executable, "-S", "-c", _LOOK, str(world.settings.database))
        seen = subprocess.run(command, capture_output=True, text=True, check=True)
        assert int(seen.stdout) == len(history.having("ok", "create"))
        assert log.stat().st_size > 0
    world.process.kill()
    world.ended()
    world.restart()
    history.check()


def test_a_second_server_on_the_same_data_is_refused_and_the_first_goes_on(lasting: Served, tmp_path: Path) -> None:
    world, history = lasting, lasting.history
    load = Load(world, history, seed=108)
    link = tmp_path / "another-name"
    link.symlink_to(world.settings.data_dir)
    for folder in (world.settings.data_dir, link):
        environment = {**world.environment, "QIRSH_PORT": "0", "QIRSH_DATA_DIR": str(folder)}
        second = start(("-m", "qirsh", "serve"), env=environment, stderr=subprocess.PIPE)
        world.run(load.run(lambda running=second: running.poll() is not None, clients=2))  # type: ignore[misc]
        _, complaint = second.communicate()
        assert second.returncode == 2
        assert f"another Qirsh process (pid {world.process.pid})" in complaint
    assert load.refusals["unavailable"] == 0
    history.check()


def _until_more(world: Served, operations: int) -> Callable[[], bool]:
    enough = len(world.history.operations) + operations
    return lambda: len(world.history.operations) >= enough


@pytest.mark.parametrize("suffix", ["", "-wal", ".lock"])
def test_a_server_whose_file_is_deleted_acknowledges_nothing_more_ends_and_says_why(world: Served, suffix: str) -> None:
    load = Load(world, world.history, seed=109)
    world.run(load.run(lambda: len(world.history.having("ok")) >= 20))
    file = Path(f"{world.settings.database}{suffix}")
    file.unlink()
    # One of the server's own workers may have written first, and the server may be gone before it has answered.
    with contextlib.suppress(NotSent, Lost):
        answer = world.send(create(world.merchants[0].key))
        assert answer.status_code == 503, answer.text
        assert answer.json()["code"] in {"outcome_unknown", "overloaded"}
    assert world.ended() == 70
    # The worker that wrote says it too, as a warning.
    [cause] = [line for line in world.complaints() if "CRITICAL" in line and "deleted or replaced" in line]
    assert f"{file} was deleted or replaced while the service ran" in cause
    if suffix == ".lock":  # The database itself is as it was.
        world.restart()
        assert world.send(create(world.merchants[0].key)).status_code == 201
        world.verify()
