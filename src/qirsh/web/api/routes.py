"""Every call of the JSON API, in one table: who may make it, and what its description tells."""

from typing import Final

from qirsh.contract import views
from qirsh.contract.examples import CANCELLED_EXAMPLE, EXPIRED_EXAMPLE, PAYMENT_ID, REFUND_ID
from qirsh.contract.payout_views import PayoutPage
from qirsh.contract.report_views import SummaryView
from qirsh.domain.limits import REFUNDS_MAX, REPORT_DAYS_MAX
from qirsh.web.api import (
    balance,
    bodies,
    events,
    merchant,
    payment_list,
    payouts,
    refunds,
    remote_payments,
    reports,
    test_mode,
    wallet,
)
from qirsh.web.api.parameters import (
    EntryParameters,
    EventParameters,
    PageParameters,
    PaymentParameters,
    SummaryParameters,
)
from qirsh.web.api.webhook_routes import WEBHOOK_ROUTES
from qirsh.web.http.authentication import KEY, SESSION
from qirsh.web.http.query import WaitParameters
from qirsh.web.http.route import OperationDoc, Route

_STANDING: Final = ("account_suspended", "not_verified", "not_approved")

ROUTES: Final = (
    Route(
        "POST",
        "/api/v1/remote-payments",
        remote_payments.create,
        token=KEY,
        scope="payments:write",
        doc=OperationDoc(
            "Create a remote payment",
            views.IdView,
            status=201,
            body=bodies.CreatePaymentBody,
            problems=_STANDING,
            takes_key=True,
            description="Requests money. The answer has the payment's id; send the customer to the address in `Link`.",
            headers=("Location", "Link"),
            example={"id": PAYMENT_ID},
        ),
    ),
    Route(
        "GET",
        "/api/v1/remote-payments/{id}",
        remote_payments.retrieve,
        token=KEY,
        scope="payments:read",
        doc=OperationDoc(
            "Retrieve a remote payment",
            views.PaymentView,
            query=WaitParameters,
            description="Its current status. What a customer's browser brings is only a hint: rely on this answer.",
        ),
    ),
    Route(
        "GET",
        "/api/v1/remote-payments",
        payment_list.list_payments,
        token=KEY,
        scope="payments:read",
        doc=OperationDoc(
            "List remote payments",
            views.PaymentPage,
            query=PaymentParameters,
            description="Newest first; with `paidAfter` or `paidBefore`, last paid first. Metadata and words are found"
            " within a second.",
        ),
    ),
    Route(
        "POST",
        "/api/v1/remote-payments/{id}/cancel",
        remote_payments.cancel,
        token=KEY,
        scope="payments:write",
        doc=OperationDoc(
            "Cancel a remote payment",
            views.PaymentView,
            body=bodies.NoBody,
            problems=("not_found", "account_suspended", "already_paid", "cancelled", "expired"),
            takes_key=True,
            description="Cancels it, as long as it is pending.",
            example=CANCELLED_EXAMPLE,
        ),
    ),
    Route(
        "POST",
        "/api/v1/remote-payments/{id}/refunds",
        refunds.refund,
        token=KEY,
        scope="refunds:write",
        doc=OperationDoc(
            "Refund a remote payment",
            views.IdView,
            status=201,
            body=bodies.RefundBody,
            problems=(
                *("not_found", "account_suspended", "not_paid", "cancelled", "expired", "refund_exceeds"),
                *("too_many_refunds", "payer_closed", "merchant_balance_short", "balance_limit", "money_stopped"),
            ),
            takes_key=True,
            description="Refunds the amount, or all that is left, from the merchant's balance to the payer."
            f" A payment can be refunded {REFUNDS_MAX} times.",
            headers=("Location",),
            example={"id": REFUND_ID},
        ),
    ),
    Route(
        "GET",
        "/api/v1/remote-payments/{id}/refunds",
        refunds.refunds_of,
        token=KEY,
        scope="refunds:read",
        doc=OperationDoc(
            "List the refunds of a remote payment", views.RefundPage, query=PageParameters, problems=("not_found",)
        ),
    ),
    Route(
        "GET",
        "/api/v1/refunds",
        refunds.list_refunds,
        token=KEY,
        scope="refunds:read",
        doc=OperationDoc(
            "List the refunds of the account",
            views.RefundPage,
            query=EntryParameters,
            description="Newest first. A page may hold fewer than `limit` and not be the last: see `hasMore`.",
        ),
    ),
    Route(
        "GET",
        "/api/v1/refunds/{id}",
        refunds.see_refund,
        token=KEY,
        scope="refunds:read",
        doc=OperationDoc("Retrieve a refund", views.RefundView, problems=("not_found",)),
    ),
    Route(
        "GET",
        "/api/v1/events",
        events.list_events,
        token=KEY,
        scope="events:read",
        doc=OperationDoc(
            "List events, or wait for the next one",
            views.EventPage,
            query=EventParameters,
            description="Oldest first, for 90 days. Continue with `nextCursor`, and nothing is missed or repeated."
            " `cursor=latest` begins after the last event that there is. With `type`, a page may hold fewer than"
            " `limit` and not be the last: `hasMore` tells.",
        ),
    ),
    Route(
        "GET",
        "/api/v1/events/{id}",
        events.see_event,
        token=KEY,
        scope="events:read",
        doc=OperationDoc("Retrieve an event", views.EventView, problems=("not_found",)),
    ),
    *WEBHOOK_ROUTES,
    Route(
        "GET",
        "/api/v1/transfers",
        balance.transfers,
        token=KEY,
        scope="balance:read",
        doc=OperationDoc("List the transfers of the account", views.TransferPage, query=EntryParameters),
    ),
    Route(
        "GET",
        "/api/v1/balance",
        balance.balance,
        token=KEY,
        scope="balance:read",
        doc=OperationDoc("Retrieve the balance", views.BalanceList),
    ),
    Route(
        "GET",
        "/api/v1/payouts",
        payouts.list_payouts,
        token=KEY,
        scope="balance:read",
        doc=OperationDoc(
            "List the payouts of the account",
            PayoutPage,
            query=PageParameters,
            description="Newest first. They are requested on the pages of the business; test money is not paid out.",
        ),
    ),
    Route(
        "GET",
        "/api/v1/reports/summary",
        reports.summary,
        token=KEY,
        scope="balance:read",
        doc=OperationDoc(
            "Retrieve a summary of some days",
            SummaryView,
            query=SummaryParameters,
            description="What was taken, refunded and paid out of one currency, from an opening balance to a closing"
            f" one, for at most {REPORT_DAYS_MAX} days of the merchant's time zone. It is exact to the moment, and"
            " agrees with the ledger at both ends.",
        ),
    ),
    Route(
        "GET",
        "/api/v1/currencies",
        merchant.currencies,
        token=KEY,
        scope=None,
        doc=OperationDoc("List currencies", views.CurrencyList),
    ),
    Route(
        "GET",
        "/api/v1/me",
        merchant.me,
        token=KEY,
        scope=None,
        doc=OperationDoc("Retrieve the account of the key", views.MeView),
    ),
    Route(
        "POST",
        "/api/v1/test/remote-payments/{id}/pay",
        test_mode.pay_as_test,
        token=KEY,
        scope="payments:write",
        doc=OperationDoc(
            "Pay a test payment",
            views.PaymentView,
            body=bodies.TestPayBody,
            problems=(
                *("not_found", "account_suspended", "already_paid", "cancelled", "expired", "test_and_live"),
                *("insufficient_funds", "balance_limit", "money_stopped"),
            ),
            takes_key=True,
            example={"livemode": False},
        ),
    ),
    Route(
        "POST",
        "/api/v1/test/remote-payments/{id}/expire",
        test_mode.expire_as_test,
        token=KEY,
        scope="payments:write",
        doc=OperationDoc(
            "Expire a test payment",
            views.PaymentView,
            body=bodies.NoBody,
            problems=("not_found", "account_suspended", "already_paid", "cancelled", "expired", "test_and_live"),
            takes_key=True,
            example={**EXPIRED_EXAMPLE, "livemode": False},
        ),
    ),
    Route(
        "POST",
        "/api/v1/test/remote-payments/{id}/cancel",
        test_mode.cancel_as_test,
        token=KEY,
        scope="payments:write",
        doc=OperationDoc(
            "Cancel a test payment",
            views.PaymentView,
            body=bodies.NoBody,
            problems=("not_found", "account_suspended", "already_paid", "cancelled", "expired", "test_and_live"),
            takes_key=True,
            example={**CANCELLED_EXAMPLE, "livemode": False},
        ),
    ),
    Route(
        "POST",
        "/api/v1/wallet/sessions",
        wallet.sign_in,
        token=None,
        doc=OperationDoc(
            "Sign in",
            views.SessionView,
            status=201,
            body=bodies.SignInBody,
            problems=("wrong_credentials", "sign_in_blocked", "password_spent"),
            description="Starts a session of 12 hours.",
            example={"expiresAt": "2026-03-01T21:30:00.125Z"},
        ),
    ),
    Route(
        "DELETE",
        "/api/v1/wallet/sessions/current",
        wallet.sign_out,
        token=SESSION,
        doc=OperationDoc(
            "Sign out", views.SessionEndView, description="Ends the session whose token is sent, within a second."
        ),
    ),
    Route(
        "GET",
        "/api/v1/wallet/balances",
        wallet.balances,
        token=SESSION,
        doc=OperationDoc("List balances", views.BalanceList),
    ),
    Route(
        "GET",
        "/api/v1/wallet/remote-payments/{id}",
        wallet.see,
        token=SESSION,
        doc=OperationDoc(
            "See a payment as its payer",
            views.PayerView,
            problems=("already_paid",),
            description="Who requests how much. Once it is paid, only its payer sees it.",
            example={"status": "pending", "paidAt": None},
        ),
    ),
    Route(
        "POST",
        "/api/v1/wallet/remote-payments/{id}/pay",
        wallet.pay,
        token=SESSION,
        doc=OperationDoc(
            "Pay a payment",
            views.PayerView,
            body=bodies.PayBody,
            problems=(
                *(*_STANDING, "already_paid", "cancelled", "expired", "test_and_live", "same_account"),
                *("merchant_suspended", "pin_locked", "wrong_pin", "insufficient_funds", "balance_limit"),
                "money_stopped",
            ),
            takes_key=True,
            description="Answers after the money has moved. An incorrect PIN or too little money leaves it pending.",
        ),
    ),
)
