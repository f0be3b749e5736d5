"""`qirsh restore FILE`: a backup becomes the database of this installation."""

import os
from pathlib import Path
from typing import Final

import click
import uvloop

from qirsh.backup.lines import Manifest, UnusableBackup
from qirsh.backup.new_file import require_room, room_needed
from qirsh.backup.restore import Installation, restore_backup
from qirsh.backup.take import check_backup
from qirsh.cli.backup.progress_bar import progress_bar
from qirsh.cli.errors import BrokenRules
from qirsh.cli.restored import tell_restored
from qirsh.contract.timestamps import timestamp
from qirsh.doctor.database_probe import shown
from qirsh.domain.limits import EPOCHS_MAX
from qirsh.engine.chain_memory import ChainMemory
from qirsh.engine.clock import system_clock
from qirsh.engine.entropy import system_entropy
from qirsh.engine.keyring import Keyring
from qirsh.secret_file import read_secret
from qirsh.settings import Settings, read_settings
from qirsh.web.operator.peer import own_user, user_name

_ADVICE: Final = """\
They were so when the backup was taken. Start the server, which seals what was not sealed yet; a minute later run
`qirsh verify`, and put right what it still names. Until then the stop cannot be lifted."""


@click.command("restore")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--aside", is_flag=True, help="Move what is in the way, and its log, to another name first (SQLite).")
@click.option(
    "--after-epoch",
    type=click.IntRange(0, EPOCHS_MAX - 2),
    default=0,
    help="The last epoch that there was, if this backup, or a later one, has been restored before, and elsewhere.",
)
def restore_command(file: Path, *, aside: bool, after_epoch: int) -> None:
    """Make a backup the database of this installation: all of it, or nothing.

    The place must be empty. Money stands still afterwards until operators have compared and lift the stop. Exit 3: it
    was restored, and some of its rows break a rule.
    """
    settings = read_settings()
    if file.exists() and not file.is_file():
        raise UnusableBackup(f"{file} is no file: a backup is read twice, so put what comes through a pipe into one")
    settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    _require_owner(settings.data_dir)
    with progress_bar() as progress:
        manifest = check_backup(file, progress)
        _require_keys(settings, manifest)
        if isinstance(settings.database, Path):
            require_room(settings.database.parent, room_needed(manifest.bytes))
        done_by = uvloop.run(user_name(own_user()))
        known = ChainMemory(settings.data_dir).last_epoch()
        own = Installation(system_clock, system_entropy, done_by, max(after_epoch, known))
        restored = restore_backup(file, manifest, settings.database, own, progress, aside=aside)
    for old in restored.moved_aside:
        click.echo(f"Moved aside: {old}")
    taken = timestamp(restored.record.taken_at)
    broken = restored.violations
    rules = "some break a rule" if broken else "every rule holds"
    click.echo(f"Restored to {taken}: {manifest.rows:,} rows are in {shown(settings)}, and {rules}")
    tell_restored(restored.record)
    if broken:
        sentences = [violation.sentence for violation in broken]
        raise BrokenRules(shown(settings), len(broken), sentences, advice=_ADVICE)


def _require_owner(folder: Path) -> None:
    """What root restores belongs to root."""
    owner = folder.stat().st_uid
    if os.geteuid() == 0 != owner:
        raise UnusableBackup(
            f"{folder} is of user {owner}, who could not open what root restores: run this as that user"
        )


def _require_keys(settings: Settings, manifest: Manifest) -> None:
    """PINs, authenticator keys and papers are under them: without, customers would be locked out one by one."""
    secrets = list(settings.secret_keys)
    if not secrets and settings.secret_file.exists():
        secrets = [read_secret(settings.secret_file)]
    known = {one.hex() for one in Keyring(secrets, system_entropy).ids} if secrets else set()
    if missing := sorted(set(manifest.secret_keys) - known):
        raise UnusableBackup(
            f"the secret key of this backup is not here (fingerprint {', '.join(missing)}): put it into"
            f" {settings.secret_file}, or set QIRSH_SECRET_KEY to it"
        )
