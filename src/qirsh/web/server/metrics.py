"""`/metrics`: what the service counts, for who sends the token. Nobody else learns that it is there."""

import asyncio
import logging
from typing import Final

from qirsh import __version__
from qirsh.backup.files import last_backup
from qirsh.backup.lines import moment_ms
from qirsh.metrics.catalogue import (
    AUDITED,
    BACKUP,
    CERTIFICATE,
    INFO,
    MONEY_STOPPED,
    READY,
    STANDBYS,
    UNSEALED,
    WAITING,
    WAITING_SECONDS,
    Metric,
)
from qirsh.metrics.exposition import CONTENT_TYPE
from qirsh.store.integrity.unsealed import unsealed
from qirsh.store.interface import OutcomeUnknown, Query, StoreUnavailable
from qirsh.store.reads.system import audited_at, waiting_for_workers
from qirsh.web.http.context import Context
from qirsh.web.http.message import Request, Response, head
from qirsh.web.http.problems import Problem
from qirsh.web.http.route import Route
from qirsh.web.server.health import has_metrics_token, troubles

log = logging.getLogger(__name__)

_HEAD: Final = head(CONTENT_TYPE)
_STANDBYS: Final = Query("SELECT count(*) FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')")
_ASKED_S_MAX: Final = 2.0  # A database that is away must not keep the rest from being seen.
Found = dict[Metric, list[tuple[tuple[str, ...], float]]]


async def show_metrics(context: Context, request: Request) -> Response:
    """All processes of this server, whichever of them is asked."""
    if not has_metrics_token(context, request):
        raise Problem("unknown_address")
    found = await _known(context)
    try:
        async with asyncio.timeout(_ASKED_S_MAX):
            found |= await _asked(context)
    except (StoreUnavailable, OutcomeUnknown, TimeoutError) as error:
        log.info("metrics of the database are left out: %r", error)
    # In a thread: whoever is served meanwhile takes turns with it.
    return Response(200, await asyncio.to_thread(context.exposition.text, found), head=_HEAD)


async def _known(context: Context) -> Found:
    own = context.installation
    backup = await asyncio.to_thread(last_backup, own.data_dir)
    certificate_end = own.certificate_end()
    found: Found = {
        INFO: [((__version__, own.engine), 1)],
        MONEY_STOPPED: [((), context.engine.money_stop.is_stopped())],
        READY: [((), 0)],
    }
    if backup is not None:
        found[BACKUP] = [((), moment_ms(backup.at) / 1000)]
    if certificate_end is not None:
        found[CERTIFICATE] = [((), certificate_end)]
    return found


async def _asked(context: Context) -> Found:
    store = context.store
    now = await store.now()
    waiting = [await unsealed(store), *await waiting_for_workers(store, now, has_mail=context.has_mail)]
    ages = {one.worker: (now - one.oldest_at) / 1000 if one.oldest_at is not None else 0.0 for one in waiting}
    audited = await audited_at(store)
    found: Found = {
        READY: [((), not await troubles(context))],
        UNSEALED: [((), ages["sealer"])],
        WAITING: [((one.worker,), one.count) for one in waiting],
        WAITING_SECONDS: [((worker,), max(0.0, age)) for worker, age in ages.items()],
    }
    if audited is not None:
        found[AUDITED] = [((), audited / 1000)]
    if context.installation.engine == "PostgreSQL":
        [(standbys,)] = await store.select(_STANDBYS)
        found[STANDBYS] = [((), standbys)]
    return found


ROUTES: Final = (Route("GET", "/metrics", show_metrics, token=None, is_counted=False),)
