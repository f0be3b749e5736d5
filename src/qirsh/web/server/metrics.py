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
    BACKUP_VIOLATIONS,
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
from qirsh.metrics.exposition import CONTENT_TYPE, told
from qirsh.store.integrity.unsealed import unsealed
from qirsh.store.interface import OutcomeUnknown, StoreUnavailable
from qirsh.store.reads.system import standing
from qirsh.web.http.context import Context
from qirsh.web.http.message import Request, Response, head
from qirsh.web.http.problems import Problem
from qirsh.web.http.route import Route
from qirsh.web.server.health import EXPIRY_LAG_MS_MAX, has_metrics_token

log = logging.getLogger(__name__)

_HEAD: Final = head(CONTENT_TYPE)
_ASKED_S_MAX: Final = 2.0  # A database that is away must not keep the rest from being seen.
Found = dict[Metric, list[tuple[tuple[str, ...], float]]]


async def show_metrics(context: Context, request: Request) -> Response:
    """All processes of this server, whichever of them is asked."""
    if not has_metrics_token(context, request):
        raise Problem("unknown_address")
    # The text is made while the database and the disk are asked.
    asked, backup, kept = await asyncio.gather(
        _asked_in_time(context), asyncio.to_thread(_backup, context), context.exposition.kept()
    )
    return Response(200, kept + told(_known(context) | asked | backup), head=_HEAD)


def _backup(context: Context) -> Found:
    """Of the disk, which may hang."""
    backup = last_backup(context.installation.data_dir)
    if backup is None:
        return {}
    found: Found = {BACKUP: [((), moment_ms(backup.at) / 1000)]}
    if backup.violations is not None:
        found[BACKUP_VIOLATIONS] = [((), backup.violations)]
    return found


def _known(context: Context) -> Found:
    own = context.installation
    found: Found = {
        INFO: [((__version__, own.engine), 1)],
        MONEY_STOPPED: [((), context.engine.money_stop.is_stopped())],
        READY: [((), 0)],
    }
    certificate_end = own.certificate_end()
    if certificate_end is not None:
        found[CERTIFICATE] = [((), certificate_end)]
    return found


async def _asked_in_time(context: Context) -> Found:
    try:
        async with asyncio.timeout(_ASKED_S_MAX):
            return await _asked(context)
    except (StoreUnavailable, OutcomeUnknown, TimeoutError) as error:
        log.info("metrics of the database are left out: %r", error)
        return {}


async def _asked(context: Context) -> Found:
    store, engine = context.store, context.installation.engine
    sealer, stands = await asyncio.gather(unsealed(store), standing(store, engine, has_mail=context.has_mail))
    waiting = [sealer, *stands.waiting]
    ages = {one.worker: max(0, stands.at - one.oldest_at) if one.oldest_at is not None else 0 for one in waiting}
    found: Found = {
        READY: [((), ages["payment expirer"] < EXPIRY_LAG_MS_MAX and not context.engine.troubles())],
        UNSEALED: [((), ages["sealer"] / 1000)],
        WAITING: [((one.worker,), one.count) for one in waiting],
        WAITING_SECONDS: [((worker,), age / 1000) for worker, age in ages.items()],
    }
    if stands.audited_at is not None:
        found[AUDITED] = [((), stands.audited_at / 1000)]
    if stands.standbys is not None:
        found[STANDBYS] = [((), stands.standbys)]
    return found


ROUTES: Final = (Route("GET", "/metrics", show_metrics, token=None, is_counted=False),)
