"""Builds the parts and runs them. The only file that knows how they fit together."""

import asyncio
import contextlib
import ctypes
import gc
import logging
import os
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Final

import uvicorn

from qirsh.doctor.examination import Examination
from qirsh.domain.bank_order import BANK, CORRECTIONS
from qirsh.domain.commands.account import OpenHouseAccount
from qirsh.domain.commands.constant import FixConstant
from qirsh.domain.constant import SECRET_CHECK
from qirsh.domain.money import CURRENCIES
from qirsh.domain.refusal import granted
from qirsh.domain.restore import awaits_restore
from qirsh.domain.tables import Tables
from qirsh.engine.batcher import Engine
from qirsh.engine.chain_memory import WHAT_TO_DO, ChainMemory, expected_of
from qirsh.engine.clock import Clock, system_clock
from qirsh.engine.entropy import Entropy, system_entropy
from qirsh.engine.keyring import Keyring
from qirsh.engine.passwords import Passwords
from qirsh.engine.webhook_secrets import WebhookSecrets
from qirsh.metrics.exposition import Exposition
from qirsh.metrics.meters import Layout, Meters
from qirsh.outbound.guard import Guard
from qirsh.outbound.outbound import Outbound
from qirsh.roles import ROLE_NAMES, start_roles
from qirsh.secret_file import keep_secret
from qirsh.settings import SECRET_SETTINGS, BadSetting, Settings, shown_settings
from qirsh.store.interface import Expected, Store, UnusableDatabase
from qirsh.store.postgres.store import open_postgres
from qirsh.store.reads import queries
from qirsh.store.sqlite.files import has_bytes
from qirsh.store.sqlite.store import SqliteStore
from qirsh.store.verify import verify
from qirsh.tracing.spans import Tracer, TracingNotInstalled, open_tracer
from qirsh.web.http.authentication import Callers
from qirsh.web.http.context import Context
from qirsh.web.http.installation import Installation
from qirsh.web.http.message import STRICT_TRANSPORT
from qirsh.web.http.payment_attempts import PaymentAttempts
from qirsh.web.http.problems import PROBLEM_TYPES
from qirsh.web.http.rate_limit import POLICIES, RateLimits
from qirsh.web.http.request_log import RequestLog
from qirsh.web.http.site import Site, contact
from qirsh.web.http.streams import Streams
from qirsh.web.http.waiters import Waiters
from qirsh.web.operator.control import Control
from qirsh.web.routes import ROUTES
from qirsh.web.server.certificate import CertificateEnd
from qirsh.web.server.connection import Connection
from qirsh.web.server.traced_router import make_router
from qirsh.web.site.information_files import BadInformationFile, read_information_files
from qirsh.workers.chain_watch import ChainWatch
from qirsh.workers.sealer import Sealer

log = logging.getLogger(__name__)

_M_TRIM_THRESHOLD: Final = -1
_M_TOP_PAD: Final = -2
_KEPT_BYTES: Final = 32 * 1024 * 1024
_GARBAGE_OBJECTS: Final = 50_000
_GRACE_S: Final = 20  # In-flight requests get this long to finish; a long poll waits longer, and is cut.


@asynccontextmanager
async def opened(
    settings: Settings,
    *,
    clock: Clock = system_clock,
    entropy: Entropy = system_entropy,
    meters: Meters | None = None,
    tracer: Tracer | None = None,
) -> AsyncIterator[Context]:
    """The parts, working, without any face: for the CLI when no server runs, and under the server."""
    meters = meters or Meters(layout())
    site = _site(settings)
    settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    memory = ChainMemory(settings.data_dir)
    store = await _store(settings, clock, entropy, _expected(memory))
    engine = Engine(store, on_fatal=_end_process, meters=meters, tracer=tracer)
    passwords = Passwords()
    outbound = Outbound(Guard(networks=settings.webhook_networks), now_ms=clock)
    try:
        await _refuse_set_back(store)
        engine.start()
        keyring = await _keyring(settings, store, engine, entropy)
        await _begin(store, engine)
        waiters = Waiters()
        callers = Callers(store, clock, engine.money_stop)
        engine.listeners += [callers.hear, waiters.hear]
        yield Context(
            store=store,
            engine=engine,
            identifiers=store.instance.identifiers,
            keyring=keyring,
            passwords=passwords,
            callers=callers,
            waiters=waiters,
            clock=clock,
            entropy=entropy,
            base_url=settings.base_url,
            time_zone=settings.time_zone,
            has_mail=settings.smtp is not None,
            mail_from=str(settings.mail_from or ""),
            deposit_hint=settings.deposit_hint,
            site=site,
            limits=_limits(settings, meters),
            trusted_proxies=settings.trusted_proxies,
            operator_networks=settings.operator_networks,
            outbound=outbound,
            requests=RequestLog(clock, store.instance.identifiers, settings.trusted_proxies),
            attempts=PaymentAttempts(clock, entropy),
            webhook_secrets=WebhookSecrets(keyring),
            streams=Streams(lambda: engine.is_committing),
            installation=_installation(settings, clock),
            exposition=Exposition(meters),
            metrics_token=settings.metrics_token,
            verify=lambda: asyncio.to_thread(verify, settings.database, lambda _: None),
        )
        await _seal_last(store, engine, clock, memory)
    finally:
        await engine.close()
        outbound.close()
        passwords.close()
        await store.close()


async def _seal_last(store: Store, engine: Engine, clock: Clock, memory: ChainMemory) -> None:
    """Perhaps nobody serves for long, and what was done until now could be changed unseen."""
    await Sealer(store, engine, clock).seal_all()
    await ChainWatch(store, engine, clock, memory).remember_last()


@asynccontextmanager
async def opened_tracer(settings: Settings) -> AsyncIterator[Tracer | None]:
    """For who serves; None: nobody asked for traces."""
    if not settings.has_traces:
        yield None
        return
    try:
        tracer = open_tracer()
    except TracingNotInstalled as error:
        raise BadSetting(f"QIRSH_TRACES: {error}") from None
    try:
        yield tracer
    finally:
        await tracer.close()


async def _refuse_set_back(store: Store) -> None:
    """What another process has found, and written down, although nobody here has seen what is gone."""
    [(last, _)] = await store.select(queries.LAST_STOP)
    stop = await store.find(Tables.stops, last)
    if stop is not None and stop.lifted_at is None and awaits_restore(stop, store.instance.last_restore):
        raise UnusableDatabase(f"{stop.reason}; {WHAT_TO_DO}")


async def _begin(store: Store, engine: Engine) -> None:
    for name in (BANK, CORRECTIONS):
        if not await store.select(queries.HOUSE_ACCOUNT, name):
            await engine.submit(OpenHouseAccount(name))
    # Known before the first command, also to an act of the CLI that runs alone.
    [(_, *stop)] = await store.select(queries.REVOCATIONS_AND_STOP)
    engine.money_stop.learn(*stop, since=engine.money_stop.changes)


def _expected(memory: ChainMemory) -> Expected | None:
    try:
        return expected_of(memory.heads())
    except (OSError, ValueError) as error:
        log.warning("%s cannot be read, and whether the database was set back cannot be told: %s", memory.path, error)
        return None


async def _store(settings: Settings, clock: Clock, entropy: Entropy, expected: Expected | None = None) -> Store:
    if isinstance(settings.database, Path):
        # A start makes the database before the secret, so this one was lost. Asked in this order, also while another
        # process makes both.
        if settings.secret_file.exists() and not has_bytes(settings.database):
            message = (
                f"there is {settings.secret_file} but nothing in {settings.database}: put the database back, or, to"
                " begin anew, move secret.key and what else is left of the database away"
            )
            raise UnusableDatabase(message)
        return SqliteStore(settings.database, clock=clock, entropy=entropy, expected=expected)
    # Machines disagree about the time, so that of the database counts, unless a test has its own.
    own_clock = None if clock is system_clock else clock
    return await open_postgres(settings.database, clock=own_clock, entropy=entropy, expected=expected)


def _site(settings: Settings) -> Site:
    try:
        pages = read_information_files(settings.pages_dir) if settings.pages_dir else {}
    except BadInformationFile as error:
        raise BadSetting(f"QIRSH_PAGES_DIR: {error}") from None
    support = contact(settings.support_contact) if settings.support_contact else None
    return Site(settings.operator_name, support, pages)


async def migrate(settings: Settings) -> None:
    """The tables of this version, and no more: for the owner of the tables, where another role serves."""
    async with opened_store(settings):
        pass


@asynccontextmanager
async def opened_store(settings: Settings, *, may_be_set_back: bool = False) -> AsyncIterator[Store]:
    """The database alone, with the tables of this version. One that was set back is refused, but for who says so."""
    settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    expected = None if may_be_set_back else _expected(ChainMemory(settings.data_dir))
    store = await _store(settings, system_clock, system_entropy, expected)
    try:
        yield store
    finally:
        await store.close()


@cache
def layout() -> Layout:
    """Of this version's metrics: the labels that have their values elsewhere."""
    return Layout(
        {
            "route": [f"{route.method} {route.path}" for route in ROUTES],
            "code": list(PROBLEM_TYPES),
            "policy": POLICIES,
            "role": ROLE_NAMES,
            "currency": list(CURRENCIES),
        }
    )


def _installation(settings: Settings, clock: Clock) -> Installation:
    return Installation(
        engine="SQLite" if isinstance(settings.database, Path) else "PostgreSQL",
        data_dir=settings.data_dir,
        settings=shown_settings(settings),
        secret_settings=SECRET_SETTINGS,
        certificate_end=CertificateEnd(settings.base_url, clock).known,
        examine=Examination(settings).findings,
    )


def _limits(settings: Settings, meters: Meters) -> RateLimits | None:
    if not settings.has_rate_limits:
        return None
    return RateLimits(workers=settings.workers, proxies=settings.trusted_proxies, meters=meters)


def _keep_freed_memory() -> None:
    """Ask the C library not to hand memory back after every statement and fetch it again for the next.

    SQLite's triggers allocate and free at the top of the heap; with glibc's defaults that was a page fault for each
    row, and a third of the cost of a pay.
    """
    with contextlib.suppress(AttributeError, OSError):  # Not glibc: nothing to tell.
        libc = ctypes.CDLL(None)
        libc.mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)
        libc.mallopt(_M_TOP_PAD, _KEPT_BYTES // 16)


def _look_for_garbage_less_often() -> None:
    """Requests leave no cycles behind, so the collector finds nothing: it only walks over all that waits for answers.

    On PostgreSQL, where a batch is under way for milliseconds, this was a quarter of the process's time. On SQLite it
    was nothing.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_GARBAGE_OBJECTS, 20, 50)


async def serve(
    settings: Settings,
    context: Context,
    *,
    listeners: list[socket.socket] | None = None,
    on_ready: Callable[[], None] = lambda: None,
    on_stopping: Callable[[], None] = lambda: None,
    has_control: bool = True,
) -> None:
    """Answer requests until a signal says stop; then finish what was begun. One process of a server has control."""
    _keep_freed_memory()
    if not isinstance(settings.database, Path):
        _look_for_garbage_less_often()
    config = uvicorn.Config(
        make_router(context, ROUTES),  # type: ignore[arg-type]  # Connections call it; uvicorn only hands it over.
        host=settings.host,
        port=settings.port,
        http=Connection,
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        server_header=False,
        headers=[STRICT_TRANSPORT] if context.base_url.startswith("https:") else [],
        proxy_headers=False,
        backlog=2048,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=_GRACE_S,
    )
    server = StoppingServer(config, context.waiters, on_stopping)
    control = Control(context, settings.control_socket, settings.operators_group)
    await context.callers.poll()
    if (reason := context.engine.money_stop.reason) is not None:
        log.warning("money stands still: %s", reason)
    if has_control:
        await control.open()
    roles = start_roles(settings, context)
    try:
        on_ready()
        await server.serve(listeners)
    finally:
        for role in roles:
            role.cancel()
        await asyncio.gather(*roles, return_exceptions=True)
        await control.close()


class StoppingServer(uvicorn.Server):
    """Stops without waiting for those who wait, and without cutting off who is served."""

    def __init__(
        self, config: uvicorn.Config, waiters: Waiters, on_stopping: Callable[[], None] = lambda: None
    ) -> None:
        super().__init__(config)
        self._waiters = waiters
        self._on_stopping = on_stopping

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Called when a signal has said stop."""
        self._on_stopping()
        self._waiters.close()
        for listener in self.servers:
            listener.close()
        # What was accepted in this very turn becomes a connection in the next, and must be told of the stop too.
        await asyncio.sleep(0)
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A second Ctrl-C is the same wish: nobody who is being answered is cut off for it."""
        super().handle_exit(sig, frame)
        self.force_exit = False


async def _keyring(settings: Settings, store: Store, engine: Engine, entropy: Entropy) -> Keyring:
    """The keys of this database. With others every PIN would be wrong, and customers would be locked out one by one."""
    kept = await store.find(Tables.constants, SECRET_CHECK)
    if settings.secret_keys:
        keyring = Keyring(list(settings.secret_keys), entropy)
    elif kept is not None and not settings.secret_file.exists():
        message = f"{settings.secret_file} is missing: put it back, or set QIRSH_SECRET_KEY to what it held"
        raise UnusableDatabase(message)
    else:
        keyring = Keyring([keep_secret(settings.secret_file, entropy)], entropy)
    purpose = SECRET_CHECK.encode()
    # Two machines that start for the first time at once may each have made a secret: the first one counts.
    command = FixConstant(SECRET_CHECK, keyring.seal(b"", purpose))
    sealed = kept.value if kept else granted(await engine.submit(command))
    if keyring.unseal(sealed, purpose) is None:
        message = "the secret key is not the one that this database was made with: set QIRSH_SECRET_KEY to that one"
        raise UnusableDatabase(message)
    return keyring


def _end_process() -> None:
    """After an unknown outcome only a fresh start can tell what is there. Answers under way still go out."""
    log.critical("the engine cannot go on; ending, so that a fresh start can tell what was kept")
    asyncio.get_running_loop().call_later(0.5, os._exit, 70)
