"""What hands might type of what takes two operators: `test_schema_refuses_bad_money` types it."""

# Every part of every statement is a constant of this file.
# ruff: noqa: S608

from typing import Final

from qirsh.domain.commands.account import CloseAccount, OpenHouse
from qirsh.domain.commands.operator import ChangeRoles, EndOperator
from qirsh.domain.commands.refund import RefundForShop
from qirsh.domain.commands.stop import LiftStop
from tests.store.filled import FILLED
from tests.store.money_sql import BALANCES, TRANSFER, decided, inserted, proposal, transfer

_LATER: Final = {"decided_at": "1800000000001"}

# A stop that is open, and one that is lifted at the moment of every decision here.
_STOPPED: Final = "INSERT INTO stop VALUES (2, 1, 'why', NULL, NULL);"
_LIFTED: Final = "UPDATE stop SET lifted_at = 1800000000000, lifted_by = 'me' WHERE id = 2;"
_LIFTING: Final = _STOPPED + proposal(LiftStop(2), "audit lift", "stop 2")
_NOT_LIFTED: Final = "stop: lifted without the agreement of two operators"
_BAD_STOPS: Final[dict[str, tuple[str, str]]] = {
    "a stop that nobody agreed to lift": (_STOPPED + _LIFTED, _NOT_LIFTED),
    "a stop that one operator lifts": (_LIFTING + _LIFTED, _NOT_LIFTED),
    "a stop that was not to be lifted": (_LIFTING + decided(state="refused") + _LIFTED, _NOT_LIFTED),
    "a stop that was lifted at another time": (_LIFTING + decided(**_LATER) + _LIFTED, _NOT_LIFTED),
    "a stop for which another was to be lifted": (
        _STOPPED + proposal(LiftStop(1), "audit lift", "stop 2") + decided() + _LIFTED,
        _NOT_LIFTED,
    ),
    "a stop about which something else was agreed to": (
        _STOPPED + proposal(LiftStop(2), "deposit", "stop 2") + decided() + _LIFTED,
        _NOT_LIFTED,
    ),
}


def _closed(number: int) -> str:
    return f"UPDATE account SET state = 'closed', updated_at = 1800000000000 WHERE number = {number};"


def _closing(number: int) -> str:
    return proposal(CloseAccount(number), "account close", f"account {number}")


_SHOP, _OTHER = FILLED.shop, FILLED.other.account
_NOT_CLOSED: Final = "account: closed without the agreement of two operators"
_ERASED: Final = "UPDATE person SET name = '', erased_at = 1800000000000 WHERE id = {};"
_BAD_ACCOUNTS: Final[dict[str, tuple[str, str]]] = {
    "a shop that nobody agreed to close": (_closed(_SHOP), _NOT_CLOSED),
    "a personal account that nobody agreed to close": (_closed(_OTHER), _NOT_CLOSED),
    "an account that one operator closes": (_closing(_SHOP) + _closed(_SHOP), _NOT_CLOSED),
    "an account that was not to be closed": (
        _closing(_SHOP) + decided(state="refused") + _closed(_SHOP),
        _NOT_CLOSED,
    ),
    "an account that was closed at another time": (_closing(_SHOP) + decided(**_LATER) + _closed(_SHOP), _NOT_CLOSED),
    "an account for which another was to be closed": (_closing(_OTHER) + decided() + _closed(_SHOP), _NOT_CLOSED),
    "an account about which something else was agreed to": (
        proposal(CloseAccount(_SHOP), "deposit", f"account {_SHOP}") + decided() + _closed(_SHOP),
        _NOT_CLOSED,
    ),
    "a shop that is closed because its owner is erased": (
        _ERASED.format(FILLED.owner.id) + _closed(_SHOP),
        _NOT_CLOSED,
    ),
    "a personal account that is closed because another is erased": (
        _ERASED.format(FILLED.customer.id) + _closed(_OTHER),
        _NOT_CLOSED,
    ),
}

# One may ask for it themselves, and there are two operators.
_BY_SECOND: Final = {"asked_by": ":second"}
_ABOUT_SECOND: Final = f"person {FILLED.second.id}"
_NOT_ENDED: Final = "operator: ended without the agreement of two operators"
_NOT_THESE_ROLES: Final = "operator: other roles without the agreement of two operators"


def ends(at: str = "1800000000000") -> str:
    """It was agreed to that the second operator ends."""
    ending = proposal(EndOperator(FILLED.second.id), "operator end", _ABOUT_SECOND, id="'pr_end'", **_BY_SECOND)
    return ending + decided("pr_end", by=":first", decided_at=at)


def gets(roles: str, name: str = "pr_roles", at: str = "1800000000000") -> str:
    """It was agreed to that the second operator has these roles."""
    changing = ChangeRoles(FILLED.second.id, roles)
    asked = proposal(changing, "operator roles", _ABOUT_SECOND, id=f"'{name}'", **_BY_SECOND)
    return asked + decided(name, by=":first", decided_at=at)


def has(roles: str) -> str:
    return f"UPDATE operator SET roles = '{roles}' WHERE person = :second;"


SECOND_ENDED: Final = "UPDATE operator SET ended_at = 1800000000000 WHERE person = :second;"
_FIRST_ENDED: Final = SECOND_ENDED.replace(":second", ":first")
_RECOVERED: Final = "INSERT INTO recovery VALUES ('rec_new', :second, 'support', 'root', 1800000000000, NULL, NULL);"
_READ: Final = "UPDATE recovery SET read_by = :first, read_at = 1800000000000 WHERE id = 'rec_new';"
_HELPS: Final = gets("support") + has("support")
_BAD_ENDS: Final[dict[str, tuple[str, str]]] = {
    "an operator whom nobody agreed to end": (SECOND_ENDED, _NOT_ENDED),
    "an operator who ends at another time": (ends("1800000000001") + SECOND_ENDED, _NOT_ENDED),
    "an operator who ends instead of another": (ends() + _FIRST_ENDED, _NOT_ENDED),
    "an operator who ends instead of getting other roles": (gets("support") + SECOND_ENDED, _NOT_ENDED),
    "an operator whose end one asks for": (
        proposal(EndOperator(FILLED.second.id), "operator end", _ABOUT_SECOND) + SECOND_ENDED,
        _NOT_ENDED,
    ),
    "roles that nobody agreed to": (has("auditor"), _NOT_THESE_ROLES),
    "roles that others were agreed to": (gets("support") + has("auditor"), _NOT_THESE_ROLES),
    "roles that another was to have": (
        gets("support") + has("support").replace(":second", ":first"),
        _NOT_THESE_ROLES,
    ),
    "roles that one operator asks for": (
        proposal(ChangeRoles(FILLED.second.id, "auditor"), "operator roles", _ABOUT_SECOND) + has("auditor"),
        _NOT_THESE_ROLES,
    ),
    "roles that were agreed to before others": (
        _HELPS + gets("auditor", "pr_later", "1800000000001") + has("auditor") + has("support"),
        _NOT_THESE_ROLES,
    ),
    "an admin by a recovery of other roles": (
        _HELPS + _RECOVERED.replace("'support'", "'auditor'") + has("admin support"),
        _NOT_THESE_ROLES,
    ),
    "an admin by a recovery that was read": (_HELPS + _RECOVERED + _READ + has("admin support"), _NOT_THESE_ROLES),
    "an admin by another's recovery": (
        _HELPS + _RECOVERED.replace(":second", ":first") + has("admin support"),
        _NOT_THESE_ROLES,
    ),
    "more roles by a recovery": (_HELPS + _RECOVERED + has("admin treasury support"), _NOT_THESE_ROLES),
    "another role by a recovery": (_HELPS + _RECOVERED + has("treasury"), _NOT_THESE_ROLES),
}

_SUSPENDED: Final = "UPDATE account SET state = 'suspended' WHERE number = :shop;"
_NO_MONEY_BACK: Final = "transfer: a refund of a suspended shop without the agreement of two operators"
_NO_REFUND: Final = "refund: of a suspended shop without the agreement of two operators"


def _for_shop(refund: str = "re_new", amount: int = 100, payment: int = FILLED.paid.number) -> str:
    public = FILLED.identifiers.payment_id(payment)
    command = RefundForShop(refund, payment, _SHOP, amount, "USD", public)
    return _SUSPENDED + proposal(command, "refund", f"account {_SHOP}")


# 100 of what was paid go back, and both balances follow.
_MONEY_BACK: Final = transfer(
    kind="'refund'",
    payment=":paid",
    debit=":shop",
    credit=":customer",
    debit_sequence=TRANSFER["credit_sequence"],
    debit_balance=f"{TRANSFER['credit_balance']} - 500 - 100",
    credit_sequence=TRANSFER["debit_sequence"],
    credit_balance=f"{TRANSFER['debit_balance']} + 500 + 100",
    amount="100",
) + BALANCES.replace("500", "-100")
_REFUND: Final = {
    "id": "'re_new'",
    "payment": ":paid",
    "version": "3",
    "amount": "100",
    "note": "''",
    "metadata": "'{}'",
    "sequence": "(SELECT sequence FROM balance WHERE account = :shop AND currency = 'USD')",
    "created_at": "1800000000000",
}
_REFUNDED: Final = _MONEY_BACK + inserted("refund", _REFUND)
_BAD_REFUNDS: Final[dict[str, tuple[str, str]]] = {
    "a refund of a suspended shop that nobody agreed to": (_SUSPENDED + _MONEY_BACK, _NO_MONEY_BACK),
    "a refund of a suspended shop that one asks for": (_for_shop() + _MONEY_BACK, _NO_MONEY_BACK),
    "a refund of a suspended shop at another time": (_for_shop() + decided(**_LATER) + _MONEY_BACK, _NO_MONEY_BACK),
    "a refund of a suspended shop of another amount": (
        _for_shop(amount=99) + decided() + _MONEY_BACK,
        _NO_MONEY_BACK,
    ),
    "a refund of a suspended shop of another payment": (
        _for_shop(payment=FILLED.paid_too.number) + decided() + _MONEY_BACK,
        _NO_MONEY_BACK,
    ),
    "two refunds of a suspended shop by one agreement": (
        _for_shop() + decided() + _MONEY_BACK + _MONEY_BACK,
        _NO_MONEY_BACK,
    ),
    "a second refund of a suspended shop by the same agreement": (
        _for_shop() + decided() + _REFUNDED + _MONEY_BACK,
        _NO_MONEY_BACK,
    ),
    "a refund of a suspended shop under another id": (_for_shop("re_other") + decided() + _REFUNDED, _NO_REFUND),
    "a refund of a suspended shop that says another time": (
        _for_shop() + decided() + _MONEY_BACK + inserted("refund", _REFUND | {"created_at": "9"}),
        _NO_REFUND,
    ),
}

_NO_HOUSE: Final = "account: a house account without the agreement of two operators"
_HOUSE: Final = (
    "INSERT INTO account VALUES (100000000001, 'house', 'live', NULL, NULL, 'new', 'open', '', 1800000000000,"
    " 1800000000000, NULL, NULL, 3600);"
)
_OPENING: Final = proposal(OpenHouse("new"), "house open", "house new")
HOUSE_OPENED: Final = _OPENING + decided() + _HOUSE
_BAD_HOUSES: Final[dict[str, tuple[str, str]]] = {
    "a house account that nobody agreed to": (_HOUSE, _NO_HOUSE),
    "a house account that one asks for": (_OPENING + _HOUSE, _NO_HOUSE),
    "a house account that was refused": (_OPENING + decided(state="refused") + _HOUSE, _NO_HOUSE),
    "a house account that was opened at another time": (_OPENING + decided(**_LATER) + _HOUSE, _NO_HOUSE),
    "a house account of another name": (
        proposal(OpenHouse("old"), "house open", "house new") + decided() + _HOUSE,
        _NO_HOUSE,
    ),
    "a house account that is nearly the bank": (_HOUSE.replace("'new'", "'Bank'"), _NO_HOUSE),
}

BAD_AGREED: Final[dict[str, tuple[str, str]]] = {
    **_BAD_STOPS,
    **_BAD_ACCOUNTS,
    **_BAD_ENDS,
    **_BAD_REFUNDS,
    **_BAD_HOUSES,
}
# What verify says of these is another matter: nobody has logged them.
AGREED: Final[dict[str, str]] = {
    "a stop that two lift": _LIFTING + decided() + _LIFTED,
    "a shop that two close": _closing(_SHOP) + decided() + _closed(_SHOP),
    "a personal account that two close": _closing(_OTHER) + decided() + _closed(_OTHER),
    "a personal account whose owner is erased": _ERASED.format(FILLED.other.id) + _closed(_OTHER),
    "an operator whom two end": ends() + SECOND_ENDED,
    "an operator to whom two give other roles": _HELPS,
    "an operator who gets other roles once more": _HELPS
    + gets("auditor", "pr_later", "1800000000001")
    + has("auditor"),
    "an operator who is let in again": _HELPS + _RECOVERED + has("admin support"),
    "a refund of a suspended shop that two agreed to": _for_shop() + decided() + _REFUNDED,
    "two refunds of a suspended shop": _for_shop()
    + decided()
    + _MONEY_BACK
    + inserted("refund", _REFUND)
    + _for_shop("re_newer").replace("pr_new", "pr_newer")
    + decided("pr_newer")
    + _MONEY_BACK
    + inserted("refund", _REFUND | {"id": "'re_newer'", "version": "4"}),
    "a house account that two open": HOUSE_OPENED,
}
