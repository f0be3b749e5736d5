"""Several hosts of one database: all are asked at once, and the one that is the primary is used.

The driver would ask them in turn, within one limit of time: a silent host hides those behind it, and a standby that is
named first is asked for ever.
"""

import asyncio
import logging
from collections.abc import Sequence
from itertools import count
from typing import Any, Final, NamedTuple, NoReturn
from weakref import WeakKeyDictionary

import asyncpg
from asyncpg.connect_utils import SessionAttribute

from qirsh.store.postgres.address import Host, hosts_of, parts_of

log = logging.getLogger(__name__)

CONNECT_S_MAX: Final = 3.0  # Each host has all of it.
# After the first that says it is the primary, the others have so long to say the same. A server that can take writes
# has taken seven trips over the line by then (TCP, TLS, password, question), also where one takes 50 ms; and a dead
# host delays no more than the few connections that are made while it is dead.
_RIVALS_S_MAX: Final = 0.5
_AGAIN_S: Final = 0.2
# One server by two names is one: the time at which it started tells.
_WHO: Final = "SELECT pg_is_in_recovery(), pg_postmaster_start_time()::text"
# What a host may say instead of an answer. All else is a fault of ours, or of the address.
_NO_ANSWER: Final = (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InternalClientError)


class Answer(NamedTuple):
    """What a host has said of itself, and the connection on which it did."""

    host: Host
    connection: asyncpg.Connection
    is_standby: bool
    server: str  # The same for two hosts that are one server.


_Asked = dict[Host, asyncio.Task[Answer]]


class Hosts:
    """The hosts of one store, and which of them is the primary. With one host, a name for its address."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._hosts = hosts_of(url)
        self._turns = count(1)
        self._turn = 0  # Of the latest connection that was made; one that began before knows less.
        self._primary = ""  # As a server.
        self._rivals: frozenset[str] = frozenset()  # Of the last time when several said that they are it.
        self._lines: WeakKeyDictionary[asyncpg.Connection, str] = WeakKeyDictionary()  # To which server each leads.

    @property
    def are_several(self) -> bool:
        """Whether another can take over."""
        return len(self._hosts) > 1

    async def connect(self, **options: Any) -> asyncpg.Connection:  # noqa: ANN401 - the driver's own
        """To the primary. Raises `ConnectionError` that says of every host why it is not used."""
        if not self.are_several:
            return await asyncpg.connect(self.url, timeout=CONNECT_S_MAX, **options)
        turn = next(self._turns)
        asked = _ask_all(self.url, self._hosts, options)
        try:
            # Where there were two, a host that is silent for all of its time is gone, and no sooner.
            await _until_primary(asked, CONNECT_S_MAX if self._rivals else _RIVALS_S_MAX)
            chosen = self._elected(asked, turn)
        except BaseException:
            _forget(asked)
            raise
        _forget(asked, but=chosen.host)
        self._lines[chosen.connection] = chosen.server
        return chosen.connection

    def _elected(self, asked: _Asked, turn: int) -> Answer:
        primaries = {answer.server: answer for answer in reversed(_answers(asked)) if not answer.is_standby}
        if len(primaries) > 1:
            self._refuse(sorted(str(answer.host) for answer in primaries.values()))
        if not primaries:
            raise ConnectionError(f"no host is the primary: {'; '.join(_said(asked).values())}")
        [chosen] = primaries.values()
        if turn < self._turn and chosen.server != self._primary:
            raise ConnectionError("the primary has changed meanwhile")
        if self._rivals:
            self._rivals = frozenset()
            log.warning("%s alone is the primary again, and is used", chosen.host)
        elif self._primary not in {"", chosen.server}:
            log.warning("%s is the primary now", chosen.host)
        self._turn, self._primary = max(turn, self._turn), chosen.server
        self._drop_lines(but=chosen.server)  # Reads from who was the primary would not see what is acknowledged now.
        return chosen

    def _refuse(self, rivals: Sequence[str]) -> NoReturn:
        words = f"{' and '.join(rivals)} each say that they are the primary: none is used until one is left"
        if self._rivals != frozenset(rivals):
            self._rivals = frozenset(rivals)
            log.critical("%s; stop those that were replaced", words)
        self._drop_lines()
        raise ConnectionError(words)

    def _drop_lines(self, *, but: str = "") -> None:
        for line, server in list(self._lines.items()):
            if server != but:
                line.terminate()
                del self._lines[line]


async def look(url: str, **options: Any) -> Answer:  # noqa: ANN401 - the driver's own
    """Of several hosts the primary, or a standby if there is none: for who only reads, and says of whom."""
    asked = _ask_all(url, hosts_of(url), options)
    try:
        await _until_primary(asked, 0)
        answers = sorted(_answers(asked), key=lambda answer: answer.is_standby)
    except BaseException:
        _forget(asked)
        raise
    if not answers:
        raise ConnectionError(f"no host can be asked: {'; '.join(_said(asked).values())}")
    _forget(asked, but=answers[0].host)
    return answers[0]


class Survey(NamedTuple):
    """What all hosts say of themselves."""

    said: list[str]
    primaries: int  # Servers, not names.
    silent: int


async def survey(url: str, **options: Any) -> Survey:  # noqa: ANN401 - the driver's own
    """Once each has answered, or had its time."""
    asked = _ask_all(url, hosts_of(url), options)
    try:
        await asyncio.wait(asked.values())
        answers = _answers(asked)
        primaries = {answer.server for answer in answers if not answer.is_standby}
        return Survey(list(_said(asked).values()), len(primaries), len(asked) - len(answers))
    finally:
        _forget(asked)


def _ask_all(url: str, hosts: Sequence[Host], options: dict[str, Any]) -> _Asked:
    before, _, rest = parts_of(url)
    silent = set(hosts)
    return {host: asyncio.create_task(_ask(before + rest, host, options, silent)) for host in hosts}


async def _ask(url: str, host: Host, options: dict[str, Any], silent: set[Host]) -> Answer:
    """Of a standby again and again while another is silent: it may be promoted in that one's place."""
    try:
        async with asyncio.timeout(CONNECT_S_MAX):
            # What the address says of the primary is ours to find out.
            connection = await asyncpg.connect(
                url,
                host=host.name,
                port=host.port,
                target_session_attrs=SessionAttribute.any,
                timeout=CONNECT_S_MAX,
                **options,
            )
            answer = await _who(host, connection)
    finally:
        silent.discard(host)
    while answer.is_standby and silent:
        try:
            await asyncio.sleep(_AGAIN_S)
        except asyncio.CancelledError:
            connection.terminate()
            raise
        async with asyncio.timeout(CONNECT_S_MAX):
            answer = await _who(host, connection)
    return answer


async def _who(host: Host, connection: asyncpg.Connection) -> Answer:
    try:
        row = await connection.fetchrow(_WHO)
    except BaseException:
        connection.terminate()
        raise
    assert row is not None
    return Answer(host, connection, is_standby=row[0], server=row[1])


async def _until_primary(asked: _Asked, seconds: float) -> None:
    """Until all have answered, or one is the primary and the others have had so long to say the same."""
    loop = asyncio.get_running_loop()
    end: float | None = None
    waiting = set(asked.values())
    while waiting and (end is None or loop.time() < end):
        timeout = None if end is None else end - loop.time()
        done, waiting = await asyncio.wait(waiting, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        if end is None and any(task.exception() is None and not task.result().is_standby for task in done):
            end = loop.time() + seconds


def _forget(asked: _Asked, *, but: Host | None = None) -> None:
    """Nobody waits for them: who has answered, or does so at this very moment, is hung up on."""
    for host, task in asked.items():
        if host == but:
            continue
        if task.done():
            _hang_up(task)
        else:
            task.add_done_callback(_hang_up)
            task.cancel()


def _hang_up(task: asyncio.Task[Answer]) -> None:
    if not task.cancelled() and task.exception() is None:
        task.result().connection.terminate()


def _answers(asked: _Asked) -> list[Answer]:
    """Of those who have answered; raises what is no host's fault."""
    answers = []
    for task in asked.values():
        if not task.done():
            continue
        if (error := task.exception()) is None:
            answers.append(task.result())
        elif not isinstance(error, _NO_ANSWER):
            raise error
    return answers


def _said(asked: _Asked) -> dict[Host, str]:
    """What each has said, in words that hold no password: the driver's own about a host never do."""
    return {host: f"{host} {_words(task)}" for host, task in asked.items()}


def _words(task: asyncio.Task[Answer]) -> str:
    error = task.exception()
    if error is None:
        return "is a standby" if task.result().is_standby else "is the primary"
    if isinstance(error, TimeoutError):
        return "does not answer"
    return f"says: {error}" if isinstance(error, asyncpg.PostgresError) else f"cannot be reached: {error}"
