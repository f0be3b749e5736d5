"""What only the PostgreSQL engine has: lines that break at any moment, rivals, and servers that must not be trusted."""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any, Literal

import asyncpg
import pytest

from qirsh.domain.batch import Answer, Batch, Submission
from qirsh.domain.commands.payment import CreatePayment
from qirsh.domain.idempotency import IdempotencyKey
from qirsh.domain.limits import IDEMPOTENCY_KEPT_MS, LEASE_RENEWAL_MS
from qirsh.domain.tables import Tables
from qirsh.engine.batcher import Engine
from qirsh.engine.entropy import system_entropy
from qirsh.store import migrate
from qirsh.store.interface import OutcomeUnknown, Query, StoreUnavailable, UnusableDatabase
from qirsh.store.postgres import connection
from qirsh.store.postgres import store as postgres_store
from qirsh.store.postgres.connection import NOW
from qirsh.store.postgres.store import PostgresStore, open_postgres
from qirsh.workers import role as role_module
from qirsh.workers.role import Role
from tests.line_to_database import LineToDatabase
from tests.postgres import PostgresServer, server
from tests.store.filled import FILLED
from tests.store.postgres.watching import WAITING, until_true
from tests.waiting import NEVER_S, SkippingLoop

Scene = Callable[[PostgresStore], Awaitable[Any]]


@contextlib.asynccontextmanager
async def opened(url: str) -> AsyncIterator[PostgresStore]:
    store = await open_postgres(url, clock=None, entropy=system_entropy)
    try:
        yield store
    finally:
        await store.close()


def play(url: str, scene: Scene) -> Any:  # noqa: ANN401 - whatever the scene tells
    async def played() -> Any:  # noqa: ANN401
        async with opened(url) as store:
            return await scene(store)

    return asyncio.run(played())


def play_on_a_line(url: str, scene: Callable[[PostgresStore, LineToDatabase], Awaitable[None]]) -> None:
    """The same, over a line that can be broken."""

    async def played() -> None:
        line = LineToDatabase(url)
        async with line as address, opened(address) as store:
            await scene(store, line)

    run(played())


def run(scene: Coroutine[Any, Any, None]) -> None:
    """In a loop that can be moved ahead."""
    with asyncio.Runner(loop_factory=SkippingLoop) as runner:
        runner.run(scene)


def skip(seconds: float) -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SkippingLoop)
    loop.skip(seconds)


def creates(count: int, note: str = "here") -> Batch:
    return Batch([Submission(CreatePayment(FILLED.shop, 100, "USD", note)) for _ in range(count)])


async def count(store: PostgresStore, note: str = "here") -> int:
    [(found,)] = await store.select(Query("SELECT count(*) FROM payment WHERE note = $1"), note)
    return int(found)


@pytest.mark.parametrize("how", ["before", "during", "after"])
def test_a_line_cut_at_commit_leaves_each_batch_done_once(url: str, how: Literal["before", "during", "after"]) -> None:
    async def scene(store: PostgresStore, line: LineToDatabase) -> None:
        for _ in range(4):
            line.cut = how
            batch = creates(3)
            await store.transact(batch)
            numbers = [payment.number for payment in batch.outcomes]
            assert all([await store.find(Tables.payments, number) for number in numbers])
        assert line.cuts == 4
        assert await count(store) == 12

    play_on_a_line(url, scene)


def test_a_commit_that_nobody_can_look_up_is_unknown_and_the_next_batch_goes_on(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene(store: PostgresStore, line: LineToDatabase) -> None:
        await store.transact(creates(1))
        line.cut, line.is_down_when_cut = "after", True
        unknown = asyncio.ensure_future(store.transact(creates(1)))
        await line.was_cut.wait()
        with monkeypatch.context() as hurried:
            hurried.setattr(postgres_store, "_AWAY_S_MAX", 0.5)
            line.drop_all()
            with pytest.raises(OutcomeUnknown):
                await unknown
            with pytest.raises(StoreUnavailable):
                await store.transact(creates(1))
        line.is_down = False
        await store.transact(creates(1))
        assert await count(store) == 3  # It was there, and what was refused as unavailable was not.

    play_on_a_line(url, scene)


def test_lines_that_break_while_nobody_uses_them_are_not_noticed_by_callers(url: str) -> None:
    async def scene(store: PostgresStore, line: LineToDatabase) -> None:
        for _ in range(5):
            await store.transact(creates(1))
            assert await count(store) > 0
            line.drop_all()
        assert await count(store) == 5

    play_on_a_line(url, scene)


def test_reads_on_a_line_that_has_fallen_silent_fail_in_time_however_many_wait(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_store, "_READ_S_MAX", NEVER_S)  # If one waited for another, it would be twice that.

    async def scene(store: PostgresStore, line: LineToDatabase) -> None:
        assert await asyncio.gather(*(count(store) for _ in range(8))) == [0] * 8
        line.is_silent = True
        asking = [asyncio.create_task(count(store)) for _ in range(40)]
        await asyncio.sleep(0)  # All of them have asked.
        skip(NEVER_S)
        told = await asyncio.gather(*asking, return_exceptions=True)
        assert {type(error) for error in told} == {StoreUnavailable}
        line.is_silent = False
        assert await count(store) == 0

    play_on_a_line(url, scene)


def test_a_look_for_a_commit_that_falls_silent_does_not_hold_up_the_next_batch(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "STATEMENT_S_MAX", NEVER_S)  # Whoever waits for the silent look never goes on.

    async def scene(store: PostgresStore, line: LineToDatabase) -> None:
        await store.transact(creates(1))
        line.cut, line.silent_at = "after", b"FROM writer WHERE"
        unknown = asyncio.ensure_future(store.transact(creates(1)))
        await line.was_cut.wait()
        with monkeypatch.context() as hurried:
            hurried.setattr(postgres_store, "_AWAY_S_MAX", 0.5)
            with pytest.raises(OutcomeUnknown):
                await unknown
        line.silent_at = None
        await store.transact(creates(1))
        assert await count(store) == 3

    play_on_a_line(url, scene)


def test_a_role_that_ends_while_it_asks_for_its_lease_gives_it_up_all_the_same(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(role_module, "_LAST_S_MAX", NEVER_S)

    async def scene() -> None:
        outsider, watcher = await asyncpg.connect(url), await asyncpg.connect(url)
        async with opened(url) as store:
            engine = Engine(store, on_fatal=lambda: None)
            engine.start()
            role = Role("some role", store, engine)
            assert await role.is_held()
            await outsider.execute("BEGIN; SELECT * FROM lease FOR UPDATE")
            skip(LEASE_RENEWAL_MS / 1000)
            await asyncio.sleep(0)  # It is that much later.
            asking = asyncio.ensure_future(role.is_held())
            await until_true(watcher, WAITING, asking)
            assert asking.cancel()
            ending = asyncio.ensure_future(role.give_up())
            await asyncio.sleep(0)  # It has begun.
            await outsider.execute("COMMIT")
            await ending
            [(left_ms,)] = await store.select(
                Query(f"SELECT until - {NOW} FROM lease WHERE role = $1"),  # noqa: S608 - our own expression
                "some role",
            )
            await engine.close()
        await outsider.close()
        await watcher.close()
        assert left_ms <= 0

    run(scene())


def test_the_same_key_in_two_processes_at_once_has_one_outcome(url: str) -> None:
    def once(name: str) -> Batch:
        asked = CreatePayment(FILLED.shop, 100, "USD", "here")
        return Batch([Submission(asked, IdempotencyKey(FILLED.shop, name, b"print"), _answer)])

    async def scene() -> None:
        async with opened(url) as one, opened(url) as other:
            for batch in range(30):
                batches = [once(f"key {batch}") for _ in range(2)]
                await asyncio.gather(one.transact(batches[0]), other.transact(batches[1]))
                [first], [second] = (batch.outcomes for batch in batches)
                assert first.body == second.body
                assert sorted((first.replayed, second.replayed)) == [False, True]
            assert await count(one) == 30

    asyncio.run(scene())


def test_a_key_that_was_forgotten_has_one_outcome_also_in_several_processes_at_once(
    running: PostgresServer, url: str
) -> None:
    names = ["a", "b", "c", "d"]

    def once(order: list[str]) -> Batch:
        asked = CreatePayment(FILLED.shop, 100, "USD", "here")
        return Batch([Submission(asked, IdempotencyKey(FILLED.shop, name, b"print"), _answer) for name in order])

    async def scene() -> None:
        async with contextlib.AsyncExitStack() as stack:
            stores = [await stack.enter_async_context(opened(url)) for _ in range(3)]
            await stores[0].transact(once(names))
            for batch in range(1, 16):
                running.sql(f"UPDATE stored_response SET created_at = created_at - {IDEMPOTENCY_KEPT_MS}", _name(url))  # noqa: S608 - ours
                # Each has them in another order.
                batches = [once(names[shift:] + names[:shift]) for shift in range(3)]
                await asyncio.gather(*(store.transact(batch) for store, batch in zip(stores, batches, strict=True)))
                told = [sorted(answer.body for answer in batch.outcomes) for batch in batches]
                assert told[0] == told[1] == told[2]
                fresh = [not answer.replayed for batch in batches for answer in batch.outcomes]
                assert sum(fresh) == len(names)
                assert await count(stores[0]) == (batch + 1) * len(names)

    asyncio.run(scene())


def _name(url: str) -> str:
    return url.rpartition("/")[2]


def _answer(payment: Any, _state: object) -> Answer:  # noqa: ANN401 - a payment
    return Answer(201, str(payment.number).encode())


@pytest.mark.parametrize("state", ["40001", "40P01"])
def test_a_batch_that_loses_against_others_runs_again_as_a_whole(running: PostgresServer, url: str, state: str) -> None:
    # A sequence keeps counting when all else is rolled back.
    _spoil(running, url, f"IF nextval('tries') < 5 THEN RAISE EXCEPTION 'lost' USING ERRCODE = '{state}'; END IF;")

    async def scene(store: PostgresStore) -> None:
        batch = creates(4)
        await store.transact(batch)
        assert await count(store) == 4
        assert [payment.note for payment in batch.outcomes] == ["here"] * 4

    play(url, scene)


def test_a_batch_that_always_loses_fails_and_leaves_nothing(running: PostgresServer, url: str) -> None:
    _spoil(running, url, "IF NEW.note = 'here' THEN RAISE EXCEPTION 'lost' USING ERRCODE = '40001'; END IF;")

    async def scene(store: PostgresStore) -> None:
        with pytest.raises(asyncpg.SerializationError):
            await store.transact(creates(2))
        await store.transact(creates(1, "another"))
        assert await count(store) == 0
        assert await count(store, "another") == 1

    play(url, scene)


@pytest.mark.parametrize("state", ["53100", "57014"])
def test_a_server_without_room_or_patience_is_unavailable_and_nothing_is_done(
    running: PostgresServer, url: str, state: str
) -> None:
    _spoil(running, url, f"IF NEW.note = 'here' THEN RAISE EXCEPTION 'no' USING ERRCODE = '{state}'; END IF;")

    async def scene(store: PostgresStore) -> None:
        with pytest.raises(StoreUnavailable):
            await store.transact(creates(2))
        await store.transact(creates(1, "another"))
        assert await count(store) == 0
        assert await count(store, "another") == 1

    play(url, scene)


def _spoil(running: PostgresServer, url: str, body: str) -> None:
    running.sql(
        "CREATE SEQUENCE tries; CREATE FUNCTION spoiled() RETURNS trigger LANGUAGE plpgsql AS"
        f" $$ BEGIN {body} RETURN NEW; END $$;"
        " CREATE TRIGGER spoiled BEFORE INSERT ON payment FOR EACH ROW EXECUTE FUNCTION spoiled()",
        url.rsplit("/", 1)[1],
    )


def test_a_commit_whose_record_was_deleted_meanwhile_is_unknown_and_not_done_again(
    running: PostgresServer, url: str
) -> None:
    async def scene(store: PostgresStore, line: LineToDatabase) -> None:
        await store.transact(creates(1))
        line.cut = "after"
        line.is_down_when_cut = True
        unknown = asyncio.ensure_future(store.transact(creates(1)))
        await line.was_cut.wait()
        await asyncio.to_thread(running.sql, "DELETE FROM writer", line.database)
        line.is_down = False
        with pytest.raises(OutcomeUnknown):
            await unknown
        await store.transact(creates(1))
        assert await count(store) == 3

    play_on_a_line(url, scene)


def test_a_database_that_is_made_careless_while_it_is_served_is_unavailable_in_words(
    running: PostgresServer, url: str
) -> None:
    name = url.rsplit("/", 1)[1]

    async def scene(store: PostgresStore) -> None:
        await store.transact(creates(1))
        running.sql(f"ALTER DATABASE {name} SET synchronous_commit = off")
        running.sql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")  # noqa: S608 - ours
        with pytest.raises(StoreUnavailable, match="synchronous_commit=off"):
            await store.transact(creates(1))
        with pytest.raises(StoreUnavailable, match="synchronous_commit=off"):
            await count(store)
        running.sql(f"ALTER DATABASE {name} RESET synchronous_commit")
        await store.transact(creates(1))
        assert await count(store) == 2

    play(url, scene)


def test_a_writer_whose_row_was_deleted_makes_it_again(running: PostgresServer, url: str) -> None:
    async def scene(store: PostgresStore) -> None:
        await store.transact(creates(1))
        running.sql("DELETE FROM writer", url.rsplit("/", 1)[1])
        await store.transact(creates(1))
        assert await count(store) == 2

    play(url, scene)


def test_a_value_that_does_not_fit_fails_at_once_and_the_connection_goes_on(url: str) -> None:
    async def scene(store: PostgresStore) -> None:
        with pytest.raises(OverflowError, match="range"):
            await store.transact(Batch([Submission(CreatePayment(FILLED.shop, 1, "USD", expires_in_ms=2**70))]))
        await store.transact(creates(1))
        assert await count(store) == 1

    play(url, scene)


def test_reads_that_come_together_share_a_query_and_who_leaves_takes_nobody_along(url: str) -> None:
    async def scene(store: PostgresStore) -> None:
        batch = creates(64)
        await store.transact(batch)
        asked: list[str] = []
        readers = store._readers  # noqa: SLF001 - counted, and passed on
        read = readers.read

        async def counted(sql: str, *arguments: object) -> list[Any]:
            asked.append(sql)
            return await read(sql, *arguments)

        readers.read = counted  # type: ignore[method-assign]
        finding = [asyncio.ensure_future(store.find(Tables.payments, payment.number)) for payment in batch.outcomes * 2]
        await asyncio.sleep(0)
        finding[0].cancel()
        found = await asyncio.gather(*finding, return_exceptions=True)
        assert isinstance(found[0], asyncio.CancelledError)
        assert found[1:] == (batch.outcomes * 2)[1:]
        assert len(asked) <= 3

    play(url, scene)


def test_many_who_open_an_empty_database_at_once_make_its_schema_once(running: PostgresServer) -> None:
    async def scene(address: str) -> None:
        async with contextlib.AsyncExitStack() as stack:
            opening = [stack.enter_async_context(opened(address)) for _ in range(8)]
            stores = await asyncio.gather(*opening)
            assert len({bytes(store.instance.identifiers.payment_id(1).encode()) for store in stores}) == 1
            [(made,)] = await stores[0].select(Query("SELECT count(*) FROM schema_migration"))
            assert made == len(migrate.migrations("postgres"))

    with running.database() as address:
        asyncio.run(scene(address))


def test_processes_never_give_out_the_same_number(url: str) -> None:
    async def scene() -> None:
        async with opened(url) as one, opened(url) as other:
            batches = [creates(50) for _ in range(20)]
            stores = [one, other] * 10
            await asyncio.gather(*(store.transact(batch) for store, batch in zip(stores, batches, strict=True)))
            numbers = [payment.number for batch in batches for payment in batch.outcomes]
            assert len(set(numbers)) == 1000

    asyncio.run(scene())


def test_a_server_that_forgets_is_refused_in_words(subtests: pytest.Subtests) -> None:
    with server() as careless:
        for setting in ("fsync", "full_page_writes", "synchronous_commit"):
            for value in ("off", "on"):
                careless.sql(f"ALTER SYSTEM SET {setting} = {value}")
                careless.sql("SELECT pg_reload_conf()")
                while careless.sql(f"SHOW {setting}") != value:
                    pass
                if value == "off":
                    with subtests.test(setting), pytest.raises(UnusableDatabase, match=f"{setting}=off"):
                        play(careless.url(), _nothing)


def test_a_database_that_loses_commits_by_its_own_setting_is_refused(running: PostgresServer, url: str) -> None:
    running.sql(f"ALTER DATABASE {url.rsplit('/', 1)[1]} SET synchronous_commit = off")
    with pytest.raises(UnusableDatabase, match="synchronous_commit=off"):
        play(url, _nothing)


def test_a_newer_schema_is_refused(running: PostgresServer, url: str) -> None:
    running.sql("INSERT INTO schema_migration VALUES (9999, 'later', 'digest', 0)", url.rsplit("/", 1)[1])
    with pytest.raises(UnusableDatabase, match="schema 9999"):
        play(url, _nothing)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda url: url.replace("postgres:", "postgres:x"), "password authentication failed"),
        (lambda url: f"{url}_not", "does not exist"),
        (lambda url: re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:1", url), "Connect call failed|refused"),
    ],
    ids=["wrong password", "no such database", "no server"],
)
def test_what_cannot_be_reached_is_refused_in_words(url: str, spoil: Callable[[str], str], words: str) -> None:
    with pytest.raises(UnusableDatabase, match=words) as refused:
        play(spoil(url), _nothing)
    assert url.split(":")[2].split("@", maxsplit=1)[0] not in str(refused.value), "the password"


async def _nothing(_store: PostgresStore) -> None:
    pytest.fail("it was opened")


def test_a_search_that_nobody_waits_for_any_more_is_ended_by_the_server(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_store, "_SEARCH_S_MAX", 0.3)
    under_way = Query("SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%sleepless%'")

    async def scene(store: PostgresStore) -> None:
        with pytest.raises(StoreUnavailable):
            await store.search(Query("SELECT count(*) AS sleepless FROM generate_series(1, 100000000000)"))
        while await store.select(under_way) != [(1,)]:  # The one who asks.
            pass

    play(url, scene)
