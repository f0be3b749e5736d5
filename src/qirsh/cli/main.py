"""`qirsh`: every command, and how errors become one line and an exit code."""

import contextlib
import os
import select
import signal
import sys
from collections.abc import Iterator
from typing import Any, Final

import apsw
import asyncpg
import click

from qirsh.backup.lines import UnusableBackup
from qirsh.cli.backup.backup import backup_group
from qirsh.cli.backup.migrate_store import migrate_store_command
from qirsh.cli.backup.restore import restore_command
from qirsh.cli.demo.command import demo_command
from qirsh.cli.developer.events import events_group
from qirsh.cli.developer.listen import listen_command
from qirsh.cli.developer.trigger import trigger_command
from qirsh.cli.doctor.command import doctor_command
from qirsh.cli.errors import Stopped
from qirsh.cli.healthcheck import healthcheck_command
from qirsh.cli.migrate import migrate_command
from qirsh.cli.operator import access, operators, people
from qirsh.cli.operator import command as operator_command
from qirsh.cli.operator.bank import bank_group
from qirsh.cli.operator.brands import brand_group
from qirsh.cli.operator.ledger import ledger_group, system_group
from qirsh.cli.operator.messages import message_group
from qirsh.cli.operator.money import adjust_group, house_group, reverse_group
from qirsh.cli.operator.payouts import payout_group
from qirsh.cli.operator.proposals import proposal_group
from qirsh.cli.operator.recovery import recovery_group
from qirsh.cli.operator.refunds import refund_group
from qirsh.cli.operator.search import note_group, search_command
from qirsh.cli.restored import restored_command
from qirsh.cli.serve.command import serve_command
from qirsh.cli.status import status_command
from qirsh.cli.verify import verify_command
from qirsh.settings import SETTINGS, BadSetting
from qirsh.store.interface import CannotTell, StoreUnavailable, UnusableDatabase
from qirsh.version import version_and_commit

_STDOUT: Final = 1
_STDERR: Final = 2


@contextlib.contextmanager
def _ending_with_reader() -> Iterator[None]:
    """Who pipes into `head` has read enough: end in silence, with the code of a program that SIGPIPE ended.

    The signal itself stays ignored, since a server must outlive those who hang up.
    """
    try:
        yield
    except BrokenPipeError:
        unread = _unread()
        if not unread:  # Another pipe or socket broke, and that is to be told.
            raise
        null = os.open(os.devnull, os.O_WRONLY)
        for output in unread:
            os.dup2(null, output)  # What is still in a buffer is written at the end, and would complain.
        sys.exit(128 + signal.SIGPIPE)


def _unread() -> list[int]:
    """Our outputs that nobody reads any more."""
    poll = select.poll()
    for output in (_STDOUT, _STDERR):
        poll.register(output, 0)
    return [output for output, event in poll.poll(0) if event & (select.POLLERR | select.POLLHUP)]


class _Commands(click.Group):
    def make_context(self, *args: Any, **extra: Any) -> click.Context:  # noqa: ANN401 - as click has it
        with _ending_with_reader():  # --help and --version print here.
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - as click has it
        try:
            with _ending_with_reader():
                return super().invoke(ctx)
        except (BadSetting, UnusableBackup, UnusableDatabase, StoreUnavailable, CannotTell) as error:
            raise Stopped(str(error)) from None
        except (apsw.Error, asyncpg.PostgresError) as error:
            message = f"the database cannot be used: {error}"
            raise Stopped(message) from error
        except OSError as error:
            words = error.strerror or str(error)
            raise Stopped(f"{error.filename}: {words}" if error.filename else words) from error
        except click.Abort:  # At a question.
            message = "stopped, nothing was done"
            raise Stopped(message) from None
        except KeyboardInterrupt:
            message = "stopped; what was under way may have been done or not: look before you try again"
            raise Stopped(message) from None


_SETTINGS_HELP = "\n".join(
    ["\b", "Settings, from the environment:", *(f"  {name:<20} {use}" for name, use in SETTINGS.items())]
)


def _print_version(context: click.Context, _option: click.Parameter, is_asked: bool) -> None:  # noqa: FBT001 - as click calls it
    if is_asked and not context.resilient_parsing:
        click.echo(f"qirsh {version_and_commit()}")
        context.exit()


@click.group(
    cls=_Commands,
    epilog=_SETTINGS_HELP,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_print_version,
    help="Show the version, with the commit where it is known, and exit.",
)
def qirsh() -> None:
    """A payment service that one organisation can run by itself. `qirsh demo` shows it."""


for command in (
    demo_command,
    serve_command,
    migrate_command,
    status_command,
    healthcheck_command,
    verify_command,
    doctor_command,
    backup_group,
    restore_command,
    migrate_store_command,
    restored_command,
    operators.operator_group,
    operator_command.person_group,
    access.access_group,
    people.identity_group,
    operator_command.account_group,
    operator_command.key_group,
    operator_command.deposit_group,
    operator_command.withdraw_group,
    payout_group,
    proposal_group,
    adjust_group,
    reverse_group,
    house_group,
    brand_group,
    bank_group,
    message_group,
    search_command,
    note_group,
    refund_group,
    recovery_group,
    operator_command.audit_group,
    ledger_group,
    system_group,
    listen_command,
    trigger_command,
    events_group,
):
    qirsh.add_command(command)


def main() -> None:
    """The program."""
    with _ending_with_reader():  # Errors are printed here.
        qirsh(prog_name="qirsh")
