"""How operators are made, ended and listed from the command line."""

from typing import Any, Final

import click

from qirsh.cli.operator.command import as_json_option, has_operators, print_done, send_action
from qirsh.cli.operator.credentials import new_secret
from qirsh.cli.operator.people import print_table
from qirsh.settings import read_settings

_FIRST: Final = "Operator created. The authenticator key is shown only once: add it to an authenticator app."
# By what has become of it.
_DONE: Final = {
    "asked": "New operator requested. They get their link once another operator has run `qirsh operator confirm`.",
    "taken back": "The appointment is cancelled. If a link was mailed, it no longer works.",
    "link mailed": "A link was mailed to the new operator, valid for three days: they alone choose their password and"
    " set up two-step verification.",
    "end asked": "Removal requested. Nothing has changed: another operator must run `qirsh operator confirm`.",
    "ended": "The operator is removed and signed out everywhere. They keep their personal account.",
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
    """Create the first operator, or request another one, who gets a link by mail and chooses their own secrets."""
    params = {"email": email, "name": name}
    if not has_operators(read_settings()):
        params["password"] = new_secret("password", from_stdin=password_stdin)
    elif password_stdin:
        message = (
            "there is already an operator: a new one chooses their own password, by the link that is mailed to them"
        )
        raise click.UsageError(message)
    send_action("operator create", params, as_json=as_json, show=_show)


@operator_group.command("confirm")
@click.argument("email")
@as_json_option
def operator_confirm(*, email: str, as_json: bool) -> None:
    """Confirm, as another operator, an appointment or a removal that was requested."""
    send_action("operator confirm", {"email": email}, as_json=as_json, show=_show)


@operator_group.command("end")
@click.argument("email")
@as_json_option
def operator_end(*, email: str, as_json: bool) -> None:
    """Request the removal of an operator, which another one confirms; or cancel an appointment."""
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
        click.echo("\nRequested:")
        print_table(done["proposals"])
