"""Random batches of everything that can be asked come out of every storage engine as out of the rules alone."""

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given, settings

from qirsh.domain.batch import Batch, Submission
from qirsh.domain.commands.payment import CreatePayment
from qirsh.domain.tables import WRITE_ORDER
from qirsh.store.interface import Query, Store
from tests.domain.invariant import complaints
from tests.domain.wish import SEED, batches
from tests.domain.world import START, World, newest
from tests.store.test_conformance import ENGINES, Database, player

_NUMBER: Final = re.compile(r"Payment\(number=(\d+)")
# Every example copies a database.
EXAMPLES: Final = max(10, settings().max_examples // 5)


@pytest.fixture(scope="module", params=ENGINES)
def seeded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """A database in the state of the seed, to be copied."""
    assert SEED.now == START, "the clock of these databases stands still"
    with ENGINES[request.param]() as make:
        database = make(tmp_path_factory.mktemp("seeded"))
        database.fill(SEED)
        database.let_houses_open()  # The service's own command opens any; only its two names go without an agreement.
        yield database


async def kept(store: Store) -> World:
    """All rows, in a world where they can be compared and the invariants checked."""
    world = World()
    for how, table in WRITE_ORDER:
        if how not in {"add", "append"}:
            continue
        rows = await store.search(Query(f"SELECT {', '.join(table.columns)} FROM {table.name}"))  # noqa: S608 - our own names
        records = [table.record(*row) for row in rows]
        if how == "append":
            getattr(world, table.attribute).extend(records)
        else:
            getattr(world, table.attribute).update({_key(table.key, record): record for record in records})
    return world


def _key(columns: tuple[str, ...], record: object) -> object:
    values = tuple(getattr(record, column) for column in columns)
    return values if len(values) > 1 else values[0]


def comparable(world: World) -> dict[str, Any]:
    """Without what a database has of its own, and without the order of rows that have none."""
    tables = world.tables()
    tables["counters"].pop("payment", None)
    tables["constants"].clear()
    logs = ("transfers", "events", "audit", "payment_words", "payment_acts", "webhook_attempts")
    for name in logs:
        tables[name] = sorted(map(str, tables[name]))
    tables["credentials"] = newest(tables["credentials"])
    return tables


@settings(max_examples=EXAMPLES)
@given(drawn=batches)
def test_every_engine_keeps_exactly_what_the_rules_decide(
    seeded: Database, drawn: list[tuple[int, list[Submission]]]
) -> None:
    async def scene(store: Store) -> None:
        world: World = SEED.fork()
        [(last,)] = await store.search(Query("SELECT last FROM counter WHERE name = 'payment'"))
        world.skip_to(1 + last)
        for _, batch in drawn:
            try:
                transaction = Batch(batch)
                await store.transact(transaction)
            except Exception:  # noqa: BLE001 - whatever it is, nothing was kept, and the engine goes on one by one
                for each in batch:
                    transaction = Batch([each])
                    await store.transact(transaction)
                    if isinstance(each.command, CreatePayment) and (made := _NUMBER.search(repr(transaction.outcomes))):
                        world.skip_to(int(made[1]))  # Those that the batch had taken are not given again.
                    assert transaction.outcomes == world.transact([each])
            else:
                assert transaction.outcomes == [outcome for each in batch for outcome in world.transact([each])]
        found = await kept(store)
        assert comparable(found) == comparable(world)
        assert complaints(found) == []

    with tempfile.TemporaryDirectory() as folder:
        player(seeded.copy(Path(folder)))(scene)
