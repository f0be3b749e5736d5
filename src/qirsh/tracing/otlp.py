"""Spans by OpenTelemetry, sent by OTLP over HTTP. The only file that imports it; `spans.py` does so on demand."""

import asyncio
import threading
from collections.abc import Iterable
from typing import Final

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, OTELResourceDetector, Resource
from opentelemetry.sdk.trace import SpanLimits, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Link, SpanKind, StatusCode, get_current_span
from opentelemetry.trace import Span as LibrarySpan
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from qirsh import __version__
from qirsh.domain.limits import BATCH_COMMANDS_MAX
from qirsh.tracing.spans import Attributes, Kind, Span

_CLOSE_S: Final = 1.5  # What is not sent within this time, when the process ends, is lost.
_KINDS: Final = {"server": SpanKind.SERVER, "internal": SpanKind.INTERNAL, "client": SpanKind.CLIENT}
_NOWHERE: Final = Context()
_TRACEPARENT: Final = TraceContextTextMapPropagator()


class OtlpSpan:
    """One of the library's."""

    __slots__ = ("library_span",)

    def __init__(self, library_span: LibrarySpan) -> None:
        self.library_span = library_span

    def end(self, attributes: Attributes, *, name: str = "", has_failed: bool = False) -> None:
        """As the protocol says. Exceptions are not told: their messages may hold anything."""
        span = self.library_span
        if span.is_recording():
            span.set_attributes(dict(attributes))
            if name:
                span.update_name(name)
            if has_failed:
                span.set_status(StatusCode.ERROR)
        span.end()


class OtlpTracer:
    """Hands its spans to a processor, which sends them from a thread of its own."""

    def __init__(self, processor: SpanProcessor) -> None:
        own = {SERVICE_NAME: "qirsh", SERVICE_VERSION: __version__}
        self._provider = TracerProvider(
            # What the environment says of the service goes before what we say.
            resource=Resource.create({**own, **OTELResourceDetector().detect().attributes}),
            span_limits=SpanLimits(max_links=BATCH_COMMANDS_MAX),
            shutdown_on_exit=False,  # It would wait for half a minute.
        )
        self._provider.add_span_processor(processor)
        self._tracer = self._provider.get_tracer("qirsh", __version__)

    def begin(self, name: str, kind: Kind, *, links: Iterable[Span] = (), traceparent: bytes | None = None) -> Span:
        """As the protocol says. Spans that nobody will see, by the sampler's will, are not linked to."""
        contexts = [span.library_span.get_span_context() for span in dict.fromkeys(links) if isinstance(span, OtlpSpan)]
        linked = [Link(context) for context in contexts if context.trace_flags.sampled]
        if traceparent is not None:
            linked.append(_caller(traceparent))
        return OtlpSpan(self._tracer.start_span(name, _NOWHERE, _KINDS[kind], links=linked))

    async def close(self) -> None:
        """As the protocol says. The library itself waits for as long as its exporter does."""
        closing = threading.Thread(target=self._provider.shutdown, name="tracing-close", daemon=True)
        closing.start()
        await asyncio.to_thread(closing.join, _CLOSE_S)


def _caller(traceparent: bytes) -> Link:
    """What the caller says it belongs to; to nothing, which the library leaves out, if that is not well-formed.

    A `tracestate` may hold anything, and is not read.
    """
    found = _TRACEPARENT.extract({"traceparent": traceparent.decode("latin-1")}, _NOWHERE)
    return Link(get_current_span(found).get_span_context())


def otlp_tracer() -> OtlpTracer:
    """To the receiver that the environment names, or the one on this machine."""
    return OtlpTracer(BatchSpanProcessor(OTLPSpanExporter()))
