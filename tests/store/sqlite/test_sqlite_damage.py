"""A file that is damaged is told of: by an answer that says so, by the log, and by readiness, until it is mended."""

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

import apsw
import pytest

from qirsh.domain.commands.payment import CancelPayment
from qirsh.domain.tables import Tables
from qirsh.engine.batcher import Engine
from qirsh.store.interface import Query, Store, StoreUnavailable
from tests.store.filled import FILLED, open_store

_READ: Final[dict[str, Callable[[Store, Engine], object]]] = {
    "find": lambda store, _: store.find(Tables.payments, FILLED.paid.number),
    "select": lambda store, _: store.select(Query("SELECT note FROM payment ORDER BY number LIMIT 100")),
    "search": lambda store, _: store.search(Query("SELECT note FROM payment ORDER BY number LIMIT 100")),
    "a command": lambda _, engine: engine.submit(CancelPayment(payment=FILLED.paid.number, merchant=FILLED.shop)),
}


def page_of_zeros(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    place = "SELECT (rootpage - 1) * page_size FROM sqlite_schema, pragma_page_size WHERE name = 'payment'"
    root = int(str(connection.execute(place).get))
    connection.close()
    with path.open("r+b") as file:
        file.seek(root)
        file.write(b"\xff" * 64)


def no_text(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.execute("DROP TRIGGER payment_moves; UPDATE payment SET note = CAST(x'ff' AS TEXT)")
    connection.close()


@pytest.mark.parametrize("how", [page_of_zeros, no_text])
@pytest.mark.parametrize("what", _READ)
def test_what_cannot_be_read_is_unavailable_and_told(
    filled: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, how: Callable[[Path], None], what: str
) -> None:
    path = tmp_path / "qirsh.db"
    shutil.copy(filled, path)
    how(path)

    async def scene() -> list[str]:
        store = open_store(path)
        engine = Engine(store, on_fatal=lambda: None)
        engine.start()
        assert engine.troubles() == []
        for _ in range(2):
            with pytest.raises(StoreUnavailable):
                await _READ[what](store, engine)  # type: ignore[misc]
        told = engine.troubles()
        await engine.close()
        await store.close()
        return told

    told = asyncio.run(scene())
    assert [cause.partition(":")[0] for cause in told if "damaged" in cause] == ["the database is damaged"]
    logged = [record.getMessage() for record in caplog.records if record.levelname == "CRITICAL"]
    assert [line.partition(":")[0] for line in logged] == ["the database is damaged"]
