"""What each route of the table is called with: an id of something that a merchant has, and a body that is right.

Tests that go through all routes find it here. A route that is not listed fails them until somebody has thought of it.
"""

from typing import Final, Literal, NamedTuple

from qirsh.web.http.authentication import KEY
from qirsh.web.http.route import Route
from qirsh.web.routes import PAGE_ROUTES, ROUTES
from tests.live import PIN, Call, Customer, Merchant, World, cancel, create, pay, post, refund, trial

Kind = Literal["payment", "test payment", "paid payment", "refund", "event"]

# What the `{id}` of a route names, for the call to do what it is there for.
NAMES: Final[dict[str, Kind]] = {
    "GET /api/v1/remote-payments/{id}": "payment",
    "POST /api/v1/remote-payments/{id}/cancel": "payment",
    "POST /api/v1/remote-payments/{id}/refunds": "paid payment",
    "GET /api/v1/remote-payments/{id}/refunds": "paid payment",
    "GET /api/v1/refunds/{id}": "refund",
    "GET /api/v1/events/{id}": "event",
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
    "POST /api/v1/wallet/sessions": {},
    "POST /api/v1/wallet/remote-payments/{id}/pay": {"pin": PIN},
}
# Pages have tests of their own: test_page_access.
BY_NAME: Final = {f"{route.method} {route.path}": route for route in ROUTES if route not in PAGE_ROUTES}
KEYED: Final = tuple(name for name, route in BY_NAME.items() if route.token is KEY)
# Everything that changes something may be sent with an Idempotency-Key, but for signing in.
ONCE: Final = tuple(
    name
    for name, route in BY_NAME.items()
    if route.method == "POST" and not route.is_page and route.path != "/api/v1/wallet/sessions"
)


def takes_an_id(route: Route) -> bool:
    return "{id}" in route.path


def is_of_tests(name: str) -> bool:
    """Whether it takes test keys only."""
    return "/api/v1/test/" in name


def call_of(name: str, token: str | None, argument: str = "") -> Call:
    """A call of the route, with a body that is right if it takes one."""
    method, path = name.split()
    path = path.replace("{id}", argument).replace("{file}", "qirsh.css")
    if method != "POST":
        return Call(method, path, token)
    return post(path, token, {} if BY_NAME[name].is_page else BODIES[name])


def named(world: World, kind: Kind, merchant: Merchant, customer: Customer) -> str:
    """A fresh thing of this kind, of the merchant's: its id."""
    if kind == "payment":
        return world.payment(merchant)
    if kind == "test payment":
        payment_id: str = world.data(create(merchant.test_key))["id"]
        return payment_id
    payment_id = world.paid(merchant, customer)
    if kind == "paid payment":
        return payment_id
    refund_id: str = world.data(refund(merchant.key, payment_id, amount=1))["id"]
    return refund_id if kind == "refund" else last_event(world, merchant.key)


def last_event(world: World, key: str) -> str:
    """Its id: the cursor says where to go on, so the last is at the end of the last page."""
    cursor = ""
    while True:
        page = world.data(Call("GET", f"/api/v1/events?limit=100{cursor}", key))
        cursor = f"&cursor={page['nextCursor']}"
        if not page["hasMore"]:
            event_id: str = page["items"][-1]["id"]
            return event_id


class Belongings(NamedTuple):
    """One of every kind of thing that a merchant can have, live and test, by the kind of its id."""

    payments: dict[str, str]
    refunds: dict[str, str]
    events: dict[str, str]

    def of(self, name: str) -> dict[str, str]:
        """Those that the route's `{id}` could name. It fails for a route that is not listed."""
        kind = NAMES[name]
        return self.refunds if kind == "refund" else self.events if kind == "event" else self.payments


def belongings(world: World, merchant: Merchant, customer: Customer) -> Belongings:
    """Everything that others may try to reach."""
    payments, refunds, events = {}, {}, {}
    for mode, key in (("live", merchant.key), ("test", merchant.test_key)):
        for status in ("pending", "paid", "refunded", "cancelled", "expired"):
            payments[f"{mode} {status}"] = world.data(create(key, note=f"secret of {merchant.account}"))["id"]
        for status in ("paid", "refunded"):
            payment_id = payments[f"{mode} {status}"]
            world.data(pay(customer, payment_id) if mode == "live" else trial(key, "pay", payment_id))
        refunds[mode] = world.data(refund(key, payments[f"{mode} refunded"], amount=1))["id"]
        world.data(cancel(key, payments[f"{mode} cancelled"]))
        events[mode] = last_event(world, key)
    world.data(trial(merchant.test_key, "expire", payments["test expired"]))
    payments["live expired"] = payments["live pending"]  # Time is moved by those who can.
    return Belongings(payments, refunds, events)
