"""The bench stands on books that the service itself would have kept."""

import asyncio
import secrets
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import apsw
import msgspec
import pytest
from rich.console import Console

from bench.audit import require_clean
from bench.backup.paying import Beside
from bench.backup.plan import QUICK, Outcome, come_back, own_settings
from bench.backup.program import Program
from bench.backup.report import report as backup_report
from bench.console.browser import ConsoleBrowser
from bench.console.doors import open_doors
from bench.console.ground import Desk, fill
from bench.console.pages import pages_of
from bench.console.size import FULL
from bench.dashboard import fill_postgresql, fill_sqlite, people
from bench.dashboard.ground import Ground
from bench.dashboard.history import CURRENCIES
from bench.dashboard.sample import Filled, Sample
from bench.display import Display
from bench.fill import Books
from bench.load import Run
from bench.machine import Machine
from bench.report import page
from bench.seed import seed
from bench.target import running_service
from qirsh.backup.progress import Progress
from qirsh.backup.take import check_backup, source_of, take_backup
from qirsh.domain.payment_word import amount_word, words_of
from qirsh.engine.clock import system_clock
from qirsh.engine.entropy import system_entropy
from qirsh.engine.keyring import Keyring
from qirsh.service import opened
from qirsh.settings import Settings, read_settings
from tests.postgres import own_folder, shared_server

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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


def test_a_backup_of_what_the_bench_fills_is_under_its_own_secret_key_alone(tmp_path: Path) -> None:
    settings = read_settings({"QIRSH_DATA_DIR": str(tmp_path)})
    seed(settings, shops=1, payers=2)
    with source_of(settings.database) as source, (tmp_path / "backup").open("wb") as output:
        manifest = take_backup(source, output, system_clock, Progress())
    keyring = Keyring([settings.secret_file.read_bytes().strip()], system_entropy)
    assert manifest.secret_keys == tuple(one.hex() for one in keyring.ids)


@pytest.mark.slow
def test_the_books_that_are_backed_up_in_the_bench_come_back_on_the_other_engine(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    settings = read_settings({"QIRSH_DATA_DIR": str(data_dir)})
    town = seed(settings, shops=2, payers=24)
    shops = asyncio.run(people.fund(settings, town))
    books = fill_sqlite.ShopBooks(data_dir, town)
    try:
        large, small = books.fill([(shops[0], 600), (shops[1], 20)], lambda _count: None)
    finally:
        books.close()
    asyncio.run(_seal(settings))
    filled = Filled(600, town, large, small)
    ground = Ground("sqlite", "SQLite", data_dir, {}, data_dir / "qirsh.db", books, filled)
    with own_folder("qirsh-bench-") as disk, Display(Console(quiet=True)) as display:
        file = disk / "backup.jsonl.gz"
        taken = Program("backup", str(file), settings=own_settings(ground), log=disk / "log").ended()
        back = come_back(ground, file, disk, display)
        manifest = check_backup(file, Progress())
    assert 0 < taken.half_way_mb <= taken.peak_mb
    assert taken.cpu_s > 0
    assert back.into.startswith("PostgreSQL 18")
    run = Run(requests=1, per_s=100, p50_ms=1, p99_ms=2, cpu_us=1, used=(1,))
    slower = msgspec.structs.replace(run, per_s=70)
    outcome = Outcome(
        version="SQLite",
        back=back,
        manifest=manifest,
        file_bytes=1,
        backup=taken,
        free=Beside([run], [slower]),
        slow=Beside([run], [run]),
    )
    said = backup_report([outcome], 600, QUICK)
    assert "| 0.70 ✗ |" in page(said, Machine("ext4", "SQLite", 0.1))


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
