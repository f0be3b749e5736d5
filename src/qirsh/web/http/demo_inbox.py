"""The demo's own receiver of webhooks: checks each one as a shop's server would, and keeps the last in memory."""

from collections import deque
from collections.abc import Mapping

import msgspec

from qirsh.domain.event import parse_event_id
from qirsh.domain.limits import ARRIVALS_KEPT_MAX
from qirsh.domain.webhook import delivery_id
from qirsh.outbound.excerpt import make_excerpt, make_inert
from qirsh.outbound.signature import SignatureFault, SigningKey, signature_fault


class Arrival(msgspec.Struct, frozen=True, kw_only=True):
    """A request that came. What it says of itself is to be believed only without a fault."""

    at: int
    fault: SignatureFault | None
    webhook_id: str
    type: str  # Empty, like the next, if the body does not say it.
    event_id: str
    body: str  # Text that nothing moves in: whole and indented, or the beginning of what was forged.
    delivery_id: str  # Empty: it is no delivery of an event, but a ping, or forged.


class _Event(msgspec.Struct):
    id: str = ""
    type: str = ""


class _Body(msgspec.Struct):
    data: _Event


class DemoInbox:
    """It knows one secret, that of the demo's working endpoint, from the start of the program to its end."""

    def __init__(self, *, secret: str, account: int, endpoint: str, failing: str, payment: str) -> None:
        self.account = account
        self.endpoint = endpoint
        self.failing = failing  # The endpoint whose receiver fails on purpose.
        self.payment = payment  # The one to try: paid, it makes the first event.
        self._key = SigningKey(secret)
        self._arrivals: deque[Arrival] = deque(maxlen=ARRIVALS_KEPT_MAX)

    @property
    def arrivals(self) -> list[Arrival]:
        """Newest first."""
        return [*reversed(self._arrivals)]

    def take(self, headers: Mapping[bytes, bytes], body: bytes, *, now_ms: int) -> SignatureFault | None:
        """Keep what came; what is wrong with its signature, if anything."""
        fault = signature_fault(headers, body, self._key, now_s=now_ms // 1000)
        event = _event_in(body)
        found = None if fault else parse_event_id(event.id)
        arrival = Arrival(
            at=now_ms,
            fault=fault,
            webhook_id=make_excerpt(headers.get(b"webhook-id", b"")),
            type=make_excerpt(event.type.encode()),
            event_id=make_excerpt(event.id.encode()),
            # Indented, a few bytes of brackets become megabytes: only what we have sent ourselves is.
            body=make_excerpt(body) if fault else _indented(body),
            delivery_id=delivery_id(self.endpoint, found[1]) if found else "",
        )
        self._arrivals.append(arrival)
        return fault


def _indented(body: bytes) -> str:
    try:
        return make_inert(msgspec.json.format(body.decode()))
    except (msgspec.MsgspecError, ValueError):  # Whoever has the secret may sign what is no JSON.
        return make_excerpt(body)


def _event_in(body: bytes) -> _Event:
    """As far as the body is one."""
    try:
        return msgspec.json.decode(body, type=_Body).data
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return _Event()
