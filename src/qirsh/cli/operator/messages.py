"""Messages to owners of businesses from the command line, and their answers."""

from typing import Any

import click

from qirsh.cli.operator.command import as_json_option, send_action


@click.group("message")
def message_group() -> None:
    """Messages to the owner of a business or of a request for one, and the answers."""


@message_group.command("list")
@as_json_option
def message_list(*, as_json: bool) -> None:
    """List answers of owners that no operator has opened."""
    send_action("message list", {}, as_json=as_json, show=_show)


@message_group.command("show")
@click.argument("account")
@as_json_option
def message_show(*, account: str, as_json: bool) -> None:
    """Show the latest messages about a business; its owner's count as read."""
    send_action("message show", {"account": account}, as_json=as_json, show=_show)


@message_group.command("send")
@click.argument("account")
@click.option("--text", required=True, help="Shown to the owner; the e-mail that tells them of it does not have it.")
@as_json_option
def message_send(*, account: str, text: str, as_json: bool) -> None:
    """Write to the owner of a business or of a request for one."""
    send_action("message send", {"account": account, "text": text}, as_json=as_json)


def _show(done: dict[str, Any]) -> None:
    if not done["messages"]:
        click.echo("No messages.")
    for message in done["messages"]:
        click.echo(f"{message['at']}  {message['account']} {message['name']}  from {message['from']}")
        for line in message["text"].splitlines():
            click.echo(f"  {line}")
