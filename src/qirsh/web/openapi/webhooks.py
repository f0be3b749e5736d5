"""What the service sends to a merchant's endpoints: the `webhooks` of the description."""

from typing import Final

from qirsh.contract.examples import EVENT_ID, REFUNDED, Json
from qirsh.contract.views import EventView, RefundAndPayment
from qirsh.domain.event import REFUND_CREATED, TYPES
from qirsh.domain.limits import RECEIVER_ANSWER_S_MAX
from qirsh.web.openapi.schemas import Schemas, event_name, example_of

# Of Standard Webhooks 1.0.
_HEADERS: Final = {
    "webhook-id": (
        "The event's id, the same at every try: what came before under it can be dropped.",
        {"type": "string"},
        EVENT_ID,
    ),
    "webhook-timestamp": (
        "When this try was made, in seconds since 1970. Refuse what is more than five minutes off.",
        {"type": "string", "pattern": "^[0-9]+$"},
        "1772357472",
    ),
    "webhook-signature": (
        (
            "`v1,` and the base64 of HMAC-SHA256, under the secret, over id, timestamp and body joined by full stops."
            " While a secret is being rotated there are two, with a space between them."
        ),
        {"type": "string"},
        "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    ),
}


def sent(schemas: Schemas) -> Json:
    """By the type of the event."""
    schemas.reference(EventView)
    return {kind: {"post": _operation(kind)} for kind in TYPES}


def _operation(kind: str) -> Json:
    name = event_name(kind)
    return {
        "operationId": f"on{name}",
        "tags": ["Webhooks"],
        "summary": f"`{kind}` happened",
        "description": "Sent to every endpoint that wants this type, with the bytes that `GET /events/{id}` returns. It"
        " may come more than once, and not in the order of what happened.",
        "security": [],
        "parameters": [
            {"name": header, "in": "header", "required": True, "description": text, "schema": schema, "example": shown}
            for header, (text, schema, shown) in _HEADERS.items()
        ],
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {
                    "schema": {
                        "type": "object",
                        "required": ["data"],
                        "properties": {"data": {"$ref": f"#/components/schemas/{name}"}},
                    },
                    "examples": {"usual": {"value": {"data": _example(kind)}}},
                }
            },
        },
        "responses": {
            "2XX": {"description": f"It has arrived. Answer within {RECEIVER_ANSWER_S_MAX} seconds."},
            "4XX": {"description": "It has not, and is tried again. After a 410 the endpoint is stopped."},
            "5XX": {"description": "It has not, and is tried again; after a 503 not before `Retry-After`."},
        },
    }


def _example(kind: str) -> Json:
    changed: Json = {"type": kind}
    if kind == REFUND_CREATED:
        changed |= {"createdAt": REFUNDED, "data": example_of(RefundAndPayment)}
    return example_of(EventView, changed)
