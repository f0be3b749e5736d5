"""Corrections, reversals and house accounts from the command line. `command` has deposits and withdrawals."""

from typing import Any

import click

from qirsh.cli.operator.command import as_json_option, house_option, send_action
from qirsh.domain.money import CURRENCIES

_reason = click.option("--reason", required=True, help="For the operator who confirms it; kept in the audit entry.")


@click.group("adjust")
def adjust_group() -> None:
    """Corrections of a balance that no bank has moved, through a house account of their own."""


@adjust_group.command("ask")
@click.argument("account")
@click.argument("direction", type=click.Choice(["add", "take"]))
@click.argument("amount")
@click.argument("currency", type=click.Choice(list(CURRENCIES)))
@click.option("--reference", default="", help="Of your own choosing. The same one counts once. Without it: a new one.")
@_reason
@as_json_option
def adjust_ask(
    *, account: str, direction: str, amount: str, currency: str, reference: str, reason: str, as_json: bool
) -> None:
    """Request a correction, as the first of two operators: add 12.00 USD to an account, or take it."""
    params = {"account": account, "direction": direction, "amount": amount, "currency": currency, "reason": reason}
    send_action("adjust ask", params | ({"reference": reference} if reference else {}), as_json=as_json)


@click.group("reverse")
def reverse_group() -> None:
    """Deposits and withdrawals that are taken back: whole, once, and linked to what they take back."""


@reverse_group.command("ask")
@click.argument("order")
@click.option("--reference", required=True, help="The bank's reference of the way back. The same one counts once.")
@house_option
@_reason
@as_json_option
def reverse_ask(*, order: str, reference: str, house: str, reason: str, as_json: bool) -> None:
    """Request that the deposit or withdrawal with the bank reference ORDER is taken back, as the first of two."""
    params = {"reverses": order, "reference": reference, "house": house, "reason": reason}
    send_action("reverse ask", params, as_json=as_json)


@click.group("house")
def house_group() -> None:
    """House accounts: one for each account at a bank, and one for corrections."""


@house_group.command("list")
@as_json_option
def house_list(*, as_json: bool) -> None:
    """List them, with their balances: as much below zero as came in through the bank and has not left."""
    send_action("house list", {}, as_json=as_json, show=_show_houses)


@house_group.command("open")
@click.argument("name")
@_reason
@as_json_option
def house_open(*, name: str, reason: str, as_json: bool) -> None:
    """Request a house account for one more account at a bank, as the first of two admins."""
    send_action("house open", {"name": name, "reason": reason}, as_json=as_json)


def _show_houses(done: dict[str, Any]) -> None:
    for house in done["houses"]:
        click.echo(f"{house['number']}  {house['name']}")
        for currency, amount in house["balances"].items():
            click.echo(f"  {amount:>20} {currency}")
