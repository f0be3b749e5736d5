"""`qirsh`: how a command is found, and how errors become one line and an exit code."""

import contextlib
import os
import select
import signal
import sys
from collections.abc import Iterator
from typing import Any, Final

import click

from qirsh.cli.errors import Stopped
from qirsh.cli.healthcheck import healthcheck_command
from qirsh.cli.loading import loaded
from qirsh.settings import SETTINGS, BadSetting
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
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *_loaded_commands()})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return super().get_command(ctx, cmd_name) or _loaded_commands().get(cmd_name)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - as click has it
        with formatter.section("Settings, from the environment; NAME_FILE names a file with the value"):
            formatter.write_dl(list(SETTINGS.items()))

    def make_context(self, *args: Any, **extra: Any) -> click.Context:  # noqa: ANN401 - as click has it
        with _ending_with_reader():  # --help and --version print here.
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - as click has it
        try:
            with _ending_with_reader():
                return super().invoke(ctx)
        except click.Abort:  # At a question.
            message = "stopped, nothing was done"
            raise Stopped(message) from None
        except KeyboardInterrupt:
            message = "stopped; what was under way may have been done or not: look before you try again"
            raise Stopped(message) from None
        except (click.ClickException, click.exceptions.Exit):
            raise
        except BadSetting as error:
            raise Stopped(str(error)) from None
        except Exception as error:
            words = loaded("qirsh.cli.failures").in_words(error)
            if words is None:
                raise
            raise Stopped(words) from error


def _loaded_commands() -> dict[str, click.Command]:
    commands: dict[str, click.Command] = loaded("qirsh.cli.commands").COMMANDS
    return commands


def _print_version(context: click.Context, _option: click.Parameter, is_asked: bool) -> None:  # noqa: FBT001 - as click calls it
    if is_asked and not context.resilient_parsing:
        click.echo(f"qirsh {version_and_commit()}")
        context.exit()


@click.group(
    cls=_Commands,
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


# Asked every few seconds by what watches a container, so it does without all that the others load.
qirsh.add_command(healthcheck_command)


def main() -> None:
    """The program."""
    with _ending_with_reader():  # Errors are printed here.
        qirsh(prog_name="qirsh")
