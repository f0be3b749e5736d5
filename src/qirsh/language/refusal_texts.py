"""Why an operator's action was refused, as the pages of the console tell it: by the codes of `domain.refusal`."""

from typing import Final

from qirsh.language.catalog import mark as _

REFUSAL_TEXTS: Final[dict[str, str]] = {
    "money_stopped": _(
        "No money moves until two operators have lifted the stop. The ledger page says why it was stopped."
    ),
    "not_operator": _("You are no longer an operator, or your own account is suspended or closed. Nothing was done."),
    "missing_right": _("None of your roles allows this."),
    "not_found": _("It does not exist, or you do not have access to it."),
    "account_suspended": _("The account is suspended or closed."),
    "not_verified": _("The personal account must be verified first."),
    "not_approved": _("The commercial account must be approved first."),
    "own_request": _("You cannot decide on your own request or account."),
    "second_operator_needed": _("Another operator must confirm this."),
    "asker_not_operator": _(
        "The person who requested this is no longer an operator, or is suspended. Another operator must request it."
    ),
    "appointed_recently": _(
        "One of the two was appointed less than seven days ago, by the other or together with them. Let someone else"
        " confirm this, or wait."
    ),
    "last_admin": _("There is no other admin. Give another operator this role first."),
    "already_decided": _("This proposal has been decided."),
    "proposal_lapsed": _("This proposal is older than seven days. Request it again."),
    "not_paid": _("The payment has not been paid, so there is nothing to refund."),
    "move_not_allowed": _("The current state does not allow this."),
    "email_taken": _("Another account already uses this e-mail address."),
    "name_taken": _("Another house account has this name."),
    "reference_used": _("An order with this reference exists for this house account."),
    "already_reversed": _("This bank order has been reversed."),
    "refund_exceeds": _("The refund is more than what is left of the payment."),
    "too_many_refunds": _("This payment cannot be refunded any more often. Pay the customer back outside of Qirsh."),
    "money_left": _("The account still has money, an open payout or an open business."),
    "too_many": _("The maximum number is reached."),
    "already_matched": _("The bank line or the bank order is matched with another one. Nothing was done."),
    "line_differs": _("Amount, currency or direction of the bank line and the bank order differ."),
    "test_and_live": _("Test money and live money cannot be mixed."),
    "payer_closed": _("The customer's account is permanently closed. Pay them back outside of Qirsh."),
    "insufficient_funds": _("The account does not hold enough of this currency."),
    "merchant_balance_short": _("The merchant's account does not hold enough of this currency for the refund."),
    "balance_limit": _("The receiving account cannot hold this amount."),
    "changed_meanwhile": _("Someone else has changed it since you opened the page. Nothing was done."),
}
