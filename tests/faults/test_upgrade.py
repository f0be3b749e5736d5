"""The next version migrates the database of two processes that serve: no call fails, and none waits for long."""

import asyncio
import os
import random
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import asyncpg
import pytest

from tests.faults.load import GOOD_DAY, Load
from tests.faults.several import FoundedDatabase, Several, settle
from tests.live import environment
from tests.store.next_version import NEXT, next_version

# A second for each of three tables whose lock is waited for, and for the work itself.
_MORE: Final = 200


@pytest.fixture
def fresh(founded_database: FoundedDatabase, folder: Path) -> Iterator[Several]:
    """Whose tables no other test needs."""
    with founded_database.copy() as url, Several(founded_database, folder, url) as world:
        yield world


@pytest.mark.slow
def test_nobody_fails_while_the_next_version_migrates(fresh: Several, tmp_path: Path) -> None:
    several = fresh
    database = several.settings.database
    assert isinstance(database, str)
    history = several.history
    load = Load(several, history, seed=random.randrange(1 << 32))
    told = {
        **os.environ,
        **environment(several.settings),
        "QIRSH_DATA_DIR": str(tmp_path / "data"),
        "PYTHONPATH": str(next_version(tmp_path)),
    }

    async def some_more() -> None:
        """As many as are not done in the time that a single one may wait."""
        await load.goes_on(_MORE)

    async def scene() -> None:
        is_over = False
        report = await asyncpg.connect(database)
        async with asyncio.TaskGroup() as group:
            working = group.create_task(load.run(lambda: is_over))
            await some_more()
            # Whoever reads a table in a long transaction keeps all who would change it waiting.
            await report.execute("BEGIN; SELECT count(*) FROM payment")
            migrating = await program(told, "migrate")
            assert migrating.stderr is not None
            said = await migrating.stderr.readline()
            assert b"a table to be changed is in use" in said, said
            await some_more()
            await report.execute("COMMIT")
            assert await migrating.wait() == 0
            assert await report.fetchval("SELECT max(number) FROM schema_migration") == NEXT.number
            await some_more()
            assert not working.done(), "somebody has lost a connection"
            is_over = True
        await report.close()
        verifying = await program(told, "verify")
        printed = await verifying.communicate()
        assert verifying.returncode == 0, printed

    several.run(scene())
    assert history.having("unknown") == []
    settle(several, history, load)
    assert load.refusals.keys() <= GOOD_DAY
    assert [line for place in several.places for line in complaints(place.data_dir)] == []


async def program(told: Mapping[str, str], *words: str) -> asyncio.subprocess.Process:
    """Of the next version, by an interpreter that has imported nothing of this one."""
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(
        *("setpriv", "--pdeathsig=KILL", "--", sys.executable, "-P", "-m", "qirsh", *words),
        env=told,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=pipe,
        stderr=pipe,
    )


def complaints(folder: Path) -> list[str]:
    """What a process has said that is worse than a note."""
    said = (folder / "server.log").read_text().splitlines()
    return [line for line in said if line.partition(" ")[2].startswith(("WARNING", "ERROR", "CRITICAL"))]
