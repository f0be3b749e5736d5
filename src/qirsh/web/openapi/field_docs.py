"""What each word of the API means, with an example: a field has one meaning wherever it stands."""

from typing import Any, Final

import msgspec

from qirsh import __version__
from qirsh.contract.examples import (
    ARRIVED,
    BASE_URL,
    CREATED,
    CUSTOMER,
    DELIVERY_ID,
    ENDPOINT_ID,
    EVENT_ID,
    MERCHANT,
    METADATA,
    PAID,
    PAID_OUT,
    PAYMENT_ID,
    PAYOUT_ID,
    REFUND_ID,
    REFUNDED,
    SHOP_NAME,
    SHOP_URL,
    WEBHOOK_SECRET,
    WEBHOOK_URL,
    Json,
)
from qirsh.domain import limits
from qirsh.domain.api_key import SCOPES
from qirsh.domain.money import CURRENCIES
from qirsh.domain.payment import STATUSES

_MOMENT: Final[Json] = {"format": "date-time"}
_DIGITS_16: Final[Json] = {"pattern": "^[1-9][0-9]{15}$"}
_DIGITS_12: Final[Json] = {"pattern": "^[1-9][0-9]{11}$"}
_AMOUNT: Final[Json] = {"minimum": 1, "maximum": limits.AMOUNT_MAX, "format": "int64"}
_BALANCE: Final[Json] = {"maximum": limits.BALANCE_MAX, "format": "int64"}
_CURRENCIES: Final = ", ".join(f"`{code}`" for code in CURRENCIES)  # In answers any text: v1 may gain some.
_STATUS: Final[Json] = {"enum": list(STATUSES)}
_REFUSED: Final = r"\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069"
_NO_CONTROLS: Final = rf"^[^{_REFUSED}]*$"
_NOTE: Final = rf"^(?:[^{_REFUSED}]|\t)*(?:\r?\n(?:[^{_REFUSED}]|\t)*){{0,{limits.NOTE_LINES_MAX - 1}}}$"
SINGLE_LINE: Final[Json] = {"pattern": _NO_CONTROLS}
WITHOUT_NUL: Final[Json] = {"pattern": r"^[^\u0000]*$"}
_ADDRESS: Final[Json] = {"format": "uri"}
_METADATA: Final[Json] = {
    "maxProperties": limits.METADATA_KEYS_MAX,
    "propertyNames": {"maxLength": limits.METADATA_KEY_CHARACTERS_MAX},
}


class FieldDoc(msgspec.Struct, frozen=True):
    """What it means, how it looks, and what its type alone does not say."""

    text: str
    example: Any = None
    also: Json = {}


_PAYMENT_ID: Final = FieldDoc("The payment's identifier: 16 digits.", PAYMENT_ID, _DIGITS_16)
_ORIGIN_RULE: Final = "It must be on an origin that is registered for the account, else 422 `url_not_registered`."

_STATUS_CODE: Final = FieldDoc("The status of the receiver's answer; null if there was none.", 200, {"minimum": 100})
_REASON: Final = FieldDoc(
    "Why it did not arrive: `status` (not 2xx), `redirect` (never followed), `timeout`, `no_connection`,"
    " `no_public_address`, `bad_certificate` or `bad_answer`; null if it did.",
    None,
)
_DELIVERY: Final = {
    "id": FieldDoc("The delivery's identifier: the endpoint's, and the number of the event.", DELIVERY_ID),
    "state": FieldDoc("`delivered`, `waiting` for its next try, or `failed` after ten tries.", "delivered"),
    "attempts": FieldDoc("How many tries there were, those before a resend too.", 1, {"minimum": 0}),
    "happenedAt": FieldDoc("When the event happened.", PAID, _MOMENT),
    "createdAt": FieldDoc("When its first try was recorded, or it began to wait for it.", ARRIVED, _MOMENT),
    "triedAt": FieldDoc("When the latest try was made; null before the first.", ARRIVED, _MOMENT),
    "tookMs": FieldDoc("How many milliseconds the latest try took; null before the first.", 84, {"minimum": 0}),
    "status": FieldDoc("The status of the receiver's latest answer; null if there was none.", 200, {"minimum": 100}),
    "nextTryAt": FieldDoc("When it is tried next; null unless it waits.", None, _MOMENT),
    "tries": FieldDoc("Every try, the latest first."),
}

_COUNT: Final[Json] = {"minimum": 0, "format": "int64"}
_DAY: Final[Json] = {"format": "date"}
_FIRST_DAY: Final = FieldDoc("The first day, of the merchant's time zone.", "2026-03-01", _DAY)
_LAST_DAY: Final = FieldDoc("The last day, which is included.", "2026-03-31", _DAY)
_SUMMARY: Final = {
    **{f"{shape}.from": _FIRST_DAY for shape in ("SummaryParameters", "SummaryView")},
    **{f"{shape}.to": _LAST_DAY for shape in ("SummaryParameters", "SummaryView")},
    "SummaryParameters.currency": FieldDoc("The currency's code, in capital letters.", "USD"),
    "timeZone": FieldDoc("In which the days begin, by its IANA name.", "Asia/Damascus"),
    "opening": FieldDoc("What the account held before the first day, in the smallest unit.", 0, _BALANCE),
    "taken": FieldDoc("What customers paid.", 10098, _COUNT),
    "refunded": FieldDoc("What went back to customers.", 2500, _COUNT),
    "fees": FieldDoc("What the service kept.", 0, _COUNT),
    "paidOut": FieldDoc("What was sent to the bank.", 0, _COUNT),
    "paidIn": FieldDoc("What was added from outside.", 0, _COUNT),
    "corrected": FieldDoc("What was set right otherwise; below zero, it left the account.", 0, {"format": "int64"}),
    "closing": FieldDoc("What the account held after the last day.", 7598, _BALANCE),
    "takenCount": FieldDoc("How many payments.", 1, _COUNT),
    "refundedCount": FieldDoc("How many refunds.", 1, _COUNT),
    "feesCount": FieldDoc("How many fees.", 0, _COUNT),
    "paidOutCount": FieldDoc("How many payouts.", 0, _COUNT),
    "paidInCount": FieldDoc("How many deposits.", 0, _COUNT),
    "correctedCount": FieldDoc("How many corrections.", 0, _COUNT),
}

_PAYOUT: Final = {
    "PayoutView.id": FieldDoc("The payout's identifier.", PAYOUT_ID),
    "PayoutView.amount": FieldDoc("How much is sent to the bank, in the currency's smallest unit.", 7598, _AMOUNT),
    "PayoutView.status": FieldDoc(
        "`requested`, `ordered` (the bank has been asked), then `paid`, `refused` or `cancelled`, which are final.",
        "paid",
    ),
    "bankAccount": FieldDoc(
        f"The last {limits.BANK_HINT_CHARACTERS} characters of the bank account's number; null if they are not kept.",
        "3000",
    ),
    "bankReference": FieldDoc("The bank's reference of the transfer; null until it is ordered.", "FT26062-4471"),
    "PayoutView.reason": FieldDoc("Why it was refused; null if it was not.", None),
    "PayoutView.createdAt": FieldDoc("When it was requested.", REFUNDED, _MOMENT),
    "PayoutView.paidAt": FieldDoc("When the money left the account; null if it has not.", PAID_OUT, _MOMENT),
}

# By name, or by shape and name where one shape says more than all the others. A name may also be that of a query's
# parameter.
WORDS: Final[dict[str, FieldDoc]] = {
    # Identifiers.
    "_id": _PAYMENT_ID,
    "id": FieldDoc("The identifier.", REFUND_ID),
    "EventView.id": FieldDoc("The event's id; as a `cursor`, it begins the list after this event.", EVENT_ID),
    "TransferView.id": FieldDoc(
        "The line's id within this account; `tr_<epoch>_<currency>_<number>` after the service was restored.",
        "tr_USD_1",
    ),
    "KeyView.id": FieldDoc("The key's id, which is not secret.", "key_7d1f"),
    "paymentId": _PAYMENT_ID,
    "account": FieldDoc("An account's number: 12 digits.", MERCHANT, _DIGITS_12),
    "to": FieldDoc("Account number of the merchant's commercial account.", MERCHANT, _DIGITS_12),
    "from": FieldDoc("Account number of the customer who paid; null until then.", CUSTOMER, _DIGITS_12),
    "TransferView.account": FieldDoc("The account on the other side.", CUSTOMER, _DIGITS_12),
    "TransferView.reference": FieldDoc("The reference of a deposit or payout; null for others.", None),
    "TransferView.paymentId": FieldDoc("The payment it belongs to; null for others.", PAYMENT_ID, _DIGITS_16),
    "refundId": FieldDoc("The refund it belongs to; null for others.", None),
    "merchantName": FieldDoc("The business's name, verified by the operators.", SHOP_NAME),
    "reference": FieldDoc("The merchant's own order number.", "order-1042", SINGLE_LINE),
    # Money.
    "amount": FieldDoc(
        "A whole number of the currency's smallest unit: `10098` is 100.98. Never a string or a fraction.",
        10098,
        _AMOUNT,
    ),
    "BalanceView.amount": FieldDoc("What the account holds, in the currency's smallest unit.", 10098, _BALANCE),
    "currency": FieldDoc(f"The currency's code. Today: {_CURRENCIES}.", "USD"),
    "CreatePaymentBody.currency": FieldDoc("The currency's code, in capital letters.", "USD"),
    "refundedAmount": FieldDoc(
        "How much of the amount was refunded to the customer.",
        0,
        {"minimum": 0, "maximum": limits.AMOUNT_MAX, "format": "int64"},
    ),
    "RefundBody.amount": FieldDoc("How much to refund; all that is left when absent.", 2500, _AMOUNT),
    "RefundView.amount": FieldDoc("How much was refunded.", 2500, _AMOUNT),
    "TransferView.amount": FieldDoc(
        "The amount, in the smallest unit; below zero, it left the account.",
        10098,
        {"minimum": -limits.AMOUNT_MAX, "maximum": limits.AMOUNT_MAX, "format": "int64"},
    ),
    "balance": FieldDoc("What the account held right after this, in the smallest unit.", 10098, _BALANCE),
    # Payouts, and a summary of some days.
    **_PAYOUT,
    **_SUMMARY,
    "code": FieldDoc(f"The currency's code. Today: {_CURRENCIES}.", "USD"),
    "exponent": FieldDoc("How many decimals the currency has: 2 means that 100 units are 1.00.", 2, {"minimum": 0}),
    # A payment's state.
    "status": FieldDoc("`pending`, then one of the others, which are final.", "paid", _STATUS),
    "version": FieldDoc(
        "Counts visible changes; events carry it, so that a receiver can order them.", 2, {"minimum": 1}
    ),
    "livemode": FieldDoc("False for test money.", True),  # noqa: FBT003 - the example is a boolean
    "createdAt": FieldDoc("When it was created.", CREATED, _MOMENT),
    "RefundView.createdAt": FieldDoc("When it was created.", REFUNDED, _MOMENT),
    "EventView.createdAt": FieldDoc("When it happened.", PAID, _MOMENT),
    "TransferView.createdAt": FieldDoc("When the money moved.", PAID, _MOMENT),
    "KeyView.createdAt": FieldDoc("When it was created.", "2026-02-10T08:00:00.000Z", _MOMENT),
    "updatedAt": FieldDoc("When it last changed.", PAID, _MOMENT),
    "expiresAt": FieldDoc("When it expires.", "2026-03-01T10:30:00.125Z", _MOMENT),
    "paidAt": FieldDoc("When it was paid; null if it was not.", PAID, _MOMENT),
    "cancelledAt": FieldDoc("When the merchant cancelled it; null if they did not.", None, _MOMENT),
    # What the merchant says.
    "note": FieldDoc(
        f"Free text for the customer, of at most {limits.NOTE_LINES_MAX} lines: line breaks and tabs, no other control"
        " characters, and none that change the direction of text.",
        "Two bags of coffee",
        {"pattern": _NOTE},
    ),
    "metadata": FieldDoc(
        f"The merchant's own references: any JSON object of at most {limits.METADATA_BYTES_MAX} bytes, nested at most"
        f" {limits.METADATA_DEPTH_MAX} deep, with keys of at most {limits.METADATA_KEY_CHARACTERS_MAX} characters also"
        " inside, without U+0000. It comes back as it was sent, byte for byte.",
        METADATA,
        _METADATA,
    ),
    "payUrl": FieldDoc("Where the customer pays.", f"{BASE_URL}/pay/{PAYMENT_ID}", _ADDRESS),
    "returnUrl": FieldDoc("Where the customer goes after paying.", f"{SHOP_URL}/thanks", _ADDRESS),
    "cancelUrl": FieldDoc("Where the customer goes without having paid.", f"{SHOP_URL}/cart", _ADDRESS),
    "CreatePaymentBody.returnUrl": FieldDoc(
        f"Where the customer goes after paying. {_ORIGIN_RULE}", f"{SHOP_URL}/thanks", _ADDRESS
    ),
    "CreatePaymentBody.cancelUrl": FieldDoc(
        f"Where the customer goes without having paid. {_ORIGIN_RULE}", f"{SHOP_URL}/cart", _ADDRESS
    ),
    "expiresIn": FieldDoc(
        f"For how many seconds the payment can be paid: {limits.EXPIRES_IN_S_DEFAULT} when absent, unless the business"
        " has set another default (`defaultExpiresIn` of `GET /me`).",
        limits.EXPIRES_IN_S_DEFAULT,
    ),
    # Signing in.
    "email": FieldDoc("The person's e-mail address.", "lina@home.example", SINGLE_LINE),
    "password": FieldDoc(
        "The person's password.", "correct horse battery", {"pattern": _NO_CONTROLS, "format": "password"}
    ),
    "totp": FieldDoc("The verification code, for people who use two-step verification.", "492817", SINGLE_LINE),
    "pin": FieldDoc(
        f"The {limits.PIN_DIGITS} digits with which the person pays; {limits.PIN_ATTEMPTS_MAX} incorrect ones lock it.",
        "246813",
        {"pattern": f"^[0-9]{{{limits.PIN_DIGITS}}}$", "format": "password"},
    ),
    "token": FieldDoc("The bearer token of the other wallet calls.", "qs_" + "4fK9mZ2pQ7" * 5 + "8"),
    # Lists.
    "items": FieldDoc("The rows of this page."),
    "nextCursor": FieldDoc("Send it as `cursor` for the next page; null on the last.", None),
    "EventPage.nextCursor": FieldDoc("Send it as `cursor` to continue, also after the last event.", EVENT_ID),
    "hasMore": FieldDoc("Whether there is another page.", False),  # noqa: FBT003 - the example is a boolean
    "limit": FieldDoc("How many rows a page has at most.", 20),
    "cursor": FieldDoc("The `nextCursor` of the page before; absent for the first page.", None),
    "EventParameters.cursor": FieldDoc(
        "The id of the last event that was seen, or the `nextCursor` of the page before; `latest` for what happens"
        " from now on; absent for the oldest event that is listed.",
        None,
    ),
    "q": FieldDoc(
        "Only those that are found by this text: the number of a payment or of a payer's account, the id of a refund or"
        " an event, an amount such as `12.50` or `12,50 TRY`, a text of the metadata such as `cart:c-5581`, or else"
        " whole words of the note, the reference and the metadata. Whatever stands in double quotes is words.",
        "coffee order-1042",
        SINGLE_LINE,
    ),
    "createdAfter": FieldDoc("Only what was created after this moment, not at it.", "2026-03-01T00:00:00Z", _MOMENT),
    "createdBefore": FieldDoc("Only what was created before this moment.", "2026-04-01T00:00:00Z", _MOMENT),
    "paidAfter": FieldDoc("Only what was paid after this moment, not at it.", "2026-03-01T00:00:00Z", _MOMENT),
    "paidBefore": FieldDoc("Only what was paid before this moment.", "2026-04-01T00:00:00Z", _MOMENT),
    "wait": FieldDoc("For how many seconds the answer may wait for the status to become final.", 5),
    "EventParameters.wait": FieldDoc("For how many seconds the answer may wait for the next event.", 5),
    "EventParameters.type": FieldDoc("Only what is of this type.", "remote_payment.paid"),
    "DeliveryParameters.state": FieldDoc("Only what is in this state.", "failed"),
    "DeliveryParameters.type": FieldDoc("Only what is of this type.", "remote_payment.paid"),
    "DeliveryParameters.paymentId": FieldDoc("Only what tells of this payment.", PAYMENT_ID, _DIGITS_16),
    # Events, transfers, keys.
    "type": FieldDoc("What happened.", "remote_payment.paid"),
    "data": FieldDoc("The object as a GET showed it at that version."),
    "refund": FieldDoc("The refund."),
    "RefundAndPayment.payment": FieldDoc("The payment after it."),
    "kind": FieldDoc("What it was: a payment, a refund, a deposit and so on.", "pay"),
    "name": FieldDoc("The account's name.", SHOP_NAME),
    "KeyView.name": FieldDoc("What its owner calls it.", "web shop"),
    "hint": FieldDoc("The key's last characters, so that a person can tell two keys apart.", "Tz4k"),
    "state": FieldDoc("The state of the account.", "approved"),
    "timeZone": FieldDoc("The zone of the business's days, by its IANA name.", "Asia/Damascus"),
    "defaultExpiresIn": FieldDoc(
        "For how many seconds a payment can be paid that says nothing else.", limits.EXPIRES_IN_S_DEFAULT
    ),
    "returnOrigins": FieldDoc("Where customers may be sent back to.", [SHOP_URL]),
    "key": FieldDoc("The key of this request."),
    "serverVersion": FieldDoc("The version of this service.", __version__),
    "endedAt": FieldDoc("When it ended.", REFUNDED, _MOMENT),
    "KeyView.expiresAt": FieldDoc("When the key expires; null if it is valid until it is revoked.", None, _MOMENT),
    "scopes": FieldDoc("What the key may do.", list(SCOPES)),
    # Webhooks.
    **{f"{shape}.{name}": word for shape in ("DeliveryView", "DeliveryWithTries") for name, word in _DELIVERY.items()},
    **{f"{shape}.status": _STATUS_CODE for shape in ("PingView", "TryView")},
    "EndpointView.id": FieldDoc("The endpoint's identifier.", ENDPOINT_ID),
    "endpointId": FieldDoc("The endpoint's identifier.", ENDPOINT_ID),
    "eventId": FieldDoc("The event's identifier, which is also `webhook-id`.", EVENT_ID),
    "url": FieldDoc(
        "Where events are posted to: an `https` address on port 443 or 8443 whose name leads to public addresses only,"
        " else 422 `url_not_allowed`. It is kept in ASCII, as it is used.",
        WEBHOOK_URL,
    ),
    "EndpointView.url": FieldDoc("Where events are posted to.", WEBHOOK_URL, _ADDRESS),
    "types": FieldDoc(
        "Which types of events are sent, each named once.", ["remote_payment.paid", "remote_payment.expired"]
    ),
    "CreateEndpointBody.types": FieldDoc(
        "Which types of events are sent, each named once; every type, also those to come, when absent.",
        ["remote_payment.paid", "remote_payment.expired"],
    ),
    "UpdateEndpointBody.types": FieldDoc(
        "Which types of events are sent, each named once; null: every type, also those to come.",
        ["remote_payment.paid", "remote_payment.expired"],
    ),
    "EndpointView.types": FieldDoc("Which types of events are sent; null: every type, also those to come.", None),
    "description": FieldDoc("What its owner calls it, on one line.", "The shop's orders", SINGLE_LINE),
    "UpdateEndpointBody.description": FieldDoc(
        "What its owner calls it, on one line; null empties it.", "The shop's orders", SINGLE_LINE
    ),
    "EndpointView.state": FieldDoc(
        "`enabled`, `paused` by its owner, or `stopped` by us, until it is enabled again.", "enabled"
    ),
    "UpdateEndpointBody.state": FieldDoc("`paused` lets its events wait; `enabled` lets them flow again.", "enabled"),
    "EndpointView.reason": FieldDoc(
        "Why it was stopped: `failing` (nothing arrived for days) or `gone` (it answered 410); null if it was not.",
        None,
    ),
    "reason": _REASON,
    "restingSince": FieldDoc(
        "Since when it rests, because five different events in a row failed or it asked for it; null if it does not.",
        None,
        _MOMENT,
    ),
    "nextTryAt": FieldDoc("While it rests: when it is tried next.", None, _MOMENT),
    "replayRunning": FieldDoc("Whether a replay is under way.", False),  # noqa: FBT003 - the example is a boolean
    "oldSecretUntil": FieldDoc("Until when the secret before the last rotation signs too; null if none does.", None),
    "resumeFrom": FieldDoc(
        "With `enabled`: `stopped` goes on where it stopped, at most 90 days back; `now` with what happens from now on."
        " `stopped` when absent.",
        "stopped",
    ),
    "overlapHours": FieldDoc(
        "For how many hours the old secret signs too;"
        f" {limits.WEBHOOK_OVERLAP_HOURS_DEFAULT} when absent, and with 0 it ends at once.",
        limits.WEBHOOK_OVERLAP_HOURS_DEFAULT,
    ),
    "ReplayBody.from": FieldDoc("The time of the first event to send, at most 90 days ago.", CREATED, _MOMENT),
    "secret": FieldDoc(
        "What webhooks are signed with (Standard Webhooks), shown once. Keep it like a password.", WEBHOOK_SECRET
    ),
    "removedAt": FieldDoc("When it was removed.", REFUNDED, _MOMENT),
    "delivered": FieldDoc("Whether the receiver answered with 2xx in time.", True),  # noqa: FBT003 - the example is a boolean
    "tookMs": FieldDoc("How many milliseconds it took.", 84, {"minimum": 0}),
    "excerpt": FieldDoc(
        f"The first {limits.RECEIVER_EXCERPT_CHARACTERS_MAX} characters of the receiver's answer, as plain text.", "ok"
    ),
    "number": FieldDoc("Which try it was, from 1.", 1, {"minimum": 1}),
    "at": FieldDoc("When it was made.", ARRIVED, _MOMENT),
    "outcome": FieldDoc("The simulated outcome of the payer's attempt; `paid` when absent.", "paid"),
}


def field_doc(shape: str, name: str) -> FieldDoc | None:
    """What is known of a field of this shape."""
    return WORDS.get(f"{shape}.{name}") or WORDS.get(name)
