"""The bench stands on books that the service itself would have kept."""

import asyncio
from pathlib import Path
from typing import Any

import apsw
import msgspec

from bench.audit import require_clean
from bench.fill import Books
from bench.seed import seed
from qirsh.domain.payment_word import amount_word, words_of
from qirsh.service import opened
from qirsh.settings import Settings, read_settings


def test_what_the_bench_fills_a_database_with_passes_verify(tmp_path: Path) -> None:
    settings = read_settings({"QIRSH_DATA_DIR": str(tmp_path)})
    town = seed(settings, shops=1, payers=2)
    books = Books(settings.data_dir, town)
    try:
        assert len(books.add_history(50, lambda _count: None)) == 50
        assert len(books.add_pending(3)) == 3
        assert books.last_event() > 0
    finally:
        books.close()
    asyncio.run(_seal(settings))
    assert isinstance(settings.database, Path)
    require_clean(settings.database)
    _require_words(settings.database)


def _require_words(path: Path) -> None:
    """Those of the history are what the service would have written down."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    there: list[Any] = connection.execute("SELECT payment, word FROM payment_word").fetchall()
    last = max(payment for payment, _ in there)
    wanted = [
        (number, word)
        for number, amount, note, reference, metadata in connection.execute(
            "SELECT number, amount, note, reference, metadata FROM payment WHERE number <= ?", (last,)
        )
        for word in (
            amount_word(amount),
            *words_of(note=note, reference=reference, metadata=msgspec.json.decode(metadata)),
        )
    ]
    connection.close()
    assert len(wanted) > 500
    assert sorted(there) == sorted(wanted)


async def _seal(settings: Settings) -> None:
    """As the service does when it stops."""
    async with opened(settings):
        pass
