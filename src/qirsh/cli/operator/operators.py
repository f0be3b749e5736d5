"""How operators are made, ended and listed from the command line."""

from typing import Any, Final

import click

from qirsh.cli.database_probe import operators
from qirsh.cli.operator.command import as_json_option, print_done, send_action
from qirsh.cli.operator.credentials import new_secret
from qirsh.cli.operator.people import print_table
from qirsh.settings import read_settings

_FIRST: Final = "Operator created. The second factor is shown only now: put it into an authenticator app."
# By what has become of it.
_DONE: Final = {
    "asked": "The new operator is asked for. They get their link once another operator has run"
    " `qirsh operator confirm`.",
    "taken back": "The appointment is taken back. If a link was mailed, it is dead.",
    "link mailed": "A link was mailed to the new operator, good for three days: they alone choose their password and"
    " second factor.",
    "end asked": "The end is asked for. Nothing has changed: another operator runs `qirsh operator confirm`.",
    "ended": "The operator has ended, and is signed out everywhere. They keep their personal account.",
}


@click.group("operator")
def operator_group() -> None:
    """People who run the service."""


@operator_group.command("create")
@click.option("--email", required=True)
@click.option("--name", required=True)
@click.option("--password-stdin", is_flag=True, help="Of the first one: read the password from standard input.")
@as_json_option
def operator_create(*, email: str, name: str, password_stdin: bool, as_json: bool) -> None:
    """Make the first operator, or ask for another one, who gets a link by mail and chooses their own secrets."""
    params = {"email": email, "name": name}
    if operators(read_settings()) == 0:
        params["password"] = new_secret("password", from_stdin=password_stdin)
    elif password_stdin:
        message = (
            "there is an operator already: a new one chooses their own password, by the link that is mailed to them"
        )
        raise click.UsageError(message)
    send_action("operator create", params, as_json=as_json, show=_show)


@operator_group.command("confirm")
@click.argument("email")
@as_json_option
def operator_confirm(*, email: str, as_json: bool) -> None:
    """Agree, as another operator, to an appointment or an end that was asked for."""
    send_action("operator confirm", {"email": email}, as_json=as_json, show=_show)


@operator_group.command("end")
@click.argument("email")
@as_json_option
def operator_end(*, email: str, as_json: bool) -> None:
    """Ask for an operator to be one no longer, which another one confirms; or take an appointment back."""
    send_action("operator end", {"email": email}, as_json=as_json, show=_show)


@operator_group.command("list")
@as_json_option
def operator_list(*, as_json: bool) -> None:
    """List the operators, those who have ended, and what is asked for."""
    send_action("operator list", {}, as_json=as_json, show=_show_list)


def _show(done: dict[str, Any]) -> None:
    print_done(_FIRST if "totpSecret" in done else _DONE[done["state"]], done)


def _show_list(done: dict[str, Any]) -> None:
    print_table(done["operators"])
    if done["proposals"]:
        click.echo("\nAsked for:")
        print_table(done["proposals"])
