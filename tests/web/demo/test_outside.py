"""Outside the demo nobody can tell that it has pages of its own."""

import httpx2
import pytest

from qirsh.web.demo.routes import ROUTES
from qirsh.web.http.route import Route
from tests.live import Call, InProcess

BROWSER = ("accept", "text/html")


def told(world: InProcess, method: str, path: str, *headers: tuple[str, str]) -> tuple[int, dict[str, str], str]:
    """All that is answered, but for what the request itself says."""
    answer: httpx2.Response = world.send(Call(method, path, headers=headers))
    request_id = answer.headers["x-request-id"]
    fields = {name: value for name, value in answer.headers.items() if name != "x-request-id"}
    return answer.status_code, fields, answer.text.replace(request_id, "").replace(path, "")


@pytest.mark.parametrize("headers", [(), (BROWSER,)], ids=["a program", "a browser"])
@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_outside_the_demo_its_addresses_are_unknown(
    still: InProcess, route: Route, headers: tuple[tuple[str, str], ...]
) -> None:
    path = route.path
    for method in ("GET", "POST", "DELETE"):
        assert told(still, method, path, *headers) == told(still, method, f"{path[:-1]}x", *headers)
    assert told(still, "GET", path, *headers)[0] == 404
