"""`qirsh healthcheck`: whether the server of this data directory answers, for whoever starts and watches it."""

import http.client
import sys
from typing import Final, Never
from urllib.parse import urlsplit

import click

from qirsh.cli import running_server
from qirsh.cli.errors import Stopped
from qirsh.settings import BadSetting, read_settings

_ANSWER_S_MAX: Final = 5


@click.command("healthcheck")
@click.option("--ready", "must_be_ready", is_flag=True, help="Also that payments can be taken now.")
def healthcheck_command(must_be_ready: bool) -> None:  # noqa: FBT001 - as click hands it over
    """Exit with 0 if the server on this data directory answers, else with 1 and why."""
    try:
        server = running_server.found(read_settings())
    except (BadSetting, Stopped) as error:  # Container engines know 0 and 1 only.
        _fail(str(error))
    if server is None:
        _fail("no server runs on this data directory")
    parts = urlsplit(server.address)
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(parts.hostname or "", parts.hostname or "")  # noqa: S104 - asked
    line = http.client.HTTPConnection(host, parts.port, timeout=_ANSWER_S_MAX)
    try:
        line.request("GET", "/readyz" if must_be_ready else "/healthz")
        answer = line.getresponse()
        told = answer.read().decode()
    except (OSError, http.client.HTTPException) as error:
        _fail(f"{server.address} does not answer: {error}")
    finally:
        line.close()
    if answer.status != http.HTTPStatus.OK:
        _fail(f"{server.address} answers {answer.status}: {told}")
    click.echo("ok")


def _fail(why: str) -> Never:
    click.echo(why, err=True)
    sys.exit(1)
