"""The way of a request to its handler: route, rate limits, authentication, and what goes wrong on the way."""

import logging
import re
from functools import partial
from time import monotonic
from typing import Final
from urllib.parse import urlsplit

from qirsh.domain.api_key import OPERATOR_SESSION_KIND, token_hash
from qirsh.engine.batcher import Overloaded
from qirsh.engine.passwords import PASSWORD_SOURCE, TooManySignIns
from qirsh.metrics.catalogue import REFUSALS
from qirsh.store.interface import OutcomeUnknown, StoreUnavailable
from qirsh.store.reads.operator_sessions import signed_in_operator
from qirsh.web.html.cookies import session_token
from qirsh.web.html.language import find_language, keep_language
from qirsh.web.html.rendering import problem_page, see_other
from qirsh.web.html.session_use import keep_session_use
from qirsh.web.http import query
from qirsh.web.http.authentication import Caller, check_network
from qirsh.web.http.client_address import client_address, is_address_among, network_of, whole_address
from qirsh.web.http.context import Context
from qirsh.web.http.failure_log import FailureLog
from qirsh.web.http.host import is_own_host
from qirsh.web.http.message import Headers, Request, Response, problem_response, request_ids
from qirsh.web.http.problems import PROBLEM_TYPES, Problem, scope_needed
from qirsh.web.http.route import Route
from qirsh.web.http.site import Site
from qirsh.web.server.connection_limits import ConnectionLimits
from qirsh.web.server.health import has_metrics_token
from qirsh.web.server.route_tree import Resource, RouteTree
from qirsh.web.server.uploads import Uploads

log = logging.getLogger(__name__)

_PLAIN: Final = re.compile(r"(?:/[A-Za-z0-9_-]+)+")  # Addresses that may be sent back in a header.
_BY_RIGHT: Final = ("/business", "/operator")  # Every page there names the right that it needs.
_CONSOLE: Final = "/operator"
_METRICS: Final = "/metrics"
_PROBES: Final = frozenset({"/healthz", "/readyz", _METRICS})
# What somebody may not do, who proves nothing, asks for too much, or sends what no page and no document of ours says.
_LOGGED: Final = frozenset({400, 401, 403, 404, 422, 429})


class Router:
    """From a request to its answer: a router with fewer features costs less than one with more."""

    def __init__(self, context: Context, routes: tuple[Route, ...]) -> None:
        routes = tuple(route for route in routes if route.is_there is None or route.is_there(context))
        nameless = [route.path for route in routes if route.right is None and route.path.startswith(_BY_RIGHT)]
        assert not nameless, f"pages that name no right: {nameless}"
        self._context = context
        self._limits = context.limits
        self._note = context.requests.note
        self._host = urlsplit(context.base_url).netloc.encode()  # As most requests name it.
        self._ids = request_ids(context.entropy(6))
        self.uploads = Uploads(routes, partial(session_token, context), self._session)
        self.connection_limits = ConnectionLimits(context.trusted_proxies, meters=context.engine.meters)
        self._operator_networks = context.operator_networks
        self._meters = context.engine.meters
        self._answered = self._meters.answered
        self._elsewhere = self._meters.layout.route("")
        self._tree = RouteTree(routes, self._meters.layout)
        self._refusals = FailureLog()

    async def _session(self, token: bytes) -> object | None:
        """Whose it is, of a browser at the console or at any other page."""
        if token.startswith(f"{OPERATOR_SESSION_KIND}_".encode()):
            return await signed_in_operator(self._context.store, token_hash(token))
        return await self._context.callers.of_cookie(token)

    def next_id(self) -> str:
        """A request id."""
        return next(self._ids)

    async def answer(self, request: Request) -> Response:
        """One request. Never raises: whatever happens is an answer."""
        began = monotonic()
        try:
            response = await self._answer(request)
        except Problem as problem:
            self._log_refusal(request, problem)
            response = self._refused(problem, request)
        except (Overloaded, TooManySignIns):
            response = self._refused(Problem("overloaded"), request)
        except StoreUnavailable:
            response = self._refused(Problem("unavailable"), request)
        except OutcomeUnknown:
            response = self._refused(Problem("outcome_unknown"), request)
        except Exception:
            log.exception("request %s failed", request.id)
            response = self._refused(Problem("internal_error"), request)
        if request.is_page:
            self._keep_cookies(request, response)
        caller = request.caller
        seconds = monotonic() - began
        if caller is not None and caller.key:
            self._note(caller, request, response, seconds)
        response.request_id = request.id
        response.limits = request.limits
        self._answered(request.meter or self._elsewhere, response.status, seconds)
        return response

    def _keep_cookies(self, request: Request, response: Response) -> None:
        if request.is_language_new:
            keep_language(self._context, request, response)
        if request.used_session:
            keep_session_use(self._context, request, response)

    def _refused(self, problem: Problem, request: Request, headers: Headers | None = None) -> Response:
        self._meters.add(REFUSALS, problem.code)
        return _problem(self._context.site, problem, request, headers)

    def count_unread(self, problem: Problem) -> None:
        """The connection has refused what could not be read as a request."""
        self._meters.add(REFUSALS, problem.code)
        self._answered(self._elsewhere, PROBLEM_TYPES[problem.code].status, 0.0)

    async def _answer(self, request: Request) -> Response:
        resource, route = self._find(request)
        limits = self._limits
        if limits is not None and (route is None or (route.token is None and route.is_counted)):
            await limits.count_page(self._context.callers, request, session_token(self._context, request.headers))
            PASSWORD_SOURCE.set(network_of(limits.address_of(request)))
        if route is None or request.refused is not None:
            return await self._not_handled(request, resource, route)
        if route.token is not None:
            callers = self._context.callers
            if limits is None:
                caller = callers.cached(request.headers, route.token)
                if caller is None:
                    caller = await callers.look_up(request.headers, route.token)
                self._admit(request, caller)
            else:
                # Known also of a call that is refused here, for whoever looks into the key's requests.
                caller = limits.cached(callers, request, route.token)
                if caller is None:
                    caller = await limits.look_up(callers, request, route.token)
            if route.scope is not None and route.scope not in caller.scopes:
                raise Problem("missing_scope", detail=scope_needed(route.scope))
        if request.query and route.doc is not None and route.doc.query is None:
            query.read(query.Parameters, request.query)
        if "\0" in request.path:  # No name has it, and PostgreSQL cannot even be asked for one.
            raise Problem("not_found")
        return await route.handler(self._context, request)

    def _admit(self, request: Request, caller: Caller) -> None:
        request.caller = caller
        if caller.networks:
            forwarded_for = request.headers.get(b"x-forwarded-for", b"")
            check_network(caller, whole_address(request.peer, forwarded_for, self._context.trusted_proxies))

    def _log_refusal(self, request: Request, problem: Problem) -> None:
        """Few lines however many there are, as of failed sign-ins. Addresses hold tokens, so none is written."""
        if PROBLEM_TYPES[problem.code].status not in _LOGGED:
            return
        forwarded_for = request.headers.get(b"x-forwarded-for", b"")
        source = client_address(request.peer, forwarded_for, self._context.trusted_proxies)
        where = self._refusals.note(self._context.clock(), source, problem.code)
        if where is not None:
            who = "nobody" if request.caller is None else f"account {request.caller.account}"
            log.info("request %s was refused: %s, %s, %s", request.id, problem.code, who, where)

    def _check_host(self, host: bytes, request: Request) -> None:
        """Whoever comes by another name was led here by somebody else. Probes know addresses only."""
        if request.path not in _PROBES and not is_own_host(host, request.peer, self._context.base_url):
            raise Problem("bad_request", detail="This service does not answer for the host that the request names.")

    def _find(self, request: Request) -> tuple[Resource | None, Route | None]:
        host = request.headers.get(b"host")
        if host != self._host and host is not None:
            self._check_host(host, request)
        found = self._tree.find(request.path)
        if found is None or (self._operator_networks and not self._is_there(request)):
            return None, None
        resource, request.arguments = found
        if resource.is_page:
            request.is_page = True
            find_language(self._context, request)
        # HEAD is GET without the body, which the connection leaves out.
        there = resource.routes.get("GET" if request.method == "HEAD" else request.method)
        if there is None:
            return resource, None
        route, request.meter = there
        return resource, route

    def _is_there(self, request: Request) -> bool:
        """Whether the address is one from here: the operator console may be for some networks only."""
        if not request.path.startswith(_CONSOLE):
            return True
        forwarded_for = request.headers.get(b"x-forwarded-for", b"")
        address = whole_address(request.peer, forwarded_for, self._context.trusted_proxies)
        return address is not None and is_address_among(address, self._operator_networks)

    async def _not_handled(self, request: Request, resource: Resource | None, route: Route | None) -> Response:
        if request.refused is None:
            return self._not_here(request, resource)
        if route is None or route.on_refused is None:
            raise request.refused
        return await route.on_refused(self._context, request)

    def _not_here(self, request: Request, resource: Resource | None) -> Response:
        if resource is None or (request.path == _METRICS and not has_metrics_token(self._context, request)):
            return self._nowhere(request)
        if request.is_page and request.method in {"GET", "HEAD"}:
            # A visitor opens the address of a form, perhaps after it was refused: the page that has it is one step up.
            above = request.path.rpartition("/")[0]
            if not _PLAIN.fullmatch(above) or self._tree.find(above) is None:
                raise Problem("not_found")
            return see_other(above)
        methods = ["HEAD", *resource.routes] if "GET" in resource.routes else resource.routes
        return self._refused(Problem("method_not_allowed"), request, [(b"allow", ", ".join(methods).encode())])

    def _nowhere(self, request: Request) -> Response:
        """No address of ours. Programs hear it in JSON, and people on a page; a slash too many leads them on."""
        if not request.path.startswith("/api/") and b"text/html" in request.headers.get(b"accept", b""):
            request.is_page = True
            find_language(self._context, request)
            shorter = request.path.rstrip("/")
            found = self._tree.find(shorter) if _PLAIN.fullmatch(shorter) else None
            if found is not None and shorter != request.path and request.method in {"GET", "HEAD"}:
                return see_other(f"{shorter}?{request.query.decode('ascii')}" if request.query else shorter)
        raise Problem("unknown_address")


def _problem(site: Site, problem: Problem, request: Request, headers: Headers | None = None) -> Response:
    if request.is_page:
        return problem_page(site, problem, request, headers)
    return problem_response(problem, request.id, headers)
