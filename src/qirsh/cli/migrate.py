"""`qirsh migrate`: the tables of this version, made by who owns them."""

import click
import uvloop

from qirsh.cli.errors import Stopped
from qirsh.doctor.database_probe import shown
from qirsh.service import migrate
from qirsh.settings import read_settings


@click.command("migrate")
def migrate_command() -> None:
    """Make the tables, or bring them to this version. `serve` does it too, where its role owns them."""
    settings = read_settings()
    try:
        uvloop.run(migrate(settings))
    except KeyboardInterrupt:
        raise Stopped("stopped: the tables are as they were, or those of this version if that was the end") from None
    click.echo(f"The tables of {shown(settings)} are those of this version")
