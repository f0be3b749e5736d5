"""Spans that stay in this process, where a test looks at them."""

from collections.abc import Sequence

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from qirsh.tracing.otlp import OtlpTracer


class Collected:
    """A tracer, and what it was told."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        self.tracer = OtlpTracer(SimpleSpanProcessor(self._exporter))

    @property
    def spans(self) -> Sequence[ReadableSpan]:
        """Those that have ended, in that order."""
        return self._exporter.get_finished_spans()

    def forget(self) -> None:
        """What was told until now."""
        self._exporter.clear()

    def named(self, name: str) -> list[ReadableSpan]:
        """Those of one name."""
        return [span for span in self.spans if span.name == name]

    def batches_of(self, request: ReadableSpan) -> list[ReadableSpan]:
        """Those that are linked to a request."""
        return [span for span in self.named("batch") if span_id(request) in linked_ids(span)]


def span_id(span: ReadableSpan) -> int:
    """Its own."""
    assert span.context is not None
    own: int = span.context.span_id
    return own


def linked_ids(span: ReadableSpan) -> list[int]:
    """Of the spans that it is linked to."""
    return [link.context.span_id for link in span.links]
