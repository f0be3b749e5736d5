"""How the service does, as operators see it at the console and at the command line."""

import asyncio
import os
import shutil
from collections.abc import Callable
from typing import Final, TypeVar

import msgspec

from qirsh import __version__
from qirsh.backup.files import last_backup
from qirsh.backup.lines import moment_ms
from qirsh.store.integrity.unsealed import unsealed
from qirsh.store.reads.queues import Queue, waiting
from qirsh.store.reads.system import (
    Waiting,
    engine_version,
    leases,
    schema_number,
    standing,
)
from qirsh.web.http.context import Context
from qirsh.web.http.installation import Examined

T = TypeVar("T")

_DISK_S_MAX: Final = 2.0  # One that hangs must not hang the page.


class Process(msgspec.Struct, frozen=True):
    """One that serves, and the roles it plays."""

    name: str
    is_this: bool
    roles: list[str]


class Disk(msgspec.Struct, frozen=True):
    """Of the data directory."""

    free: int
    total: int


class SystemView(msgspec.Struct, frozen=True):
    """All of the page."""

    version: str
    schema: int
    engine: str
    engine_version: str
    processes: list[Process]
    plays_all: bool  # One process serves, and every role is its own.
    vacant: list[str]  # Roles that nobody plays at this moment.
    troubles: list[str]  # Why this process does not serve, in words.
    queues: list[Queue]
    waiting: list[Waiting]
    audited_at: int | None
    has_mail: bool
    disk: Disk | None  # None: it does not answer.
    settings: dict[str, str]
    secret_settings: frozenset[str]
    findings: list[Examined] | None  # None: they were not there in time.
    last_backup_at: int | None  # As far as this machine knows.


async def system_view(context: Context) -> SystemView:
    """As it is now. What may take long has a time limit."""
    store, own = context.store, context.installation
    examining = asyncio.ensure_future(own.examine())
    backup = await _asked_of_disk(lambda: last_backup(own.data_dir))
    stands = await standing(store, own.engine, has_mail=context.has_mail)
    processes, vacant = await _processes(context, stands.at)
    return SystemView(
        version=__version__,
        schema=await schema_number(store),
        engine=own.engine,
        engine_version=await engine_version(store, own.engine),
        processes=processes,
        plays_all=not store.name,
        vacant=vacant,
        troubles=context.engine.troubles(),
        queues=await waiting(store),
        waiting=[await unsealed(store), *stands.waiting],
        audited_at=stands.audited_at,
        has_mail=context.has_mail,
        disk=await _disk(context),
        settings=own.settings,
        secret_settings=own.secret_settings,
        findings=await examining,
        last_backup_at=None if backup is None else moment_ms(backup.at),
    )


async def _processes(context: Context, now: int) -> tuple[list[Process], list[str]]:
    """By the names under which they hold their roles; where one plays all, by its number."""
    name = context.store.name
    if not name:
        return [Process(f"process {os.getpid()}", is_this=True, roles=[])], []
    roles: dict[str, list[str]] = {name: []}
    vacant = []
    for lease in await leases(context.store):
        if lease.until > now:
            roles.setdefault(lease.holder, []).append(lease.role)
        else:
            vacant.append(lease.role)
    return [Process(holder, is_this=holder == name, roles=own) for holder, own in roles.items()], vacant


async def _disk(context: Context) -> Disk | None:
    usage = await _asked_of_disk(lambda: shutil.disk_usage(context.installation.data_dir))
    return None if usage is None else Disk(usage.free, usage.total)


async def _asked_of_disk(ask: Callable[[], T]) -> T | None:
    asked = asyncio.ensure_future(asyncio.to_thread(ask))
    await asyncio.wait({asked}, timeout=_DISK_S_MAX)
    return asked.result() if asked.done() and asked.exception() is None else None
