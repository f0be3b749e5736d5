"""Mails of a service that is served: killed at the worst moment, by several processes, told to end while it sends."""

import contextlib
import os
import signal
import threading
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
from tests.live import InProcess, Live, live
from tests.postgres import PostgresServer
from tests.waiting import NEVER_S, until, wait_until
from tests.workers import leaving
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
        assert world.process.wait() == -signal.SIGKILL
        third = office.taken[-1]["To"]
        assert len(office.taken) == 3
        world.start()
        wait_until(lambda: all_sent(world))
    ids = Counter(message["Message-ID"] for message in office.taken)
    assert sorted(ids.values()) == [1, 1, 1, 1, 2]
    twins = [message for message in office.taken if ids[message["Message-ID"]] == 2]
    assert twins[0].as_bytes() == twins[1].as_bytes()
    assert twins[0]["To"] == third


@contextlib.contextmanager
def sending(folder: Path, office: PostOffice, *, leave_s: float) -> Iterator[tuple[House, Running]]:
    """The program, as operators start and stop it, while it sends the one letter that it has.

    Once it is told to end it has so much time for that letter. No other limit ends a wait for the mail server.
    """
    house = House(folder / "data")
    with InProcess(read_settings({"QIRSH_DATA_DIR": str(house.folder)}), system_clock) as still:
        post(still, "sara@home.example")
    limits = f"""
import qirsh.service
import qirsh.workers.mail_sender
import qirsh.workers.smtp_client
qirsh.service._GRACE_S = {NEVER_S}
qirsh.workers.mail_sender._LEAVE_S = {leave_s}
qirsh.workers.mail_sender._ONE_MAIL_S_MAX = {NEVER_S}
qirsh.workers.smtp_client.SmtpLine.__init__.__kwdefaults__["silence_s"] = {NEVER_S}
"""
    server, sender = settings_of(office).values()
    with house.serving(
        "serve",
        until="listening",
        umask=-1,
        is_afresh=False,
        first=limits + leaving.noting(folder / "leaving"),
        QIRSH_SMTP_URL=server,
        QIRSH_MAIL_FROM=sender,
    ) as running:
        wait_until(lambda: bool(office.taken))
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
    with sending(tmp_path, office, leave_s=0.1) as (house, running):
        running.process.terminate()
        assert running.process.wait() == 0
        assert running.process.stderr is not None
        assert "uncaught" not in running.process.stderr.read()
        assert letters_of(house) == 1


def test_told_to_end_while_a_mail_is_taken_it_forgets_it_first(tmp_path: Path, office: PostOffice) -> None:
    may_answer = threading.Event()

    async def slow(_server: SMTP, _address: str) -> str:
        await until(may_answer.is_set)
        return "250 OK"

    office.at_mail = slow
    with sending(tmp_path, office, leave_s=NEVER_S) as (house, running):
        running.process.terminate()
        wait_until(lambda: leaving.have_begun(tmp_path / "leaving"))
        assert running.process.poll() is None
        may_answer.set()
        assert running.process.wait() == 0
        assert letters_of(house) == 0
    assert len(office.taken) == 1
