"""How people sign in, from the command line: operators sign them out, block them, or remove their second factors."""

from typing import Any, Final

import click

from qirsh.cli.operator.command import as_json_option, print_done, send_action
from qirsh.cli.operator.people import print_table
from qirsh.domain.access_order import KINDS

_ASKED: Final = "Requested. Nothing has changed: another operator must run `qirsh access confirm`."
_DONE: Final = "Done. The person is notified by e-mail."
_kind = click.argument("kind", type=click.Choice(KINDS))


@click.group("access")
def access_group() -> None:
    """How a person signs in: sign-out, block, unblock, remove-factors. One operator asks, another confirms."""


@access_group.command("ask")
@click.argument("email")
@_kind
@click.option("--reason", required=True, help="How you checked who requests it; kept in the audit entry.")
@as_json_option
def access_ask(*, email: str, kind: str, reason: str, as_json: bool) -> None:
    """Request it, as the first of two operators."""
    params = {"email": email, "kind": kind, "reason": reason}
    send_action("access ask", params, as_json=as_json, show=lambda done: print_done(_ASKED, done))


@access_group.command("confirm")
@click.argument("email")
@_kind
@as_json_option
def access_confirm(*, email: str, kind: str, as_json: bool) -> None:
    """Agree, as another operator: it is done at once."""
    params = {"email": email, "kind": kind}
    send_action("access confirm", params, as_json=as_json, show=lambda done: print_done(_DONE, done))


@access_group.command("list")
@as_json_option
def access_list(*, as_json: bool) -> None:
    """List what waits for a second operator."""
    send_action("access list", {}, as_json=as_json, show=_show)


def _show(done: dict[str, Any]) -> None:
    print_table(done["items"])
