"""`qirsh migrate`: the tables of this version, made by who owns them."""

import click
import uvloop

from qirsh.doctor.database_probe import shown
from qirsh.service import migrate
from qirsh.settings import read_settings


@click.command("migrate")
def migrate_command() -> None:
    """Make the tables, or bring them to this version. `serve` does it too, where its role owns them."""
    settings = read_settings()
    uvloop.run(migrate(settings))
    click.echo(f"The tables of {shown(settings)} are those of this version")
