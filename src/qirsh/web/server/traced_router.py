"""Each request as a span. Used only where traces are switched on."""

from contextvars import ContextVar
from http import HTTPStatus
from typing import Final

import msgspec

from qirsh.tracing.spans import ERROR, METHOD, REQUEST_SPAN, ROUTE, STATUS, Tracer
from qirsh.web.http.context import Context
from qirsh.web.http.message import Headers, Request, Response
from qirsh.web.http.problems import Problem
from qirsh.web.http.route import Route
from qirsh.web.server.route_tree import Resource
from qirsh.web.server.router import Router

_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"})
_OTHER: Final = "_OTHER"  # By the semantic conventions, as is the span's name then.


class _Found(msgspec.Struct):
    """What is learnt of a request on its way."""

    route: str = ""
    code: str = ""


_FOUND: Final[ContextVar[_Found]] = ContextVar("found")


def make_router(context: Context, routes: tuple[Route, ...]) -> Router:
    """With spans, if the engine has a tracer: decided once, so that others pay nothing for it."""
    tracer = context.engine.tracer
    return Router(context, routes) if tracer is None else TracedRouter(context, routes, tracer)


class TracedRouter(Router):
    """The same answers, and a span for each."""

    def __init__(self, context: Context, routes: tuple[Route, ...], tracer: Tracer) -> None:
        super().__init__(context, routes)
        self._tracer = tracer

    async def answer(self, request: Request) -> Response:
        """As a router does. A `traceparent` is linked to, whoever sent it: proxies hand on what strangers write."""
        method = request.method if request.method in _METHODS else _OTHER
        name = "HTTP" if method == _OTHER else method
        span = self._tracer.begin(name, "server", traceparent=request.headers.get(b"traceparent"))
        found, status = _Found(), 0
        outer_span, outer_found = REQUEST_SPAN.set(span), _FOUND.set(found)
        try:
            response = await super().answer(request)
            status = response.status
            return response
        finally:
            REQUEST_SPAN.reset(outer_span)
            _FOUND.reset(outer_found)
            attributes: dict[str, str | int] = {METHOD: method}
            if found.route:
                name = f"{name} {found.route}"
                attributes[ROUTE] = found.route
            if status:  # Without one it was cut off, at a stop.
                attributes[STATUS] = status
            has_failed = not status or status >= HTTPStatus.INTERNAL_SERVER_ERROR
            if found.code or has_failed:
                attributes[ERROR] = found.code or str(status or "cancelled")
            span.end(attributes, name=name, has_failed=has_failed)

    def _find(self, request: Request) -> tuple[Resource | None, Route | None]:
        resource, route = super()._find(request)
        if resource is not None:
            any_route, _ = next(iter(resource.routes.values()))
            _FOUND.get().route = any_route.path
        return resource, route

    def _refused(self, problem: Problem, request: Request, headers: Headers | None = None) -> Response:
        _FOUND.get().code = problem.code
        return super()._refused(problem, request, headers)
