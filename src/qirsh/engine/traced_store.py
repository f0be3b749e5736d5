"""Batches as spans, linked to the requests that their commands came with. Used only where traces are switched on."""

from collections.abc import Callable
from typing import Any, Protocol

from qirsh.domain.batch import Answer, Batch, Submission
from qirsh.domain.command import Command
from qirsh.domain.idempotency import IdempotencyKey
from qirsh.domain.unit_of_work import UnitOfWork
from qirsh.store.interface import OutcomeUnknown, StoreUnavailable
from qirsh.tracing.spans import BATCH, BATCH_COMMANDS, BATCH_OUTCOME, REQUEST_SPAN, Span, Tracer


class Transacts(Protocol):
    """What carries a batch out: a store, or what watches one."""

    async def transact(self, batch: Batch) -> UnitOfWork:
        """As `Store.transact`."""


class _TracedSubmission(Submission, frozen=True, eq=False):
    """It remembers the request that it came with; None: a worker's own."""

    request: Span | None = None


def traced_submission(
    command: Command[Any],
    idempotency_key: IdempotencyKey | None = None,
    render: Callable[[Any, UnitOfWork], Answer] | None = None,
) -> Submission:
    """Of the request that is being answered here."""
    return _TracedSubmission(command, idempotency_key, render, REQUEST_SPAN.get())


class TracedStore:
    """The store, with a span around each batch."""

    def __init__(self, store: Transacts, tracer: Tracer) -> None:
        self._store = store
        self._tracer = tracer

    async def transact(self, batch: Batch) -> UnitOfWork:
        """As the store does it, and how that ended."""
        requests = (getattr(submission, "request", None) for submission in batch.submissions)
        span = self._tracer.begin(BATCH, "internal", links=[request for request in requests if request is not None])
        outcome = "failed"
        try:
            work = await self._store.transact(batch)
            outcome = "committed"
        except StoreUnavailable:
            outcome = "unavailable"
            raise
        except OutcomeUnknown:
            outcome = "unknown"
            raise
        else:
            return work
        finally:
            span.end({BATCH_COMMANDS: len(batch), BATCH_OUTCOME: outcome}, has_failed=outcome != "committed")
