"""Mails of a service that is served: killed at the worst moment, by several processes, told to end while it sends."""

import asyncio
import contextlib
import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from aiosmtpd.smtp import SMTP

from qirsh.engine.clock import system_clock
from qirsh.settings import read_settings
from tests.cli.program import House, Running
from tests.live import InProcess, Live, live, wait_until
from tests.postgres import PostgresServer
from tests.workers.mailing import post
from tests.workers.post_office import PostOffice, hanging, post_office, saying


@pytest.fixture
def office() -> Iterator[PostOffice]:
    with post_office() as opened:
        yield opened


def settings_of(office: PostOffice) -> dict[str, str]:
    return {"QIRSH_SMTP_URL": f"smtp://127.0.0.1:{office.port}", "QIRSH_MAIL_FROM": "Qirsh <qirsh@pay.example>"}


def add_letters(world: Live, addresses: list[str]) -> None:
    """While nobody serves."""
    with InProcess(world.settings, system_clock) as still:
        for address in addresses:
            post(still, address)


@contextlib.contextmanager
def served(engine: PostgresServer | None, office: PostOffice, count: int, processes: int = 1) -> Iterator[Live]:
    """A service that finds letters when it starts."""
    with live(engine, shops=0, people=0, processes=processes, more=settings_of(office)) as world:
        world.stop()
        add_letters(world, [f"person{number}@home.example" for number in range(count)])
        world.start()
        yield world


def all_sent(world: Live) -> bool:
    with world.books() as books:
        return books.select("SELECT count(*) FROM mail") == [(0,)]


def test_killed_between_sending_and_forgetting_it_sends_that_one_mail_again_and_no_other(
    engine: PostgresServer | None, office: PostOffice
) -> None:
    world: Live

    async def deadly(_server: SMTP, _address: str) -> str:
        if len(office.taken) == 3:
            office.at_mail = saying("250 OK")
            os.kill(world.process.pid, signal.SIGKILL)
        return "250 OK"

    with live(engine, shops=0, people=0, more=settings_of(office)) as world:
        world.stop()
        add_letters(world, [f"person{number}@home.example" for number in range(5)])
        office.at_mail = deadly
        with contextlib.suppress(RuntimeError):  # It may not live until it is ready.
            world.start()
        assert world.process.wait(20) == -signal.SIGKILL
        third = office.taken[-1]["To"]
        assert len(office.taken) == 3
        world.start()
        wait_until(lambda: all_sent(world), 20)
    ids = Counter(message["Message-ID"] for message in office.taken)
    assert sorted(ids.values()) == [1, 1, 1, 1, 2]
    twins = [message for message in office.taken if ids[message["Message-ID"]] == 2]
    assert twins[0].as_bytes() == twins[1].as_bytes()
    assert twins[0]["To"] == third


def test_of_several_processes_one_sends_also_when_a_mail_takes_longer_than_a_lease(
    postgres: PostgresServer, office: PostOffice
) -> None:
    async def slow(_server: SMTP, _address: str) -> str:
        await asyncio.sleep(6)
        office.at_mail = saying("250 OK")
        return "250 OK"

    office.at_mail = slow
    with served(postgres, office, 8, processes=2) as world:
        wait_until(lambda: all_sent(world), 30)
    assert sorted(office.recipients) == [f"person{number}@home.example" for number in range(8)]


@contextlib.contextmanager
def sending(folder: Path, office: PostOffice) -> Iterator[tuple[House, Running]]:
    """The program, as operators start and stop it, while it sends the one letter that it has."""
    house = House(folder / "data")
    with InProcess(read_settings({"QIRSH_DATA_DIR": str(house.folder)}), system_clock) as still:
        post(still, "sara@home.example")
    server, sender = settings_of(office).values()
    with house.serving("serve", until="listening", QIRSH_SMTP_URL=server, QIRSH_MAIL_FROM=sender) as running:
        wait_until(lambda: bool(office.taken), 20)
        yield house, running


def letters_of(house: House) -> int:
    with closing(apsw.Connection(str(house.database), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        [(count,)] = connection.execute("SELECT count(*) FROM mail").fetchall()
    assert isinstance(count, int)
    return count


def test_told_to_end_it_does_not_wait_for_a_server_that_hangs_and_keeps_the_mail(
    tmp_path: Path, office: PostOffice
) -> None:
    office.at_mail = hanging
    with sending(tmp_path, office) as (house, running):
        began = time.monotonic()
        running.process.terminate()
        assert running.process.wait(30) == 0
        assert time.monotonic() - began < 12
        assert running.process.stderr is not None
        assert "uncaught" not in running.process.stderr.read()
        assert letters_of(house) == 1


def test_told_to_end_while_a_mail_is_taken_it_forgets_it_first(tmp_path: Path, office: PostOffice) -> None:
    async def slow(_server: SMTP, _address: str) -> str:
        await asyncio.sleep(2)
        return "250 OK"

    office.at_mail = slow
    with sending(tmp_path, office) as (house, running):
        running.process.terminate()
        assert running.process.wait(30) == 0
        assert letters_of(house) == 0
    assert len(office.taken) == 1
