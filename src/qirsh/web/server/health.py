"""Whether the process lives, and whether it can serve, with the cause in words."""

from typing import Final

import msgspec

from qirsh.store.reads import queries
from qirsh.web.http.context import Context
from qirsh.web.http.message import Request, Response
from qirsh.web.http.route import Route

# The expiry worker is at most a second behind when all is well.
_EXPIRY_LAG_MS_MAX = 10_000


async def show_liveness(_context: Context, _request: Request) -> Response:
    """The process answers."""
    return Response(200, b'{"status":"ok"}')


async def show_readiness(context: Context, _request: Request) -> Response:
    """200 when payments can be taken; else 503 and why not."""
    causes = []
    try:
        overdue = await context.store.select(queries.DUE_PAYMENTS, context.clock() - _EXPIRY_LAG_MS_MAX, 1)
        if overdue:
            causes.append("the expiry worker is more than 10 seconds behind")
    except Exception as error:  # noqa: BLE001 - whatever keeps the database from answering is the cause
        causes.append(f"the database does not answer: {error}")
    causes += context.engine.troubles()
    if causes:
        return Response(503, msgspec.json.encode({"status": "unavailable", "causes": causes}))
    return Response(200, b'{"status":"ready","causes":[]}')


ROUTES: Final = (
    Route("GET", "/healthz", show_liveness, token=None, is_counted=False),
    Route("GET", "/readyz", show_readiness, token=None, is_counted=False),
)
