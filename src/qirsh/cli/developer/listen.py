"""`qirsh listen`: events of a shop to a program on the developer's machine, as they happen."""

import contextlib
import shlex
from typing import Any

import click
import msgspec
from rich.text import Text

from qirsh.cli.developer.access import live_option, open_access
from qirsh.cli.developer.event_feed import EventFeed
from qirsh.cli.developer.event_line import make_console, sent_line
from qirsh.cli.developer.local_receiver import LocalReceiver, ReceiverUrl, make_local_secret
from qirsh.cli.log import one_line
from qirsh.domain.event import TYPES
from qirsh.outbound.target import Target


class _Types(click.ParamType[frozenset[str]]):
    """Types of events, by commas."""

    name = "TYPE,..."

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> frozenset[str]:  # noqa: ANN401 - as click has it
        """Empty for all of them."""
        types = frozenset(filter(None, map(str.strip, value.split(",")))) if isinstance(value, str) else value
        if value == "":
            self.fail("names no type: leave it out for all", param, ctx)
        for unknown in sorted(types - set(TYPES)):
            self.fail(f"{unknown} is no type of an event. Types: {', '.join(TYPES)}", param, ctx)
        return types


class _Me(msgspec.Struct):
    account: str
    name: str
    livemode: bool


@click.command("listen")
@click.option("--forward-to", "target", required=True, type=ReceiverUrl(), help="Where your program takes webhooks.")
@click.option("--types", type=_Types(), default=frozenset(), help=f"Only these. Without it: {', '.join(TYPES)}.")
@live_option
def listen_command(*, target: Target, types: frozenset[str], is_live: bool) -> None:
    """Send events to a program on your machine as they happen, signed as webhooks are. Ctrl-C ends it."""
    with contextlib.suppress(KeyboardInterrupt):  # The usual end.
        _listen(target, types, is_live=is_live)


def _listen(target: Target, types: frozenset[str], *, is_live: bool) -> None:
    access = open_access(is_live=is_live)
    shown, told = make_console(), make_console(is_stderr=True)
    me = access.client.read(_Me, "/me")
    feed = EventFeed(access.client, types=types, tell=lambda words: told.print(Text(f"qirsh: {words}", "yellow")))
    feed.begin()
    secret = make_local_secret(access.key)
    receiver = LocalReceiver(target, secret)
    mode = "live" if me.livemode else "test"
    shown.print(
        Text.assemble(
            f"From now on, {mode} events of {one_line(me.name)} ({access.client.base_url}) go to ",
            (target.url, "bold green"),
            ". Ctrl-C ends it.",
        )
    )
    shown.print(Text.assemble("Signing secret, the same at every start with this key: ", (secret, "bold")))
    for event, body in feed.follow():
        outcome = receiver.send(event.id, body)
        shown.print(sent_line(event, outcome))
        if not outcome.is_delivered:
            again = (
                f"qirsh events resend {one_line(event.id)} --forward-to {shlex.quote(target.url)}{' --live' * is_live}"
            )
            shown.print(Text(f"          It is not tried again by itself: {again}"))
