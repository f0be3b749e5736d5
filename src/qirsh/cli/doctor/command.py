"""`qirsh doctor`: whether this machine, this data and these settings are fit to serve money, in words."""

import socket
from typing import Final
from urllib.parse import urlsplit

import click

from qirsh.cli import running_server
from qirsh.doctor.checks import CHECKS, Checks, examine
from qirsh.doctor.doctor_check import Finding
from qirsh.settings import Settings, read_settings

_PORT_BEFORE: Final = "Base URL"


@click.command("doctor")
@click.pass_context
def doctor_command(context: click.Context) -> None:
    """Check the machine, the data and the settings. Exit 0: fit to serve; 1: something is to be done."""
    findings = examine(read_settings(), _with_port())
    width = max(map(len, findings))
    for name, finding in findings.items():
        click.echo(f"{finding.level:<4}  {name:<{width}}  {finding.words}")
    if any(finding.level == "bad" for finding in findings.values()):
        context.exit(1)


def port(settings: Settings) -> Finding:
    address = f"{settings.host} port {settings.port}"
    server = running_server.found(settings)
    if server is not None and urlsplit(server.address).port == settings.port:
        return Finding("ok", f"{address}, served by process {server.pid} from this data")
    if server is not None:
        return Finding(
            "note", f"process {server.pid} serves this data on {server.address}, with other settings than these"
        )
    try:
        family = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)[0][0]
        socket.create_server((settings.host, settings.port), family=family).close()
    except OSError as error:
        return Finding("bad", f"{address} cannot be listened on: {error.strerror}; see QIRSH_HOST and QIRSH_PORT")
    return Finding("ok", f"{address} is free")


def _with_port() -> dict[str, Checks]:
    """Whether there is one to listen on: a server that asks has it."""
    checks: dict[str, Checks] = {}
    for name, own in CHECKS.items():
        if name == _PORT_BEFORE:
            checks["Port"] = (port, port)
        checks[name] = own
    return checks
