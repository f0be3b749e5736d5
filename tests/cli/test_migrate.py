"""`qirsh migrate` waits for as long as it takes, and can be told not to."""

import asyncio
import signal
from pathlib import Path

import asyncpg

from tests.cli.test_postgres import PostgresHouse
from tests.postgres import PostgresServer
from tests.waiting import wait_until

_WAITS = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"


def test_a_migration_that_waits_is_ended_by_ctrl_c_in_a_sentence(postgres: PostgresServer, tmp_path: Path) -> None:
    with postgres.database() as url, asyncio.Runner() as runner:
        house = PostgresHouse(tmp_path / "d", url, postgres)
        assert house.invoke("migrate").returncode == 0
        other = runner.run(asyncpg.connect(url))
        runner.run(other.execute("BEGIN; LOCK TABLE schema_migration"))
        with house.started("migrate") as waiting:
            wait_until(lambda: house.sql(_WAITS) == "1")
            waiting.send_signal(signal.SIGINT)
            printed = waiting.communicate()
        assert (waiting.returncode, printed[0]) == (2, "")
        assert printed[1].startswith("qirsh: stopped: the tables are as they were")
        runner.run(other.close())
