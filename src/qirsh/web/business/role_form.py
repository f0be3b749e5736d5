"""What forms say of somebody's role: which one it is, and what a cashier may refund in a day."""

from collections.abc import Collection
from typing import Final

from qirsh.domain.money import CURRENCIES
from qirsh.domain.staff import MEMBER_ROLES, Role
from qirsh.language.figures import money, typed_amount

CAP_FIELDS: Final = {currency: f"cap_{currency.lower()}" for currency in CURRENCIES}


def read_role(
    typed: dict[str, str], allowed: Collection[str], language: str
) -> tuple[Role | None, dict[str, int], dict[str, str]]:
    """The role, what a cashier may refund, and what is wrong."""
    role = next((role for role in MEMBER_ROLES if role == typed["role"] and role in allowed), None)
    errors = {} if role is not None else {"role": "role"}
    caps: dict[str, int] = {}
    if role == "cashier":
        for currency, field in CAP_FIELDS.items():
            text = typed[field].strip()
            amount = typed_amount(text, currency, language) if text else 0
            if amount is None:
                errors[field] = "amount"
            elif amount:
                caps[currency] = amount
    return role, caps, errors


def shown_caps(caps: dict[str, int], language: str) -> dict[str, str]:
    """As they are typed."""
    return {
        field: money(caps[currency], currency, language) if currency in caps else ""
        for currency, field in CAP_FIELDS.items()
    }
