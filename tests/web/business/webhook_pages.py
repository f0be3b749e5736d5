"""What tests of the pages about webhooks share: an owner at home, endpoints by the form, and what the sender tells."""

import re
from datetime import UTC, datetime

from qirsh.domain.commands.webhook import RecordWebhookResults
from qirsh.domain.webhook import WebhookResult
from tests.guest import Guest
from tests.live import PASSWORD, InProcess, Merchant, World
from tests.web.webhooks import NOBODY

BUSINESS = "/business"
ALL_TYPES = {
    "remote_payment-paid": "yes",
    "remote_payment-cancelled": "yes",
    "remote_payment-expired": "yes",
    "refund-created": "yes",
}
SECRET = re.compile(r"whsec_[A-Za-z0-9+/]{43}=")
HOUR_MS = 3_600_000


def at_home(world: World, merchant: Merchant) -> Guest:
    return Guest(world).signed_in(merchant.email)


def owner(world: InProcess) -> tuple[Guest, Merchant]:
    merchant = world.merchant()
    return at_home(world, merchant), merchant


def add(guest: Guest, account: str, **changes: str) -> str:
    """The id of a new endpoint, by the form; the page with its secret is open."""
    path = f"{BUSINESS}/{account}/webhooks/new"
    guest.open(path)
    fields = {"url": NOBODY, "description": "", "password": PASSWORD, **ALL_TYPES, **changes}
    answer = guest.post(path, **fields)
    assert answer.status_code == 200, guest.text
    endpoint: str
    [endpoint] = set(re.findall(r"/webhooks/(we_\w+)", guest.page))
    return endpoint


def last_sequence(world: InProcess, account: str) -> int:
    with world.books() as books:
        [(last,)] = books.select("SELECT last FROM event_counter WHERE account = ?", int(account))
    return int(last)


def record(world: InProcess, endpoint: str, sequence: int, **fields: object) -> None:
    """As the sender tells what a try came to."""
    told: dict[str, object] = {"at": world.now_ms(), "took_ms": 40, "status": 200, "reason": "", **fields}
    result = WebhookResult(endpoint=endpoint, sequence=sequence, **told)  # type: ignore[arg-type]
    done = world.run(world.context.engine.submit(RecordWebhookResults((result,), ((endpoint, sequence + 1, ""),))))
    assert done == 1


def give_up(world: InProcess, endpoint: str, sequence: int, status: int = 500) -> None:
    """Ten tries that failed, with time between them; others succeeded meanwhile, so the endpoint does not rest."""
    for _ in range(10):
        world.clock.advance(1000)
        record(world, endpoint, sequence, status=status, reason="status", excerpt="<i>oh</i> no")


def delivery(account: str, endpoint: str, sequence: int) -> str:
    """The page of it."""
    return f"{BUSINESS}/{account}/deliveries/dlv_{endpoint.removeprefix('we_')}_{sequence}"


def last_sequence_after(world: InProcess, merchant: Merchant, count: int) -> int:
    """The number of the first of so many events that happen now."""
    for _ in range(count):
        world.paid(merchant, world.customers[0])
    return last_sequence(world, merchant.account) - count + 1


def typed(at: int) -> str:
    """As a browser sends a time."""
    return datetime.fromtimestamp(at // 1000, UTC).strftime("%Y-%m-%dT%H:%M")
