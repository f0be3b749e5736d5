"""Refunds for shops that are suspended, from the command line."""

import click

from qirsh.cli.operator.command import as_json_option, send_action
from qirsh.cli.operator.proposals import show_asked


@click.group("refund")
def refund_group() -> None:
    """Money back to who paid, for a shop that is suspended. Two operators, as for all money."""


@refund_group.command("ask")
@click.argument("payment")
@click.option("--amount", default="", help="Such as 100.98. Without it: all that is left of the payment.")
@click.option("--note", default="", help="The payer and the shop read it.")
@click.option("--reason", required=True, help="For the operator who confirms it; kept in the audit entry.")
@as_json_option
def refund_ask(*, payment: str, amount: str, note: str, reason: str, as_json: bool) -> None:
    """Propose to refund a payment, by its 16 digits, from the balance of its shop."""
    params = {"payment": payment, "amount": amount, "note": note, "reason": reason}
    send_action("refund ask", params, as_json=as_json, show=show_asked)
