"""Webhooks: where a merchant wants events sent, how far each endpoint has come in the log, and what became of each try.

The event log is the queue: an endpoint keeps the number of the next event, and an event has a row once it was tried.
"""

import re
from typing import Final, Literal

import msgspec

from qirsh.domain.event import TYPES

EndpointState = Literal["enabled", "paused", "stopped", "removed"]
StopReason = Literal["", "failing", "gone"]
DeliveryState = Literal["delivered", "waiting", "failed"]
# An unknown name and a refused address are one reason, so that nobody can ask us which internal names exist.
TryReason = Literal[
    "", "status", "redirect", "timeout", "no_connection", "no_public_address", "bad_certificate", "bad_answer"
]
Told = Literal["", "failing", "stopped"]

DELIVERY_STATES: Final[tuple[DeliveryState, ...]] = ("delivered", "waiting", "failed")
DeliveryKey = tuple[str, int]

_ENDPOINT_ID: Final = re.compile(r"we_[0-9a-f]{24}", re.ASCII)
_DELIVERY_ID: Final = re.compile(r"dlv_([0-9a-f]{24})_([1-9][0-9]{0,17})", re.ASCII)


class WebhookEndpoint(msgspec.Struct, frozen=True):
    """An address that a merchant's events are posted to. Once removed it has no secrets, and stays for the record."""

    id: str
    account: int
    url: str
    types: str  # Separated by spaces; empty: every type.
    description: str
    state: EndpointState  # `paused` by its owner, `stopped` by us.
    reason: StopReason  # Why it was stopped.
    secret_sealed: bytes  # Under its id, so that no row can borrow another's secret.
    old_secret_sealed: bytes  # Signs too, until then.
    old_secret_until: int | None
    created_at: int
    updated_at: int


class WebhookQueue(msgspec.Struct, frozen=True):
    """How far an endpoint has come in its account's log. It is there until the endpoint is removed."""

    endpoint: str
    account: int
    next: int  # The event to be sent for the first time next; it never goes back.
    failures: int  # Different events in a row that failed, and tries of the rest.
    resting_since: int | None
    due_at: int | None  # While it rests, one try is made then.
    replay_next: int | None  # The event that a replay looks at next,
    replay_until: int | None  # and the last one that it looks at.
    told: Told  # Which mail its owner got last; empty: that it works again, or none.
    told_at: int | None


class WebhookDelivery(msgspec.Struct, frozen=True):
    """An event on its way to one endpoint, and the latest try."""

    endpoint: str
    sequence: int
    state: DeliveryState
    attempts: int  # All tries ever made.
    step: int  # Those of the schedule; a resend begins it anew.
    due_at: int | None  # While it waits.
    created_at: int
    tried_at: int | None  # None: not yet.
    took_ms: int
    status: int | None  # None: nobody answered.
    reason: TryReason
    excerpt: str


class WebhookAttempt(msgspec.Struct, frozen=True):
    """A try before the latest one. It is forgotten with its delivery."""

    endpoint: str
    sequence: int
    number: int
    at: int
    took_ms: int
    status: int | None
    reason: TryReason
    excerpt: str


class WebhookResult(msgspec.Struct, frozen=True):
    """What one try came to, as the sender saw it."""

    endpoint: str
    sequence: int
    at: int  # When it began, by the clock that the sender holds `due_at` against.
    took_ms: int
    status: int | None
    reason: TryReason  # Empty: it was delivered.
    excerpt: str = ""
    retry_after_ms: int = 0  # What a 429 or a 503 asked for.
    spread: int = 0  # Per mille of the next wait, drawn by the sender: rules draw nothing.


def wanted_types(endpoint: WebhookEndpoint) -> tuple[str, ...]:
    """The types of events that it gets."""
    return tuple(endpoint.types.split()) or TYPES


def endpoint_id(entropy: bytes) -> str:
    """The public id, from 12 random bytes."""
    return f"we_{entropy.hex()}"


def is_endpoint_id(text: str) -> bool:
    """Whether it has the form of one. What has not must not reach a database, which may choke on it."""
    return _ENDPOINT_ID.fullmatch(text) is not None


def delivery_id(endpoint: str, sequence: int) -> str:
    """The public id. It says which event goes to which endpoint."""
    return f"dlv_{endpoint.removeprefix('we_')}_{sequence}"


def parse_delivery_id(text: str) -> DeliveryKey | None:
    """Endpoint and the event's sequence; None for what is no id of ours."""
    found = _DELIVERY_ID.fullmatch(text)
    return (f"we_{found[1]}", int(found[2])) if found else None
