"""Every mail of the product, by kind."""

from typing import Final

from qirsh.language.business_mail_templates import BUSINESS_KINDS
from qirsh.language.catalog import mark as _
from qirsh.language.help_mail_templates import HELP_KINDS
from qirsh.language.mail_kind import WHEN, Alone, Kind
from qirsh.language.money_mail_templates import MONEY_KINDS

_MOST_LIKELY: Final = _("If this was not you, you can ignore this e-mail.")
_CODE_LASTS: Final = _("The code is valid for %(duration)s. Do not share it: we never ask for it by phone or message.")
_LINK_LASTS: Final = _("The link works once and is valid for %(duration)s.")
_NOT_YOU: Final = (
    _(
        "If this was not you, someone else may know your password. Set a new one at once. This also signs out every"
        " device:"
    ),
    Alone("forgot_url"),
)
_NOT_EXPECTED: Final = _("If you did not expect this, contact the other operators at once.")
_ASK_US: Final = _("If you have questions, contact support.")
KINDS: Final[dict[str, Kind]] = {
    "sign_up_code": Kind(
        _("Your code to create a Qirsh account"),
        (
            _("Use this code to finish creating your Qirsh account."),
            Alone("code"),
            _CODE_LASTS,
            _MOST_LIKELY,
        ),
        lasts="sign-up",
    ),
    "already_joined": Kind(
        _("You already have a Qirsh account"),
        (
            _(
                "Someone tried to create a Qirsh account with this e-mail address, but you already have one. Sign in"
                " here:"
            ),
            Alone("sign_in_url"),
            _("Forgot your password? Set a new one here:"),
            Alone("forgot_url"),
            _MOST_LIKELY,
        ),
    ),
    "reset_password": Kind(
        _("Set a new password for Qirsh"),
        (
            _("Use this link to set a new password for your Qirsh account:"),
            Alone("url"),
            _LINK_LASTS,
            _("Until then your password stays as it is. If this was not you, you can ignore this e-mail."),
        ),
        lasts="reset",
    ),
    "password_changed": Kind(
        _("Your password was changed"),
        (_("The password of your account was changed and every device was signed out."), WHEN, *_NOT_YOU),
    ),
    "wrong_codes": Kind(
        _("Someone may know your password"),
        (
            _("Someone entered your password and then an incorrect verification code three times in a row."),
            WHEN,
            *_NOT_YOU,
        ),
    ),
    "password_spent": Kind(
        _("Your password no longer works"),
        (
            _(
                "Someone entered your password and then an incorrect verification code ten times in a row. To protect"
                " your account, this password no longer works. Set a new one here:"
            ),
            Alone("forgot_url"),
            WHEN,
        ),
    ),
    "wrong_codes_at_console": Kind(
        _("Incorrect codes at the operator console"),
        (
            _(
                "In your session at the operator console, an incorrect verification code was entered to confirm"
                " something. It was the third one in a row."
            ),
            WHEN,
            _("If this was not you, someone else may be using your session. Set a new password at once to end it:"),
            Alone("forgot_url"),
        ),
    ),
    "password_spent_at_console": Kind(
        _("Your password no longer works"),
        (
            _(
                "In your session at the operator console, an incorrect verification code was entered to confirm"
                " something. It was the tenth one in a row. To protect your account, your password no longer works."
                " Set a new one here:"
            ),
            Alone("forgot_url"),
            WHEN,
        ),
    ),
    "email_change": Kind(
        _("Confirm your new e-mail address"),
        (
            _("Open this link to confirm the new e-mail address of your Qirsh account:"),
            Alone("url"),
            _LINK_LASTS,
            _MOST_LIKELY,
        ),
        lasts="email",
    ),
    "email_changed": Kind(
        _("Your e-mail address was changed"),
        (
            _("The e-mail address of your account was changed to:"),
            Alone("new_email"),
            _("You can no longer sign in with the address this e-mail was sent to."),
            WHEN,
            _("If this was not you, contact support at once so that we can protect your account."),
        ),
    ),
    "pin_code": Kind(
        _("Your code to set a new payment PIN"),
        (
            _("Use this code to set a new payment PIN:"),
            Alone("code"),
            _CODE_LASTS,
            *_NOT_YOU,
        ),
        lasts="pin",
    ),
    "key_issued": Kind(
        _("A new API key was created"),
        (
            _("A new API key was created for %(name)s. If you did not expect it, revoke it here:"),
            Alone("url"),
            WHEN,
        ),
    ),
    "key_ends": Kind(
        _("An API key ends soon"),
        (
            _("This API key of %(name)s ends on %(time)s. What uses it stops working then:"),
            Alone("key"),
            _("To avoid an interruption, rotate it here before then:"),
            Alone("url"),
        ),
    ),
    "payout_asked": Kind(
        _("Payout of %(amount)s requested"),
        (
            _("A payout of %(amount)s from your account to the bank account of %(name)s was requested."),
            WHEN,
            _("If it was not you, cancel it here, and change your password and PIN at once:"),
            Alone("payouts_url"),
        ),
    ),
    "new_device": Kind(
        _("New sign-in to your account"),
        (
            _("Someone signed in to your account on a device that was not used with it before:"),
            Alone("name"),
            WHEN,
            _("If this was you, you do not need to do anything."),
            *_NOT_YOU,
        ),
    ),
    "factor_code": Kind(
        _("Your code to change two-step verification"),
        (
            _("Use this code to turn two-step verification on or off for your Qirsh account:"),
            Alone("code"),
            _CODE_LASTS,
            *_NOT_YOU,
        ),
        lasts="factor",
    ),
    "pin_changed": Kind(
        _("Your payment PIN was changed"),
        (_("The payment PIN of your account was changed."), WHEN, *_NOT_YOU),
    ),
    "second_factor_on": Kind(
        _("Two-step verification is on"),
        (
            _("From now on you sign in with your password and a verification code from your authenticator app."),
            WHEN,
            *_NOT_YOU,
        ),
    ),
    "second_factor_off": Kind(
        _("Two-step verification is off"),
        (_("From now on you only need your password to sign in."), WHEN, *_NOT_YOU),
    ),
    "recovery_renewed": Kind(
        _("You have new recovery codes"),
        (_("New recovery codes were created for your account. The previous ones no longer work."), WHEN, *_NOT_YOU),
    ),
    "passkey_added": Kind(
        _("A passkey was added to your account"),
        (
            _("This passkey can now be used to sign in to your account:"),
            Alone("name"),
            WHEN,
            _("If this was not you, remove the passkey in your security settings and set a new password at once:"),
            Alone("forgot_url"),
        ),
    ),
    "passkey_removed": Kind(
        _("A passkey was removed from your account"),
        (_("This passkey can no longer be used to sign in to your account:"), Alone("name"), WHEN, *_NOT_YOU),
    ),
    "identity_verified": Kind(
        _("Your identity is verified"),
        (_("Your identity is verified. You can now use your whole wallet:"), Alone("wallet_url")),
    ),
    "identity_rejected": Kind(
        _("We could not verify your identity"),
        (
            _("We could not verify your identity, for this reason:"),
            Alone("reason"),
            _("You can correct your details and send them again here:"),
            Alone("identity_url"),
        ),
    ),
    "business_approved": Kind(
        _("Your business account is approved"),
        (_("The business account %(name)s is approved and can take payments. Open it here:"), Alone("url")),
    ),
    "business_rejected": Kind(
        _("Your business account was not approved"),
        (_("The business account %(name)s was not approved, for this reason:"), Alone("reason"), _ASK_US),
    ),
    "account_suspended": Kind(
        _("Your account is suspended"),
        (
            _("The account %(name)s is suspended. You can still view it, but it can neither receive nor send money."),
            WHEN,
            _ASK_US,
        ),
    ),
    "access_signed_out": Kind(
        _("You are signed out on every device"),
        (_("Support has signed your account out on every device. You can sign in again."), WHEN, _ASK_US),
    ),
    "access_blocked": Kind(
        _("Sign-in to your account is blocked"),
        (_("Support has blocked sign-in to your account and signed out every device."), WHEN, _ASK_US),
    ),
    "access_unblocked": Kind(
        _("You can sign in again"),
        (_("Support has unblocked sign-in to your account."), WHEN, _ASK_US),
    ),
    "access_factors_removed": Kind(
        _("Two-step verification and passkeys were removed"),
        (
            _(
                "Support has turned off two-step verification for your account, removed its passkeys and signed out"
                " every device. Until you set them up again, you sign in with your password only."
            ),
            WHEN,
            _ASK_US,
        ),
    ),
    "operator_link": Kind(
        _("You are invited to become an operator of Qirsh"),
        (
            _(
                "%(by)s invites you to become an operator of this service. Open this link to choose your password and"
                " set up two-step verification. Nobody else may see them:"
            ),
            Alone("url"),
            _LINK_LASTS,
            _("If you did not expect this, you can ignore this e-mail."),
        ),
        lasts="operator",
    ),
    "operator_asked": Kind(
        _("New operator requested"),
        (
            _("%(by)s requested that this person become an operator of this service:"),
            Alone("name"),
            Alone("new_email"),
            WHEN,
            _NOT_EXPECTED,
        ),
    ),
    "operator_begun": Kind(
        _("New operator added"),
        (
            _("This person is now an operator of this service:"),
            Alone("name"),
            Alone("new_email"),
            WHEN,
            _NOT_EXPECTED,
        ),
    ),
    "operator_signed_in": Kind(
        _("New sign-in to the operator console"),
        (
            _("You signed in to the operator console from an address that your last session did not come from:"),
            Alone("address"),
            WHEN,
            _NOT_EXPECTED,
        ),
    ),
    "operator_end_asked": Kind(
        _("Removal of an operator requested"),
        (
            _("%(by)s requested that this person be removed as an operator of this service:"),
            Alone("new_email"),
            WHEN,
            _NOT_EXPECTED,
        ),
    ),
    "operator_ended": Kind(
        _("An operator was removed"),
        (
            _("This person is no longer an operator of this service:"),
            Alone("name"),
            Alone("new_email"),
            WHEN,
            _NOT_EXPECTED,
        ),
    ),
    "operator_roles_changed": Kind(
        _("Roles of an operator were changed"),
        (
            _("This operator of this service has other roles now:"),
            Alone("name"),
            Alone("new_email"),
            Alone("roles"),
            WHEN,
            _NOT_EXPECTED,
        ),
    ),
    "proposal_refused": Kind(
        _("Your proposal was declined"),
        (
            _("Another operator declined what you proposed (%(action)s), for this reason:"),
            Alone("reason"),
            WHEN,
        ),
    ),
    "paid": Kind(
        _("You paid %(amount)s to %(payee)s"),
        (
            _("You paid %(amount)s to %(payee)s."),
            _("Payment number: %(payment)s"),
            WHEN,
            _("Your receipt:"),
            Alone("receipt_url"),
            *_NOT_YOU,
        ),
    ),
    "refunded": Kind(
        _("You were refunded %(amount)s by %(payee)s"),
        (
            _("%(payee)s has refunded %(amount)s to you. The money is in your wallet."),
            _("Payment number: %(payment)s"),
            WHEN,
        ),
    ),
    "refunded_several": Kind(
        _("You were refunded %(amount)s by %(payee)s"),
        (
            _("%(payee)s has refunded %(amount)s to you, in %(count)s refunds. The money is in your wallet."),
            WHEN,
            _("See each of them in your transactions:"),
            Alone("history_url"),
        ),
    ),
    "deposited": Kind(
        _("%(amount)s was added to your wallet"),
        (_("%(amount)s was added to your wallet."), WHEN),
    ),
    "payout_paid": Kind(
        _("Your payout of %(amount)s was sent"),
        (
            _("We have sent %(amount)s to your bank account. It may take a few days to arrive."),
            _("Transfer reference: %(reference)s"),
            WHEN,
        ),
    ),
    "payout_refused": Kind(
        _("Your payout of %(amount)s was declined"),
        (
            _("We did not send %(amount)s to your bank account, for this reason:"),
            Alone("reason"),
            _("The money is back in your account. If you have questions, contact support."),
        ),
    ),
    **BUSINESS_KINDS,
    **MONEY_KINDS,
    **HELP_KINDS,
}
