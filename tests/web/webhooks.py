"""What tests of webhooks share: calls about endpoints and deliveries, on a service that may post to this machine."""

from typing import Any, Final

from qirsh.domain.tables import Tables
from qirsh.domain.webhook import WebhookEndpoint, WebhookQueue
from tests.live import Call, InProcess, World, post

ENDPOINTS: Final = "/api/v1/webhook-endpoints"
DELIVERIES: Final = "/api/v1/deliveries"
# Endpoints of tests lie on this machine, where nothing of a test can be posted to anybody.
OWN_NETWORKS: Final = {"QIRSH_WEBHOOK_NETWORKS": "127.0.0.0/8,::1"}
NOBODY: Final = "http://127.0.0.1:9/hooks"  # No one listens there.
_KEPT_MAX: Final = 8  # Of the sixteen that an account may have, so that every test can make some.


def create_endpoint(key: str, **fields: object) -> Call:
    return post(ENDPOINTS, key, {"url": NOBODY, **fields})


def patch(path: str, key: str | None, body: object) -> Call:
    return post(path, key, body)._replace(method="PATCH")


def update(key: str, endpoint: str, **fields: object) -> Call:
    return patch(f"{ENDPOINTS}/{endpoint}", key, fields)


def remove(key: str, endpoint: str) -> Call:
    return Call("DELETE", f"{ENDPOINTS}/{endpoint}", key)


def see(key: str, endpoint: str) -> Call:
    return Call("GET", f"{ENDPOINTS}/{endpoint}", key)


def act(key: str, endpoint: str, what: str, **fields: object) -> Call:
    """Rotate, ping or replay."""
    return post(f"{ENDPOINTS}/{endpoint}/{what}", key, fields)


def resend(key: str, delivery: str) -> Call:
    return Call("POST", f"{DELIVERIES}/{delivery}/resend", key)


def endpoints(world: World, key: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = world.data(Call("GET", ENDPOINTS, key))["items"]
    return items


def new_endpoint(world: World, key: str, **fields: object) -> str:
    """The id of a new one. Old ones make room for it."""
    for old in endpoints(world, key)[:-_KEPT_MAX]:
        world.data(remove(key, old["id"]))
    endpoint: str = world.data(create_endpoint(key, **fields))["id"]
    return endpoint


def delivery_of(endpoint: str, event: str) -> str:
    """The id of the delivery of an event to an endpoint."""
    return f"dlv_{endpoint.removeprefix('we_')}_{event.rpartition('_')[2]}"


def last_event(world: World, key: str) -> str:
    """Its id: the cursor says where to go on, so the last is at the end of the last page."""
    cursor = ""
    while True:
        page = world.data(Call("GET", f"/api/v1/events?limit=100{cursor}", key))
        cursor = f"&cursor={page['nextCursor']}"
        if not page["hasMore"]:
            event_id: str = page["items"][-1]["id"]
            return event_id


def new_delivery(world: World, key: str) -> str:
    """The id of a delivery that waits: the account's last event, to a new endpoint that has passed it by."""
    event = last_event(world, key)
    delivery = delivery_of(new_endpoint(world, key), event)
    world.data(resend(key, delivery))
    return delivery


def stored(world: InProcess, endpoint: str) -> WebhookEndpoint:
    """Its row."""
    found = world.run(world.context.store.find(Tables.webhook_endpoints, endpoint))
    assert found is not None
    return found


def queue_of(world: InProcess, endpoint: str) -> WebhookQueue:
    found = world.run(world.context.store.find(Tables.webhook_queues, endpoint))
    assert found is not None
    return found
