"""What hands might type about bank orders and payouts: `test_schema_refuses_bad_money` types it."""

# Every part of every statement is a constant of this file.
# ruff: noqa: S608

from typing import Any, Final

from qirsh.domain.commands.account import CloseAccount
from tests.store.filled import FILLED
from tests.store.money_sql import (
    OF_PAYOUT,
    ORDER_BALANCES,
    PAYOUT_MOVED,
    PAYOUT_ORDERED,
    PAYOUT_PAID,
    agreed,
    asked,
    decided,
    deposit,
    order,
    proposal,
)

_AGREED: Final = "is not what two operators agreed to"
_NOT_OF_PAYOUT: Final = "does not match the payout"
_END: Final = "an end is an end"
_ASKED: Final[dict[str, Any]] = {"reference": "asked"}
# What was asked for is confirmed, and booked.
BOOKED: Final = (
    decided(FILLED.asked.id)
    + order(_ASKED, proposal=f"'{FILLED.asked.id}'")
    + deposit(":other", "'asked'")
    + ORDER_BALANCES
)
_OF_FIRST, _OF_SECOND = ({"account": person.account} for person in (FILLED.first, FILLED.second))
_OF_ORDERED: Final[dict[str, Any]] = {
    **OF_PAYOUT,
    "reference": "told",
    "account": FILLED.owner.account,
    "amount": 300,
    "payout": "po_3",
}
_GONE: Final = "bank_sealed = (SELECT bank_sealed FROM payout WHERE id = 'po_2')"


def _payout(change: str, payout: str = "po_1") -> str:
    return f"UPDATE payout SET {change} WHERE id = '{payout}';"


_BAD_BANK_ORDERS: Final[dict[str, tuple[str, str]]] = {
    "a bank order without a proposal": (order(proposal="'pr_none'"), _AGREED),
    "a bank order whose proposal is open": (asked() + order(), _AGREED),
    **{
        f"a bank order whose proposal was {state}": (asked() + decided(by=by, state=state) + order(), _AGREED)
        for state, by in (("refused", ":second"), ("withdrawn", ":first"), ("lapsed", "NULL"))
    },
    "a bank order of a proposal to close the account": (
        proposal(CloseAccount(FILLED.other.account), "account close", f"account {FILLED.other.account}")
        + decided()
        + order(),
        _AGREED,
    ),
    "a bank order of a proposal of another action": (asked(action="'account close'") + decided() + order(), _AGREED),
    **{
        f"a bank order of another {what} than was agreed to": (asked() + decided() + order(**{what: value}), _AGREED)
        for what, value in {
            "amount": "10001",
            "account": ":customer",
            "currency": "'EUR'",
            "reference": "'another'",
            "house": ":mint",
            "kind": "'withdrawal'",
        }.items()
    },
    "a bank order for a payout that nobody agreed to": (
        asked({**OF_PAYOUT, "payout": None}) + decided() + PAYOUT_ORDERED + order(OF_PAYOUT),
        f"{_AGREED}|ordered without its proposal",
    ),
    "a bank order without the payout that was agreed to": (
        asked(OF_PAYOUT) + PAYOUT_ORDERED + decided() + order({**OF_PAYOUT, "payout": None}),
        _AGREED,
    ),
    "a bank order for another payout than was agreed to": (
        decided(FILLED.ordered.id) + order({**_OF_ORDERED, "payout": "po_1"}, proposal=f"'{FILLED.ordered.id}'"),
        _AGREED,
    ),
    "a bank order for the account of who asked": (agreed(_OF_FIRST), "decides on their own account"),
    "a bank order for the account of who confirmed": (
        asked(_OF_SECOND, subject="'account 1'") + decided() + order(_OF_SECOND),
        "decides on their own account",
    ),
    "a bank order of nothing": (agreed({"amount": 0}), "bank_order_amount_check|CHECK"),
    "a bank order without a reference": (agreed({"reference": ""}), "bank_order_reference_check|CHECK"),
    "a deposit for a payout": (
        agreed({**OF_PAYOUT, "kind": "deposit"}),
        f"bank_order_\\w*check|CHECK|{_NOT_OF_PAYOUT}",
    ),
    **{
        f"a bank order with another {what}": (
            f"UPDATE bank_order SET {what} = {value} WHERE reference = 'slip'",
            "bank orders never change",
        )
        for what, value in {
            "amount": "20000",
            "account": ":other",
            "currency": "'EUR'",
            "reference": "'another'",
            "house": ":mint",
            "kind": "'deposit'",
            "proposal": f"'{FILLED.asked.id}'",
            "booked_at": "1",
            "payout": "'po_1'",
        }.items()
    },
    "a bank order that vanished": ("DELETE FROM bank_order WHERE reference = 'slip'", "never vanish"),
    "a deposit that nobody asked for": (deposit(":other", "'unasked'"), "does not match"),
    "a deposit whose proposal is open": (deposit(":other", "'asked'"), "does not match"),
    "a deposit that was agreed to, without its bank order": (
        decided(FILLED.asked.id) + deposit(":other", "'asked'"),
        "does not match",
    ),
    "a deposit without a slip": (deposit(":other", "NULL"), "does not match|transfer_check"),
    "a deposit of another amount": (
        agreed()
        + deposit(
            ":other",
            "'new'",
            amount="10001",
            debit_balance="(SELECT amount - 10001 FROM balance WHERE account = :house AND currency = 'USD')",
            credit_balance="(SELECT amount + 10001 FROM balance WHERE account = :other AND currency = 'USD')",
        ),
        "does not match",
    ),
    "a deposit to someone else": (agreed() + deposit(":customer", "'new'"), "does not match"),
    "a deposit that was booked before": (
        BOOKED + deposit(":other", "'asked'"),
        "never replaced|transfer_bank_order",
    ),
}
BAD_ORDERS: Final[dict[str, tuple[str, str]]] = {
    **_BAD_BANK_ORDERS,
    "a payout that is made paid": (
        """INSERT INTO payout SELECT 'po_4', account, currency, amount, bank_sealed, 'paid', 'payout', '', 1, 1, '',
        NULL FROM payout WHERE id = 'po_2'""",
        "begins asked",
    ),
    "a payout ordered without its proposal": (_payout("state = 'ordered', reference = 'r'"), "without its proposal"),
    "a payout ordered by another's proposal": (
        _payout("state = 'ordered', reference = 'told'"),
        "without its proposal",
    ),
    "a payout ordered by another's proposal about its account": (
        asked({**OF_PAYOUT, "payout": "po_2"}) + PAYOUT_ORDERED,
        "without its proposal",
    ),
    "a payout ordered under another reference": (
        asked({**OF_PAYOUT, "reference": "other"}) + PAYOUT_ORDERED,
        "without its proposal",
    ),
    **{
        f"a payout ordered by a proposal that is {state}": (
            asked(OF_PAYOUT) + decided(state=state) + PAYOUT_ORDERED,
            "without its proposal",
        )
        for state in ("done", "refused")
    },
    "a payout ordered by a withdrawal that names it": (
        asked(OF_PAYOUT, action="'withdrawal'") + PAYOUT_ORDERED,
        "without its proposal",
    ),
    "a payout ordered to another bank": (
        asked(OF_PAYOUT)
        + PAYOUT_ORDERED.replace("state =", "bank_sealed = (SELECT hash FROM api_key LIMIT 1), state ="),
        "bank details stay",
    ),
    "a payout that ends and keeps its bank details": (_payout("state = 'cancelled'"), "bank details stay"),
    "a payout put back while its proposal is open": (
        _payout("state = 'asked', reference = NULL", "po_3"),
        "put back while its proposal is open",
    ),
    "a payout put back that keeps its reference": (
        decided(FILLED.ordered.id, state="refused") + _payout("state = 'asked'", "po_3"),
        "put back|payout_check|CHECK",
    ),
    "a payout taken back while it is ordered": (
        _payout(f"state = 'cancelled', reference = NULL, {_GONE}", "po_3"),
        _END,
    ),
    "a payout refused while it is ordered": (_payout(f"state = 'refused', {_GONE}", "po_3"), _END),
    "a payout paid as it is asked for": (_payout(f"state = 'paid', reference = 'r', {_GONE}"), _END),
    "a payout paid without its order": (
        decided(FILLED.ordered.id) + PAYOUT_PAID.format("1", "po_3"),
        "paid without its order",
    ),
    "a payout paid while its proposal is open": (PAYOUT_PAID.format("1", "po_3"), "paid without its order"),
    "a payout paid without its transfer": (
        decided(FILLED.ordered.id)
        + order(_OF_ORDERED, proposal=f"'{FILLED.ordered.id}'")
        + PAYOUT_PAID.format("1", "po_3"),
        "paid without its transfer",
    ),
    "a payout paid by no transfer of its own": (
        PAYOUT_MOVED + PAYOUT_PAID.format("sequence - 1", "po_1"),
        "payout: paid without its transfer",
    ),
    "an order for a payout that is not ordered": (agreed(OF_PAYOUT), _NOT_OF_PAYOUT),
    **{
        f"an order for a payout with another {what}": (
            asked(OF_PAYOUT)
            + PAYOUT_ORDERED
            + asked({**OF_PAYOUT, what: value}, id="'pr_newer'")
            + decided("pr_newer")
            + order({**OF_PAYOUT, what: value}, proposal="'pr_newer'"),
            _NOT_OF_PAYOUT,
        )
        for what, value in {
            "account": FILLED.other.account,
            "currency": "USD",
            "amount": 701,
            "reference": "other",
        }.items()
    },
    "an order for a payout that is paid": (agreed({**OF_PAYOUT, "amount": 900, "payout": "po_2"}), _NOT_OF_PAYOUT),
    "a payout to another bank account, by what is kept of it": (
        _payout(f"bank_hint = '9999', state = 'cancelled', {_GONE}"),
        "never changes",
    ),
    "a payout of another amount": (_payout(f"amount = 1, state = 'cancelled', {_GONE}"), "never changes"),
    "a payout that was paid and is asked for again": (_payout("state = 'asked', reference = NULL", "po_2"), _END),
    "a payout that vanished": ("DELETE FROM payout WHERE id = 'po_1'", "never vanish"),
}
# What its own key refuses, which no hand takes away.
TWICE: Final[dict[str, tuple[str, str]]] = {
    "a second bank order of a proposal": (
        agreed() + order({"reference": "another"}),
        f"{_AGREED}|bank_order_proposal|never replaced",
    ),
    "the same bank order again": (agreed() + order(), "bank_order_pkey|never replaced"),
    "a proposal under the id of another": (asked(id=f"'{FILLED.asked.id}'"), "proposal_pkey|never replaced"),
}

GOOD_ORDERS: Final[dict[str, str]] = {
    "a deposit that a second operator confirms": BOOKED,
    "a deposit whose reference needs care": agreed({"reference": 'a "b" \\ قرش'})
    + deposit(":other", "'a \"b\" \\ قرش'")
    + ORDER_BALANCES,
    "a payout that is ordered": asked(OF_PAYOUT) + PAYOUT_ORDERED,
    "a payout whose proposal is refused": decided(FILLED.ordered.id, state="refused")
    + _payout("state = 'asked', reference = NULL", "po_3"),
    "a payout whose proposal gets another reference": (
        asked({**_OF_ORDERED, "reference": "told anew"}, editors="'1'")
        + decided(FILLED.ordered.id, state="refused")
        + _payout("reference = 'told anew'", "po_3")
    ),
    "a payout that is paid": PAYOUT_MOVED
    + PAYOUT_PAID.format("sequence", "po_1")
    + "; UPDATE counter SET last = 0 WHERE name = 'open payouts of account ' || CAST(:customer AS TEXT)",
}
ORDERS_TO_NOWHERE: Final[dict[str, str]] = {
    "an order for nobody": agreed({"account": 404}),
    "an order by no house": agreed({"house": 404}),
    "an order in no currency": agreed({"currency": "XXX"}),
}
REPLACED_ORDERS: Final[dict[str, tuple[str, str]]] = {
    "a bank order replaced": (
        (
            "INSERT OR REPLACE INTO bank_order SELECT house, reference, kind, account, currency, amount, proposal, 1,"
            " payout, reverses FROM bank_order WHERE reference = 'slip'"
        ),
        "never replaced",
    ),
    "a bank order replaced by its proposal": (
        (
            "INSERT OR REPLACE INTO bank_order SELECT house, 'another', kind, account, currency, amount, proposal,"
            " booked_at, payout, reverses FROM bank_order WHERE reference = 'slip'"
        ),
        f"never replaced|{_AGREED}",
    ),
    "a transfer replaced by its bank order": (
        BOOKED + deposit(":other", "'asked'", "INSERT OR REPLACE"),
        "never replaced",
    ),
}
