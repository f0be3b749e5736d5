"""Every URL of the service, in one table, and the way of a request through it."""

import logging
from typing import Final

from qirsh.engine.batcher import Overloaded
from qirsh.engine.passwords import TooManySignIns
from qirsh.store.interface import OutcomeUnknown, StoreUnavailable
from qirsh.web import health
from qirsh.web.api import bodies, remote_payments, views, wallet
from qirsh.web.callers import KEY, SESSION
from qirsh.web.http import Request, Response, problem_response, request_ids
from qirsh.web.openapi.reference import Reference
from qirsh.web.parts import Parts
from qirsh.web.refusals import Problem
from qirsh.web.route import Route, Told
from qirsh.web.static_files import serve_file

log = logging.getLogger(__name__)

# Why the merchant's or the customer's account may not act.
_STANDING: Final = ("account_suspended", "not_verified", "not_approved")
_TOO_LATE: Final = ("already_paid", "cancelled", "expired")
_PAY: Final = (
    *_STANDING,
    *_TOO_LATE,
    *("test_and_live", "same_account", "merchant_suspended", "pin_locked", "wrong_pin"),
    *("insufficient_funds", "balance_limit"),
)

_CALLS: Final = (
    Route(
        "POST",
        "/api/v1/remote-payments",
        remote_payments.create,
        KEY,
        "payments:write",
        Told(
            "Create a remote payment",
            views.CreatedView,
            201,
            bodies.CreatePaymentBody,
            problems=_STANDING,
            takes_key=True,
            description="Asks for money. The answer holds the payment's id; send the customer to where `Link` says.",
            headers=("Location", "Link"),
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
            query=remote_payments.RetrieveQuery,
            description="What became of it. What a customer's browser brings is a hint; only this tells.",
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
    Route("GET", "/api/v1/wallet/balances", wallet.balances, SESSION, told=Told("See balances", views.BalancesView)),
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
            problems=_PAY,
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
    Route("GET", "/static/{file}", serve_file, None),
    Route("GET", "/healthz", health.healthz, None),
    Route("GET", "/readyz", health.readyz, None),
)


class App:
    """From a request to its answer: a router with fewer features costs less than one with more."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
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
        request_id = request.id
        try:
            response = await self._answer(request)
        except Problem as problem:
            response = problem_response(problem, request_id)
        except (Overloaded, TooManySignIns):
            response = problem_response(Problem("overloaded"), request_id)
        except StoreUnavailable:
            response = problem_response(Problem("unavailable"), request_id)
        except OutcomeUnknown:
            response = problem_response(Problem("outcome_unknown"), request_id)
        except Exception:
            log.exception("request %s failed", request_id)
            response = problem_response(Problem("internal_error"), request_id)
        response.request_id = request_id
        return response

    async def _answer(self, request: Request) -> Response:
        methods = self._match(request)
        if methods is None:
            raise Problem("not_found")
        # HEAD is GET without the body, which the connection leaves out.
        route = methods.get("GET" if request.method == "HEAD" else request.method)
        if route is None:
            allow = ", ".join(["HEAD", *methods] if "GET" in methods else methods).encode()
            return problem_response(Problem("method_not_allowed"), request.id, [(b"allow", allow)])
        if route.token is not None:
            callers = self._parts.callers
            caller = callers.remembered(request.headers, route.token)
            if caller is None:
                caller = await callers.look_up(request.headers, route.token)
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
