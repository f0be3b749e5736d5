"""Webhooks in the API's description: what will be sent to a merchant's server, and how it is signed."""

from typing import Any, Final

import msgspec

from qirsh.contract.examples import CANCELLED_EXAMPLE, CREATED, EVENT_ID, EXPIRED_EXAMPLE, PAID, Json
from qirsh.contract.views import PaymentView, RefundAndPayment
from qirsh.domain.event import REFUND_CREATED
from qirsh.web.openapi.schemas import Schema, Schemas, example_of

LATER: Final = (
    "Delivery follows in a later version of this service; the shape is already that of the event. Until then, pull"
    " them from `GET /api/v1/events`."
)


class Webhook(msgspec.Struct, frozen=True):
    """One type of event."""

    summary: str
    data: Schema | None  # None: nothing but what the event's own example shows.
    example: Json


WEBHOOKS: Final = {
    "remote_payment.paid": Webhook("A payment was paid", PaymentView, {}),
    "remote_payment.cancelled": Webhook("A payment was taken back by its merchant", PaymentView, CANCELLED_EXAMPLE),
    "remote_payment.expired": Webhook("A payment's time was over", PaymentView, EXPIRED_EXAMPLE),
    REFUND_CREATED: Webhook(
        "A refund was made",
        RefundAndPayment,
        {"payment": example_of(PaymentView, {"refundedAmount": 2500, "version": 3})},
    ),
    "ping": Webhook("A ping, asked for by the endpoint's owner", None, {}),
}

_HEADERS: Final = {
    "webhook-id": ("The event's id: the same at each try, so that a receiver does it once.", EVENT_ID),
    "webhook-timestamp": ("When this try was made, in seconds since 1970. Refuse what is 5 minutes off.", "1772357472"),
    "webhook-signature": (
        "`v1,` and the base64 of HMAC-SHA256 over `id.timestamp.body`, under the endpoint's secret (`whsec_...`).",
        "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
    ),
}


def webhooks(schemas: Schemas) -> Json:
    """The section of that name."""
    return {name: {"post": _operation(name, webhook, schemas)} for name, webhook in WEBHOOKS.items()}


def _operation(name: str, webhook: Webhook, schemas: Schemas) -> Json:
    struct = webhook.data
    data: Json = {"type": "object", "description": "What it is about."} if struct is None else schemas.reference(struct)
    event: Json = {
        "type": "object",
        "required": ["id", "type", "createdAt", "data"],
        "properties": {
            "id": {"type": "string", "description": "The event's id."},
            "type": {"type": "string", "const": name, "description": "What happened."},
            "createdAt": {"type": "string", "format": "date-time", "description": "When it happened."},
            "data": data,
        },
    }
    event_data: Any = webhook.example if struct is None else example_of(struct, webhook.example)
    example = {"id": EVENT_ID, "type": name, "createdAt": CREATED if name == "ping" else PAID, "data": event_data}
    return {
        "operationId": "webhook" + "".join(word.capitalize() for word in name.replace(".", "_").split("_")),
        "tags": ["Webhooks"],
        "summary": webhook.summary,
        "description": f"`{name}`, signed as Standard Webhooks 1.0 asks. {LATER}",
        "security": [],
        "parameters": [
            {
                "name": header,
                "in": "header",
                "required": True,
                "description": text,
                "schema": {"type": "string"},
                "example": shown,
            }
            for header, (text, shown) in _HEADERS.items()
        ],
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": event, "examples": {name: {"value": example}}}},
        },
        "responses": {
            "2XX": {"description": "Received, said within 15 seconds."},
            "4XX": {"description": "Tried again later; 410 says that nothing more shall be sent."},
        },
    }
