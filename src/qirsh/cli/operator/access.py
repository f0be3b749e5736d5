"""How people sign in, from the command line: operators sign them out, block them, or remove their second factors."""

from typing import Final

import click

from qirsh.cli.operator.command import as_json_option, print_done, send_action
from qirsh.cli.operator.proposals import show_asked

_DONE: Final = "Done. The person is notified by e-mail."


@click.group("access")
def access_group() -> None:
    """How a person signs in. To remove second factors takes two operators."""


def _add(change: str, summary: str) -> None:
    @access_group.command(change, help=summary)
    @click.argument("email")
    @click.option("--reason", required=True, help="How you checked who requests it; kept in the audit entry.")
    @as_json_option
    def act(*, email: str, reason: str, as_json: bool) -> None:
        show = show_asked if change == "remove-factors" else lambda done: print_done(_DONE, done)
        send_action(f"access {change}", {"email": email, "reason": reason}, as_json=as_json, show=show)


_add("sign-out", "Sign a person out on every device.")
_add("block", "Keep a person from signing in, and sign them out.")
_add("unblock", "Let a person sign in again.")
_add("remove-factors", "Propose to remove the second factors of a person who has lost them.")
