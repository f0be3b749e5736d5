"""`qirsh migrate-store --to URL`: the same store in another place, or another engine."""

import click

from qirsh.backup.move import move_store
from qirsh.cli.backup.progress_bar import progress_bar
from qirsh.cli.errors import Stopped
from qirsh.doctor.database_probe import shown
from qirsh.engine.chain_memory import ChainMemory, expected_of
from qirsh.settings import read_settings


@click.command("migrate-store")
@click.option(
    "--to", "to", required=True, metavar="URL", help="sqlite:///path or postgresql://user@host/database, empty."
)
def migrate_store_command(to: str) -> None:
    """Move the store that nobody serves; it is compared, and the old one is never served again."""
    settings = read_settings()
    target = read_settings({"QIRSH_DATABASE_URL": to, "QIRSH_DATA_DIR": str(settings.data_dir)})
    if target.database == settings.database:
        raise Stopped("a store cannot be moved onto itself: --to names the one that it is in")
    expected = expected_of(ChainMemory(settings.data_dir).heads())
    with progress_bar() as progress:
        rows = move_store(settings.database, target.database, shown(target), progress, expected)
    click.echo(f"{rows:,} rows are in {shown(target)}, compared and checked; {shown(settings)} is not served any more")
    click.echo(f"Set QIRSH_DATABASE_URL to {shown(target)} (with its password) before you start")
