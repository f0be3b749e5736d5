"""`qirsh status` and `qirsh verify`: looks from outside that change nothing and are safe while a server writes."""

import http.client
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import click
import msgspec
from rich.console import Console

from qirsh.cli import control_client
from qirsh.cli.database_probe import operators, shown
from qirsh.cli.demo.credentials_file import read_demo, shell_lines
from qirsh.settings import Settings, read_settings
from qirsh.store.integrity import hash_chain
from qirsh.store.integrity.invariant import Invariant
from qirsh.store.interface import CannotTell
from qirsh.store.verify import verify

_READY: Final = "ready"
_READY_S_MAX: Final = 5

_BAD: Final = 1
_UNKNOWN: Final = 2


class _Head(click.ParamType[hash_chain.Head]):
    """As the log tells it."""

    name = "NUMBER:HASH"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> hash_chain.Head:  # noqa: ANN401 - as click has it
        """The number, and the bytes of the hash."""
        if not re.fullmatch(r"[0-9]{1,18}:[0-9a-f]{64}", value):
            self.fail("is not like 17:9f86d0..., a number and 64 hexadecimal digits", param, ctx)
        number, _, digits = value.partition(":")
        return int(number), bytes.fromhex(digits)


@click.command("status")
@click.option("--env", "as_env", is_flag=True, help='Print shell lines instead, for eval "$(qirsh status --env)".')
@click.pass_context
def status_command(context: click.Context, *, as_env: bool) -> None:
    """Tell whether a server runs, where, and on which data. Exit 0: it takes payments; 1: it does not."""
    settings = read_settings()
    server = control_client.found(settings)
    if as_env:
        base_url = settings.base_url if server is None else server.base_url
        for line in shell_lines(base_url, read_demo(settings)):
            click.echo(line)
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
        context.exit(_BAD)


@click.command("verify")
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as one line of JSON.")
@click.option(
    "--head",
    type=_Head(),
    help="A head of the chain of seals, NUMBER:HASH, from the log or a backup: is it still there?",
)
@click.pass_context
def verify_command(context: click.Context, *, as_json: bool, head: hash_chain.Head | None) -> None:
    """Check every rule that must hold of the money. Exit 0: all hold; 1: some do not; 2: cannot tell."""
    settings = read_settings()
    checked: list[str] = []
    with _progress() as show:

        def progress(invariant: Invariant) -> None:
            checked.append(invariant.name)
            show(invariant.name)

        try:
            violations = verify(settings.database, progress, head)
        except CannotTell as error:
            if as_json:
                _print_verdict("unknown", settings, {"cause": str(error)})
            click.echo(f"qirsh: cannot tell: {error}", err=True)
            context.exit(_UNKNOWN)
    if as_json:
        verdict = "bad" if violations else "good"
        _print_verdict(verdict, settings, {"checked": len(checked), "violations": violations})
    elif violations:
        for violation in violations:
            click.echo(f"{violation.name}: {violation.sentence}")
        click.echo(f"qirsh: {len(violations)} rows of {shown(settings)} break a rule", err=True)
    else:
        click.echo(f"All {len(checked)} rules hold of {shown(settings)}")
    if violations:
        context.exit(_BAD)


def _print_verdict(verdict: str, settings: Settings, more: dict[str, Any]) -> None:
    answer = {"verdict": verdict, "database": shown(settings)} | more
    click.echo(msgspec.json.encode(answer).decode())


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """On a terminal, the rule that is being checked: a large database takes a while."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _name: None
        return
    with console.status("") as status:
        yield lambda name: status.update(f"Checking that {name}")


def _readiness(server: control_client.Server) -> str:
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
