"""Transfers, bank orders and proposals as SQL that hands type: good ones, of which a case changes what it is about."""

# Every part of every statement is a constant of this file.
# ruff: noqa: S608

from typing import Any, Final

from qirsh.domain.commands.proposal import ProposedCommand, encoded
from tests.store.filled import FILLED

# The next transfer of 500 from :customer to :shop in USD; what a case changes in it is the case.
TRANSFER: Final = {
    "kind": "'pay'",
    "debit": ":customer",
    "credit": ":shop",
    "currency": "'USD'",
    "amount": "500",
    "debit_sequence": "(SELECT sequence + 1 FROM balance WHERE account = :customer AND currency = 'USD')",
    "debit_balance": "(SELECT amount - 500 FROM balance WHERE account = :customer AND currency = 'USD')",
    "credit_sequence": "(SELECT sequence + 1 FROM balance WHERE account = :shop AND currency = 'USD')",
    "credit_balance": "(SELECT amount + 500 FROM balance WHERE account = :shop AND currency = 'USD')",
    "payment": ":pending",
    "bank_order": "NULL",
    "reverses": "NULL",
    "created_at": "1800000000000",
}
BALANCES: Final = """
    UPDATE balance SET (amount, sequence) = (amount - 500, sequence + 1) WHERE account = :customer AND currency = 'USD';
    UPDATE balance SET (amount, sequence) = (amount + 500, sequence + 1) WHERE account = :shop AND currency = 'USD';"""
# Of a deposit of 10,000 for the other customer.
ORDER_BALANCES: Final = BALANCES.replace("500", "10000").replace(":customer", ":house").replace(":shop", ":other")
_EUROS: Final = "(SELECT {} FROM balance WHERE account = {} AND currency = 'EUR')"


def inserted(table: str, columns: dict[str, str], verb: str = "INSERT") -> str:
    return f"{verb} INTO {table} ({', '.join(columns)}) VALUES ({', '.join(columns.values())});"


def transfer(verb: str = "INSERT", /, **changes: str) -> str:
    return inserted("transfer", TRANSFER | changes, verb)


def deposit(account: str, reference: str, verb: str = "INSERT", /, **changes: str) -> str:
    """The transfer of 10,000 that an order is for."""
    columns = {
        "kind": "'deposit'",
        "debit": ":house",
        "credit": account,
        "amount": "10000",
        "debit_sequence": "(SELECT sequence + 1 FROM balance WHERE account = :house AND currency = 'USD')",
        "debit_balance": "(SELECT amount - 10000 FROM balance WHERE account = :house AND currency = 'USD')",
        "credit_sequence": f"(SELECT sequence + 1 FROM balance WHERE account = {account} AND currency = 'USD')",
        "credit_balance": f"(SELECT amount + 10000 FROM balance WHERE account = {account} AND currency = 'USD')",
        "payment": "NULL",
        "bank_order": reference,
    }
    return transfer(verb, **columns | changes)


def said(command: ProposedCommand) -> str:
    """A command as a proposal keeps it. A hand would take the colon and the word after it for a name."""
    return "'" + encoded(command).replace(":null", ":' || 'null") + "'"


def proposal(command: ProposedCommand, action: str, subject: str, /, **changes: str) -> str:
    """What the first operator asks for."""
    columns = {
        "id": "'pr_new'",
        "action": f"'{action}'",
        "command": said(command),
        "subject": f"'{subject}'",
        "reason": "'x'",
        "asked_by": ":first",
        "asked_at": "1800000000000",
        "editors": "''",
        "state": "'open'",
        "decided_by": "NULL",
        "decided_at": "NULL",
        "decision": "''",
    }
    return inserted("proposal", columns | changes)


def decided(proposal_id: str = "pr_new", by: str = ":second", state: str = "done", **changes: str) -> str:
    columns = {"state": f"'{state}'", "decided_by": by, "decided_at": "1800000000000"} | changes
    changed = ", ".join(f"{name} = {value}" for name, value in columns.items())
    return f"UPDATE proposal SET {changed} WHERE id = '{proposal_id}';"


# A deposit of 10,000 USD for the other customer.
_ORDER: Final[dict[str, Any]] = {"reference": "new", "account": FILLED.other.account}


def asked(fields: dict[str, Any] | None = None, /, **changes: str) -> str:
    """A proposal of that, or of what else the fields of its command say."""
    command = FILLED.book(**_ORDER | (fields or {}))
    action = command.kind if command.payout is None else "payout"
    return proposal(command, action, f"account {command.account}", **changes)


def order(fields: dict[str, Any] | None = None, /, **changes: str) -> str:
    """The bank order of such a proposal."""
    command = FILLED.book(**_ORDER | (fields or {}))
    columns = {
        "house": str(command.house),
        "reference": f"'{command.reference}'",
        "kind": f"'{command.kind}'",
        "account": str(command.account),
        "currency": f"'{command.currency}'",
        "amount": str(command.amount),
        "proposal": "'pr_new'",
        "booked_at": "1800000000000",
        "payout": "NULL" if command.payout is None else f"'{command.payout}'",
    }
    return inserted("bank_order", columns | changes)


def agreed(fields: dict[str, Any] | None = None) -> str:
    """It is asked for, confirmed, and its bank order is there."""
    return asked(fields) + decided() + order(fields)


# The 7.00 EUR that the customer has asked to have at the bank: ordered, and moved.
OF_PAYOUT: Final[dict[str, Any]] = {
    "reference": "over",
    "kind": "withdrawal",
    "account": FILLED.customer.account,
    "currency": "EUR",
    "amount": 700,
    "payout": "po_1",
}
PAYOUT_ORDERED: Final = "UPDATE payout SET state = 'ordered', reference = 'over' WHERE id = 'po_1';"
PAYOUT_MOVED: Final = (
    asked(OF_PAYOUT)
    + PAYOUT_ORDERED
    + decided()
    + order(OF_PAYOUT)
    + transfer(
        kind="'withdrawal'",
        debit=":customer",
        credit=":house",
        currency="'EUR'",
        amount="700",
        debit_sequence=_EUROS.format("sequence + 1", ":customer"),
        debit_balance=_EUROS.format("amount - 700", ":customer"),
        credit_sequence=_EUROS.format("sequence + 1", ":house"),
        credit_balance=_EUROS.format("amount + 700", ":house"),
        payment="NULL",
        bank_order="'over'",
    )
    + """UPDATE balance SET amount = amount - 700, held = held - 700, sequence = sequence + 1
    WHERE account = :customer AND currency = 'EUR';
    UPDATE balance SET amount = amount + 700, sequence = sequence + 1 WHERE account = :house AND currency = 'EUR';"""
)
PAYOUT_PAID: Final = (
    "UPDATE payout SET state = 'paid', bank_sealed = (SELECT bank_sealed FROM payout WHERE id = 'po_2'),"
    " sequence = (SELECT {} FROM balance WHERE account = :customer AND currency = 'EUR') WHERE id = '{}'"
)
