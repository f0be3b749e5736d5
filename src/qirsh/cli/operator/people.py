"""Who people are, and the lists of accounts and keys: acts of operators whose answers are more than a few facts."""

import base64
from pathlib import Path
from typing import Any

import click

from qirsh.cli.operator.command import account_group, as_json_option, key_group, send_action
from qirsh.cli.private_file import write_private
from qirsh.domain.identity import REASONS

_after = click.option("--after", default="", help="Continue after this one, as the previous page says.")


@click.group("identity")
def identity_group() -> None:
    """Identity checks. `qirsh account verify` accepts, `qirsh identity reject` rejects."""


@identity_group.command("list")
@_after
@as_json_option
def identity_list(*, after: str, as_json: bool) -> None:
    """List the accounts whose owners wait for a decision."""
    _print_list(send_action("identity list", {"after": after}, as_json=as_json), as_json=as_json)


@identity_group.command("show")
@click.argument("account")
@click.option(
    "--pictures",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write the pictures of the document into this folder. Delete them once you have looked.",
)
@as_json_option
def identity_show(*, account: str, folder: Path | None, as_json: bool) -> None:
    """Show a person's identity details. That you looked is kept in an audit entry."""
    done = send_action("identity show", {"account": account, "pictures": folder is not None}, as_json=as_json)
    pictures: dict[str, str] = done.pop("pictures", {})
    if folder is not None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for side, content in pictures.items():
            write_private(folder / f"{account}-{side}.jpg", base64.b64decode(content))
    if not as_json:
        _print_facts(done | ({"pictures": f"{len(pictures)} in {folder}"} if folder is not None else {}))


@identity_group.command("reject")
@click.argument("account")
@click.option(
    "--because", type=click.Choice(REASONS), default="other", help="Why, which the person reads in their language."
)
@click.option(
    "--reason", default="", help="In your own words, which the person reads too. Without --because: required."
)
@as_json_option
def identity_reject(*, account: str, because: str, reason: str, as_json: bool) -> None:
    """Reject what a person has sent. They can correct it and send it again."""
    if because == "other" and not reason:
        message = "say why: with --because, with --reason, or with both"
        raise click.UsageError(message)
    params = {"account": account, "because": because, "reason": reason}
    done = send_action("identity reject", params, as_json=as_json)
    if not as_json:
        click.echo("Not accepted. The person sees the reason and can send it again.")
        _print_facts(done)


@account_group.command("list")
@click.option("--state", default="", help="Only those in this state, such as requested.")
@_after
@as_json_option
def account_list(*, state: str, after: str, as_json: bool) -> None:
    """List accounts of people and businesses."""
    _print_list(send_action("account list", {"state": state, "after": after}, as_json=as_json), as_json=as_json)


@account_group.command("show")
@click.argument("account")
@as_json_option
def account_show(*, account: str, as_json: bool) -> None:
    """Show an account, and what its owner has told of the business behind it."""
    done = send_action("account show", {"account": account}, as_json=as_json)
    if not as_json:
        _print_facts(done)


@key_group.command("list")
@click.argument("account")
@_after
@as_json_option
def key_list(*, account: str, after: str, as_json: bool) -> None:
    """List the keys of a commercial account, live or test. The keys themselves are kept nowhere."""
    _print_list(send_action("key list", {"account": account, "after": after}, as_json=as_json), as_json=as_json)


def _print_list(done: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        return
    print_table(done["items"])
    if done["next"]:
        click.echo(f"There are more: --after {done['next']}")


def print_table(items: list[dict[str, Any]]) -> None:
    """One line each, under the names of their facts."""
    rows = [[*map(str, item.values())] for item in items]
    titles = [[*map(str, items[0])]] if rows else []
    widths = [max(map(len, column)) for column in zip(*titles, *rows, strict=True)]
    for row in titles + rows:
        click.echo("  ".join(value.ljust(width) for value, width in zip(row, widths, strict=True)).rstrip())
    if not items:
        click.echo("None.")


def _print_facts(facts: dict[str, Any]) -> None:
    width = max(map(len, facts))
    for name, value in facts.items():
        click.echo(f"  {name:<{width}}  {value}")
