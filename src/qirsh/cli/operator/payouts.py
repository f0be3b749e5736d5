"""Payouts from the command line: what people want to have at the bank, and what operators do about it."""

from typing import Any

import click

from qirsh.cli.operator.command import house_option, send_action

_as_json = click.option("--json", "as_json", is_flag=True, help="Print the answer as one line of JSON.")


@click.group("payout")
def payout_group() -> None:
    """Money that people want at their bank account. A second operator confirms it with `qirsh withdraw confirm`."""


@payout_group.command("list")
@_as_json
def payout_list(*, as_json: bool) -> None:
    """List open payouts, and the bank accounts that they go to."""
    send_action("payout list", {}, as_json=as_json, show=_show)


@payout_group.command("order")
@click.argument("payout_id")
@click.option("--reference", required=True, help="The bank's reference. The same one counts once.")
@house_option
@_as_json
def payout_order(*, payout_id: str, reference: str, house: str, as_json: bool) -> None:
    """Say that the bank was told to send it, as the first of two operators."""
    send_action("payout order", {"id": payout_id, "reference": reference, "house": house}, as_json=as_json)


@payout_group.command("refuse")
@click.argument("payout_id")
@click.option("--reason", required=True, help="Shown to the person who requested it.")
@_as_json
def payout_refuse(*, payout_id: str, reason: str, as_json: bool) -> None:
    """Decline it: no money is sent. Possible until it is ordered."""
    send_action("payout refuse", {"id": payout_id, "reason": reason}, as_json=as_json)


def _show(done: dict[str, Any]) -> None:
    if not done["payouts"]:
        click.echo("No open payouts.")
    for payout in done["payouts"]:
        click.echo(f"{payout['id']}  {payout['amount']} {payout['currency']}  {payout['state']}")
        for name in ("account", "name", "holder", "bank", "bankAccount", "reference", "askedAt"):
            if payout[name]:
                click.echo(f"  {name:<11}  {payout[name]}")
