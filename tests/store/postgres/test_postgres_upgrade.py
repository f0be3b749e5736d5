"""Tables are changed while an earlier version serves: nobody queues behind it, and it takes no new guard for damage."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

import asyncpg
import pytest

from qirsh.domain.batch import Batch, Submission
from qirsh.domain.commands.payment import CreatePayment
from qirsh.engine.clock import ManualClock
from qirsh.engine.entropy import SeededEntropy
from qirsh.store import migrate
from qirsh.store.interface import UnusableDatabase
from qirsh.store.postgres import connection as postgres_connection
from qirsh.store.postgres import schema_guard, upgrade
from qirsh.store.postgres.connection import connect
from qirsh.store.postgres.store import PostgresStore, open_postgres
from qirsh.store.postgres.upgrade import bring_up_to_date
from tests.cli.test_postgres import PostgresHouse, executed, of_two_roles
from tests.domain.world import ENTROPY_SEED
from tests.postgres import PostgresServer
from tests.store.filled import FILLED, filled_on
from tests.store.next_version import NEXT, known_next
from tests.store.postgres.watching import until_true
from tests.waiting import until

_WAITS: Final = (
    "EXISTS (SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database())"
)
_HAS_LOCK: Final = (
    "EXISTS (SELECT 1 FROM pg_locks WHERE relation = 'payment'::regclass AND mode = 'AccessExclusiveLock' AND granted)"
)


async def migrated(url: str, known: list[migrate.Migration] | None = None) -> None:
    """By the next version, unless told otherwise."""
    own = await connect(url)
    try:
        await bring_up_to_date(own, known or known_next())
    finally:
        own.terminate()


async def opened(url: str) -> PostgresStore:
    return await open_postgres(url, clock=ManualClock(FILLED.now), entropy=SeededEntropy(ENTROPY_SEED + 1))


async def created(store: PostgresStore) -> str:
    """The note of a new payment."""
    batch = Batch([Submission(CreatePayment(FILLED.shop, 100, "USD", "after the migration"))])
    await store.transact(batch)
    return str(batch.outcomes[0].note)


def test_a_migration_that_waits_for_a_table_lets_others_through(url: str, caplog: pytest.LogCaptureFixture) -> None:
    async def scene() -> None:
        holder = await asyncpg.connect(url, server_settings={"application_name": "a long report"})
        other = await asyncpg.connect(url)
        await holder.execute("BEGIN; SELECT count(*) FROM payment")
        migrating = asyncio.create_task(migrated(url))
        await until_true(other, f"SELECT {_WAITS}")
        # Behind one that waits until it has its lock, this would wait for the holder, who does not end.
        assert await other.fetchval("SELECT count(*) FROM payment")
        await until(lambda: '"a long report", for' in caplog.text)
        await holder.execute("COMMIT")
        await migrating
        assert await other.fetchval("SELECT max(number) FROM schema_migration") == NEXT.number
        await holder.close()
        await other.close()

    asyncio.run(scene())


def test_one_who_keeps_a_migration_from_its_beginning_is_named(
    url: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upgrade, "_RECORD_S_MAX", 1)

    async def scene() -> None:
        # As `qirsh verify` does, until its end.
        holder = await asyncpg.connect(url, server_settings={"application_name": "a long look"})
        await holder.execute("BEGIN; SELECT count(*) FROM schema_migration")
        migrating = asyncio.create_task(migrated(url))
        await until(lambda: '"a long look", for' in caplog.text)
        await holder.execute("COMMIT")
        await migrating
        await holder.close()

    asyncio.run(scene())


def test_a_migration_that_meets_another_crosswise_is_tried_again(url: str, caplog: pytest.LogCaptureFixture) -> None:
    crossing = migrate.Migration(
        NEXT.number, "crossing", "LOCK TABLE payment; SELECT pg_sleep(0.3); LOCK TABLE account"
    )

    async def scene() -> None:
        other = await asyncpg.connect(url)
        # The migration is the one who finds out.
        await other.execute(f"ALTER DATABASE {url.rsplit('/', 1)[1]} SET deadlock_timeout = '100ms'")
        await other.execute("SET deadlock_timeout = '60s'; BEGIN; SELECT count(*) FROM account")
        migrating = asyncio.create_task(migrated(url, [*migrate.migrations("postgres"), crossing]))
        watcher = await asyncpg.connect(url)
        await until_true(watcher, f"SELECT {_HAS_LOCK}")
        await other.execute("SELECT count(*) FROM payment; COMMIT")
        await migrating
        await watcher.close()
        await other.close()

    asyncio.run(scene())
    assert "asking again" in caplog.text


def test_a_migration_may_take_longer_than_a_statement_of_a_batch(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_connection, "STATEMENT_S_MAX", 4.0)
    monkeypatch.setattr(postgres_connection, "TRANSACTION_S_MAX", 4)
    slow = migrate.Migration(NEXT.number, "slow", "SELECT pg_sleep(4.5)")
    asyncio.run(migrated(url, [*migrate.migrations("postgres"), slow]))


def test_a_migration_that_was_given_up_has_left_nothing(url: str) -> None:
    async def scene() -> None:
        holder, other = await asyncpg.connect(url), await asyncpg.connect(url)
        await holder.execute("BEGIN; SELECT count(*) FROM account")
        migrating = asyncio.create_task(migrated(url))
        await until_true(other, f"SELECT {_WAITS}")
        migrating.cancel()
        await asyncio.gather(migrating, return_exceptions=True)
        await holder.execute("COMMIT")
        await until_true(other, f"SELECT NOT {_WAITS}")
        assert await other.fetchval("SELECT to_regclass('remark') IS NULL")
        assert await schema_guard.broken(other) == []
        await holder.close()
        await other.close()

    asyncio.run(scene())


def test_one_who_serves_takes_the_guards_of_the_next_version_for_no_damage(url: str) -> None:
    async def scene() -> None:
        store = await opened(url)
        await migrated(url)
        assert await store.broken_guards() == []
        by_hand = await asyncpg.connect(url)
        await by_hand.execute(
            "ALTER TABLE remark DISABLE TRIGGER remark_stays; DROP TRIGGER payment_remark_is_of_large_sums ON payment;"
            "CREATE TRIGGER other BEFORE UPDATE ON remark FOR EACH STATEMENT EXECUTE FUNCTION refused('x')"
        )
        assert await store.broken_guards() == [
            ("trigger", "payment_remark_is_of_large_sums on payment", "is missing"),
            ("trigger", "remark_stays on remark", "is switched off"),
            ("trigger", "other on remark", "is not ours"),
        ]
        await by_hand.close()
        await store.close()

    asyncio.run(scene())


def test_an_index_that_was_made_before_the_upgrade_is_taken_and_one_that_failed_is_named(url: str) -> None:
    index = migrate.Migration(NEXT.number, "index", "CREATE INDEX IF NOT EXISTS payment_note ON payment (note)")

    async def scene() -> None:
        by_hand = await asyncpg.connect(url)
        await by_hand.execute("CREATE INDEX CONCURRENTLY payment_note ON payment (note)")
        assert await schema_guard.broken(by_hand) == []
        await migrated(url, [*migrate.migrations("postgres"), index])
        assert await schema_guard.broken(by_hand) == []
        await by_hand.execute("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'payment_note'::regclass")
        assert await schema_guard.broken(by_hand) == [("index", "payment_note on payment", "is switched off")]
        await by_hand.close()

    asyncio.run(scene())


class _Interrupted:
    """A connection, and what happens after its first answer of several rows."""

    def __init__(self, real: asyncpg.Connection, happens: Callable[[], Awaitable[None]]) -> None:
        self._real = real
        self._happens: Callable[[], Awaitable[None]] | None = happens

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - as the connection has it
        return getattr(self._real, name)

    async def fetch(self, *arguments: Any) -> Any:  # noqa: ANN401 - as the connection has it
        rows = await self._real.fetch(*arguments)
        if self._happens is not None:
            happens, self._happens = self._happens, None
            await happens()
        return rows


def test_a_migration_that_ends_while_guards_are_looked_at_is_no_damage(url: str) -> None:
    async def scene() -> None:
        real = await asyncpg.connect(url)
        assert await schema_guard.broken(_Interrupted(real, lambda: migrated(url))) == []  # type: ignore[arg-type]
        await real.close()

    asyncio.run(scene())


def test_an_earlier_version_serves_on_but_is_not_started_again(url: str) -> None:
    async def scene() -> None:
        store = await opened(url)
        await migrated(url)
        assert await created(store) == "after the migration"
        with pytest.raises(UnusableDatabase, match=r"schema 9999.*run the newer Qirsh"):
            await opened(url)
        await store.close()

    asyncio.run(scene())


def test_a_role_that_is_granted_nothing_yet_of_the_new_tables_serves_on(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    """A guard of the next version reads them when the version before writes."""

    async def scene(house: PostgresHouse, owner: str) -> None:
        store = await opened(house.url)
        await migrated(owner)
        assert await created(store) == "after the migration"
        assert await store.broken_guards() == []
        await store.close()

    with of_two_roles(postgres, tmp_path / "d", filled_on(postgres)) as (house, owner):
        tables = house.sql("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").split()
        role = owner.partition("//")[2].partition(":")[0]
        house.sql("; ".join(f"ALTER TABLE {table} OWNER TO {role}" for table in tables))
        asyncio.run(executed(owner, house.grants))
        asyncio.run(scene(house, owner))
