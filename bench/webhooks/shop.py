"""A shop's server: it changes its endpoint, and makes things happen that are told of."""

import http.client
import json
from typing import Any

from bench.case import PAYMENTS_PATH
from bench.failure import BenchFailed
from bench.seed import CURRENCY
from bench.target import Server

_ENDPOINTS = "/api/v1/webhook-endpoints"


class Shop:
    """With its key, over one connection to one process of the service."""

    def __init__(self, server: Server, key: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        self._headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}

    def add_endpoint(self, url: str) -> str:
        """The new endpoint's id."""
        made: str = self._call("POST", _ENDPOINTS, {"url": url})["id"]
        return made

    def pause(self, endpoint: str) -> None:
        """Nothing is sent there."""
        self._call("PATCH", f"{_ENDPOINTS}/{endpoint}", {"state": "paused"})

    def enable(self, endpoint: str) -> None:
        """All that happened meanwhile is sent."""
        self._call("PATCH", f"{_ENDPOINTS}/{endpoint}", {"state": "enabled"})

    def make_event(self) -> None:
        """A payment, cancelled at once."""
        made = self._call("POST", PAYMENTS_PATH, {"amount": 100, "currency": CURRENCY})
        self._call("POST", f"{PAYMENTS_PATH}/{made['id']}/cancel", {})

    def close(self) -> None:
        """The connection."""
        self._connection.close()

    def _call(self, method: str, path: str, body: dict[str, Any]) -> Any:  # noqa: ANN401 - JSON
        self._connection.request(method, path, json.dumps(body), self._headers)
        answer = self._connection.getresponse()
        said = answer.read()
        if answer.status not in {200, 201}:
            message = f"{method} {path}: {answer.status} {said[:500]!r}"
            raise BenchFailed(message)
        return json.loads(said)["data"]
