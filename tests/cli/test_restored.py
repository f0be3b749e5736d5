"""`qirsh restored`: what it refuses changes nothing, and what it does is told, with what cannot be known."""

import asyncio
import os
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import asyncpg
import pytest

from qirsh.contract.timestamps import timestamp
from qirsh.store.sqlite.store import lock_file
from tests.cli.program import PASSWORD, House
from tests.cli.test_postgres import CREATE, PostgresHouse
from tests.postgres import PostgresServer


def moment(ago_s: int = 0) -> str:
    return timestamp(time.time_ns() // 1_000_000 - ago_s * 1000)


def epoch(house: House) -> tuple[Any, ...]:
    """The epoch, and how many restores there were."""
    with closing(apsw.Connection(str(house.database), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        [found] = connection.execute(
            "SELECT value, (SELECT count(*) FROM restore) FROM constant WHERE name = 'epoch'"
        ).fetchall()
    return found


@pytest.fixture
def begun(empty: House) -> House:
    """With an operator, and nothing else."""
    empty.act(*CREATE, stdin=f"{PASSWORD}\n")
    return empty


@pytest.fixture
def shared(postgres: PostgresServer, tmp_path: Path) -> Iterator[PostgresHouse]:
    with postgres.database() as url:
        house = PostgresHouse(tmp_path / "d", url, postgres)
        house.act(*CREATE, stdin=f"{PASSWORD}\n")
        yield house


def test_a_restore_is_recorded_with_what_cannot_be_known(begun: House) -> None:
    for number in (1, 2):
        done = begun.invoke("restored", "--taken-at", moment())
        assert (done.returncode, done.stderr) == (0, "")
        assert f"in epoch {number}." in done.stdout
        for told in (
            "Money stands still",
            f"If so, epoch {number} may have been",
            "API keys, passwords",
            "is not in these books",
            "`qirsh audit lift`",
        ):
            assert told in done.stdout
        assert epoch(begun) == (b"%d" % number, number)
        assert begun.invoke("verify").returncode == 0
    assert "in epoch 8." in begun.invoke("restored", "--taken-at", moment(), "--after-epoch", "7").stdout


@pytest.mark.parametrize(
    ("taken_at", "told"),
    [
        ("2999-01-01T00:00:00Z", "is in the future"),
        ("2001-01-01T00:00:00Z", "when this database began"),
        ("2026-11-18T07:45:00", "is not like"),
        ("yesterday", "is not like"),
        ("", "is not like"),
    ],
)
def test_a_time_that_cannot_be_changes_nothing(begun: House, taken_at: str, told: str) -> None:
    ended = begun.invoke("restored", "--taken-at", taken_at)
    assert (ended.returncode, told in ended.stderr, ended.stdout) == (2, True, ""), ended.stderr
    assert epoch(begun) == (b"0", 0)


def test_where_nothing_is_nothing_is_made(empty: House) -> None:
    ended = empty.invoke("restored", "--taken-at", moment())
    assert (ended.returncode, "there is no database at" in ended.stderr) == (2, True)
    assert not empty.folder.exists()


def test_a_file_that_is_served_is_left_alone(begun: House) -> None:
    lock = lock_file(begun.database)
    try:
        ended = begun.invoke("restored", "--taken-at", moment())
    finally:
        os.close(lock)
    assert (ended.returncode, "stop all servers first" in ended.stderr) == (2, True), ended.stderr
    assert epoch(begun) == (b"0", 0)


def test_a_shared_database_that_is_served_is_left_alone(shared: PostgresHouse) -> None:
    async def beside() -> None:
        settings = {"application_name": "qirsh"}
        connection = await asyncpg.connect(shared.url, server_settings=settings)
        try:
            ended = await asyncio.to_thread(shared.invoke, "restored", "--taken-at", moment())
            assert (ended.returncode, "stop all servers first" in ended.stderr) == (2, True), ended.stderr
        finally:
            await connection.close()

    asyncio.run(beside())
    # A process that was killed has no connection, and may have something on its way.
    now = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
    shared.sql(f"UPDATE lease SET until = {now} + 3900")  # noqa: S608 - ours
    ended = shared.invoke("restored", "--taken-at", moment())
    assert (ended.returncode, "try again in" in ended.stderr) == (2, True), ended.stderr
    assert shared.sql("SELECT count(*) FROM restore") == "0"
    shared.sql("UPDATE lease SET until = 0")
    done = shared.invoke("restored", "--taken-at", moment())
    assert (done.returncode, "in epoch 1." in done.stdout) == (0, True), done.stderr
    assert shared.invoke("verify").returncode == 0
    assert shared.sql("SELECT epoch, done_by LIKE 'os user %' FROM restore") == "1|t"
