"""The application with a table of routes that a test makes, served on loopback from a thread of the test process."""

import asyncio
import contextlib
import threading
from collections.abc import Iterator

import uvicorn
import uvloop

from qirsh.engine.clock import Clock, system_clock
from qirsh.engine.entropy import Entropy, system_entropy
from qirsh.service import StoppingServer, opened
from qirsh.settings import Settings
from qirsh.web.http.context import Context
from qirsh.web.http.route import Route
from qirsh.web.server.connection import Connection
from qirsh.web.server.router import Router
from tests.waiting import wait_until


class ServedApp:
    """What runs in the thread. Only what is safe from another one may be used."""

    def __init__(
        self, settings: Settings, routes: tuple[Route, ...], http: type[Connection], clock: Clock, entropy: Entropy
    ) -> None:
        self.settings = settings
        self._clock = clock
        self._entropy = entropy
        self._routes = routes
        self._http = http
        self.context: Context
        self.app: Router
        self.loop: asyncio.AbstractEventLoop
        self.server: uvicorn.Server | None = None
        self.failure: BaseException | None = None

    async def serve(self) -> None:
        async with opened(self.settings, clock=self._clock, entropy=self._entropy) as context:
            self.context, self.app, self.loop = context, Router(context, self._routes), asyncio.get_running_loop()
            await context.callers.poll()
            config = uvicorn.Config(
                self.app,  # type: ignore[arg-type]  # It is not called as an ASGI application.
                interface="asgi3",
                http=self._http,
                port=self.settings.port,
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                timeout_graceful_shutdown=5,
            )
            self.server = StoppingServer(config, context.waiters)
            await self.server.serve()

    def run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(self.serve())
        except BaseException as failure:  # noqa: BLE001 - raised again where the test sees it
            self.failure = failure


@contextlib.contextmanager
def app_in_thread(
    settings: Settings,
    routes: tuple[Route, ...],
    http: type[Connection] = Connection,
    *,
    clock: Clock = system_clock,
    entropy: Entropy = system_entropy,
) -> Iterator[ServedApp]:
    """Until it listens; stopped afterwards."""
    served = ServedApp(settings, routes, http, clock, entropy)
    thread = threading.Thread(target=served.run)
    thread.start()
    try:
        wait_until(lambda: served.failure is not None or (served.server is not None and served.server.started))
        yield served
    finally:
        if served.server is not None:
            served.server.should_exit = True
        thread.join()
        if served.failure is not None:
            raise served.failure
