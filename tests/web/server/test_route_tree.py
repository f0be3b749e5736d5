"""Which resource a path leads to, and what it names on the way."""

import pytest

from qirsh.web.http.context import Context
from qirsh.web.http.message import Request, Response
from qirsh.web.http.route import Route
from qirsh.web.server.route_tree import RouteTree


async def handler(_context: Context, _request: Request) -> Response:
    return Response(200, b"")


PATHS = (
    "/",
    "/shops",
    "/shops/new",
    "/shops/{shop}",
    "/shops/{shop}/keys",
    "/shops/{shop}/keys/{key}",
    "/shops/{shop}/keys/{key}/revoke",
    "/shops/new/keys/first/revoke",
    "/{year}/{month}/{day}",
)
TREE = RouteTree(Route("GET", path, handler, token=None) for path in PATHS)


def test_a_path_leads_where_its_names_say(subtests: pytest.Subtests) -> None:
    for path, leads_to, names in [
        ("/", "/", {}),
        ("/shops", "/shops", {}),
        ("/shops/new", "/shops/new", {}),
        ("/shops/7", "/shops/{shop}", {"shop": "7"}),
        ("/shops/*", "/shops/{shop}", {"shop": "*"}),
        ("/shops/{shop}", "/shops/{shop}", {"shop": "{shop}"}),
        ("/shops/7/keys", "/shops/{shop}/keys", {"shop": "7"}),
        ("/shops/new/keys", "/shops/{shop}/keys", {"shop": "new"}),
        ("/shops/7/keys/k", "/shops/{shop}/keys/{key}", {"shop": "7", "key": "k"}),
        ("/shops/7/keys/k/revoke", "/shops/{shop}/keys/{key}/revoke", {"shop": "7", "key": "k"}),
        ("/shops/new/keys/first/revoke", "/shops/new/keys/first/revoke", {}),
        # The name fits at first, and then nothing does: the parameter is tried too.
        ("/shops/new/keys/second/revoke", "/shops/{shop}/keys/{key}/revoke", {"shop": "new", "key": "second"}),
        ("/2026/11/16", "/{year}/{month}/{day}", {"year": "2026", "month": "11", "day": "16"}),
        ("/shops/7/else", "/{year}/{month}/{day}", {"year": "shops", "month": "7", "day": "else"}),
    ]:
        with subtests.test(path=path, leads_to=leads_to, names=names):
            found = TREE.find(path)
            assert found is not None
            resource, arguments = found
            route, _ = resource.routes["GET"]
            assert (route.path, arguments) == (leads_to, names)


def test_other_paths_lead_nowhere(subtests: pytest.Subtests) -> None:
    for path in [
        "",
        "shops",
        "/else",
        "/shops/",
        "/shops//keys",
        "/shops/7/keys/k/revoke/",
        "//",
        "/a/b/c/d",
        "/x" * 5000,
    ]:
        with subtests.test(path=path):
            assert TREE.find(path) is None


def test_one_parameter_has_one_name() -> None:
    routes = [Route("GET", "/a/{one}", handler, token=None), Route("POST", "/a/{other}", handler, token=None)]
    with pytest.raises(AssertionError, match="other names elsewhere"):
        RouteTree(routes)
