"""A filled database of either engine, made or found again, and how the service is started on it."""

import asyncio
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import apsw
import msgspec

from bench.dashboard import fill_postgresql, fill_sqlite, people
from bench.dashboard.in_use import readers_of
from bench.dashboard.sample import Filled, kept
from bench.display import Display
from bench.postgresql import server as postgresql_server
from bench.seed import Town
from qirsh.settings import Settings, read_settings

SMALL: Final = 20  # Payments of the other shop.
FILL_S_PER_MILLION: Final = 300
ENGINES: Final = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}

Books = fill_sqlite.ShopBooks | fill_postgresql.ShopBooks
Before = Callable[[Settings, Town], None]  # What else is made in a database, as long as it is small.


class Ground(msgspec.Struct, frozen=True):
    """Where a run takes place."""

    engine: str
    version: str  # Of the database, with its name.
    data_dir: Path
    settings: dict[str, str]  # For the service.
    address: Path | str  # Of the database, for an audit.
    books: Books
    filled: Filled

    def read_settings(self) -> Settings:
        """As the service would read them."""
        return read_settings({"QIRSH_DATA_DIR": str(self.data_dir), **self.settings})

    def in_use(self) -> Callable[[], bool]:
        """Says each time whether a connection of the service is in use. The service must run."""
        if isinstance(self.books, fill_sqlite.ShopBooks):
            return readers_of(self.books.lock_file)
        books = self.books
        return lambda: books.in_use() > 0


@contextmanager
def prepared(
    engine: str,
    place: Path,
    payments: int,
    display: Display,
    *,
    before_payments: Before = lambda _settings, _town: None,
) -> Iterator[Ground]:
    """In this place, where an earlier run may have left it."""
    make = _on_sqlite if engine == "sqlite" else _on_postgresql
    with make(place / engine, payments, display, before_payments) as ground:
        yield ground


@contextmanager
def _on_sqlite(place: Path, payments: int, display: Display, before_payments: Before) -> Iterator[Ground]:
    data_dir, file = place / f"data-{payments}", place / f"filled-{payments}.json"
    filled = kept(file, payments)
    if filled is None:
        data_dir = _emptied(data_dir)
        display.say("SQLite: seeding two shops and their customers")
        town = people.make_town(settings := read_settings({"QIRSH_DATA_DIR": str(data_dir)}))
        shops = asyncio.run(people.fund(settings, town))
        before_payments(settings, town)
        books = fill_sqlite.ShopBooks(data_dir, town)
        display.say(f"SQLite: filling in {payments:,} payments")
        samples = books.fill([(shops[0], payments), (shops[1], SMALL)], _progress(display))
        books.close()
        filled = Filled(payments, town, samples[0], samples[1])
        filled.keep(file)
        os.sync()  # Or the disk would still be busy with it while the first pages are loaded.
    books = fill_sqlite.ShopBooks(data_dir, filled.town)
    try:
        version = f"SQLite {apsw.sqlite_lib_version()}"
        yield Ground("sqlite", version, data_dir, {}, data_dir / "qirsh.db", books, filled)
    finally:
        books.close()


@contextmanager
def _on_postgresql(place: Path, payments: int, display: Display, before_payments: Before) -> Iterator[Ground]:
    data_dir, file = place / f"data-{payments}", place / f"filled-{payments}.json"
    data_dir.mkdir(parents=True, exist_ok=True)
    with postgresql_server.kept(place / "server") as server:
        filled = kept(file, payments)
        if filled is None:
            display.say("PostgreSQL: seeding two shops and their customers")
            database, secret = server.create_database(), secrets.token_hex(32)
            settings = {"QIRSH_DATABASE_URL": server.url(database), "QIRSH_SECRET_KEY": secret}
            told = read_settings({"QIRSH_DATA_DIR": str(data_dir), **settings})
            town = people.make_town(told)
            shops = asyncio.run(people.fund(told, town))
            before_payments(told, town)
            books = fill_postgresql.ShopBooks(server.url(database), town)
            display.say(f"PostgreSQL: filling in {payments:,} payments")
            samples = books.fill([(shops[0], payments), (shops[1], SMALL)], _progress(display))
            books.close()
            filled = Filled(payments, town, samples[0], samples[1], database, secret)
            filled.keep(file)
        url = server.url(filled.database)
        books = fill_postgresql.ShopBooks(url, filled.town)
        try:
            version = f"PostgreSQL {server.sql('SHOW server_version')}"
            settings = {"QIRSH_DATABASE_URL": url, "QIRSH_SECRET_KEY": filled.secret}
            yield Ground("postgresql", version, data_dir, settings, f"{url}?work_mem=512MB", books, filled)
        finally:
            books.close()


def _emptied(data_dir: Path) -> Path:
    """What was left there was not filled to its end, or with another number of payments."""
    if data_dir.exists():
        shutil.rmtree(data_dir)
    data_dir.parent.mkdir(parents=True, exist_ok=True)
    return data_dir


def _progress(display: Display) -> Callable[[int], None]:
    return lambda count: display.advance(FILL_S_PER_MILLION * count / 1e6)
