"""`qirsh serve`: listening, signals and limits of the process. What is served, the service knows."""

import asyncio
import contextlib
import errno
import logging
import os
import resource
import shlex
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import Any, Final

import click
import msgspec
import uvloop

from qirsh.cli import control_client, running_server
from qirsh.cli.errors import Stopped
from qirsh.cli.log import log_to_stderr
from qirsh.cli.serve.supervisor import Supervisor
from qirsh.cli.serve.systemd import Systemd
from qirsh.metrics.meters import Meters, mapped, shared_memory
from qirsh.service import layout, opened, opened_tracer, serve
from qirsh.setting_values import is_loopback
from qirsh.settings import Settings, read_settings, service_manager
from qirsh.store.reads import queries
from qirsh.web.http.context import Context

log = logging.getLogger(__name__)

_BACKLOG: Final = 2048

_FIRST_OPERATOR: Final = 'qirsh operator create --email you@example.org --name "Your Name"'


class _Orders(msgspec.Struct, frozen=True):
    """What a parent tells a child. It may be of another version than the child: only add to it, with defaults."""

    number: int
    line: int  # A descriptor, as are the listeners.
    listeners: list[int]
    base_url: str
    memory: int = -1  # The descriptor of what the processes count in; below zero: of an older parent, which has none.
    row: int = 0  # Of that memory, its own.


class _Ready(msgspec.Struct, frozen=True):
    """What a child says to its parent."""

    operators: int


@click.command("serve")
@click.option("--child", "orders", hidden=True, help="For children of several processes.")
def serve_command(orders: str | None) -> None:
    """Serve until SIGTERM or SIGINT. With several processes, SIGHUP replaces them one by one."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # One process has nothing to replace; a parent will listen for it.
    settings = read_settings()
    log_to_stderr(is_json=settings.is_log_json)
    raise_descriptor_limit()
    if orders is not None:
        run_until_signal(_serve_as_child(settings, msgspec.json.decode(orders, type=_Orders)))
    elif settings.workers > 1:
        sys.exit(_serve_by_children(settings))
    else:
        run_until_signal(_serve(settings))


async def _serve(settings: Settings) -> None:
    async with opened_tracer(settings) as tracer, opened(settings, tracer=tracer) as context:
        [(operators,)] = await context.store.select(queries.OPERATORS)
        await serve_and_announce(settings, context, lambda base_url: _announce(settings, base_url, operators))


def _announce(settings: Settings, base_url: str, operators: int) -> None:
    click.echo(f"Qirsh is listening on {base_url}")
    if not operators:
        # Another terminal may stand in another directory, and would then begin another database.
        socket_path = settings.shared_socket
        name, path = ("DATA_DIR", settings.data_dir) if socket_path is None else ("CONTROL_SOCKET", socket_path)
        setting = f"QIRSH_{name}={shlex.quote(str(path))}"
        click.echo("There is no operator yet. In another terminal, make the first:")
        click.echo(f"  {setting} {_FIRST_OPERATOR}")


async def serve_and_announce(
    settings: Settings,
    context: Context,
    announce: Callable[[str], None],
    *,
    prepare: Callable[[str], Awaitable[None]] | None = None,
) -> None:
    """Serve; `announce` hears how the service is reached once it can be, and `prepare` before where it listens."""
    control_client.check_socket_path(settings)
    running_server.check_nobody_serves(settings)
    systemd = Systemd(service_manager())
    with _listening(settings) as listeners, _told(settings, listeners, announce, processes=1) as (base_url, tell):

        def on_ready() -> None:
            tell()
            systemd.ready()
            _signals.hand_over()

        if prepare is not None:
            await prepare(_address(listeners))
        own = msgspec.structs.replace(context, base_url=base_url)
        living = asyncio.create_task(_say_alive(systemd), name="watchdog")
        try:
            await serve(settings, own, listeners=listeners, on_ready=on_ready, on_stopping=systemd.stopping)
        finally:
            living.cancel()
        log.info("stopped serving")


async def _say_alive(systemd: Systemd) -> None:
    while systemd.alive_every_s:
        systemd.alive()
        await asyncio.sleep(systemd.alive_every_s)


@contextlib.contextmanager
def _told(
    settings: Settings, listeners: list[socket.socket], announce: Callable[[str], None], *, processes: int
) -> Iterator[tuple[str, Callable[[], None]]]:
    """How the service is reached, and a call that tells everybody so until the end."""
    address, port = _address(listeners), listeners[0].getsockname()[1]
    base_url = settings.base_url
    if settings.port == 0 and base_url.endswith(":0"):
        base_url = f"{base_url.removesuffix(':0')}:{port}"
    with contextlib.ExitStack() as word:

        def tell() -> None:
            word.enter_context(
                running_server.announced(settings, running_server.Server(os.getpid(), address, base_url, processes))
            )
            log.info("listening on %s with data in %s", address, settings.data_dir)
            if not base_url.endswith(f":{port}") and is_loopback(base_url):
                log.warning("QIRSH_BASE_URL is %s, which leads elsewhere: links in answers will too", base_url)
            announce(base_url)
            # Printed lines must not wait in a buffer for a reader who waits for them.
            sys.stdout.flush()

        yield base_url, tell


def _address(listeners: list[socket.socket]) -> str:
    host, port, *_ = listeners[0].getsockname()
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def _serve_by_children(settings: Settings) -> int:
    control_client.check_socket_path(settings)
    running_server.check_nobody_serves(settings)
    operators = 0
    # One more than serve: a process that takes the place of another is there beside it for a while.
    memory = shared_memory(settings.workers + 1)

    with (
        _listening(settings) as listeners,
        _told(
            settings, listeners, lambda base_url: _announce(settings, base_url, operators), processes=settings.workers
        ) as (base_url, tell),
    ):

        def command(number: int, line: int, row: int) -> list[str]:
            orders = _Orders(
                number=number,
                line=line,
                listeners=[listener.fileno() for listener in listeners],
                base_url=base_url,
                memory=memory,
                row=row,
            )
            # -P: what lies in the working directory is not the program.
            return [sys.executable, "-P", "-m", "qirsh", "serve", "--child", msgspec.json.encode(orders).decode()]

        def on_ready(message: bytes) -> None:
            nonlocal operators
            operators = msgspec.json.decode(message, type=_Ready).operators
            tell()

        supervisor = Supervisor(
            settings.workers,
            command,
            listeners=listeners,
            on_ready=on_ready,
            systemd=Systemd(service_manager()),
            memory=memory,
        )
        exit_code = supervisor.run()
        log.info("all processes have ended")
    return exit_code


async def _serve_as_child(settings: Settings, orders: _Orders) -> None:
    with contextlib.ExitStack() as inherited:
        line = inherited.enter_context(socket.socket(fileno=orders.line))
        listeners = [inherited.enter_context(socket.socket(fileno=number)) for number in orders.listeners]

        def miss_parent() -> None:
            asyncio.get_running_loop().remove_reader(line)
            log.error("the parent is gone: ending")
            signal.raise_signal(signal.SIGTERM)

        # The parent says nothing here: there is something to read when it has ended, however it did.
        asyncio.get_running_loop().add_reader(line, miss_parent)
        try:
            meters = Meters(layout(), mapped(orders.memory), orders.row) if orders.memory >= 0 else None
            async with (
                opened_tracer(settings) as tracer,
                opened(settings, meters=meters, tracer=tracer) as context,
            ):
                [(operators,)] = await context.store.select(queries.OPERATORS)

                def on_ready() -> None:
                    _signals.hand_over()
                    with contextlib.suppress(ConnectionError):  # Then it is missed in a moment.
                        line.sendall(msgspec.json.encode(_Ready(operators)))

                own = msgspec.structs.replace(context, base_url=orders.base_url)
                # A number has one child at a time, and another only to take its place.
                await serve(settings, own, listeners=listeners, on_ready=on_ready, has_control=orders.number == 0)
        finally:
            asyncio.get_running_loop().remove_reader(line)


class _Signals:
    """SIGTERM and SIGINT are a wish to end well, at any moment, and a second one is the same wish.

    While the service opens they cancel; while it serves uvicorn has them; after that it is ending anyway. uvicorn
    raises what it has heard once more when it is done, which finds nobody here.
    """

    def __init__(self) -> None:
        self._task: asyncio.Task[None] | None = None

    def own(self, task: asyncio.Task[None]) -> None:
        self._task = task
        for signal_number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(signal_number, self._hear)

    def hand_over(self) -> None:
        # Not before the next turn of the loop: only then does uvicorn listen for them.
        asyncio.get_running_loop().call_soon(self.forget)

    def forget(self) -> None:
        self._task = None

    def _hear(self, _signal_number: int, _frame: object) -> None:
        if self._task is not None:
            self._task.get_loop().call_soon_threadsafe(self._task.cancel)


_signals: Final = _Signals()


def run_until_signal(main: Coroutine[Any, Any, None]) -> None:
    """Run to the end, or until a signal: both are a good end."""

    async def owned() -> None:
        task = asyncio.current_task()
        assert task is not None
        _signals.own(task)
        try:
            await main
        finally:
            _signals.forget()

    with contextlib.suppress(asyncio.CancelledError, KeyboardInterrupt):
        uvloop.run(owned())


@contextlib.contextmanager
def _listening(settings: Settings) -> Iterator[list[socket.socket]]:
    """Sockets on every address of the host, all with one port."""
    with contextlib.ExitStack() as open_sockets:
        port, listeners, missing = settings.port, [], None
        for family, address in addresses(settings.host):
            listener = open_sockets.enter_context(socket.socket(family, socket.SOCK_STREAM))
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            try:
                listener.bind((address, port))
            except OSError as error:
                # "localhost" may name ::1 on a machine without IPv6.
                if error.errno == errno.EADDRNOTAVAIL:
                    missing = error
                    continue
                raise _cannot_listen(settings, error) from None
            listener.listen(_BACKLOG)
            port = listener.getsockname()[1]
            listeners.append(listener)
        if missing is not None and not listeners:
            raise _cannot_listen(settings, missing)
        yield listeners


def check_port(settings: Settings) -> None:
    """Raises `Stopped` where the service could not listen."""
    with _listening(settings):
        pass


def addresses(host: str) -> list[tuple[socket.AddressFamily, str]]:
    """All that the host names."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        message = f"QIRSH_HOST: {host} is no address of this machine ({error})"
        raise Stopped(message) from None
    return list(dict.fromkeys((family, str(address[0])) for family, _, _, _, address in found))


def _cannot_listen(settings: Settings, error: OSError) -> Stopped:
    address = f"{settings.host} port {settings.port}"
    if error.errno == errno.EADDRINUSE:
        return Stopped(f"another program listens on {address}: set QIRSH_PORT to a free port (0 takes any)")
    return Stopped(f"cannot listen on {address}: {error.strerror}; see QIRSH_HOST and QIRSH_PORT")


def raise_descriptor_limit() -> None:
    """Each connection takes a descriptor, and the usual soft limit of 1024 is for programs that use select()."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
