"""Proposals from the command line: what waits for another operator, and what they say to it."""

from typing import Any, Final

import click

from qirsh.cli.operator.command import as_json_option, print_done, send_action
from qirsh.cli.operator.people import print_table

_ASKED: Final = "Requested. Nothing has changed: another operator must run `qirsh proposal confirm`."
_AT_ONCE: Final = "Done at once: there is no other admin who could confirm it."
_DONE: Final = {
    "open": "Changed. Another operator than who asked and you must confirm it.",
    "done": "Confirmed and carried out.",
    "refused": "Refused. Who asked for it is told by e-mail.",
    "withdrawn": "Withdrawn. Nothing has changed.",
}
_digest = click.option("--digest", required=True, help="Of what you have seen, as `proposal show` tells it.")
_reason = click.option("--reason", required=True, help="Kept with the proposal and in the audit entry.")


@click.group("proposal")
def proposal_group() -> None:
    """What takes two operators: one has asked, another confirms or refuses. After seven days it lapses."""


@proposal_group.command("list")
@as_json_option
def proposal_list(*, as_json: bool) -> None:
    """List what waits for another operator."""
    send_action("proposal list", {}, as_json=as_json, show=_show_list)


@proposal_group.command("show")
@click.argument("proposal")
@as_json_option
def proposal_show(*, proposal: str, as_json: bool) -> None:
    """Show what is asked for, by whom and why, and the digest that a decision needs."""
    send_action("proposal show", {"id": proposal}, as_json=as_json, show=lambda done: print_done("", done))


@proposal_group.command("confirm")
@click.argument("proposal")
@_digest
@as_json_option
def proposal_confirm(*, proposal: str, digest: str, as_json: bool) -> None:
    """Agree, as another operator: it is carried out at once. Refused if it was changed since you have seen it."""
    send_action("proposal confirm", {"id": proposal, "digest": digest}, as_json=as_json, show=_show)


@proposal_group.command("edit")
@click.argument("proposal")
@_digest
@_reason
@click.option("--amount", help="Another amount, of a deposit, a withdrawal or a correction.")
@click.option("--reference", help="Another reference of the bank.")
@click.option("--roles", help="Other roles, of an operator.")
@as_json_option
def proposal_edit(*, proposal: str, as_json: bool, **given: str | None) -> None:
    """Put right what was mistyped. Another operator than who asked and you must confirm it then."""
    params = {"id": proposal} | {name: value for name, value in given.items() if value is not None}
    send_action("proposal edit", params, as_json=as_json, show=_show)


def _add_end(verb: str, summary: str) -> None:
    @proposal_group.command(verb, help=summary)
    @click.argument("proposal")
    @_digest
    @_reason
    @as_json_option
    def act(*, proposal: str, digest: str, reason: str, as_json: bool) -> None:
        params = {"id": proposal, "digest": digest, "reason": reason}
        send_action(f"proposal {verb}", params, as_json=as_json, show=_show)


_add_end("refuse", "Say no to what another operator asks for.")
_add_end("withdraw", "Take back what you have asked for.")


def show_asked(done: dict[str, Any]) -> None:
    """What is said of an act that takes two."""
    print_done(_AT_ONCE if done["state"] == "done" else _ASKED, done)


def _show(done: dict[str, Any]) -> None:
    print_done(_DONE[done["state"]], done)


def _show_list(done: dict[str, Any]) -> None:
    shown = ("id", "digest", "action", "about", "askedBy", "askedAt", "reason")
    print_table([{name: item[name] for name in shown} for item in done["items"]])
