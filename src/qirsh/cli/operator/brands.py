"""Names and logos of businesses from the command line: what waits, and what operators say to it."""

import base64
from pathlib import Path

import click

from qirsh.cli.operator.command import as_json_option, print_done, send_action
from qirsh.cli.operator.people import print_table
from qirsh.cli.private_file import write_private

_id = click.option("--id", "change", required=True, help="The request that you have seen, as `brand show` names it.")


@click.group("brand")
def brand_group() -> None:
    """Names and logos that businesses want to show to customers. The old ones stay until you approve."""


@brand_group.command("list")
@click.option("--after", default="", help="Continue after this one, as the previous page says.")
@as_json_option
def brand_list(*, after: str, as_json: bool) -> None:
    """List the requests that wait for a decision, and which names could be taken for others."""
    done = send_action("brand list", {"after": after}, as_json=as_json)
    if not as_json:
        print_table(done["items"])
        if done["next"]:
            click.echo(f"There are more: --after {done['next']}")


@brand_group.command("show")
@click.argument("account")
@click.option(
    "--pictures",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write the old and the new logo into this folder.",
)
@as_json_option
def brand_show(*, account: str, folder: Path | None, as_json: bool) -> None:
    """Show what a business wants to be called and to look like."""
    done = send_action("brand show", {"account": account, "pictures": folder is not None}, as_json=as_json)
    pictures: dict[str, str] = done.pop("pictures", {})
    if folder is not None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for side, content in pictures.items():
            write_private(folder / f"{account}-{side}.png", base64.b64decode(content))
    if not as_json:
        print_done(
            "Waiting for your decision.", done | ({"pictures": f"{len(pictures)} in {folder}"} if folder else {})
        )


@brand_group.command("approve")
@click.argument("account")
@_id
@as_json_option
def brand_approve(*, account: str, change: str, as_json: bool) -> None:
    """Let customers see it. Refused if the business has requested something else since."""
    send_action("brand approve", {"account": account, "id": change}, as_json=as_json)


@brand_group.command("refuse")
@click.argument("account")
@_id
@click.option("--reason", required=True, help="The owner reads it, and it is kept in the audit entry.")
@as_json_option
def brand_refuse(*, account: str, change: str, reason: str, as_json: bool) -> None:
    """Do not let customers see it. Name and logo stay as they are."""
    send_action("brand refuse", {"account": account, "id": change, "reason": reason}, as_json=as_json)
