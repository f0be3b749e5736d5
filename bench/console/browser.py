"""An operator's browser: it keeps what it is told of its own use, or it would be signed out while a bench runs."""

import http.client
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from urllib.parse import urlencode

from bench.dashboard.browser import Browser
from bench.dashboard.exports import Whole
from bench.dashboard.pages import Page
from bench.failure import BenchFailed
from bench.target import Server

_TOKEN: Final = re.compile(r'/operator/audit/export">\s*<input type="hidden" name="token" value="([^"]+)"')
_SEARCH: Final = "/operator/search?"
_TAKEN: Final = 65_536
_LOOK_EVERY_S: Final = 0.05


class ConsoleBrowser(Browser):
    """Signed in at the console, over one connection."""

    def __init__(self, server: Server, session: str) -> None:
        super().__init__(server, session)
        self._cookies = {"qirsh-operator": session}

    def load(self, page: Page, turn: int) -> tuple[float, float]:
        """Milliseconds until all of it was there, and for how many of them the service ran."""
        address = page.addresses[turn % len(page.addresses)]
        before_ms = self._server.ran_ms()
        began = time.perf_counter()
        answer = self._get(address)
        body = answer.read()
        took_ms = (time.perf_counter() - began) * 1000
        # Where few have a name, one hit leads there.
        is_one_hit = answer.status == http.HTTPStatus.SEE_OTHER and address.startswith(_SEARCH)
        if answer.status != page.status and not is_one_hit:
            raise BenchFailed(f"{page.name}, {address}: {answer.status} {body.decode()[:2000]}")
        return took_ms, self._server.ran_ms() - before_ms

    def log_as_csv(self) -> tuple[int, Whole]:
        """The whole audit log, as fast as it comes: its lines, and what it took."""
        before_mb = most_mb = self._server.resident_mb()
        before_ms = self._server.ran_ms()
        began = looked_at = time.monotonic()
        size = lines = 0
        with self._export() as answer:
            while piece := answer.read1(_TAKEN):
                size += len(piece)
                lines += piece.count(b"\n")
                if time.monotonic() > looked_at + _LOOK_EVERY_S:
                    looked_at = time.monotonic()
                    most_mb = max(most_mb, self._server.resident_mb())
        seconds, cpu_s = time.monotonic() - began, (self._server.ran_ms() - before_ms) / 1000
        return lines - 1, Whole(seconds, size, most_mb - before_mb, cpu_s)

    @contextmanager
    def _export(self) -> Iterator[http.client.HTTPResponse]:
        found = _TOKEN.search(self._get("/operator/audit").read().decode())
        if found is None:
            raise BenchFailed("the page of the audit log has no form for its export")
        headers = {**self._sent(), "content-type": "application/x-www-form-urlencoded"}
        self._connection.request("POST", "/operator/audit/export", urlencode({"token": found[1]}), headers)
        answer = self._connection.getresponse()
        if answer.status != http.HTTPStatus.OK:
            raise BenchFailed(f"export of the audit log: {answer.status} {answer.read().decode()[:2000]}")
        yield answer

    def _get(self, address: str) -> http.client.HTTPResponse:
        self._connection.request("GET", address, headers=self._sent())
        answer = self._connection.getresponse()
        for told in answer.headers.get_all("set-cookie", []):
            name, _, value = told.partition(";")[0].partition("=")
            self._cookies[name] = value
        return answer

    def _sent(self) -> dict[str, str]:
        cookies = "; ".join(f"{name}={value}" for name, value in self._cookies.items())
        return {"cookie": cookies, "accept-language": "en"}
