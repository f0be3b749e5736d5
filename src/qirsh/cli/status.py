"""`qirsh status`: a look from outside that changes nothing."""

import http.client
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import click
import msgspec

from qirsh.cli import running_server
from qirsh.cli.demo.credentials_file import read_demo, shell_lines
from qirsh.doctor.database_probe import operators, shown
from qirsh.settings import Settings, read_settings
from qirsh.store.interface import CannotTell

_READY: Final = "ready"
_READY_S_MAX: Final = 5


@click.command("status")
@click.option("--env", "as_env", is_flag=True, help='Print shell lines instead, for eval "$(qirsh status --env)".')
@click.pass_context
def status_command(context: click.Context, *, as_env: bool) -> None:
    """Tell whether a server runs, where, and on which data. Exit 0: it takes payments; 1: it does not."""
    settings = read_settings()
    server = running_server.found(settings)
    if as_env:
        base_url = settings.base_url if server is None else server.base_url
        demo = read_demo(settings)
        for line in shell_lines(base_url, demo):
            click.echo(line)
        if demo is None:
            click.echo(f"There is no demo in {settings.data_dir}, so no keys were set.", err=True)
        return
    readiness = "" if server is None else _readiness(server)
    if server is None:
        click.echo("Server     not running")
    else:
        several = f" with {server.processes} children" if server.processes > 1 else ""
        click.echo(f"Server     running as process {server.pid}{several}, {readiness}")
        click.echo(f"Address    {server.base_url}")
        if server.address != server.base_url:
            click.echo(f"Listens    {server.address}")
    click.echo(f"Data       {settings.data_dir}{'' if settings.data_dir.exists() else ' (does not exist yet)'}")
    is_missing = isinstance(settings.database, Path) and not settings.database.exists()
    click.echo(f"Database   {shown(settings)}{' (does not exist yet)' if is_missing else ''}")
    click.echo(f"Operators  {_operators(settings)}")
    if readiness != _READY:
        context.exit(1)


def _readiness(server: running_server.Server) -> str:
    address = urlsplit(server.address)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=_READY_S_MAX)
    try:
        connection.request("GET", "/readyz")
        causes = msgspec.json.decode(connection.getresponse().read())["causes"]
    except (OSError, http.client.HTTPException, msgspec.MsgspecError, KeyError, TypeError) as error:
        return f"but does not answer ({error})"
    finally:
        connection.close()
    return f"but not ready: {'; '.join(map(str, causes))}" if causes else _READY


def _operators(settings: Settings) -> str:
    try:
        return str(operators(settings))
    except CannotTell as error:
        return f"unknown: {error}"
