"""What each route of the table is called with: an id of something that a merchant has, and a body that is right.

Tests that go through all routes find it here. A route that is not listed fails them until somebody has thought of it.
"""

from typing import Final, Literal, NamedTuple

from qirsh.web.http.authentication import KEY
from qirsh.web.http.route import Route
from qirsh.web.routes import PAGE_ROUTES, ROUTES
from tests.live import PIN, Call, Customer, Merchant, World, cancel, create, pay, post, refund, trial
from tests.web.webhooks import NOBODY, last_event, new_delivery, new_endpoint

Kind = Literal["payment", "test payment", "paid payment", "refund", "event", "endpoint", "delivery"]

# What the `{id}` of a route names, for the call to do what it is there for.
NAMES: Final[dict[str, Kind]] = {
    "GET /api/v1/remote-payments/{id}": "payment",
    "POST /api/v1/remote-payments/{id}/cancel": "payment",
    "POST /api/v1/remote-payments/{id}/refunds": "paid payment",
    "GET /api/v1/remote-payments/{id}/refunds": "paid payment",
    "GET /api/v1/refunds/{id}": "refund",
    "GET /api/v1/events/{id}": "event",
    "GET /api/v1/webhook-endpoints/{id}": "endpoint",
    "PATCH /api/v1/webhook-endpoints/{id}": "endpoint",
    "DELETE /api/v1/webhook-endpoints/{id}": "endpoint",
    "POST /api/v1/webhook-endpoints/{id}/rotate": "endpoint",
    "POST /api/v1/webhook-endpoints/{id}/ping": "endpoint",
    "POST /api/v1/webhook-endpoints/{id}/replay": "endpoint",
    "GET /api/v1/webhook-endpoints/{id}/deliveries": "endpoint",
    "GET /api/v1/deliveries/{id}": "delivery",
    "POST /api/v1/deliveries/{id}/resend": "delivery",
    "GET /api/v1/remote-payments/{id}/deliveries": "paid payment",
    "POST /api/v1/test/remote-payments/{id}/pay": "test payment",
    "POST /api/v1/test/remote-payments/{id}/expire": "test payment",
    "POST /api/v1/test/remote-payments/{id}/cancel": "test payment",
    "GET /api/v1/wallet/remote-payments/{id}": "payment",
    "POST /api/v1/wallet/remote-payments/{id}/pay": "payment",
}
BODIES: Final[dict[str, dict[str, object]]] = {
    "POST /api/v1/remote-payments": {"amount": 100, "currency": "USD"},
    "POST /api/v1/remote-payments/{id}/cancel": {},
    "POST /api/v1/remote-payments/{id}/refunds": {"amount": 1},
    "POST /api/v1/test/remote-payments/{id}/pay": {},
    "POST /api/v1/test/remote-payments/{id}/expire": {},
    "POST /api/v1/test/remote-payments/{id}/cancel": {},
    "POST /api/v1/webhook-endpoints": {"url": NOBODY},
    "PATCH /api/v1/webhook-endpoints/{id}": {"description": "for orders"},
    "POST /api/v1/webhook-endpoints/{id}/rotate": {},
    "POST /api/v1/webhook-endpoints/{id}/ping": {},
    # A time to come, at which nothing has happened: whenever it is sent, none runs afterwards.
    "POST /api/v1/webhook-endpoints/{id}/replay": {"from": "2100-01-01T00:00:00Z"},
    "POST /api/v1/deliveries/{id}/resend": {},
    "POST /api/v1/wallet/sessions": {},
    "POST /api/v1/wallet/remote-payments/{id}/pay": {"pin": PIN},
}
# Of those that cannot do without.
QUERIES: Final[dict[str, str]] = {
    "GET /api/v1/reports/summary": "?currency=USD&from=2026-06-01&to=2027-05-31",
}
# Pages have tests of their own: test_page_access.
BY_NAME: Final = {f"{route.method} {route.path}": route for route in ROUTES if route not in PAGE_ROUTES}
KEYED: Final = tuple(name for name, route in BY_NAME.items() if route.token is KEY)
# Every POST that changes something may be sent with an Idempotency-Key, but for signing in. A ping changes nothing.
NOT_ONCE: Final = frozenset({"POST /api/v1/wallet/sessions", "POST /api/v1/webhook-endpoints/{id}/ping"})
ONCE: Final = tuple(
    name for name, route in BY_NAME.items() if route.method == "POST" and not route.is_page and name not in NOT_ONCE
)
# What they answer is shown once, and not again under the same key.
SECRETS: Final = frozenset({"POST /api/v1/webhook-endpoints", "POST /api/v1/webhook-endpoints/{id}/rotate"})


def takes_an_id(route: Route) -> bool:
    return "{id}" in route.path


def is_of_tests(name: str) -> bool:
    """Whether it takes test keys only."""
    return "/api/v1/test/" in name


def call_of(name: str, token: str | None, argument: str = "") -> Call:
    """A call of the route, with a body that is right if it takes one."""
    method, path = name.split()
    path = path.replace("{id}", argument).replace("{file}", "qirsh.css")
    if method not in {"POST", "PATCH"}:
        return Call(method, path + QUERIES.get(name, ""), token)
    return post(path, token, {} if BY_NAME[name].is_page else BODIES[name])._replace(method=method)


def named(world: World, kind: Kind, merchant: Merchant, customer: Customer) -> str:
    """A fresh thing of this kind, of the merchant's: its id."""
    if kind == "payment":
        return world.payment(merchant)
    if kind == "test payment":
        payment_id: str = world.data(create(merchant.test_key))["id"]
        return payment_id
    if kind == "endpoint":
        return new_endpoint(world, merchant.key)
    payment_id = world.paid(merchant, customer)
    if kind == "paid payment":
        return payment_id
    if kind == "delivery":
        return new_delivery(world, merchant.key)
    refund_id: str = world.data(refund(merchant.key, payment_id, amount=1))["id"]
    return refund_id if kind == "refund" else last_event(world, merchant.key)


class Belongings(NamedTuple):
    """One of every kind of thing that a merchant can have, live and test, by the kind of its id."""

    payments: dict[str, str]
    refunds: dict[str, str]
    events: dict[str, str]
    endpoints: dict[str, str]
    deliveries: dict[str, str]

    def of(self, name: str) -> dict[str, str]:
        """Those that the route's `{id}` could name. It fails for a route that is not listed."""
        kind = NAMES[name]
        others = {
            "refund": self.refunds,
            "event": self.events,
            "endpoint": self.endpoints,
            "delivery": self.deliveries,
        }
        return others.get(kind, self.payments)

    @property
    def ids(self) -> set[str]:
        """All of them."""
        return {one for kind in self for one in kind.values()}


def belongings(world: World, merchant: Merchant, customer: Customer) -> Belongings:
    """Everything that others may try to reach."""
    payments, refunds, events, endpoints, deliveries = {}, {}, {}, {}, {}
    for mode, key in (("live", merchant.key), ("test", merchant.test_key)):
        for status in ("pending", "paid", "refunded", "cancelled", "expired"):
            payments[f"{mode} {status}"] = world.data(create(key, note=f"secret of {merchant.account}"))["id"]
        for status in ("paid", "refunded"):
            payment_id = payments[f"{mode} {status}"]
            world.data(pay(customer, payment_id) if mode == "live" else trial(key, "pay", payment_id))
        refunds[mode] = world.data(refund(key, payments[f"{mode} refunded"], amount=1))["id"]
        world.data(cancel(key, payments[f"{mode} cancelled"]))
        events[mode] = last_event(world, key)
        deliveries[mode] = new_delivery(world, key)
        endpoints[mode] = new_endpoint(world, key)
    world.data(trial(merchant.test_key, "expire", payments["test expired"]))
    payments["live expired"] = payments["live pending"]  # Time is moved by those who can.
    return Belongings(payments, refunds, events, endpoints, deliveries)
