"""The samples of the reference page as one story: pasted from top to bottom, each call works with what came before.

The merchant's part is told with a test key, so that nobody has to pay for it; the wallet pays a live payment.
"""

from typing import Any, Final

import msgspec

from qirsh.contract.examples import SHOP_URL, Json


class Variable(msgspec.Struct, frozen=True):
    """What a program keeps under a name, of one or more words; from the environment, or from an answer."""

    words: str
    environment: str = ""


LIVE_KEY: Final = Variable("live key", "QIRSH_API_KEY")
TEST_KEY: Final = Variable("test key", "QIRSH_TEST_API_KEY")
EMAIL: Final = Variable("email", "QIRSH_CUSTOMER_EMAIL")
PASSWORD: Final = Variable("password", "QIRSH_CUSTOMER_PASSWORD")
PIN: Final = Variable("pin", "QIRSH_CUSTOMER_PIN")
FROM_ENVIRONMENT: Final = (TEST_KEY, LIVE_KEY, EMAIL, PASSWORD, PIN)  # As `qirsh status --env` names them.

_PAYMENT: Final = Variable("payment")
_TO_CANCEL: Final = Variable("to cancel")
_TEST_TO_EXPIRE: Final = Variable("test to expire")
_TEST_TO_CANCEL: Final = Variable("test to cancel")
_REFUND: Final = Variable("refund")
_EVENT: Final = Variable("event")
_ENDPOINT: Final = Variable("endpoint")
_SINCE: Final = Variable("since")
_LIVE_ENDPOINT: Final = Variable("live endpoint")
_DELIVERY: Final = Variable("delivery")
_SESSION: Final = Variable("session")
_LIVE_PAYMENT: Final = Variable("live payment")


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One request. An address is told in pieces, of which some are variables."""

    method: str
    path: tuple[str | Variable, ...]
    status: int = 200
    token: Variable | None = None
    has_idempotency_key: bool = False
    body: dict[str, Any] | None = None  # JSON, with variables among its values.
    keep: Variable | None = None  # What of the answer is used later, found there by
    field: tuple[str | int, ...] = ("id",)
    remark: str = ""


def _get(
    *path: str | Variable,
    token: Variable = TEST_KEY,
    keep: Variable | None = None,
    field: tuple[str | int, ...] = ("id",),
    remark: str = "",
) -> Step:
    return Step(method="GET", path=path, token=token, keep=keep, field=field, remark=remark)


def _post(
    *path: str | Variable,
    token: Variable = TEST_KEY,
    status: int = 200,
    body: Json | None = None,
    keep: Variable | None = None,
    remark: str = "",
) -> Step:
    return Step(
        method="POST",
        path=path,
        status=status,
        token=token,
        has_idempotency_key=True,
        body=body,
        keep=keep,
        remark=remark,
    )


def _created(keep: Variable, remark: str, token: Variable = TEST_KEY) -> Step:
    asked = {"amount": 10098, "currency": "USD"}
    return _post("/remote-payments", token=token, status=201, body=asked, keep=keep, remark=remark)


_PAYMENTS: Final = "/remote-payments/"
_TEST_PAYMENTS: Final = "/test/remote-payments/"
_WALLET_PAYMENTS: Final = "/wallet/remote-payments/"
_ENDPOINTS: Final = "/webhook-endpoints/"
_FIRST: Final = ("items", 0, "id")

# By operation, in the order of the page. The last step of each is the call itself.
STORY: Final[dict[str, tuple[Step, ...]]] = {
    "remotePaymentsCreate": (
        _post(
            "/remote-payments",
            status=201,
            body={
                "amount": 10098,
                "currency": "USD",
                "note": "Two bags of coffee",
                "metadata": {"cart": "c-5581"},
                "reference": "order-1042",
                "returnUrl": f"{SHOP_URL}/thanks",
                "cancelUrl": f"{SHOP_URL}/cart",
            },
            keep=_PAYMENT,
        ),
    ),
    "remotePaymentsRetrieve": (_get(_PAYMENTS, _PAYMENT),),
    "remotePaymentsList": (
        _get("/remote-payments?q=coffee&limit=2", remark="By a word of its note, from a second after it was created."),
        _get("/remote-payments?reference=order-1042&limit=2", remark="By its reference."),
    ),
    "remotePaymentsCancel": (
        _created(_TO_CANCEL, "A payment to cancel."),
        _post(_PAYMENTS, _TO_CANCEL, "/cancel"),
    ),
    "testRemotePaymentsPay": (_post(_TEST_PAYMENTS, _PAYMENT, "/pay"),),
    "testRemotePaymentsExpire": (
        _created(_TEST_TO_EXPIRE, "A payment to expire."),
        _post(_TEST_PAYMENTS, _TEST_TO_EXPIRE, "/expire"),
    ),
    "testRemotePaymentsCancel": (
        _created(_TEST_TO_CANCEL, "A payment to cancel."),
        _post(_TEST_PAYMENTS, _TEST_TO_CANCEL, "/cancel"),
    ),
    "remotePaymentsRefundsCreate": (
        _post(
            *(_PAYMENTS, _PAYMENT, "/refunds"),
            status=201,
            body={"amount": 2500, "note": "One bag came back"},
            keep=_REFUND,
        ),
    ),
    "remotePaymentsRefundsList": (_get(_PAYMENTS, _PAYMENT, "/refunds"),),
    "refundsList": (_get("/refunds?currency=USD&limit=2"),),
    "refundsRetrieve": (_get("/refunds/", _REFUND),),
    "eventsList": (
        _get("/events?limit=1", keep=_EVENT, field=_FIRST, remark="The oldest one."),
        _get(
            *("/events?cursor=", _EVENT, "&limit=2&wait=1"),
            remark="What came after it. If there is nothing yet, this waits for a second.",
        ),
    ),
    "eventsRetrieve": (_get("/events/", _EVENT),),
    "webhookEndpointsCreate": (
        _post(
            "/webhook-endpoints",
            status=201,
            body={"url": "http://127.0.0.1:3000/hooks", "description": "The shop's orders"},
            keep=_ENDPOINT,
            remark="Of the demo, which may post to this machine. Other services take https addresses.",
        ),
    ),
    "webhookEndpointsList": (_get("/webhook-endpoints"),),
    "webhookEndpointsRetrieve": (_get(_ENDPOINTS, _ENDPOINT),),
    "webhookEndpointsUpdate": (
        Step(method="PATCH", path=(_ENDPOINTS, _ENDPOINT), token=TEST_KEY, body={"description": "All that is sold"}),
    ),
    "webhookEndpointsPing": (Step(method="POST", path=(_ENDPOINTS, _ENDPOINT, "/ping"), token=TEST_KEY),),
    "webhookEndpointsRotate": (_post(_ENDPOINTS, _ENDPOINT, "/rotate", body={"overlapHours": 1}),),
    "webhookEndpointsReplay": (
        _get(_PAYMENTS, _PAYMENT, keep=_SINCE, field=("createdAt",), remark="All since that payment was created."),
        _post(_ENDPOINTS, _ENDPOINT, "/replay", body={"from": _SINCE}),
    ),
    "webhookEndpointsDeliveriesList": (
        _get("/webhook-endpoints", token=LIVE_KEY, keep=_LIVE_ENDPOINT, field=_FIRST, remark="With the live key."),
        _get(_ENDPOINTS, _LIVE_ENDPOINT, "/deliveries?limit=2", token=LIVE_KEY, keep=_DELIVERY, field=_FIRST),
    ),
    "deliveriesRetrieve": (_get("/deliveries/", _DELIVERY, token=LIVE_KEY),),
    "deliveriesResend": (_post("/deliveries/", _DELIVERY, "/resend", token=LIVE_KEY),),
    "remotePaymentsDeliveriesList": (_get(_PAYMENTS, _PAYMENT, "/deliveries"),),
    "webhookEndpointsDelete": (Step(method="DELETE", path=(_ENDPOINTS, _ENDPOINT), token=TEST_KEY),),
    "transfersList": (_get("/transfers?currency=USD&limit=2"),),
    "balanceRetrieve": (_get("/balance"),),
    "payoutsList": (_get("/payouts?limit=2", token=LIVE_KEY, remark="With the live key: test money is not paid out."),),
    "reportsSummaryRetrieve": (_get("/reports/summary?currency=USD&from=2026-01-01&to=2026-12-31"),),
    "currenciesList": (_get("/currencies"),),
    "meRetrieve": (_get("/me"),),
    "walletSessionsCreate": (
        Step(
            method="POST",
            path=("/wallet/sessions",),
            status=201,
            body={"email": EMAIL, "password": PASSWORD},
            keep=_SESSION,
            field=("token",),
        ),
    ),
    "walletBalancesList": (_get("/wallet/balances", token=_SESSION),),
    "walletRemotePaymentsRetrieve": (
        _created(_LIVE_PAYMENT, "The shop asks, with its live key.", LIVE_KEY),
        _get(_WALLET_PAYMENTS, _LIVE_PAYMENT, token=_SESSION, remark="The customer looks."),
    ),
    "walletRemotePaymentsPay": (_post(_WALLET_PAYMENTS, _LIVE_PAYMENT, "/pay", token=_SESSION, body={"pin": PIN}),),
    "walletSessionsCurrentDelete": (Step(method="DELETE", path=("/wallet/sessions/current",), token=_SESSION),),
}
