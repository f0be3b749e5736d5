"""`qirsh migrate-store --to URL`: the same store in another place, or another engine."""

from pathlib import Path

import click

from qirsh.backup.move import move_store
from qirsh.cli.backup.progress_bar import progress_bar
from qirsh.cli.errors import Stopped
from qirsh.doctor.database_probe import shown
from qirsh.engine.chain_memory import ChainMemory, expected_of
from qirsh.settings import BadSetting, Settings, read_settings


@click.command("migrate-store")
@click.option(
    "--to", "to", required=True, metavar="URL", help="sqlite:///path or postgresql://user@host/database, empty."
)
def migrate_store_command(to: str) -> None:
    """Move the store that nobody serves; it is compared, and the old one is never served again."""
    settings = read_settings()
    target = _target(to, settings)
    if target.database == settings.database:
        raise Stopped("a store cannot be moved onto itself: --to names the one that it is in")
    if isinstance(target.database, Path) and not target.database.parent.is_dir():
        raise Stopped(f"there is no directory {target.database.parent}")
    expected = expected_of(ChainMemory(settings.data_dir).heads())
    with progress_bar() as progress:
        rows = move_store(settings.database, target.database, shown(target), progress, expected)
    click.echo(f"{rows:,} rows are in {shown(target)}, compared and checked; {shown(settings)} is not served any more")
    address = (
        f"sqlite:///{target.database}" if isinstance(target.database, Path) else f"{shown(target)} (with its password)"
    )
    click.echo(f"Set QIRSH_DATABASE_URL to {address} before you start")


def _target(to: str, settings: Settings) -> Settings:
    name = "QIRSH_DATABASE_URL"
    try:
        return read_settings({name: to, "QIRSH_DATA_DIR": str(settings.data_dir)})
    except BadSetting as error:
        raise Stopped(str(error).replace(name, "--to", 1)) from None
