"""Values of examples. They tell one story: a shop sells coffee for 100.98 USD, a customer pays, and 25.00 go back."""

from typing import Any, Final

Json = dict[str, Any]
BASE_URL: Final = "https://pay.example.com"  # In examples; the document has its service's own instead.
SHOP_NAME: Final = "Souq Al-Nour"  # The demo's own, so that what is pasted into it works.
SHOP_URL: Final = "https://souq-al-nour.example"
PAYMENT_ID: Final = "9472744451232654"
MERCHANT: Final = "393195094804"
CUSTOMER: Final = "493249773237"
CREATED: Final = "2026-03-01T09:30:00.125Z"
PAID: Final = "2026-03-01T09:31:12.480Z"
EXPIRED: Final = "2026-03-01T10:30:00.125Z"
REFUNDED: Final = "2026-03-02T11:05:40.310Z"
REFUND_ID: Final = "rf_3f9c01d2a7b84e5f60718293"
PAYOUT_ID: Final = "po_71c0a4e95d3b28f604"
PAID_OUT: Final = "2026-03-03T08:12:30.000Z"
EVENT_ID: Final = f"evt_0_{MERCHANT}_1"
REQUEST_ID: Final = "req_5f2c81a90b3e0000002a"
# What differs from the usual story, in which the payment is paid.
CANCELLED_EXAMPLE: Final[Json] = {"status": "cancelled", "from": None, "paidAt": None, "cancelledAt": PAID}
EXPIRED_EXAMPLE: Final[Json] = {"status": "expired", "from": None, "paidAt": None, "updatedAt": EXPIRED}
METADATA: Final[Json] = {"cart": "c-5581", "items": [{"sku": "arabica-1kg", "count": 2}]}
ENDPOINT_ID: Final = "we_5b1e90c4f7a2d83610ce47ab"
DELIVERY_ID: Final = "dlv_5b1e90c4f7a2d83610ce47ab_1"
WEBHOOK_URL: Final = f"{SHOP_URL}/hooks"
WEBHOOK_SECRET: Final = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD5rxVrcbb6Ys="  # noqa: S105 - nobody's
ARRIVED: Final = "2026-03-01T09:31:12.502Z"
_SECOND_TRY: Final = "2026-03-01T09:31:17.702Z"
# The first try found the shop's server in the middle of a restart.
DELIVERED_EXAMPLE: Final[Json] = {
    "attempts": 2,
    "triedAt": _SECOND_TRY,
    "tries": [
        {"number": 2, "at": _SECOND_TRY, "tookMs": 84, "status": 200, "reason": None, "excerpt": "ok"},
        {
            "number": 1,
            "at": ARRIVED,
            "tookMs": 31,
            "status": 503,
            "reason": "status",
            "excerpt": "restarting",
        },
    ],
}
WAITING_EXAMPLE: Final[Json] = {"state": "waiting", "nextTryAt": REFUNDED}
