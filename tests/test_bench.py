"""The bench stands on books that the service itself would have kept."""

import asyncio
from pathlib import Path

from bench.audit import require_clean
from bench.fill import Books
from bench.seed import seed
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


async def _seal(settings: Settings) -> None:
    """As the service does when it stops."""
    async with opened(settings):
        pass
