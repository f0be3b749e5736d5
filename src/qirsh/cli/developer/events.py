"""`qirsh events`: what has happened, and one of it once more to the developer's machine."""

from typing import Any, Final

import click

from qirsh.cli.developer.access import live_option, open_access
from qirsh.cli.developer.event_line import event_line, make_console, sent_line
from qirsh.cli.developer.event_list import LOOKED_BACK_MAX, read_event, read_last
from qirsh.cli.developer.local_receiver import LocalReceiver, ReceiverUrl, make_local_secret
from qirsh.domain.event import TYPES, parse_event_id
from qirsh.domain.limits import LIST_ITEMS_DEFAULT, LIST_ITEMS_MAX
from qirsh.outbound.target import Target

_NOT_TAKEN: Final = 1


class _EventId(click.ParamType[str]):
    """As `qirsh listen` and `qirsh events list` show it."""

    name = "ID"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ANN401 - as click has it
        """The same."""
        if parse_event_id(value) is None:
            self.fail("is not like evt_0_100000000001_7, the id of an event", param, ctx)
        return str(value)


@click.group("events")
def events_group() -> None:
    """What has happened to your payments."""


@events_group.command("list")
@click.option("--type", "kind", type=click.Choice(TYPES), help=f"Only these, among the last {LOOKED_BACK_MAX} events.")
@click.option("--limit", type=click.IntRange(1, LIST_ITEMS_MAX), default=LIST_ITEMS_DEFAULT, show_default=True)
@live_option
def list_events(*, kind: str | None, limit: int, is_live: bool) -> None:
    """Show the last events, the newest at the end."""
    found = read_last(open_access(is_live=is_live).client, limit, kind=kind)
    console = make_console()
    for event in found:
        console.print(event_line(event.created_at, event))
    if not found:
        click.echo("No such event has happened yet." if kind else "No event has happened yet.", err=True)


@events_group.command("resend")
@click.argument("event_id", metavar="ID", type=_EventId())
@click.option("--forward-to", "target", required=True, type=ReceiverUrl(), help="Where your program takes webhooks.")
@live_option
@click.pass_context
def resend_event(context: click.Context, *, event_id: str, target: Target, is_live: bool) -> None:
    """Send one event to a program on your machine, once, signed as by `qirsh listen`. Exit 1: it was not taken."""
    access = open_access(is_live=is_live)
    event, body = read_event(access.client, event_id)
    outcome = LocalReceiver(target, make_local_secret(access.key)).send(event.id, body)
    make_console().print(sent_line(event, outcome))
    if not outcome.is_delivered:
        context.exit(_NOT_TAKEN)
