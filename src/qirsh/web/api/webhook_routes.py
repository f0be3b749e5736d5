"""The calls of the JSON API about webhooks: who may make each, and what its description tells."""

from typing import Final

from qirsh.contract import webhook_views as views
from qirsh.contract.examples import DELIVERED_EXAMPLE, ENDPOINT_ID, WAITING_EXAMPLE
from qirsh.domain.limits import PINGS_PER_MINUTE, WEBHOOK_ENDPOINTS_MAX
from qirsh.web.api import bodies, deliveries, webhook_bodies, webhook_endpoints
from qirsh.web.api.parameters import DeliveryParameters
from qirsh.web.http.authentication import KEY
from qirsh.web.http.route import OperationDoc, Route

_READ: Final = "webhooks:read"
_WRITE: Final = "webhooks:write"
_STANDING: Final = ("account_suspended", "not_approved")

WEBHOOK_ROUTES: Final = (
    Route(
        "POST",
        "/api/v1/webhook-endpoints",
        webhook_endpoints.create_endpoint,
        token=KEY,
        scope=_WRITE,
        doc=OperationDoc(
            "Create a webhook endpoint",
            views.NewEndpointView,
            status=201,
            body=webhook_bodies.CreateEndpointBody,
            problems=(*_STANDING, "too_many", "secret_already_shown"),
            takes_key=True,
            description="Has events sent to an address, from the next one on. The answer has the secret that webhooks"
            " are signed with, this once: sent again under its `Idempotency-Key`, the request is answered with 409"
            f" `secret_already_shown`. An account has at most {WEBHOOK_ENDPOINTS_MAX}.",
            headers=("Location",),
            example={"id": ENDPOINT_ID},
        ),
    ),
    Route(
        "GET",
        "/api/v1/webhook-endpoints",
        webhook_endpoints.list_endpoints,
        token=KEY,
        scope=_READ,
        doc=OperationDoc("List webhook endpoints", views.EndpointPage, description="All of them, the oldest first."),
    ),
    Route(
        "GET",
        "/api/v1/webhook-endpoints/{id}",
        webhook_endpoints.see_endpoint,
        token=KEY,
        scope=_READ,
        doc=OperationDoc("Retrieve a webhook endpoint", views.EndpointView),
    ),
    Route(
        "PATCH",
        "/api/v1/webhook-endpoints/{id}",
        webhook_endpoints.update_endpoint,
        token=KEY,
        scope=_WRITE,
        doc=OperationDoc(
            "Update a webhook endpoint",
            views.EndpointView,
            body=webhook_bodies.UpdateEndpointBody,
            problems=_STANDING,
            description="Changes what is sent, and leaves the rest as it is. With null for `types` every type is sent"
            " again; null for `description` empties it. `enabled` ends the rest of an endpoint to which deliveries"
            " failed. While an endpoint is paused, its events wait. One that was paused or stopped and is enabled again"
            " goes on where it stopped, at most 90 days back,"
            ' or with what happens from now on (`"resumeFrom": "now"`).',
        ),
    ),
    Route(
        "DELETE",
        "/api/v1/webhook-endpoints/{id}",
        webhook_endpoints.remove_endpoint,
        token=KEY,
        scope=_WRITE,
        doc=OperationDoc(
            "Remove a webhook endpoint",
            views.RemovedEndpointView,
            description="Once this is answered, nothing is sent there any more. Its secrets are erased.",
            example={"id": ENDPOINT_ID},
        ),
    ),
    Route(
        "POST",
        "/api/v1/webhook-endpoints/{id}/rotate",
        webhook_endpoints.rotate_secret,
        token=KEY,
        scope=_WRITE,
        doc=OperationDoc(
            "Rotate the secret of a webhook endpoint",
            views.SecretView,
            body=webhook_bodies.RotateSecretBody,
            problems=(*_STANDING, "secret_already_shown"),
            takes_key=True,
            description="Makes a new secret, and shows it this once. For `overlapHours` webhooks have two signatures,"
            " with the new and the old secret; with 0 the old one ends before this is answered. Two secrets sign at"
            " most: rotated again meanwhile, the oldest ends at once.",
        ),
    ),
    Route(
        "POST",
        "/api/v1/webhook-endpoints/{id}/ping",
        webhook_endpoints.ping,
        token=KEY,
        scope=_WRITE,
        doc=OperationDoc(
            "Ping a webhook endpoint",
            views.PingView,
            body=bodies.NoBody,
            problems=(*_STANDING, "move_not_allowed"),
            description="Sends something of the type `ping`, signed like an event, at once and never again, and answers"
            " with what the receiver said. It may take 15 seconds. If it arrives at an endpoint that rests because"
            f" deliveries failed, all that waits is sent. An account has {PINGS_PER_MINUTE} a minute.",
            example={"delivered": True, "status": 200, "tookMs": 84, "reason": None, "excerpt": "ok"},
        ),
    ),
    Route(
        "POST",
        "/api/v1/webhook-endpoints/{id}/replay",
        webhook_endpoints.replay,
        token=KEY,
        scope=_WRITE,
        doc=OperationDoc(
            "Replay events to a webhook endpoint",
            views.EndpointView,
            body=webhook_bodies.ReplayBody,
            problems=(*_STANDING, "replay_running"),
            takes_key=True,
            description="Sends all events once more that happened at a time or later and had their turn. New ones"
            " go first.",
            example={"replayRunning": True},
        ),
    ),
    Route(
        "GET",
        "/api/v1/webhook-endpoints/{id}/deliveries",
        deliveries.list_deliveries,
        token=KEY,
        scope=_READ,
        doc=OperationDoc(
            "List the deliveries to a webhook endpoint",
            views.DeliveryPage,
            query=DeliveryParameters,
            description="The newest event first. With `type`, a page may hold fewer than `limit` and not be the last:"
            " `hasMore` tells.",
        ),
    ),
    Route(
        "GET",
        "/api/v1/deliveries/{id}",
        deliveries.see_delivery,
        token=KEY,
        scope=_READ,
        doc=OperationDoc(
            "Retrieve a delivery",
            views.DeliveryWithTries,
            description="With every try and what the receiver said, the latest first.",
            example=DELIVERED_EXAMPLE,
        ),
    ),
    Route(
        "POST",
        "/api/v1/deliveries/{id}/resend",
        deliveries.resend_delivery,
        token=KEY,
        scope=_WRITE,
        doc=OperationDoc(
            "Resend a delivery",
            views.DeliveryView,
            body=bodies.NoBody,
            problems=_STANDING,
            takes_key=True,
            description="Sends the event once more, at once, and tries it as often as a new one. An event that the"
            " endpoint has passed by can be sent too: its delivery is `dlv_`, the endpoint's id without `we_`, `_` and"
            " the event's number.",
            example=WAITING_EXAMPLE,
        ),
    ),
    Route(
        "GET",
        "/api/v1/remote-payments/{id}/deliveries",
        deliveries.payment_deliveries,
        token=KEY,
        scope=_READ,
        doc=OperationDoc(
            "List the deliveries of a remote payment",
            views.DeliveryList,
            description="What became of the payment's events, at every endpoint; the newest event first.",
        ),
    ),
)
