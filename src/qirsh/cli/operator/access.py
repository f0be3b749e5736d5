"""How people sign in, from the command line: operators sign them out, block them, or set back what they have lost."""

from typing import Final

import click

from qirsh.cli.operator.command import as_json_option, print_done, send_action
from qirsh.cli.operator.people import print_table
from qirsh.cli.operator.proposals import show_asked
from qirsh.domain.pending_reset import WHATS

_DONE: Final = "Done. The person is notified by e-mail."
_KEPT: Final = "Stopped: it stays as it is. The person is notified by e-mail."
_PROPOSED: Final = frozenset({"remove-factors", "reset-pin"})


@click.group("access")
def access_group() -> None:
    """How a person signs in. To set back a PIN or second factors takes two operators and a day."""


def _add(change: str, summary: str) -> None:
    @access_group.command(change, help=summary)
    @click.argument("email")
    @click.option("--reason", required=True, help="How you checked who requests it; kept in the audit entry.")
    @as_json_option
    def act(*, email: str, reason: str, as_json: bool) -> None:
        show = show_asked if change in _PROPOSED else lambda done: print_done(_DONE, done)
        send_action(f"access {change}", {"email": email, "reason": reason}, as_json=as_json, show=show)


_add("sign-out", "Sign a person out on every device.")
_add("block", "Keep a person from signing in, and sign them out.")
_add("unblock", "Let a person sign in again.")
_add(
    "remove-factors", "Propose to remove the second factors of a person who has lost them, a day after it is confirmed."
)
_add("reset-pin", "Propose to remove the PIN of a person, who then sets a new one, a day after it is confirmed.")


@access_group.command("keep")
@click.argument("email")
@click.option("--what", type=click.Choice(WHATS), default=None, help="Without it: all that waits.")
@click.option("--reason", required=True, help="Kept in the audit entry.")
@as_json_option
def access_keep(*, email: str, what: str | None, reason: str, as_json: bool) -> None:
    """Stop what was confirmed and waits for its day: the PIN or the second factors stay."""
    params = {"email": email, "what": what or "", "reason": reason}
    send_action("access keep", params, as_json=as_json, show=lambda done: print_done(_KEPT, done))


@access_group.command("resets")
@click.argument("email")
@as_json_option
def access_resets(*, email: str, as_json: bool) -> None:
    """List what is to be set back for a person, and when."""
    send_action("access resets", {"email": email}, as_json=as_json, show=lambda done: print_table(done["items"]))
