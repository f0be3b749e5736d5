"""Whether the process lives, and whether it can serve, with the cause in words."""

import hmac
from typing import Final

import msgspec

from qirsh.store.reads import queries
from qirsh.web.http.authentication import usual_authorization
from qirsh.web.http.client_address import is_loopback
from qirsh.web.http.context import Context
from qirsh.web.http.message import Request, Response
from qirsh.web.http.route import Route

# The expiry worker is at most a second behind when all is well.
EXPIRY_LAG_MS_MAX: Final = 10_000
_FORWARDED: Final = frozenset({b"x-forwarded-for", b"forwarded", b"x-real-ip", b"via"})


async def show_liveness(_context: Context, _request: Request) -> Response:
    """The process answers."""
    return Response(200, b'{"status":"ok"}')


async def show_readiness(context: Context, request: Request) -> Response:
    """200 when payments can be taken; else 503, and why not for who asks from this machine or has the token."""
    causes = await troubles(context)
    if causes:
        told = causes if _is_local(request) or has_metrics_token(context, request) else []
        return Response(503, msgspec.json.encode({"status": "unavailable", "causes": told}))
    return Response(200, b'{"status":"ready","causes":[]}')


async def troubles(context: Context) -> list[str]:
    """Why payments cannot be taken now, in words; empty when all is well."""
    causes = []
    try:
        due_at = await context.store.now() - EXPIRY_LAG_MS_MAX
        overdue = await context.store.select(queries.DUE_PAYMENTS, due_at, 1)
        if overdue:
            causes.append("the expiry worker is more than 10 seconds behind")
    except Exception as error:  # noqa: BLE001 - whatever keeps the database from answering is the cause
        causes.append(f"the database does not answer: {error}")
    return causes + context.engine.troubles()


def has_metrics_token(context: Context, request: Request) -> bool:
    """Whether who asks may know how the service does."""
    given = usual_authorization(request.headers.get(b"authorization", b""))
    token = context.metrics_token
    return bool(token) and hmac.compare_digest(given, b"Bearer " + token)


def _is_local(request: Request) -> bool:
    """Not by a proxy on this machine: proxies say whom they ask for."""
    return is_loopback(request.peer) and not _FORWARDED & request.headers.keys()


ROUTES: Final = (
    Route("GET", "/healthz", show_liveness, token=None, is_counted=False),
    Route("GET", "/readyz", show_readiness, token=None, is_counted=False),
)
