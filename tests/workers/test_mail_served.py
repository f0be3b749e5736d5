"""Mails of a service that is served: killed at the worst moment, by several processes, told to end while it sends."""

import contextlib
import os
import signal
import socket
import threading
from collections import Counter
from collections.abc import Iterator

import pytest
from aiosmtpd.smtp import SMTP

from qirsh.engine.clock import system_clock
from tests.live import _SERVE, InProcess, Live, live
from tests.postgres import PostgresServer
from tests.waiting import NEVER_S, until, wait_until
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
def served(engine: PostgresServer | None, office: PostOffice, count: int) -> Iterator[Live]:
    """A service that finds letters when it starts."""
    with live(engine, shops=0, people=0, more=settings_of(office)) as world:
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
def sending(office: PostOffice, monkeypatch: pytest.MonkeyPatch, *, leave_s: float) -> Iterator[Live]:
    """It sends the one letter that it has, with so much time to end it when it is told to end, and no other limits."""
    limits = f"""
import qirsh.workers.mail_sender
import qirsh.workers.smtp_client
qirsh.workers.mail_sender._LEAVE_S = {leave_s}
qirsh.workers.mail_sender._ONE_MAIL_S_MAX = {NEVER_S}
qirsh.workers.smtp_client.SmtpLine.__init__.__kwdefaults__["silence_s"] = {NEVER_S}
"""
    monkeypatch.setattr("tests.live._SERVE", limits + _SERVE)
    with served(None, office, 1) as world:
        wait_until(lambda: bool(office.taken))
        yield world


def accepts(port: int) -> bool:
    with socket.socket() as line:
        return line.connect_ex(("127.0.0.1", port)) == 0


def test_told_to_end_it_does_not_wait_for_a_server_that_hangs_and_keeps_the_mail(
    office: PostOffice, monkeypatch: pytest.MonkeyPatch
) -> None:
    office.at_mail = hanging
    with sending(office, monkeypatch, leave_s=0.1) as world:
        world.process.terminate()
        assert world.process.wait() in {0, -signal.SIGTERM}
        assert "uncaught" not in world.log.read_text()
        assert not all_sent(world)


def test_told_to_end_while_a_mail_is_taken_it_forgets_it_first(
    office: PostOffice, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_answer = threading.Event()

    async def slow(_server: SMTP, _address: str) -> str:
        await until(may_answer.is_set)
        return "250 OK"

    office.at_mail = slow
    with sending(office, monkeypatch, leave_s=NEVER_S) as world:
        world.process.terminate()
        wait_until(lambda: not accepts(world.settings.port))
        may_answer.set()
        assert world.process.wait() in {0, -signal.SIGTERM}
        assert all_sent(world)
    assert len(office.taken) == 1
