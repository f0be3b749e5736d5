"""Finding accounts, people and payments from the command line, and notes about them."""

from typing import Any, Final

import click

from qirsh.cli.operator.command import as_json_option, print_done, send_action
from qirsh.domain.note import ABOUT

_ABOUT: Final = click.argument("about", type=click.Choice(ABOUT))


@click.command("search")
@click.argument("words", nargs=-1, required=True)
@as_json_option
def search_command(*, words: tuple[str, ...], as_json: bool) -> None:
    """Find an account, a payment, an event, a refund, a payout, a key, a request, a bank reference, or a name.

    Of names, beginnings of words are enough. An e-mail address is found by who may see it.
    """
    send_action("search", {"words": " ".join(words)}, as_json=as_json, show=_show_hits)


@click.group("note")
def note_group() -> None:
    """What operators write down about a person, a business or a payment. Nobody else reads it."""


@note_group.command("add")
@_ABOUT
@click.argument("number")
@click.option("--text", required=True, help="Kept encrypted. It cannot be changed or taken back.")
@as_json_option
def note_add(*, about: str, number: str, text: str, as_json: bool) -> None:
    """Write something down: about an account by its 12 digits, a payment by its 16, or a person by their number."""
    params = {"about": about, "id": number, "text": text}
    send_action("note add", params, as_json=as_json, show=lambda done: print_done("Note added.", done))


@note_group.command("list")
@_ABOUT
@click.argument("number")
@as_json_option
def note_list(*, about: str, number: str, as_json: bool) -> None:
    """Show the latest notes about one thing, newest first."""
    send_action("note list", {"about": about, "id": number}, as_json=as_json, show=_show_notes)


def _show_hits(done: dict[str, Any]) -> None:
    if not done["hits"]:
        click.echo("Nothing found.")
    for hit in done["hits"]:
        facts = (hit["id"], hit["name"], hit["state"])
        click.echo(f"{hit['kind']:<10}  {'  '.join(fact for fact in facts if fact)}")
    if done["more"]:
        click.echo("There are more: type more words, or more of them.")


def _show_notes(done: dict[str, Any]) -> None:
    if not done["notes"]:
        click.echo("No notes.")
    for note in done["notes"]:
        click.echo(f"{note['at']}  {note['by']}")
        for line in note["text"].splitlines() or ["(gone with the person whom it was about)"]:
            click.echo(f"  {line}")
