"""Several hosts of one database: the primary among them is used, whatever the others say, and two are none."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Final

import asyncpg
import msgspec
import pytest

from qirsh.doctor import postgres_checks
from qirsh.doctor.doctor_check import Check, Finding
from qirsh.domain.batch import Batch, Submission
from qirsh.domain.commands.payment import CreatePayment
from qirsh.engine.entropy import system_entropy
from qirsh.setting_values import PostgresUrl
from qirsh.settings import read_settings
from qirsh.store.interface import CannotTell, Query, StoreUnavailable, UnusableDatabase
from qirsh.store.postgres import connection as postgres_connection
from qirsh.store.postgres import hosts as postgres_hosts
from qirsh.store.postgres import store as postgres_store
from qirsh.store.postgres.address import Host, hosts_of
from qirsh.store.postgres.connection import connect
from qirsh.store.postgres.hosts import Hosts, survey
from qirsh.store.postgres.store import PostgresStore, open_postgres
from qirsh.store.postgres.verify import verify
from tests.postgres import PostgresServer, server, shared_server
from tests.standby import REFUSED, several, silent_host, standby_of
from tests.store.filled import FILLED
from tests.waiting import NEVER_S, wait_until

_LINES: Final = "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'qirsh%'"


@pytest.fixture(scope="module")
def running() -> Iterator[PostgresServer]:
    """One that has standbys."""
    with server() as one:
        yield one


@pytest.fixture(scope="module")
def standby(running: PostgresServer, template: str) -> Iterator[PostgresServer]:
    assert template
    with standby_of(running) as one:
        yield one


@pytest.fixture
def database(url: str, standby: PostgresServer, running: PostgresServer) -> str:
    """The name of a copy that the standby has too."""
    caught_up(running, standby)
    return url.rpartition("/")[2]


def caught_up(running: PostgresServer, standby: PostgresServer) -> None:
    position = running.sql("SELECT pg_current_wal_lsn()")
    wait_until(lambda: standby.sql(f"SELECT pg_last_wal_replay_lsn() >= '{position}'") == "t")


@contextlib.asynccontextmanager
async def opened(url: str) -> AsyncIterator[PostgresStore]:
    store = await open_postgres(url, clock=None, entropy=system_entropy)
    try:
        yield store
    finally:
        await store.close()


def password_of(one: PostgresServer) -> str:
    return one.url().split(":")[2].partition("@")[0]


def creates(count: int = 1) -> Batch:
    return Batch([Submission(CreatePayment(FILLED.shop, 100, "USD", "here")) for _ in range(count)])


async def count(store: PostgresStore) -> int:
    [(found,)] = await store.select(Query("SELECT count(*) FROM payment WHERE note = 'here'"))
    return int(found)


async def gone(*servers: PostgresServer) -> None:
    """Until nobody of ours is connected to them, and no task of ours is left."""
    for one in servers:
        while await lines(one):
            pass
    if others := asyncio.all_tasks() - {asyncio.current_task()}:
        await asyncio.wait(others)


async def lines(one: PostgresServer) -> int:
    """How many of ours it has."""
    return int(await asyncio.to_thread(one.sql, _LINES))


@pytest.mark.parametrize(
    ("address", "hosts"),
    [
        ("postgresql://u:p@a:1,b,[::1]:3,[fe80::1]/d", [("a", 1), ("b", None), ("::1", 3), ("fe80::1", None)]),
        ("postgresql://u@%2Frun%2Fone,%2Frun%2Ftwo:3/d", [("/run/one", None), ("/run/two", 3)]),
        ("postgresql:///d?host=/run/one,b:2&user=u", [("/run/one", None), ("b", 2)]),
        ("postgresql:///d?host=a,b&port=1,2", [("a", 1), ("b", 2)]),
        ("postgresql:///d?host=a,b&port=5433", [("a", 5433), ("b", 5433)]),
        ("postgresql:///d", []),
    ],
)
def test_hosts_are_those_that_the_driver_would_ask(address: str, hosts: list[tuple[str, int | None]]) -> None:
    assert hosts_of(address) == [Host(*host) for host in hosts]


def test_the_primary_is_used_wherever_it_stands_and_all_others_are_let_go(
    running: PostgresServer, standby: PostgresServer, database: str
) -> None:
    async def scene(silent: str) -> None:
        async with opened(several(database, silent, standby, REFUSED, running)) as store:
            await store.transact(creates(3))
            assert await count(store) == 3
            assert await store.search(Query("SELECT pg_is_in_recovery()")) == [(False,)]
            while await lines(standby):
                pass
        await gone(running, standby)

    with silent_host() as silent:
        asyncio.run(scene(silent))


def test_whoever_gives_up_while_hosts_are_asked_leaves_nothing_behind(
    running: PostgresServer, standby: PostgresServer, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_hosts, "_RIVALS_S_MAX", NEVER_S)

    async def scene(silent: str) -> None:
        for one in (running, standby):
            asking = asyncio.create_task(connect(several(database, running, standby, silent)))
            while not await lines(one):
                pass
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
            assert asking.cancelled()
            await gone(running, standby)

    with silent_host() as silent:
        asyncio.run(scene(silent))


def test_without_a_primary_it_is_told_of_every_host_why_and_never_the_password(
    standby: PostgresServer, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_hosts, "CONNECT_S_MAX", 1.0)

    async def scene(url: str) -> None:
        async with opened(url):
            pytest.fail("it was opened")

    with silent_host() as silent:
        url = several(database, standby, silent, REFUSED)
        with pytest.raises(UnusableDatabase, match="no host is the primary") as told:
            asyncio.run(scene(url))
    words = str(told.value)
    assert f"127.0.0.1:{standby.port} is a standby; {silent} does not answer; {REFUSED} cannot be reached: " in words
    assert password_of(standby) not in words


def test_each_host_may_have_a_password_of_its_own(
    running: PostgresServer, standby: PostgresServer, database: str, tmp_path: Path
) -> None:
    file = tmp_path / "passwords"
    file.write_text(f"127.0.0.1:{standby.port}:*:*:wrong\n127.0.0.1:{running.port}:*:*:{password_of(running)}\n")
    file.chmod(0o600)
    url = f"postgresql://postgres@127.0.0.1:{standby.port},127.0.0.1:{running.port}/{database}?passfile={file}"

    async def scene() -> list[str]:
        async with opened(url) as store:
            await store.transact(creates())
        return (await survey(url)).said

    first, second = asyncio.run(scene())
    assert "password authentication failed" in first
    assert second == f"127.0.0.1:{running.port} is the primary"


def test_one_server_by_two_names_is_no_rival_of_itself(running: PostgresServer, database: str) -> None:
    async def scene() -> None:
        url = several(database, running, f"localhost:{running.port}") + "?target_session_attrs=read-write"
        async with opened(url) as store:
            await store.transact(creates())
            assert await count(store) == 1
        assert (await survey(url)).primaries == 1

    asyncio.run(scene())


@pytest.mark.parametrize("value", ["local", "remote_write"])
def test_what_is_acknowledged_by_one_machine_alone_is_refused_with_several(
    running: PostgresServer, standby: PostgresServer, database: str, value: str
) -> None:
    async def scene(url: str) -> None:
        async with opened(url) as store:
            await store.transact(creates())

    running.sql(f"ALTER DATABASE {database} SET synchronous_commit = {value}")
    with pytest.raises(UnusableDatabase, match=f"synchronous_commit={value}: with several hosts"):
        asyncio.run(scene(several(database, standby, running)))
    asyncio.run(scene(running.url(database)))


def test_a_setting_that_is_made_careless_later_is_noticed_by_readers_and_writers(
    running: PostgresServer, standby: PostgresServer, database: str
) -> None:
    async def scene() -> None:
        async with opened(several(database, standby, running)) as store:
            await store.transact(creates())
            running.sql(f"ALTER DATABASE {database} SET synchronous_commit = local")
            running.sql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'")  # noqa: S608 - ours
            with pytest.raises(StoreUnavailable, match="synchronous_commit=local"):
                await store.transact(creates())
            with pytest.raises(StoreUnavailable, match="synchronous_commit=local"):
                await count(store)

    asyncio.run(scene())


def test_verify_looks_at_the_primary_or_else_at_a_standby_and_says_at_which(
    running: PostgresServer, standby: PostgresServer, database: str
) -> None:
    looked_at: list[str] = []
    for hosts in ((standby, running), (standby, REFUSED)):
        assert verify(several(database, *hosts), lambda _: None, None, looked_at.append) == []
    assert looked_at == [f"127.0.0.1:{running.port}, the primary", f"127.0.0.1:{standby.port}, a standby"]
    url = several(database, standby, running).replace(f":{standby.port}", ":1").replace(f":{running.port}", ":2")
    with pytest.raises(CannotTell, match=r"127\.0\.0\.1:1 cannot be reached.*127\.0\.0\.1:2 cannot be reached"):
        verify(url, lambda _: None)


def test_doctor_says_what_each_host_is_and_demands_named_standbys(
    running: PostgresServer, standby: PostgresServer, database: str
) -> None:
    def told(check: Check, *hosts: PostgresServer | str) -> Finding:
        return check(msgspec.structs.replace(read_settings({}), database=PostgresUrl(several(database, *hosts))))

    assert told(postgres_checks.hosts, running) == ("ok", "one: nothing takes over when it is lost")
    said = f"127.0.0.1:{standby.port} is a standby; 127.0.0.1:{running.port} is the primary"
    assert told(postgres_checks.hosts, standby, running) == ("ok", said)
    assert told(postgres_checks.hosts, standby, running, REFUSED).level == "note"
    assert told(postgres_checks.hosts, standby, REFUSED).level == "bad"
    assert told(postgres_checks.server, standby, running).level == "ok"
    assert told(postgres_checks.standbys, running).level == "ok"
    level, words = told(postgres_checks.standbys, standby, running)
    assert (level, words.partition(":")[0]) == ("bad", "synchronous_standby_names is empty")
    for names, expected in (("ANY 1 (*)", "1 streaming, 1 of them"), ("nobody", "1 streaming, 0 of them")):
        running.sql(f"ALTER SYSTEM SET synchronous_standby_names = '{names}'")
        running.sql("SELECT pg_reload_conf()")
        while expected not in told(postgres_checks.standbys, standby, running).words:
            pass
        assert told(postgres_checks.standbys, standby, running).level == ("bad" if names == "nobody" else "ok")
    running.sql("ALTER SYSTEM RESET synchronous_standby_names")
    running.sql("SELECT pg_reload_conf()")
    running.sql(f"ALTER DATABASE {database} SET synchronous_commit = local")
    assert told(postgres_checks.durability, running).level == "ok"
    assert told(postgres_checks.durability, standby, running).level == "bad"


def test_two_that_both_say_they_are_the_primary_are_none_and_the_log_names_them_once(
    running: PostgresServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    both = (running, shared_server())
    file = tmp_path / "passwords"
    file.write_text("".join(f"127.0.0.1:{one.port}:*:*:{password_of(one)}\n" for one in both))
    file.chmod(0o600)
    url = f"postgresql://postgres@{','.join(f'127.0.0.1:{one.port}' for one in both)}/postgres?passfile={file}"

    async def scene() -> None:
        hosts = Hosts(url)
        for _ in range(3):
            with pytest.raises(ConnectionError, match="each say that they are the primary: none is used"):
                await hosts.connect(server_settings={"application_name": "qirsh here"})
        await gone(running)
        assert (await survey(url)).primaries == 2

    asyncio.run(scene())
    [words] = [record.getMessage() for record in caplog.records if record.levelno == logging.CRITICAL]
    assert all(f"127.0.0.1:{one.port}" in words for one in both)


@pytest.mark.slow
def test_a_standby_that_is_promoted_while_another_host_is_silent_is_found_at_once(
    running: PostgresServer, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_hosts, "CONNECT_S_MAX", NEVER_S)  # Nobody waits until the silent one has had it.

    async def scene(heir: PostgresServer, silent: str) -> None:
        connecting = asyncio.create_task(connect(several(url.rpartition("/")[2], silent, heir)))
        while not await lines(heir):
            assert not connecting.done()
        assert await asyncio.to_thread(heir.sql, "SELECT pg_promote()") == "t"
        (await connecting).terminate()

    with standby_of(running) as heir, silent_host() as silent:
        asyncio.run(scene(heir, silent))


@pytest.mark.slow
def test_a_frozen_primary_is_left_for_its_heir_and_its_return_stops_both(
    running: PostgresServer, url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(postgres_store, "_AWAY_S_MAX", 3.0)
    monkeypatch.setattr(postgres_store, "_READ_S_MAX", 3.0)
    monkeypatch.setattr(postgres_connection, "STATEMENT_S_MAX", NEVER_S)  # What is given up sooner is the batch.
    monkeypatch.setattr(postgres_hosts, "CONNECT_S_MAX", 1.0)

    async def written_at_last(store: PostgresStore) -> None:
        while True:
            with contextlib.suppress(StoreUnavailable):
                await store.transact(creates())
                return

    async def scene(heir: PostgresServer) -> None:
        async with opened(several(url.rpartition("/")[2], running, heir)) as store:
            # Lines of every kind, to the one that will stand still.
            await asyncio.gather(*(count(store) for _ in range(8)), *(store.transact(creates()) for _ in range(2)))
            caught_up(running, heir)
            running.hold()
            with pytest.raises(StoreUnavailable, match=r"does not answer|no host is the primary"):
                await store.transact(creates())
            assert await asyncio.to_thread(heir.sql, "SELECT pg_promote()") == "t"
            await written_at_last(store)
            # Whoever found it has taken the others along: no read is asked of the old one.
            told = await asyncio.gather(
                *(store.select(Query("SELECT current_setting('port'), pg_sleep(0.1)::text")) for _ in range(8))
            )
            assert {port for [(port, _)] in told} == {str(heir.port)}
            running.go_on()
            # So that the next needs a connection, and finds two who would take it.
            await asyncio.to_thread(
                heir.sql, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = 'COMMIT'"
            )
            with pytest.raises(StoreUnavailable, match="each say that they are the primary"):
                await store.transact(creates())
            with pytest.raises(StoreUnavailable, match="each say that they are the primary"):
                await count(store)
            await asyncio.to_thread(heir.stop)
            await written_at_last(store)
            [[port]] = await store.select(Query("SELECT current_setting('port')"))
            assert port == str(running.port)

    with standby_of(running) as heir, caplog.at_level(logging.WARNING, "qirsh.store.postgres.hosts"):
        try:
            asyncio.run(scene(heir))
        finally:
            running.go_on()
    [words] = [record.getMessage() for record in caplog.records if record.levelno == logging.CRITICAL]
    assert all(f"127.0.0.1:{one.port}" in words for one in (running, heir))
    assert any("alone is the primary again" in record.getMessage() for record in caplog.records)


def test_a_late_answer_of_an_earlier_question_does_not_bring_the_old_primary_back(
    running: PostgresServer, database: str
) -> None:
    """It was asked before the new one was found, and has been slow to hear of it."""

    async def scene() -> None:
        hosts = Hosts(several(database, running, REFUSED))
        early = asyncio.create_task(hosts.connect())
        await asyncio.sleep(0)  # Its turn is taken.
        hosts._turn, hosts._primary = 7, "another"  # noqa: SLF001 - as if a later one had found it
        with pytest.raises(ConnectionError, match="changed meanwhile"):
            await early
        await gone(running)

    asyncio.run(scene())


def test_a_line_to_one_host_is_made_as_ever(running: PostgresServer, database: str) -> None:
    async def scene() -> None:
        connection: asyncpg.Connection = await connect(running.url(database))
        assert await connection.fetchval("SELECT 1") == 1
        connection.terminate()
        with pytest.raises(OSError, match=r"Connect call failed|refused"):
            await connect(f"postgresql://{REFUSED}/x")

    asyncio.run(scene())
