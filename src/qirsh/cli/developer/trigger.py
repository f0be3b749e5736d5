"""`qirsh trigger`: makes an event happen, with test money and by the calls that anybody can make."""

from typing import Any, Final

import click
import msgspec

from qirsh.cli.developer.access import open_access
from qirsh.cli.developer.api_client import ApiClient, ServerAway
from qirsh.cli.developer.event_list import LATEST, ListedEvent, read_page
from qirsh.domain.event import REFUND_CREATED, TYPES

_AMOUNT: Final = 1000
_CURRENCY: Final = "USD"
# By type: how a test payment that waits is ended.
_ENDINGS: Final = {
    "remote_payment.paid": "pay",
    "remote_payment.cancelled": "cancel",
    "remote_payment.expired": "expire",
    REFUND_CREATED: "pay",
}
assert _ENDINGS.keys() == set(TYPES)


class _Pair(click.ParamType[tuple[str, str]]):
    """A key of the metadata and its text."""

    name = "KEY=TEXT"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:  # noqa: ANN401 - as click has it
        """The text may be empty and may hold further signs of equality."""
        key, sign, text = value.partition("=")
        if not key or not sign:
            self.fail(f"{value} is not like order=1061", param, ctx)
        return key, text


class _Made(msgspec.Struct):
    id: str


@click.command("trigger")
@click.argument("kind", metavar="TYPE", type=click.Choice(TYPES))
@click.option("--metadata", type=_Pair(), multiple=True, help="Of the payment, and of the refund; can be repeated.")
def trigger_command(*, kind: str, metadata: tuple[tuple[str, str], ...]) -> None:
    """Make an event happen, with test money.

    TYPE is remote_payment.paid, remote_payment.cancelled, remote_payment.expired or refund.created. Before a refund
    the payment is paid, which is an event too.
    """
    told = dict(metadata)
    if len(told) < len(metadata):
        raise click.UsageError("--metadata: a key stands twice")
    client = open_access(takes_live=False).client
    before = read_page(client, LATEST).next_cursor
    payment = _make_happen(client, kind, told)
    event = _found(client, before, kind, payment)
    click.echo(f"{kind} has happened, with test money.")
    click.echo(f"  payment  {payment}")
    click.echo(f"  event    {event.id}")


def _make_happen(client: ApiClient, kind: str, metadata: dict[str, str]) -> str:
    """The id of the payment."""
    wanted = {"amount": _AMOUNT, "currency": _CURRENCY, "note": f"qirsh trigger {kind}", "metadata": metadata}
    payment = client.post(_Made, "/remote-payments", wanted).id
    client.post(dict[str, Any], f"/test/remote-payments/{payment}/{_ENDINGS[kind]}")
    if kind == REFUND_CREATED:
        client.post(_Made, f"/remote-payments/{payment}/refunds", {"metadata": metadata})
    return payment


def _found(client: ApiClient, cursor: str | None, kind: str, payment: str) -> ListedEvent:
    """Others may happen at the same time."""
    while True:
        page = read_page(client, cursor, kind=kind)
        for event in page.items:
            if event.payment == payment:
                return event
        if not page.has_more:
            raise ServerAway(f"{client.base_url} tells of no event for the payment {payment}")
        cursor = page.next_cursor
