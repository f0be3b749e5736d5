"""How operators are made, ended and listed from the command line."""

from typing import Any, Final

import click

from qirsh.cli.operator.command import as_json_option, has_operators, print_done, send_action
from qirsh.cli.operator.credentials import new_secret
from qirsh.cli.operator.people import print_table
from qirsh.cli.operator.proposals import show_asked
from qirsh.domain.operator_role import ROLES
from qirsh.settings import read_settings

_FIRST: Final = "Operator created. The authenticator key is shown only once: add it to an authenticator app."
_MAILED: Final = (
    "A link was mailed to the new operator, valid for three days: they alone choose their password and set up two-step"
    " verification."
)
_TAKEN_BACK: Final = "The appointment is cancelled. The link that was mailed no longer works."
_WHY: Final = "Why; other operators read it, and it is kept in the audit entry."


@click.group("operator")
def operator_group() -> None:
    """People who run the service."""


@operator_group.command("create")
@click.option("--email", required=True)
@click.option("--name", required=True)
@click.option("--password-stdin", is_flag=True, help="Of the first one: read the password from standard input.")
@click.option(
    "--role",
    "roles",
    type=click.Choice(ROLES),
    multiple=True,
    help="What they may do; can be repeated. Without it: everything.",
)
@click.option("--reason", default="", help=f"{_WHY} Not for the first one.")
@as_json_option
def operator_create(
    *, email: str, name: str, password_stdin: bool, roles: tuple[str, ...], reason: str, as_json: bool
) -> None:
    """Create the first operator, or request another one, who gets a link by mail and chooses their own secrets."""
    params = {"email": email, "name": name, "roles": " ".join(roles or ROLES), "reason": reason}
    if not has_operators(read_settings()):
        params["password"] = new_secret("password", from_stdin=password_stdin)
    elif password_stdin:
        message = (
            "there is already an operator: a new one chooses their own password, by the link that is mailed to them"
        )
        raise click.UsageError(message)
    elif not reason:
        message = "there is already an operator: say with --reason why there is to be another one"
        raise click.UsageError(message)
    send_action("operator create", params, as_json=as_json, show=_show)


@operator_group.command("roles")
@click.argument("email")
@click.option(
    "--role", "roles", type=click.Choice(ROLES), multiple=True, required=True, help="All that they are to have."
)
@click.option("--reason", required=True, help=_WHY)
@as_json_option
def operator_roles(*, email: str, roles: tuple[str, ...], reason: str, as_json: bool) -> None:
    """Request other roles for an operator, which another admin confirms."""
    params = {"email": email, "roles": " ".join(roles), "reason": reason}
    send_action("operator roles", params, as_json=as_json, show=show_asked)


@operator_group.command("end")
@click.argument("email")
@click.option("--reason", required=True, help=_WHY)
@as_json_option
def operator_end(*, email: str, reason: str, as_json: bool) -> None:
    """Request the removal of an operator, which another admin confirms; or cancel an appointment."""
    send_action("operator end", {"email": email, "reason": reason}, as_json=as_json, show=_show)


@operator_group.command("list")
@as_json_option
def operator_list(*, as_json: bool) -> None:
    """List the operators with their roles, those who have ended, and those who have a link."""
    send_action("operator list", {}, as_json=as_json, show=_show_list)


def _show(done: dict[str, Any]) -> None:
    if "totpSecret" in done:
        print_done(_FIRST, done)
    elif done["state"] == "taken back":
        print_done(_TAKEN_BACK, done)
    elif done["state"] == "done":
        print_done(_MAILED, done)
    else:
        show_asked(done)


def _show_list(done: dict[str, Any]) -> None:
    print_table(done["operators"])
    if done["appointments"]:
        click.echo("\nInvited:")
        print_table(done["appointments"])
