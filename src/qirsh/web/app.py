"""Every URL of the service, in one table, and the way of a request through it."""

import logging
import re
from typing import Final

from qirsh.engine.batcher import Overloaded
from qirsh.engine.passwords import TooManySignIns
from qirsh.store.interface import OutcomeUnknown, StoreUnavailable
from qirsh.web import demo_mail, health
from qirsh.web.api import parameters
from qirsh.web.api.calls import CALLS
from qirsh.web.customer.cookies import session_token
from qirsh.web.customer.routes import PAGES
from qirsh.web.http import Headers, Request, Response, problem_response, request_ids
from qirsh.web.openapi.reference import Reference
from qirsh.web.page_language import find_language, keep_language
from qirsh.web.pages import problem_page, see_other
from qirsh.web.parts import Parts
from qirsh.web.refusals import Problem
from qirsh.web.route import Route
from qirsh.web.static_files import serve_file
from qirsh.web.uploads import Uploads

log = logging.getLogger(__name__)

_PLAIN: Final = re.compile(r"(?:/[A-Za-z0-9_-]+)+")  # Addresses that may be sent back in a header.

_REFERENCE: Final = Reference(CALLS)

ROUTES: Final = (
    *CALLS,
    *PAGES,
    Route("GET", "/openapi.json", _REFERENCE.serve_document, None),
    Route("GET", "/docs", _REFERENCE.serve_page, None, is_page=True),
    Route("GET", "/demo/mail", demo_mail.show, None, is_page=True),
    Route("GET", "/static/{file}", serve_file, None, is_counted=False),
    Route("GET", "/healthz", health.healthz, None, is_counted=False),
    Route("GET", "/readyz", health.readyz, None, is_counted=False),
)


class _Place:
    """An address: what can be done there, and whether people go there."""

    __slots__ = ("is_page", "routes")

    def __init__(self) -> None:
        self.routes: dict[str, Route] = {}
        self.is_page = False


class App:
    """From a request to its answer: a router with fewer features costs less than one with more."""

    def __init__(self, parts: Parts, routes: tuple[Route, ...] = ROUTES) -> None:
        self._parts = parts
        self._limits = parts.limits
        self._ids = request_ids(parts.entropy(6))
        self.uploads = Uploads(
            routes,
            lambda headers: session_token(parts, headers),
            parts.callers.of_cookie,
            lambda request: find_language(parts, request),
        )
        self._places: dict[str, _Place] = {}
        for route in routes:
            path = "/".join("*" if part.startswith("{") else part for part in route.path.split("/"))
            place = self._places.setdefault(path, _Place())
            place.routes[route.method] = route
            place.is_page |= route.is_page

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
        if request.is_language_new:
            keep_language(self._parts, request, response)
        response.request_id = request.id
        response.limits = request.limits
        return response

    async def _answer(self, request: Request) -> Response:
        place = self._match(request)
        # HEAD is GET without the body, which the connection leaves out.
        route = None if place is None else place.routes.get("GET" if request.method == "HEAD" else request.method)
        if place is not None and place.is_page:
            request.is_page = True
            find_language(self._parts, request)
        limits = self._limits
        if limits is not None and (route is None or (route.token is None and route.is_counted)):
            limits.count_address(request)
        if route is None:
            return self._not_here(request, place)
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
        if request.query and route.told is not None and route.told.query is None:
            parameters.read(parameters.Parameters, request.query)
        return await route.handler(self._parts, request)

    def _match(self, request: Request) -> _Place | None:
        path = request.path
        place = self._places.get(path)
        if place is not None:
            # A star in the request is not a place-holder.
            return place if "*" not in path else None
        before, _, last = path.rpartition("/")
        place = self._places.get(f"{before}/*")
        if place is not None:
            request.argument = last
            return place
        before, _, argument = before.rpartition("/")
        request.argument = argument
        return self._places.get(f"{before}/*/{last}")

    def _not_here(self, request: Request, place: _Place | None) -> Response:
        if place is None:
            raise Problem("not_found")
        if request.is_page and request.method in {"GET", "HEAD"}:
            # Somebody opens the address of a form, perhaps after it was refused: the page that has it is one step up.
            above = request.path.rpartition("/")[0]
            if not _PLAIN.fullmatch(above) or not {above, f"{above.rpartition('/')[0]}/*"} & self._places.keys():
                raise Problem("not_found")
            return see_other(above)
        allow = ", ".join(["HEAD", *place.routes] if "GET" in place.routes else place.routes).encode()
        return _told(Problem("method_not_allowed"), request, [(b"allow", allow)])


def _told(problem: Problem, request: Request, headers: Headers | None = None) -> Response:
    if request.is_page:
        return problem_page(problem, request, headers)
    return problem_response(problem, request.id, headers)
