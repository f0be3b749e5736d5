"""The ledger, the audit log and how the service does, from the command line."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from qirsh.cli.operator.command import as_json_option, audit_group, send_action
from qirsh.cli.operator.people import print_table

F = TypeVar("F", bound=Callable[..., object])
_GIB: Final = 1024**3


@click.group("ledger")
def ledger_group() -> None:
    """What all money adds up to, and when each check of it last held."""


@ledger_group.command("show")
@as_json_option
@click.pass_context
def ledger_show(context: click.Context, *, as_json: bool) -> None:
    """Show sums by kind of account, the checks of the ledger auditor, and stops. Exit 1: a check does not hold."""
    done = send_action("ledger show", {}, as_json=as_json, show=_show_ledger)
    if any(check["state"] == "broken" for check in done["checks"]):
        context.exit(1)


@click.group("system")
def system_group() -> None:
    """How the service does."""


@system_group.command("show")
@as_json_option
def system_show(*, as_json: bool) -> None:
    """Show versions, processes, what waits for each worker, the disk, settings without secrets, and doctor's words."""
    send_action("system show", {}, as_json=as_json, show=_show_system)


def _filters(command: F) -> F:
    for name, help_text in (
        ("to", "Until this day, such as 2026-11-17."),
        ("from", "From this day on."),
        ("subject", "What it was about: an account number, or as the log names it, such as `person 7`."),
        ("act", "An act such as account.closed, or what acts begin with, such as account."),
        ("actor", "Who did it: an operator's number or a part of their name, or as the log names them."),
    ):
        command = click.option(f"--{name}", f"{name}_", default="", help=help_text)(command)
    return command


def _params(**given: str) -> dict[str, Any]:
    return {name.rstrip("_"): value for name, value in given.items()}


@audit_group.command("list")
@_filters
@click.option("--after", default="", help="Continue after this one, as the previous page says.")
@as_json_option
def audit_list(*, as_json: bool, **given: str) -> None:
    """List who did what, the newest first."""
    send_action("audit list", _params(**given), as_json=as_json, show=_show_entries)


@audit_group.command("export")
@_filters
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write to this new file, which only you can read. Without it: to standard output.",
)
def audit_export(*, output: Path | None, **given: str) -> None:
    """Write the audit log as CSV. That you did is in it from then on."""
    if output is None:
        sys.stdout.flush()
        send_action("audit export", _params(**given), as_json=False, show=lambda _: None, sink=sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    if output.exists():
        message = f"{output} is there already: name a new file"
        raise click.UsageError(message)
    part = output.with_name(f"{output.name}.part")
    part.unlink(missing_ok=True)
    part.touch(mode=0o600)
    try:
        with part.open("wb") as sink:
            done = send_action("audit export", _params(**given), as_json=False, show=lambda _: None, sink=sink)
        part.rename(output)
    finally:
        part.unlink(missing_ok=True)
    click.echo(f"Exported to {output}: {done['what']}")


def _show_entries(done: dict[str, Any]) -> None:
    print_table(done["items"])
    if done["after"]:
        click.echo(f"\nThere are more: --after {done['after']}")


def _show_ledger(done: dict[str, Any]) -> None:
    click.echo(f"Money, as of {done['summedAt'] or 'no time yet: the ledger auditor has not summed it'}")
    print_table(done["money"])
    if done["testMoney"]:
        click.echo("\nTest money, which is apart:")
        print_table(done["testMoney"])
    click.echo("\nChecks:")
    print_table([{name: check[name] for name in ("state", "heldAt", "check")} for check in done["checks"]])
    for check in done["checks"]:
        if check["finding"]:
            click.echo(f"  broken: {check['check']}: {check['finding']}")
    full = done["fullCheck"]
    click.echo(
        f"\nLast full check: {full['at']}, by {full['by']}: {full['result']}" if full else "\nNo full check yet."
    )
    if not done["stops"]:
        click.echo("Money was never stopped.")
    for stop in done["stops"]:
        ended = f"lifted {stop['liftedAt']} by {stop['liftedBy']}" if stop["liftedAt"] else "OPEN"
        click.echo(f"Stop {stop['id']}: {stop['at']} by {stop['by']}, {ended}: {stop['reason']}")


def _show_system(done: dict[str, Any]) -> None:
    click.echo(f"Qirsh {done['version']}, schema {done['schema']}, {done['engine']}")
    free = done["diskFreeBytes"]
    click.echo("Disk: does not answer" if free is None else f"Disk: {free / _GIB:.1f} GiB free")
    click.echo(f"Last backup: {done['lastBackup']}")
    click.echo(f"Ledger auditor: last look {done['auditedAt'] or 'never'}")
    for trouble in (*done["troubles"], *(f"nobody is the {role}" for role in done["vacantRoles"])):
        click.echo(f"TROUBLE: {trouble}")
    click.echo("\nProcesses:")
    print_table(done["processes"])
    click.echo("\nQueues for operators:")
    print_table(done["queues"])
    click.echo("\nWaiting for workers:")
    print_table(done["workers"])
    click.echo("\nSettings:")
    print_table([{"setting": name, "value": value or "-"} for name, value in done["settings"].items()])
    click.echo("\nDoctor:")
    if done["doctor"] is None:
        click.echo("did not come to its end in time")
    else:
        print_table(done["doctor"])
