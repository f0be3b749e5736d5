"""Tills that are there: made by the rules, for tests that are not about how."""

import secrets
from typing import Any

from qirsh.domain.commands.till import OpenTill
from qirsh.domain.refusal import Refused
from qirsh.domain.tables import Tables
from tests.live import InProcess, Merchant


def new_till(world: InProcess, merchant: Merchant, **changes: Any) -> str:  # noqa: ANN401 - the fields of the command
    """Its id. Customers enter from 1.00 to 50.00 USD, unless told otherwise."""
    found = world.run(world.context.store.find(Tables.accounts, int(merchant.account)))
    assert found is not None
    fields: dict[str, Any] = {
        "id": f"till_{secrets.token_hex(9)}",
        "account": found.number,
        "name": "Table 4",
        "currency": "USD",
        "minimum": 100,
        "maximum": 5000,
        "note": "Tea",
        "member": found.owner,
    }
    outcome = world.run(world.context.engine.submit(OpenTill(**fields | changes)))
    assert type(outcome) is not Refused, outcome
    return outcome.id


def fixed_till(world: InProcess, merchant: Merchant, amount: int = 250) -> str:
    """The same, with one amount."""
    return new_till(world, merchant, amount=amount, minimum=None, maximum=None)
