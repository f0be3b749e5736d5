"""Commands about webhook endpoints, by their owners, and about deliveries, by those who send and tidy."""

from typing import Literal

from qirsh.domain.command import Command
from qirsh.domain.mail import Letter
from qirsh.domain.webhook import DeliveryKey, Told, WebhookDelivery, WebhookEndpoint, WebhookQueue, WebhookResult


class CreateWebhookEndpoint(Command[WebhookEndpoint], frozen=True):
    """A merchant wants events sent somewhere, from the next one on. The outcome is the endpoint."""

    id: str
    account: int
    url: str
    types: tuple[str, ...]  # Empty: every type.
    description: str
    secret_sealed: bytes
    actor: str
    member: int | None = None  # Who of the staff asks on a page; None: an API key of the account.


class UpdateWebhookEndpoint(Command[WebhookEndpoint], frozen=True):
    """A merchant changes an endpoint; None leaves as it is. The outcome is the endpoint."""

    endpoint: str
    account: int
    actor: str
    url: str | None = None
    types: tuple[str, ...] | None = None
    description: str | None = None
    state: Literal["enabled", "paused"] | None = None
    resume_at: int | None = None  # Enabled again: the event to go on with, if that is not passed already.
    member: int | None = None


class EndWebhookRest(Command[WebhookQueue], frozen=True):
    """An endpoint that rests was seen to work: what waits is sent. The outcome is the queue.

    One that was paused, stopped or woken meanwhile stays as it is.
    """

    endpoint: str
    account: int
    actor: str
    member: int | None = None


class RemoveWebhookEndpoint(Command[WebhookEndpoint], frozen=True):
    """A merchant wants nothing sent there any more. The outcome is the endpoint."""

    endpoint: str
    account: int
    actor: str
    member: int | None = None


class RotateWebhookSecret(Command[WebhookEndpoint], frozen=True):
    """A new secret signs; the old one signs too for a while. The outcome is the endpoint."""

    endpoint: str
    account: int
    secret_sealed: bytes
    overlap_ms: int
    actor: str
    member: int | None = None


class StartReplay(Command[WebhookQueue], frozen=True):
    """A merchant wants all events of a stretch sent once more. The outcome is the queue."""

    endpoint: str
    account: int
    first: int
    until: int  # Included.
    actor: str
    member: int | None = None


class ResendDeliveries(Command[tuple[WebhookDelivery, ...]], frozen=True):
    """A merchant wants some events sent once more. The outcome is what waits now.

    An event that has not had its first turn is left out: it comes anyway. Whether the type is wanted, a face asks.
    """

    endpoint: str
    account: int
    sequences: tuple[int, ...]
    actor: str
    member: int | None = None


class RecordWebhookResults(Command[int], frozen=True):
    """The sender tells what tries came to, and how far queues have come. The outcome is how many were news.

    A place is an endpoint, the event to be sent to it next for the first time, and the types that it wanted, as the
    sender knew them: of an endpoint that wants others by now, events before the place may be owed.
    """

    results: tuple[WebhookResult, ...]
    places: tuple[tuple[str, int, str], ...] = ()


class TurnReplayPage(Command[int], frozen=True):
    """The sender has looked at a page of a replay. The outcome is how many events of it wait now."""

    endpoint: str
    sequences: tuple[int, ...]  # Of the page, those of types that the endpoint wants.
    next: int  # Where the replay goes on.


class TellWebhookOwner(Command[bool], frozen=True):
    """The owner is told how an endpoint fares. The outcome is whether it was this command that did it."""

    endpoint: str
    told: Told
    letters: tuple[Letter, ...]


class ForgetDeliveries(Command[int], frozen=True):
    """Old deliveries go, with all their tries. The outcome is how many: what still waits to be sent stays."""

    keys: tuple[DeliveryKey, ...]
