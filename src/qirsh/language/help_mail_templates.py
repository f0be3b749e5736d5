"""Mails about help by operators: a PIN or second factors that are set back, for people and for operators."""

from typing import Final

from qirsh.language.catalog import mark as _
from qirsh.language.mail_kind import WHEN, Alone, Kind

_NOT_EXPECTED: Final = _("If you did not expect this, contact the other operators at once.")
_ASK_US: Final = _("If you have questions, contact support.")

HELP_KINDS: Final[dict[str, Kind]] = {
    "pin_reset_agreed": Kind(
        _("Your payment PIN will be removed"),
        (
            _(
                "Support was asked to remove the payment PIN of your account. It is removed on %(time)s, and you then"
                " set a new one in your wallet."
            ),
            _("If you did not ask for this, or know your PIN again, keep it here before then:"),
            Alone("url"),
        ),
    ),
    "pin_reset_done": Kind(
        _("Your payment PIN was removed"),
        (
            _("As support told you, the payment PIN of your account was removed. Set a new one in your wallet."),
            WHEN,
            _ASK_US,
        ),
    ),
    "factors_reset_agreed": Kind(
        _("Two-step verification and passkeys will be removed"),
        (
            _(
                "Support was asked to turn off two-step verification for your account and to remove its passkeys. This"
                " happens on %(time)s."
            ),
            _("If you did not ask for this, sign in and keep them here before then:"),
            Alone("url"),
        ),
    ),
    "reset_stopped": Kind(
        _("Your PIN, two-step verification and passkeys stay as they are"),
        (_("What support was asked to remove from your account stays."), WHEN, _ASK_US),
    ),
    "operator_factors_removed": Kind(
        _("Two-step verification of an operator was removed"),
        (
            _("Two admins have removed two-step verification and passkeys of this operator:"),
            Alone("name"),
            Alone("new_email"),
            WHEN,
            _NOT_EXPECTED,
        ),
    ),
    "operator_recovered": Kind(
        _("An operator was let in again from the server"),
        (
            _("This operator got a new password and a new authenticator key from the server itself, and is an admin:"),
            Alone("name"),
            Alone("new_email"),
            Alone("by"),
            WHEN,
            _NOT_EXPECTED,
        ),
    ),
}
