"""`qirsh backup TARGET` while a server runs, and `qirsh backup check FILE`."""

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import click

from qirsh.backup.files import LastBackup, file_in, remember, remove_abandoned, remove_older, whole_file
from qirsh.backup.lines import Manifest, moment
from qirsh.backup.new_file import require_room
from qirsh.backup.take import check_backup, source_of, take_backup
from qirsh.cli.backup.progress_bar import progress_bar
from qirsh.cli.errors import BrokenRules, Stopped
from qirsh.engine.clock import system_clock
from qirsh.settings import Settings, read_settings

_OUTPUT: Final = "standard output"
_INPUT: Final = Path("/dev/stdin")
_MIB: Final = 1024 * 1024
# A backup is smaller than the database: indexes are not in it, and it is packed.
_SHARE_OF_DATABASE: Final = 0.25
_RULES: Final[dict[int | None, str]] = {
    0: "all held when it was taken",
    None: "not checked: by an earlier version, of a database that was not migrated yet, or the check was cut short",
}
_ADVICE: Final = """\
The backup is whole and can be restored; money then stands still until they are put right. Find out why before you rely
on it: run `qirsh verify`, and keep the backups from before."""


class _BackupGroup(click.Group):
    """`qirsh backup TARGET` is `qirsh backup take TARGET`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """A first word that is no command of ours is where the backup goes."""
        if args and args[0] not in {*self.commands, *ctx.help_option_names}:
            args = ["take", *args]
        return super().parse_args(ctx, args)


@click.group("backup", cls=_BackupGroup, subcommand_metavar="TARGET | check FILE")
def backup_group() -> None:
    """Copy everything the database holds into one file, while servers run.

    TARGET is a file, a directory (the file is then named by its time), or - for standard output. With --keep N only the
    newest N of a directory stay, which should be for this installation alone; --mib-per-s X reads no faster than that.
    """


@backup_group.command("take", hidden=True)
@click.argument("where", metavar="TARGET")
@click.option("--keep", type=click.IntRange(min=1), help="Keep so many in the directory, and remove older ones.")
@click.option("--mib-per-s", type=click.FloatRange(min=0, min_open=True), help="Read no faster than this.")
def take_command(where: str, keep: int | None, mib_per_s: float | None) -> None:
    """Take one now. Exit 3: it was taken, and rows of the database break a rule."""
    settings, target = read_settings(), Path(where)
    began = time.monotonic()
    bytes_per_s = None if mib_per_s is None else mib_per_s * _MIB
    if where == "-":
        if keep is not None:
            raise click.UsageError("--keep needs a directory")
        # Of our own, with a buffer: where Python's has none, it may write a part, and nobody hears of it.
        with (
            source_of(settings.database) as source,
            progress_bar() as progress,
            os.fdopen(os.dup(sys.stdout.fileno()), "wb") as output,
        ):
            manifest = take_backup(source, output, system_clock, progress, bytes_per_s)
        _tell(manifest, _OUTPUT, began)
        _tell_rules(manifest)
        return
    # What has no ending was meant as a directory; a file of that name would surprise.
    is_folder = target.is_dir() or where.endswith("/") or keep is not None or not target.suffix
    folder = target if is_folder else target.parent
    if not folder.is_dir():
        raise Stopped(f"there is no directory {folder}")
    file = file_in(target, moment(system_clock())) if target.is_dir() else target
    if file.exists():
        raise Stopped(f"{file} is there already: choose another name")
    with source_of(settings.database) as source:
        require_room(file.parent, int(source.size() * _SHARE_OF_DATABASE))
        with _ended_by_sigterm(), whole_file(file) as output, progress_bar() as progress:
            manifest = take_backup(source, output, system_clock, progress, bytes_per_s)
    _remember(settings, manifest, file)
    _tell(manifest, str(file), began)
    abandoned = remove_abandoned(target) if target.is_dir() else []
    # Those of before may be needed to see what was right.
    older = remove_older(target, keep) if keep and not manifest.violations else []
    for removed in abandoned + older:
        click.echo(f"Removed {removed}")
    _tell_rules(manifest)


@backup_group.command("check")
@click.argument("file", type=click.Path(path_type=Path))
def check_command(file: Path) -> None:
    """Read a backup to its end, and say what it holds. - is standard input.

    Exit 3: it is whole, and rows of the database broke a rule when it was taken.
    """
    with progress_bar() as progress:
        manifest = check_backup(_INPUT if str(file) == "-" else file, progress)
    click.echo(f"{file} is whole")
    click.echo(f"Taken:   {manifest.begun_at:%Y-%m-%d %H:%M:%S} UTC, of {manifest.engine}, by Qirsh {manifest.product}")
    click.echo(f"Schema:  {manifest.schema}, epoch {manifest.epoch}")
    click.echo(f"Rows:    {manifest.rows:,} in {len(manifest.tables)} tables")
    click.echo(f"Head:    {manifest.head or 'none'}")
    click.echo(f"Keys:    {', '.join(manifest.secret_keys) or 'none'}")
    click.echo(f"Rules:   {_RULES.get(manifest.violations, 'broken when it was taken')}")
    _tell_rules(manifest)


def _tell_rules(manifest: Manifest) -> None:
    if manifest.violations:
        copied = "the database that was copied"
        raise BrokenRules(copied, manifest.violations, manifest.first_violations, advice=_ADVICE)
    if manifest.violations is None:
        click.echo("qirsh: whether its rows break a rule was not checked: run `qirsh verify`", err=True)


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """As by Ctrl-C: what was begun is removed."""
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _remember(settings: Settings, manifest: Manifest, file: Path) -> None:
    """A backup is no worse if nobody can be told of it."""
    try:
        remember(
            settings.data_dir, LastBackup(manifest.begun_at, manifest.rows, file.stat().st_size, manifest.violations)
        )
    except OSError as error:
        click.echo(f"qirsh: the backup is there, but that cannot be written to {settings.data_dir}: {error}", err=True)


def _tell(manifest: Manifest, where: str, began: float) -> None:
    seconds, tables = time.monotonic() - began, len(manifest.tables)
    click.echo(f"{manifest.rows:,} rows of {tables} tables in {seconds:.1f} s: {where}", err=where == _OUTPUT)
    click.echo(f"Head of the chain of seals: {manifest.head or 'none'}", err=where == _OUTPUT)
