"""How the demo comes into being, once: in its own folder, or in an empty PostgreSQL database."""

import asyncio
import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from qirsh.cli.demo.changed_credentials import remember_password_hashes
from qirsh.cli.demo.credentials_file import Demo, keep_demo, read_demo
from qirsh.cli.demo.seed import add_payment_to_try, seed
from qirsh.cli.demo.webhooks import planned_address
from qirsh.cli.errors import Stopped
from qirsh.doctor.database_probe import probe, shown
from qirsh.engine.clock import ManualClock, system_clock
from qirsh.secret_file import read_secret
from qirsh.service import opened
from qirsh.settings import Settings
from qirsh.store.sqlite.files import has_bytes, log_of
from qirsh.store.sqlite.store import lock_file

# Whatever a user may have made, but for what extensions bring along.
_MADE_IN_POSTGRES: Final = """
SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_toast%'
    AND n.nspname NOT LIKE 'pg\\_temp%' AND NOT EXISTS (SELECT 1 FROM pg_depend d
        WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
"""


async def prepared(settings: Settings) -> Demo:
    """The demo of this folder, made first if need be."""
    if not isinstance(settings.database, Path):
        with _locked(settings.data_dir / "demo"):
            return await _prepared_in_postgres(settings)
    if settings.database != settings.data_dir / "qirsh.db":
        message = "the demo keeps its database in QIRSH_DATA_DIR: unset QIRSH_DATABASE_URL"
        raise Stopped(message)
    with _locked(settings.database):
        return await _prepared_in_folder(settings, settings.database)


async def _prepared_in_folder(settings: Settings, database: Path) -> Demo:
    """It is made in a folder inside, and its database is moved out last.

    With a database it is whole, and without one it is begun again. Nothing is ever deleted but that folder.
    """
    if (demo := _kept_in_folder(settings, database)) is not None:
        return demo
    workshop = _workshop(settings)
    shutil.rmtree(workshop, ignore_errors=True)
    workshop.mkdir(mode=0o700)
    try:
        keys = settings.secret_keys
        if not keys and settings.secret_file.exists():  # Of a demo that was ended before its last step.
            keys = (read_secret(settings.secret_file),)
        making = msgspec.structs.replace(settings, data_dir=workshop, database=workshop / "qirsh.db", secret_keys=keys)
        demo = await _seeded(making)
        assert not log_of(workshop / "qirsh.db").exists(), "a closed database has no log"
        if not keys:
            making.secret_file.replace(settings.secret_file)
        keep_demo(settings, demo)
        (workshop / "qirsh.db").rename(database)
        return demo
    finally:
        shutil.rmtree(workshop, ignore_errors=True)


def _kept_in_folder(settings: Settings, database: Path) -> Demo | None:
    if database.exists():
        demo = read_demo(settings)
        if demo is None:
            message = f"{settings.data_dir} has a database that is no demo: set QIRSH_DATA_DIR to another folder"
            raise Stopped(message)
        return demo
    kept = read_demo(settings)
    if kept is not None and kept.database:
        message = f"{settings.demo_file} is of {kept.database}: name that in QIRSH_DATABASE_URL, or use another folder"
        raise Stopped(message)
    log = log_of(database)
    if has_bytes(log):
        # SQLite would take it for the new database's own.
        message = f"{log} is there without its database: put that back, or move this away"
        raise Stopped(message)
    return None


async def _prepared_in_postgres(settings: Settings) -> Demo:
    """It is made where it stays, while a folder beside its credentials tells so. No database is ever emptied."""
    workshop = _workshop(settings)
    [(made,)] = await asyncio.to_thread(probe, settings, _MADE_IN_POSTGRES)
    if (demo := _kept_in_postgres(settings, is_empty=not made)) is not None:
        shutil.rmtree(workshop, ignore_errors=True)
        return demo
    workshop.mkdir(mode=0o700, exist_ok=True)
    demo = await _seeded(settings)
    demo.database = shown(settings)
    keep_demo(settings, demo)
    workshop.rmdir()
    return demo


def _kept_in_postgres(settings: Settings, *, is_empty: bool) -> Demo | None:
    demo = read_demo(settings)
    if is_empty == (demo is None):
        return demo
    if is_empty:
        message = (
            f"{shown(settings)} is empty, and {settings.demo_file} is of another database: set QIRSH_DATA_DIR to"
            " another folder, or move that file away"
        )
    elif _workshop(settings).exists():
        message = (
            f"the demo in {shown(settings)} was interrupted while it was being made: drop that database and create it"
            " again, or name another empty one in QIRSH_DATABASE_URL"
        )
    else:
        message = (
            f"{shown(settings)} is not empty, and not the demo of {settings.data_dir}: name an empty database in"
            " QIRSH_DATABASE_URL, or the demo's own folder in QIRSH_DATA_DIR"
        )
    raise Stopped(message)


async def _seeded(making: Settings) -> Demo:
    clock = ManualClock(system_clock())
    async with opened(making, clock=clock) as context:
        demo = await seed(context, clock, planned_address(making))
        await remember_password_hashes(context, demo)
        await add_payment_to_try(context, demo)
    return demo


def _workshop(settings: Settings) -> Path:
    return settings.data_dir / "demo-in-the-making"


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    lock = lock_file(path)
    try:
        yield
    finally:
        os.close(lock)
