"""Every span: its name, its attributes, and the seam to the library that sends it. Nothing else names any of them.

No name and no attribute holds an account, an id, a token, an address or an amount: who may see traces need not see
customers. The library is an extra, imported by `otlp.py` alone, and that only where traces are switched on.
"""

import importlib
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from typing import Final, Literal, Protocol, cast

Kind = Literal["server", "internal", "client"]
Attributes = Mapping[str, str | int]

# A request has the name "POST /api/v1/remote-payments": its method and the pattern of its route.
BATCH: Final = "batch"
WEBHOOK: Final = "webhook"

# As the semantic conventions of HTTP have them.
METHOD: Final = "http.request.method"
ROUTE: Final = "http.route"  # A pattern. The path itself may hold a token.
STATUS: Final = "http.response.status_code"
ERROR: Final = "error.type"  # The code of a problem, or the reason why a webhook was not delivered.
# Our own.
BATCH_COMMANDS: Final = "qirsh.batch.commands"
BATCH_OUTCOME: Final = "qirsh.batch.outcome"  # committed, unavailable, unknown or failed.
WEBHOOK_RESULT: Final = "qirsh.webhook.result"  # delivered or failed.

ATTRIBUTES: Final = frozenset({METHOD, ROUTE, STATUS, ERROR, BATCH_COMMANDS, BATCH_OUTCOME, WEBHOOK_RESULT})


class Span(Protocol):
    """What takes a while. Whoever begins it ends it."""

    def end(self, attributes: Attributes, *, name: str = "", has_failed: bool = False) -> None:
        """With what is known by now; under another name, if that was not known before."""


class Tracer(Protocol):
    """Begins spans. Neither it nor they ever wait for who receives them."""

    def begin(self, name: str, kind: Kind, *, links: Iterable[Span] = (), traceparent: bytes | None = None) -> Span:
        """A span without a parent, linked to others and to what the caller names as its own in a `traceparent`."""

    async def close(self) -> None:
        """Send what is left, if that takes no more than a moment."""


# Of the request that is being answered.
REQUEST_SPAN: Final[ContextVar[Span | None]] = ContextVar("request_span", default=None)


class TracingNotInstalled(Exception):
    """Traces are switched on, and what sends them is not there."""


def open_tracer() -> Tracer:
    """One that sends by OTLP, as the variables of OpenTelemetry (`OTEL_...`) say. Raises `TracingNotInstalled`."""
    try:
        otlp = importlib.import_module("qirsh.tracing.otlp")
    except ImportError as error:
        message = f"otlp needs packages that are not installed ({error}): pip install 'qirsh[otel]'"
        raise TracingNotInstalled(message) from None
    return cast("Tracer", otlp.otlp_tracer())
