"""The bench stands on books that the service itself would have kept."""

import asyncio
import secrets
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import apsw
import msgspec

from bench.audit import require_clean
from bench.console.browser import ConsoleBrowser
from bench.console.doors import open_doors
from bench.console.ground import Desk, fill
from bench.console.pages import pages_of
from bench.console.size import FULL
from bench.dashboard import fill_postgresql, fill_sqlite, people
from bench.dashboard.ground import Ground
from bench.dashboard.history import CURRENCIES
from bench.dashboard.sample import Filled, Sample
from bench.fill import Books
from bench.seed import seed
from bench.target import running_service
from qirsh.domain.payment_word import amount_word, words_of
from qirsh.service import opened
from qirsh.settings import Settings, read_settings
from tests.postgres import shared_server

_SMALL: Final = FULL.divided(10_000)


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


def test_the_shop_whose_pages_are_measured_passes_verify(tmp_path: Path) -> None:
    settings = read_settings({"QIRSH_DATA_DIR": str(tmp_path)})
    town = seed(settings, shops=2, payers=24)
    shops = asyncio.run(people.fund(settings, town))
    books = fill_sqlite.ShopBooks(settings.data_dir, town)
    try:
        large, small = books.fill([(shops[0], 600), (shops[1], 20)], lambda _count: None)
    finally:
        books.close()
    _require_sample(large)
    assert small.payments
    asyncio.run(_seal(settings))
    assert isinstance(settings.database, Path)
    require_clean(settings.database)
    _require_words(settings.database)


def test_the_shop_whose_pages_are_measured_passes_verify_on_postgresql(tmp_path: Path) -> None:
    with shared_server().database() as url:
        settings = read_settings(
            {"QIRSH_DATA_DIR": str(tmp_path), "QIRSH_DATABASE_URL": url, "QIRSH_SECRET_KEY": secrets.token_hex(32)}
        )
        town = seed(settings, shops=2, payers=24)
        shops = asyncio.run(people.fund(settings, town))
        books = fill_postgresql.ShopBooks(url, town)
        try:
            large, _ = books.fill([(shops[0], 600), (shops[1], 20)], lambda _count: None)
            total, word, _ = books.behind(shops[0].account, "SYP", 0)
        finally:
            books.close()
        _require_sample(large)
        assert total is not None, "nothing is counted yet"
        assert word is None, "all is written down"
        asyncio.run(_seal(settings))
        require_clean(url)


def test_the_console_is_measured_on_books_that_pass_verify_and_every_page_is_there(tmp_path: Path) -> None:
    settings = read_settings({"QIRSH_DATA_DIR": str(tmp_path)})
    town = seed(settings, shops=2, payers=24)
    shops = asyncio.run(people.fund(settings, town))
    crowd = fill(settings, town, _SMALL, lambda _stage: None)
    books = fill_sqlite.ShopBooks(tmp_path, town)
    try:
        large, small = books.fill([(shops[0], 600), (shops[1], 20)], lambda _count: None)
        filled = Filled(600, town, large, small)
        ground = Ground("sqlite", "SQLite", tmp_path, {}, tmp_path / "qirsh.db", books, filled)
        desk = Desk(ground, _SMALL, crowd)
        doors = open_doors(desk)
        with running_service(tmp_path) as server, closing(ConsoleBrowser(server, doors.operator)) as browser:
            for page in pages_of(desk, doors):
                browser.load(page, 0)
            lines, _ = browser.log_as_csv()
        assert lines > _SMALL.entries
    finally:
        books.close()
    require_clean(tmp_path / "qirsh.db")
    # The same file once more, as a second run on kept books would import it.
    assert open_doors(desk).bank.matched == _SMALL.bank_lines


def test_the_console_is_measured_on_books_that_pass_verify_on_postgresql(tmp_path: Path) -> None:
    with shared_server().database() as url:
        told = {"QIRSH_DATABASE_URL": url, "QIRSH_SECRET_KEY": secrets.token_hex(32)}
        settings = read_settings({"QIRSH_DATA_DIR": str(tmp_path), **told})
        town = seed(settings, shops=2, payers=24)
        shops = asyncio.run(people.fund(settings, town))
        crowd = fill(settings, town, _SMALL, lambda _stage: None)
        books = fill_postgresql.ShopBooks(url, town)
        try:
            large, small = books.fill([(shops[0], 600), (shops[1], 20)], lambda _count: None)
            ground = Ground("postgresql", "PostgreSQL", tmp_path, told, url, books, Filled(600, town, large, small))
            desk = Desk(ground, _SMALL, crowd)
            assert open_doors(desk).bank.matched == _SMALL.bank_lines
        finally:
            books.close()
        require_clean(url)


def _require_sample(sample: Sample) -> None:
    """There is something of everything to be asked for."""
    assert len(sample.ids) == len(sample.payments) == len(sample.times) > 100
    assert sample.refunds
    assert sample.events
    assert set(sample.shop.payers) == set(CURRENCIES)


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
