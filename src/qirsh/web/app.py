"""Every URL of the service, in one table, and the way of a request through it."""

import logging
from typing import Final

from qirsh.engine.batcher import Overloaded
from qirsh.engine.passwords import TooManySignIns
from qirsh.store.interface import OutcomeUnknown, StoreUnavailable
from qirsh.web import health
from qirsh.web.api import (
    balance,
    bodies,
    events,
    merchant,
    payment_list,
    refunds,
    remote_payments,
    test_calls,
    views,
    wallet,
)
from qirsh.web.api.parameters import (
    EventParameters,
    PageParameters,
    PaymentParameters,
    TransferParameters,
    WaitParameters,
)
from qirsh.web.callers import KEY, SESSION
from qirsh.web.customer import pay_page
from qirsh.web.http import Headers, Request, Response, problem_response, request_ids
from qirsh.web.openapi.reference import Reference
from qirsh.web.openapi.words import CANCELLED_EXAMPLE, EXPIRED_EXAMPLE, PAYMENT_ID, REFUND_ID
from qirsh.web.pages import problem_page
from qirsh.web.parts import Parts
from qirsh.web.refusals import Problem
from qirsh.web.route import Route, Told
from qirsh.web.static_files import serve_file

log = logging.getLogger(__name__)

_STANDING: Final = ("account_suspended", "not_verified", "not_approved")

_CALLS: Final = (
    Route(
        "POST",
        "/api/v1/remote-payments",
        remote_payments.create,
        KEY,
        "payments:write",
        Told(
            "Create a remote payment",
            views.IdView,
            201,
            bodies.CreatePaymentBody,
            problems=_STANDING,
            takes_key=True,
            description="Asks for money. The answer holds the payment's id; send the customer to where `Link` says.",
            headers=("Location", "Link"),
            example={"id": PAYMENT_ID},
        ),
    ),
    Route(
        "GET",
        "/api/v1/remote-payments/{id}",
        remote_payments.retrieve,
        KEY,
        "payments:read",
        Told(
            "Retrieve a remote payment",
            views.PaymentView,
            query=WaitParameters,
            description="What became of it. What a customer's browser brings is a hint; only this tells.",
        ),
    ),
    Route(
        "GET",
        "/api/v1/remote-payments",
        payment_list.list_payments,
        KEY,
        "payments:read",
        Told(
            "List remote payments",
            views.PaymentPage,
            query=PaymentParameters,
            description="Newest first; with `paidAfter`, last paid first. Metadata are found within a second.",
        ),
    ),
    Route(
        "POST",
        "/api/v1/remote-payments/{id}/cancel",
        remote_payments.cancel,
        KEY,
        "payments:write",
        Told(
            "Cancel a remote payment",
            views.PaymentView,
            body=bodies.NoBody,
            problems=("not_found", "account_suspended", "already_paid", "cancelled", "expired"),
            takes_key=True,
            description="Takes it back, as long as it is pending.",
            example=CANCELLED_EXAMPLE,
        ),
    ),
    Route(
        "POST",
        "/api/v1/remote-payments/{id}/refunds",
        refunds.refund,
        KEY,
        "refunds:write",
        Told(
            "Refund a remote payment",
            views.IdView,
            201,
            bodies.RefundBody,
            problems=(
                *("not_found", "account_suspended", "not_paid", "cancelled", "expired", "refund_exceeds"),
                *("merchant_balance_short", "balance_limit"),
            ),
            takes_key=True,
            description="Gives back the amount, or all that is left, from the merchant's balance to the payer.",
            headers=("Location",),
            example={"id": REFUND_ID},
        ),
    ),
    Route(
        "GET",
        "/api/v1/remote-payments/{id}/refunds",
        refunds.refunds_of,
        KEY,
        "refunds:read",
        Told("List the refunds of a remote payment", views.RefundPage, query=PageParameters, problems=("not_found",)),
    ),
    Route(
        "GET",
        "/api/v1/refunds/{id}",
        refunds.see_refund,
        KEY,
        "refunds:read",
        Told("Retrieve a refund", views.RefundView, problems=("not_found",)),
    ),
    Route(
        "GET",
        "/api/v1/events",
        events.list_events,
        KEY,
        "events:read",
        Told(
            "List events, or wait for the next one",
            views.EventPage,
            query=EventParameters,
            description="Oldest first, for 90 days. Come back with `nextCursor` and nothing is missed or told twice.",
        ),
    ),
    Route(
        "GET",
        "/api/v1/events/{id}",
        events.see_event,
        KEY,
        "events:read",
        Told("Retrieve an event", views.EventView, problems=("not_found",)),
    ),
    Route(
        "GET",
        "/api/v1/transfers",
        balance.transfers,
        KEY,
        "balance:read",
        Told("List the transfers of the account", views.TransferPage, query=TransferParameters),
    ),
    Route("GET", "/api/v1/balance", balance.balance, KEY, "balance:read", Told("See the balance", views.BalanceList)),
    Route("GET", "/api/v1/currencies", merchant.currencies, KEY, None, Told("List currencies", views.CurrencyList)),
    Route("GET", "/api/v1/me", merchant.me, KEY, None, Told("Tell whose key this is", views.MeView)),
    Route(
        "POST",
        "/api/v1/test/remote-payments/{id}/pay",
        test_calls.pay_as_test,
        KEY,
        "payments:write",
        Told(
            "Pay a test payment",
            views.PaymentView,
            body=bodies.TestPayBody,
            problems=(
                *("not_found", "account_suspended", "already_paid", "cancelled", "expired", "test_and_live"),
                *("insufficient_funds", "balance_limit"),
            ),
            takes_key=True,
            example={"livemode": False},
        ),
    ),
    Route(
        "POST",
        "/api/v1/test/remote-payments/{id}/expire",
        test_calls.expire_as_test,
        KEY,
        "payments:write",
        Told(
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
        test_calls.cancel_as_test,
        KEY,
        "payments:write",
        Told(
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
        None,
        told=Told(
            "Sign in",
            views.SessionView,
            201,
            bodies.SignInBody,
            problems=("wrong_credentials",),
            description="Begins a session of 12 hours.",
            example={"expiresAt": "2026-03-01T21:30:00.125Z"},
        ),
    ),
    Route("GET", "/api/v1/wallet/balances", wallet.balances, SESSION, told=Told("See balances", views.BalanceList)),
    Route(
        "GET",
        "/api/v1/wallet/remote-payments/{id}",
        wallet.see,
        SESSION,
        told=Told(
            "See a payment as its payer",
            views.PayerView,
            problems=("already_paid",),
            description="Who asks for how much. Once it is paid, only its payer sees it.",
            example={"status": "pending", "paidAt": None},
        ),
    ),
    Route(
        "POST",
        "/api/v1/wallet/remote-payments/{id}/pay",
        wallet.pay,
        SESSION,
        told=Told(
            "Pay a payment",
            views.PayerView,
            body=bodies.PayBody,
            problems=(
                *(*_STANDING, "already_paid", "cancelled", "expired", "test_and_live", "same_account"),
                *("merchant_suspended", "pin_locked", "wrong_pin", "insufficient_funds", "balance_limit"),
            ),
            takes_key=True,
            description="Answers after the money has moved. A wrong PIN or too little money leaves it pending.",
        ),
    ),
)
_REFERENCE: Final = Reference(_CALLS)

ROUTES: Final = (
    *_CALLS,
    Route("GET", "/openapi.json", _REFERENCE.serve_document, None),
    Route("GET", "/docs", _REFERENCE.serve_page, None),
    Route("GET", "/pay/{id}", pay_page.show, None, is_page=True),
    Route("GET", "/pay/{id}/cancel", pay_page.leave, None, is_page=True),
    Route("POST", "/pay/{id}/sign-in", pay_page.sign_in, None, is_page=True),
    Route("POST", "/pay/{id}/sign-out", pay_page.sign_out, None, is_page=True),
    Route("POST", "/pay/{id}/confirm", pay_page.confirm, None, is_page=True),
    Route("GET", "/static/{file}", serve_file, None, is_counted=False),
    Route("GET", "/healthz", health.healthz, None, is_counted=False),
    Route("GET", "/readyz", health.readyz, None, is_counted=False),
)


class App:
    """From a request to its answer: a router with fewer features costs less than one with more."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._limits = parts.limits
        self._ids = request_ids(parts.entropy(6))
        self._methods: dict[str, dict[str, Route]] = {}
        for route in ROUTES:
            path = "/".join("*" if part.startswith("{") else part for part in route.path.split("/"))
            self._methods.setdefault(path, {})[route.method] = route

    def next_id(self) -> str:
        """A request id."""
        return next(self._ids)

    async def answer(self, request: Request) -> Response:
        """One request. Never raises: whatever happens is an answer."""
        try:
            response = await self._answer(request)
        except Problem as problem:
            response = _told(problem, request)
        except (Overloaded, TooManySignIns):
            response = _told(Problem("overloaded"), request)
        except StoreUnavailable:
            response = _told(Problem("unavailable"), request)
        except OutcomeUnknown:
            response = _told(Problem("outcome_unknown"), request)
        except Exception:
            log.exception("request %s failed", request.id)
            response = _told(Problem("internal_error"), request)
        response.request_id = request.id
        response.limits = request.limits
        return response

    async def _answer(self, request: Request) -> Response:
        methods = self._match(request)
        # HEAD is GET without the body, which the connection leaves out.
        route = None if methods is None else methods.get("GET" if request.method == "HEAD" else request.method)
        limits = self._limits
        if limits is not None and (route is None or (route.token is None and route.is_counted)):
            limits.count_address(request)
        if methods is None:
            raise Problem("not_found")
        if route is None:
            allow = ", ".join(["HEAD", *methods] if "GET" in methods else methods).encode()
            request.is_page = any(route.is_page for route in methods.values())
            return _told(Problem("method_not_allowed"), request, [(b"allow", allow)])
        if route.is_page:
            request.is_page = True
        if route.token is not None:
            callers = self._parts.callers
            if limits is None:
                caller = callers.remembered(request.headers, route.token)
                if caller is None:
                    caller = await callers.look_up(request.headers, route.token)
            else:
                caller = limits.remembered(callers, request, route.token)
                if caller is None:
                    caller = await limits.look_up(callers, request, route.token)
            if route.scope is not None and route.scope not in caller.scopes:
                raise Problem("missing_scope", detail=f"This call needs a key with the scope {route.scope}.")
            request.caller = caller
        return await route.handler(self._parts, request)

    def _match(self, request: Request) -> dict[str, Route] | None:
        path = request.path
        methods = self._methods.get(path)
        if methods is not None:
            # A star in the request is not a place-holder.
            return methods if "*" not in path else None
        before, _, last = path.rpartition("/")
        methods = self._methods.get(f"{before}/*")
        if methods is not None:
            request.argument = last
            return methods
        before, _, argument = before.rpartition("/")
        request.argument = argument
        return self._methods.get(f"{before}/*/{last}")


def _told(problem: Problem, request: Request, headers: Headers | None = None) -> Response:
    if request.is_page:
        return problem_page(problem, request, headers)
    return problem_response(problem, request.id, headers)
