"""What the table of routes must say before anything is served."""

import pytest

from qirsh.web.http.context import Context
from qirsh.web.http.message import Request, Response
from qirsh.web.http.route import SIGNED_IN, page
from qirsh.web.routes import ROUTES
from qirsh.web.server.router import Router
from tests.live import InProcess


async def handler(_context: Context, _request: Request) -> Response:
    return Response(200, b"")


@pytest.mark.parametrize("path", ["/business/{account}/books", "/business-card", "/operator/desk"])
def test_a_page_of_a_business_or_of_operators_that_names_no_right_stops_the_start(still: InProcess, path: str) -> None:
    with pytest.raises(AssertionError, match=r"name no right: \['" + path.replace("{", r"\{")):
        Router(still.context, (*ROUTES, page("GET", path, handler)))
    Router(still.context, (*ROUTES, page("GET", path, handler, right=SIGNED_IN)))
    Router(still.context, (*ROUTES, page("GET", f"/wallet{path}", handler)))
