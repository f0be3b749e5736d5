"""A PostgreSQL server whose data is set back to an earlier copy: running processes notice, and a start is refused."""

import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from typing import Any, Final

import pytest

from qirsh.domain.identifier import Identifiers
from tests.faults.served import scratch_folder
from tests.faults.several import FoundedDatabase, Several
from tests.forked import start
from tests.live import environment, pay, refused
from tests.postgres import PostgresServer
from tests.postgres import server as postgres_server
from tests.waiting import wait_until

pytestmark = pytest.mark.slow

PENDING: Final = "to be paid later"


@pytest.fixture
def up() -> Iterator[PostgresServer]:
    """One for this test alone."""
    with postgres_server() as one:
        yield one


def remembered(world: Several, number: int) -> int:
    file = world.places[number].data_dir / "chain-head.json"
    if not file.exists():
        return 0
    [head] = json.loads(file.read_bytes())
    return int(head["number"])


def last_seal(world: Several) -> int:
    with world.books() as books:
        return int(books.select("SELECT max(number) FROM seal")[0][0])


def paid(world: Several) -> None:
    world.paid(world.merchants[0], world.customers[0])


def copied(up: PostgresServer) -> None:
    """A cold copy, as a snapshot of the machine's disk would be."""
    up.stop(signal.SIGINT)
    subprocess.run(["cp", "-a", up.folder / "data", up.folder / "older"], check=True)
    assert up.start()


def set_back(up: PostgresServer) -> None:
    up.stop(signal.SIGINT)
    shutil.rmtree(up.folder / "data")
    (up.folder / "older").rename(up.folder / "data")
    assert up.start()


def pending(world: Several) -> str:
    """The payment that nobody has paid when the copy was taken."""
    with world.books() as books:
        [(number,)] = books.select("SELECT number FROM payment WHERE note = ?", PENDING)
        [(key,)] = books.select("SELECT value FROM constant WHERE name = 'identifier_key'")
    return Identifiers(key).payment_id(number)


def causes(world: Several, number: int) -> list[str]:
    answer = world.run(world.look(number))
    return [] if answer is None else [str(cause) for cause in json.loads(answer.body)["causes"]]


def told_of(world: Several, number: int) -> list[str]:
    log = (world.places[number].data_dir / "server.log").read_text()
    return [line for line in log.splitlines() if "CRITICAL" in line and "was set back" in line]


@pytest.fixture
def world(up: PostgresServer) -> Iterator[Several]:
    """Two processes that were paid, after which a copy of their database was taken."""
    founded = FoundedDatabase(up)
    with scratch_folder() as folder, founded.copy() as url, Several(founded, folder, url) as several:
        paid(several)
        several.payment(several.merchants[0], note=PENDING)
        wait_until(lambda: remembered(several, 0) > 0)
        several.database.close()
        copied(up)
        several.run(several.ready())
        yield several


def noticed(world: Several) -> str:
    """The reason of the stop, once every process has noticed by itself, without a call, and moves no money."""
    for number in range(2):
        wait_until(lambda number=number: any("was set back" in c for c in causes(world, number)))  # type: ignore[misc]
    for call in world.everywhere(pay(world.customers[0], pending(world))):
        refused(world.send(call), 503, "money_stopped")
    wait_until(lambda: bool(stops(world)))
    [(reason, lifted_at)] = stops(world)
    assert lifted_at is None
    assert re.match(r"the database was set back: (on|by) 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC ", reason)
    wait_until(lambda: all(len(told_of(world, number)) == 1 for number in range(2)))
    world.database.close()
    return str(reason)


def test_a_server_that_is_set_back_is_noticed_by_every_process_and_refused_by_a_start(
    world: Several, up: PostgresServer
) -> None:
    older = last_seal(world)
    paid(world)
    wait_until(lambda: all(remembered(world, number) > older for number in range(2)))
    seen = [remembered(world, number) for number in range(2)]
    world.database.close()
    set_back(up)
    noticed(world)
    assert [remembered(world, number) for number in range(2)] == seen
    with start(
        ("-m", "qirsh", "migrate"),
        env={**os.environ, **environment(world.places[1])},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as another:
        _, complaint = another.communicate()
        assert another.returncode == 2
        assert f"its chain had seal {seen[1]}, and now it ends at seal" in complaint


def test_a_tail_that_was_too_young_to_be_sealed_is_missed_by_who_has_committed_it(
    world: Several, up: PostgresServer
) -> None:
    for _ in range(2):  # By each of the two.
        paid(world)
    world.database.close()
    set_back(up)
    noticed(world)


def stops(world: Several) -> list[tuple[Any, ...]]:
    with world.books() as books:
        return books.select("SELECT reason, lifted_at FROM stop ORDER BY id")
