"""What a role or a database prefers for its connections must not change what ours do, least of all around a commit."""

import asyncio
import contextlib
from collections.abc import Iterator
from typing import Final, Literal

import pytest

from qirsh.domain.batch import Batch, Submission
from qirsh.domain.commands.payment import CreatePayment
from qirsh.engine.entropy import system_entropy
from qirsh.store.interface import OutcomeUnknown, Query, UnusableDatabase
from qirsh.store.postgres.connection import SETTINGS, preferred_otherwise
from qirsh.store.postgres.store import PostgresStore, open_postgres
from tests.line_to_database import LineToDatabase
from tests.postgres import PostgresServer, installations, server
from tests.store.filled import FILLED

_CUTS: Final = 2  # Of each kind.
# A commit takes longer than these, so that whoever looks for it has to wait.
_COMMIT_S: Final = 0.15
_PREFERENCES: Final = (
    "default_transaction_isolation = 'serializable'",
    "lock_timeout = '50ms'",
    "idle_in_transaction_session_timeout = '1ms'",
)
_MORE: Final = (
    "default_transaction_isolation = 'repeatable read'",
    "statement_timeout = '100ms'",
    "idle_session_timeout = '20ms'",
    "default_transaction_read_only = on",
)


@pytest.fixture(scope="module")
def running() -> Iterator[PostgresServer]:
    """What a role prefers, it prefers everywhere."""
    with server() as one:
        yield one


@pytest.fixture(scope="module")
def template(running: PostgresServer, template: str) -> str:
    running.sql(
        "CREATE FUNCTION commit_slowly() RETURNS trigger LANGUAGE plpgsql AS"
        f" $$ BEGIN PERFORM pg_sleep({_COMMIT_S}); RETURN NULL; END $$;"
        " CREATE CONSTRAINT TRIGGER commit_slowly AFTER INSERT ON payment DEFERRABLE INITIALLY DEFERRED"
        " FOR EACH ROW WHEN (NEW.note = 'slow') EXECUTE FUNCTION commit_slowly()",
        template,
    )
    return template


@contextlib.contextmanager
def preferred(running: PostgresServer, url: str, by: str, preference: str) -> Iterator[None]:
    """By the role, in every database, or by the database, for every role."""
    whose = f"DATABASE {url.rpartition('/')[2]}" if by == "database" else "ROLE postgres"
    running.sql(f"ALTER {whose} SET {preference}")
    try:
        yield
    finally:
        name = preference.partition(" ")[0]
        running.sql(f"ALTER {whose} RESET {name}")


async def _count(store: PostgresStore) -> int:
    [(found,)] = await store.select(Query("SELECT count(*) FROM payment WHERE note = 'slow'"))
    return int(found)


@pytest.mark.parametrize("by", ["role", pytest.param("database", marks=pytest.mark.slow)])
@pytest.mark.parametrize("preference", [*_PREFERENCES, *(pytest.param(one, marks=pytest.mark.slow) for one in _MORE)])
def test_a_line_cut_around_a_commit_leaves_each_batch_done_once_whatever_is_preferred(
    running: PostgresServer, url: str, preference: str, by: str
) -> None:
    async def scene() -> None:
        line = LineToDatabase(url)
        async with line as address:
            store = await open_postgres(address, clock=None, entropy=system_entropy)
            hows: tuple[Literal["before", "during", "after"], ...] = ("before", "during", "after")
            for how in hows * _CUTS:
                line.cut = how
                await store.transact(Batch([Submission(CreatePayment(FILLED.shop, 100, "USD", "slow"))]))
            assert line.cuts == 3 * _CUTS
            assert await _count(store) == 3 * _CUTS
            await store.close()

    with preferred(running, url, by, preference):
        asyncio.run(scene())


def test_a_look_for_a_commit_that_fails_in_any_way_is_unknown_and_not_done_again(
    running: PostgresServer, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene() -> None:
        line = LineToDatabase(url)
        async with line as address:
            store = await open_postgres(address, clock=None, entropy=system_entropy)
            line.cut, line.is_down_when_cut = "after", True
            unknown = asyncio.ensure_future(
                store.transact(Batch([Submission(CreatePayment(FILLED.shop, 100, "USD", "slow"))]))
            )
            await line.was_cut.wait()
            monkeypatch.setattr("qirsh.store.postgres.store._AWAY_S_MAX", 1.0)
            await asyncio.to_thread(running.sql, "ALTER TABLE writer RENAME TO hidden", line.database)
            line.is_down = False
            with pytest.raises(OutcomeUnknown):
                await unknown
            await asyncio.to_thread(running.sql, "ALTER TABLE hidden RENAME TO writer", line.database)
            assert await _count(store) == 1
            await store.close()

    asyncio.run(scene())


@pytest.mark.parametrize("installation", installations())
def test_our_connections_have_what_we_rely_on_whatever_is_preferred(running: PostgresServer, installation: str) -> None:
    async def settings(url: str) -> dict[str, str]:
        store = await open_postgres(url, clock=None, entropy=system_entropy)
        rows = await store.select(Query("SELECT name, current_setting(name) FROM pg_settings"))
        await store.close()
        return dict(rows)

    with contextlib.nullcontext(running) if installation == "18" else server(installation) as one:
        knows_transaction_timeout = "transaction_timeout" in asyncio.run(settings(one.url()))
        with contextlib.ExitStack() as stack:
            for preference in (*_PREFERENCES, *_MORE):
                stack.enter_context(preferred(one, one.url(), "role", preference))
            if knows_transaction_timeout:
                stack.enter_context(preferred(one, one.url(), "role", "transaction_timeout = '50s'"))
            ours = asyncio.run(settings(one.url()))
    asked = SETTINGS | ({"transaction_timeout": "0"} if knows_transaction_timeout else {})
    del asked["statement_timeout"]  # A reader has its own.
    assert {name: ours[name] for name in asked} == asked
    assert ours["statement_timeout"] == "4s"


def test_a_role_whose_guards_would_sleep_is_refused_in_words(running: PostgresServer, url: str) -> None:
    with (
        preferred(running, url, "database", "session_replication_role = replica"),
        pytest.raises(UnusableDatabase, match="session_replication_role"),
    ):
        asyncio.run(open_postgres(url, clock=None, entropy=system_entropy))


def test_what_is_preferred_otherwise_is_named_and_nothing_else() -> None:
    preferences = ["lock_timeout=1s", "work_mem=64MB", "jit=off", "transaction_timeout=5s", "search_path=a, b"]
    assert preferred_otherwise(preferences) == ["lock_timeout=1s", "transaction_timeout=5s"]
