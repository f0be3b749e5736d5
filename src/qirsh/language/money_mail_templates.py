"""Mails about money that operators took back or put right. A part of `mail_templates`."""

from typing import Final

from qirsh.language.catalog import mark as _
from qirsh.language.mail_kind import WHEN, Kind

_ASK_US: Final = _("If you have questions, contact support.")
MONEY_KINDS: Final[dict[str, Kind]] = {
    "deposit_reversed": Kind(
        _("%(amount)s was taken back from your wallet"),
        (
            _("A deposit of %(amount)s was reversed, and the money is no longer in your wallet."),
            _("Transfer reference: %(reference)s"),
            WHEN,
            _ASK_US,
        ),
    ),
    "payout_returned": Kind(
        _("A payout of %(amount)s came back"),
        (
            _("Your bank did not take a payout of %(amount)s. The money is back in your wallet."),
            _("Transfer reference: %(reference)s"),
            WHEN,
            _ASK_US,
        ),
    ),
    "correction_added": Kind(
        _("%(amount)s was added to your wallet"),
        (
            _("Your balance was corrected: %(amount)s was added to your wallet."),
            _("Reference: %(reference)s"),
            WHEN,
            _ASK_US,
        ),
    ),
    "correction_taken": Kind(
        _("%(amount)s was taken from your wallet"),
        (
            _("Your balance was corrected: %(amount)s was taken from your wallet."),
            _("Reference: %(reference)s"),
            WHEN,
            _ASK_US,
        ),
    ),
}
