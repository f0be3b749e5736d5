"""Whatever is committed is sealed seconds later, once, in one chain, in whatever order it became visible."""

import asyncio
from collections.abc import Iterator
from typing import Any, Final

import asyncpg
import pytest

from qirsh.store.verify import verify
from qirsh.workers.sealer import Sealer
from tests.chain import PIECES, check, sections
from tests.live import InProcess, Live, World, in_process, live, pay
from tests.postgres import PostgresServer
from tests.waiting import wait_until

NOTES: Final = ("قرش واحد", "🪙🏦", "\\u0000 %00", "1,2:3,", "12:")


@pytest.fixture
def still(engine: PostgresServer | None) -> Iterator[InProcess]:
    with in_process(engine, shops=1, people=1) as world:
        yield world


@pytest.fixture
def still_on_postgres(postgres: PostgresServer) -> Iterator[InProcess]:
    with in_process(postgres, shops=1, people=1) as world:
        yield world


@pytest.fixture
def served(engine: PostgresServer | None) -> Iterator[Live]:
    with live(engine, shops=1, people=2) as world:
        yield world


def sealer(world: InProcess) -> Sealer:
    return Sealer(world.context.store, world.context.engine, world.context.clock)


def covered(world: World) -> dict[str, list[int]]:
    with world.books() as books:
        return check(books.select)


def stored(world: World) -> dict[str, list[int]]:
    with world.books() as books:
        return {
            table: [row for (row,) in books.select(f"SELECT id FROM {table} ORDER BY id")]  # noqa: S608 - ours
            for table in PIECES
        }


def seals(world: World) -> int:
    with world.books() as books:
        return int(books.select("SELECT count(*) FROM seal")[0][0])


def wait_until_sealed(world: World) -> None:
    """All that is there. The whole chain is read only when there is more of it: that takes longer than a look."""
    before = seals(world)
    while covered(world) != stored(world):
        wait_until(lambda before=before: seals(world) > before)  # type: ignore[misc]
        before = seals(world)


def violations(world: World) -> list[str]:
    return [found.sentence for found in verify(world.settings.database, lambda _: None)]


def many_audit_entries(count: int) -> str:
    return (
        "INSERT INTO audit (at, actor, action, subject, detail) WITH RECURSIVE n(i) AS"  # noqa: S608 - ours
        f" (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})"
        " SELECT 1800000000000, 'a', 'b', 'c', CAST(i AS TEXT) FROM n"
    )


def test_a_served_process_seals_entries_and_transfers(served: Live) -> None:
    customer, payment = served.customers[0], served.payment(served.merchants[0])
    assert served.send(pay(customer, payment)).status_code == 200
    for note in NOTES:
        served.act("account suspend", account=served.merchants[0].account, reason=note)
        served.act("account resume", account=served.merchants[0].account, reason=note)
    wait_until_sealed(served)
    assert violations(served) == []


@pytest.mark.both_engines
def test_a_process_that_was_killed_is_made_up_for_at_the_next_start(served: Live) -> None:
    served.act("account suspend", account=served.merchants[0].account)
    served.process.kill()
    served.process.wait()
    assert violations(served) == []
    served.start()
    # Where others could have taken the role over, it is free when the lease has run out.
    wait_until_sealed(served)


def test_nothing_new_makes_no_seal(still: InProcess) -> None:
    before = seals(still)
    still.act("account suspend", account=still.merchants[0].account)
    still.run(sealer(still).seal_all())
    still.run(sealer(still).seal_all())
    assert seals(still) == before + 1
    assert covered(still) == stored(still)


def test_what_is_new_waits_for_a_second_look_so_that_others_can_commit(still: InProcess) -> None:
    one, before = sealer(still), covered(still)
    still.act("account suspend", account=still.merchants[0].account)
    still.run(one.seal_settled())
    assert covered(still) == before != stored(still)
    still.run(one.seal_settled())
    assert covered(still) == stored(still)


@pytest.mark.both_engines
def test_many_rows_become_several_seals_at_once(still: InProcess) -> None:
    one, before = sealer(still), seals(still)
    still.database.meddle("audit", many_audit_entries(9000))
    for _ in range(2):  # The second look seals what the first has seen.
        still.run(one.seal_settled())
    assert seals(still) == before + 3
    assert covered(still) == stored(still)


@pytest.mark.both_engines
def test_two_who_seal_at_once_make_one_chain(still: InProcess) -> None:
    one, two = sealer(still), sealer(still)
    still.run(_both(one, two))
    still.act("account suspend", account=still.merchants[0].account)
    still.run(_both(one, two))
    still.act("account resume", account=still.merchants[0].account)
    still.run(_both(two, one))
    still.run(_both(two, one))
    assert covered(still) == stored(still)


async def _both(one: Sealer, two: Sealer) -> None:
    for _ in range(3):
        await asyncio.gather(one.seal_settled(), two.seal_settled())


# On PostgreSQL ids become visible out of order, and some never do.

_ENTRY: Final = "INSERT INTO audit (at, actor, action, subject, detail) VALUES (1, 'a', 'b', 'c', 'late') RETURNING id"


async def _seal_thrice(one: Sealer) -> None:
    for _ in range(3):
        await one.seal_settled()


def last_sections(world: World) -> Any:  # noqa: ANN401 - as the second implementation has them
    with world.books() as books:
        return sections(books.select("SELECT content FROM seal ORDER BY number DESC LIMIT 1")[0][0])


def test_an_entry_that_commits_after_later_ones_were_sealed_is_sealed_late(still_on_postgres: InProcess) -> None:
    world = still_on_postgres
    one = sealer(world)

    async def scene() -> int:
        connection = await asyncpg.connect(str(world.settings.database))
        straggler = connection.transaction()
        await straggler.start()
        entry: int = await connection.fetchval(_ENTRY)
        await world.done("account suspend", account=world.merchants[0].account)
        await _seal_thrice(one)
        content = await connection.fetchval("SELECT content FROM seal ORDER BY number DESC LIMIT 1")
        assert sections(content)["audit"].missing == {entry}
        await straggler.commit()
        await connection.close()
        return entry

    entry = world.run(scene())
    assert entry not in covered(world)["audit"]
    assert violations(world) == []  # There is still time.
    # Another process knows of the gap from the chain alone.
    world.run(_seal_thrice(sealer(world)))
    assert last_sections(world)["audit"].late == [entry]
    assert sorted(covered(world)["audit"]) == stored(world)["audit"]
    assert violations(world) == []
    world.database.meddle("audit", f"UPDATE audit SET detail = 'x' WHERE id = {entry}")  # noqa: S608 - ours
    with world.books() as books:
        [(number,)] = books.select("SELECT max(number) FROM seal")
    assert violations(world) == [f"audit entry {entry} was changed after seal {number}"]


def test_an_id_that_was_rolled_back_stays_a_gap(still_on_postgres: InProcess) -> None:
    world = still_on_postgres
    one = sealer(world)

    async def scene() -> int:
        connection = await asyncpg.connect(str(world.settings.database))
        undone = connection.transaction()
        await undone.start()
        entry: int = await connection.fetchval(_ENTRY)
        await undone.rollback()
        await connection.close()
        await world.done("account suspend", account=world.merchants[0].account)
        await _seal_thrice(one)
        return entry

    entry = world.run(scene())
    assert last_sections(world)["audit"].missing == {entry}
    world.clock.now += 2 * 3_600_000
    world.act("account resume", account=world.merchants[0].account)
    world.run(_seal_thrice(one))
    assert last_sections(world)["audit"].late == []
    assert violations(world) == []


def test_a_row_that_appears_in_a_gap_that_nobody_looks_at_any_more_is_named(still_on_postgres: InProcess) -> None:
    world = still_on_postgres
    one = sealer(world)

    async def scene() -> int:
        connection = await asyncpg.connect(str(world.settings.database))
        straggler = connection.transaction()
        await straggler.start()
        entry: int = await connection.fetchval(_ENTRY)
        await world.done("account suspend", account=world.merchants[0].account)
        await _seal_thrice(one)
        world.clock.now += 2 * 3_600_000
        await straggler.commit()
        await connection.close()
        await world.done("account resume", account=world.merchants[0].account)
        await _seal_thrice(one)
        return entry

    entry = world.run(scene())
    assert violations(world) == [f"audit entry {entry} was not there when its neighbours were sealed"]
