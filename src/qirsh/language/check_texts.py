"""What the ledger auditor checks, as the ledger page says it: by the names of `store.integrity`."""

from typing import Final

from qirsh.language.catalog import mark as _

CHECK_TEXTS: Final[dict[str, str]] = {
    "per currency, debits equal credits": _("per currency, debits equal credits"),
    "a number in use was handed out": _("a number in use was handed out"),
    "a balance is what its last transfer left": _("a balance is what its last transfer left"),
    "only a house account is below zero, and its balance knows it": _(
        "only a house account is below zero, and its balance knows it"
    ),
    "a balance holds back what its open payouts ask for": _("a balance holds back what its open payouts ask for"),
    "a payment is paid by exactly one transfer, or by none": _("a payment is paid by exactly one transfer, or by none"),
    "what was refunded is the sum of its refunds": _("what was refunded is the sum of its refunds"),
    "every change of a payment has exactly one event": _("every change of a payment has exactly one event"),
    "an event tells of its change": _("an event tells of its change"),
    "a payment has as many refunds as refund transfers": _("a payment has as many refunds as refund transfers"),
    "a payment did not expire before its time": _("a payment did not expire before its time"),
    "the debit side follows": _("the debit side follows"),
    "the credit side follows": _("the credit side follows"),
    "whoever was touched has the balance that the last transfer left": _(
        "whoever was touched has the balance that the last transfer left"
    ),
    "a transfer stays in its world, and only the house goes below zero": _(
        "a transfer stays in its world, and only the house goes below zero"
    ),
    "a pay transfer has its paid payment": _("a pay transfer has its paid payment"),
    "refunds sum up to what the payment says": _("refunds sum up to what the payment says"),
    "a refund transfer has its refund": _("a refund transfer has its refund"),
    "money moves only as commands move it": _("money moves only as commands move it"),
    "every change that moved money has its event": _("every change that moved money has its event"),
    "a transfer between the house and an account has its bank order": _(
        "a transfer between the house and an account has its bank order"
    ),
    "a reversal names the transfer that it takes back": _("a reversal names the transfer that it takes back"),
    "an event counter stands at the last event": _("the number of the last event is kept"),
    "a counter says how many payouts are open": _("the number of open payouts is kept"),
    "a bank order has exactly one transfer, and it matches": _("a bank order has exactly one transfer, and it matches"),
    "a reversal takes back one order of its house, whole and once": _(
        "a reversal takes back one order of its house, whole and once"
    ),
    "a bank order is what two operators agreed to": _("a bank order is what two operators agreed to"),
    "nobody moves money of their own as an operator": _("nobody moves money of their own as an operator"),
    "a payout that is paid has its bank order, and it matches": _(
        "a payout that is paid has its bank order, and it matches"
    ),
    "a payout is ordered by the one proposal that is open for it, or asked for": _(
        "a payout is ordered by the one proposal that is open for it, or requested"
    ),
    "a total is the balance that its last transfer left": _("a total is the balance that its last transfer left"),
    "a member works at a live business of somebody else, and is still there": _(
        "a member works at a live business of someone else, and is still there"
    ),
    "only cashiers have caps": _("only cashiers have caps"),
    "the database guards itself": _("the database guards itself"),
    "a stop and its end are in the audit log": _("a stop and its end are in the audit log"),
    "the chain of seals is whole": _("the chain of seals is whole"),
    "audit entries, transfers and credential entries are as they were sealed": _(
        "audit entries, transfers and credential entries are as they were sealed"
    ),
}
