"""What handlers work with. Built once by the service."""

from collections.abc import Awaitable, Callable
from zoneinfo import ZoneInfo

import msgspec

from qirsh.domain.identifier import Identifiers
from qirsh.engine.batcher import Engine
from qirsh.engine.clock import Clock
from qirsh.engine.entropy import Entropy
from qirsh.engine.keyring import Keyring
from qirsh.engine.passwords import Passwords
from qirsh.engine.webhook_secrets import WebhookSecrets
from qirsh.metrics.exposition import Exposition
from qirsh.outbound.outbound import Outbound
from qirsh.store.integrity.invariant import Violation
from qirsh.store.interface import Store
from qirsh.web.http.authentication import Callers
from qirsh.web.http.client_address import Networks
from qirsh.web.http.demo_inbox import DemoInbox
from qirsh.web.http.failure_log import FailureLog
from qirsh.web.http.installation import Installation
from qirsh.web.http.payment_attempts import PaymentAttempts
from qirsh.web.http.rate_limit import RateLimits
from qirsh.web.http.request_log import RequestLog
from qirsh.web.http.site import Site
from qirsh.web.http.streams import Streams
from qirsh.web.http.waiters import Waiters


class Context(msgspec.Struct, frozen=True):
    """The service's parts, as the faces see them."""

    store: Store
    engine: Engine
    identifiers: Identifiers
    keyring: Keyring
    passwords: Passwords
    callers: Callers
    waiters: Waiters
    clock: Clock
    entropy: Entropy
    base_url: str
    time_zone: ZoneInfo  # Of all times that people read. The API's are UTC.
    outbound: Outbound  # To receivers of webhooks.
    webhook_secrets: WebhookSecrets
    requests: RequestLog
    attempts: PaymentAttempts
    verify: Callable[[], Awaitable[list[Violation]]]  # Every rule on one snapshot, beside the loop.
    installation: Installation
    exposition: Exposition
    has_mail: bool = False  # Whether letters reach anybody. Without, nobody can join or set a forgotten password.
    keeps_mail: bool = False  # The demo's letters are not sent, and shown on a page instead.
    demo_inbox: DemoInbox | None = None  # What the demo's own receiver of webhooks got; None: this is no demo.
    mail_from: str = ""
    deposit_hint: str = ""  # How to add money, in the operators' words.
    site: Site = Site()
    limits: RateLimits | None = None  # None: calls are not counted.
    failures: FailureLog = msgspec.field(default_factory=FailureLog)
    trusted_proxies: Networks = ()  # Whose X-Forwarded-For is believed.
    operator_networks: Networks = ()  # From where the operator console is there; empty: everywhere.
    metrics_token: bytes = b""  # Empty: nobody sees metrics.
    streams: Streams = msgspec.field(default_factory=Streams)
