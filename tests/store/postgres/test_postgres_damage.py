"""A server that cannot read its own files: callers hear that it is unavailable, and damage is told from then on."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import pytest

from qirsh.domain.commands.payment import CreatePayment
from qirsh.engine.batcher import Engine
from qirsh.engine.clock import ManualClock
from qirsh.engine.entropy import SeededEntropy
from qirsh.store.interface import Query, StoreUnavailable
from qirsh.store.postgres.store import open_postgres
from tests.domain.world import ENTROPY_SEED
from tests.postgres import PostgresServer
from tests.store.filled import FILLED

_SAYS: Final = "invalid page in block 7"


@pytest.fixture(scope="module")
def template(running: PostgresServer, template: str) -> str:
    """Where whoever asks, or writes a payment, hears what a server says of a bad disk."""
    running.sql(
        "CREATE FUNCTION met(code text) RETURNS int LANGUAGE plpgsql AS"
        f" $$ BEGIN RAISE EXCEPTION USING ERRCODE = code, MESSAGE = '{_SAYS}'; END $$;"
        " CREATE FUNCTION met_as_written() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN PERFORM met(NEW.note); RETURN NEW; END $$;"
        " CREATE TRIGGER met_as_written BEFORE INSERT ON payment FOR EACH ROW EXECUTE FUNCTION met_as_written()",
        template,
    )
    return template


# Of damage, of a damaged index, of a disk that fails, of one that is full.
@pytest.mark.parametrize(("code", "is_damage"), [("XX001", True), ("XX002", True), ("58030", False), ("53100", False)])
@pytest.mark.parametrize("way", ["select", "search", "command"])
def test_what_the_server_cannot_read_is_unavailable_and_damage_is_told(
    url: str, caplog: pytest.LogCaptureFixture, way: str, code: str, *, is_damage: bool
) -> None:
    async def scene() -> list[str]:
        store = await open_postgres(url, clock=ManualClock(FILLED.now), entropy=SeededEntropy(ENTROPY_SEED + 1))
        engine = Engine(store, on_fatal=lambda: None)
        engine.start()
        query = Query(f"SELECT met('{code}')")
        asked = CreatePayment(merchant=FILLED.shop, amount=1, currency="USD", note=code)
        ways: dict[str, Callable[[], Awaitable[object]]] = {
            "select": lambda: store.select(query),
            "search": lambda: store.search(query),
            "command": lambda: engine.submit(asked),
        }
        for _ in range(2):
            with pytest.raises(StoreUnavailable, match=_SAYS):
                await ways[way]()
        told = engine.troubles()
        await engine.close()
        await store.close()
        return told

    told = asyncio.run(scene())
    assert (f"the database is damaged: {_SAYS}" in told) == is_damage
    logged = [record.getMessage() for record in caplog.records if record.levelname == "CRITICAL"]
    assert len(logged) == is_damage
