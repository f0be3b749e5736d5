"""Mails about a business: its webhooks, who works there, and where its money goes."""

from typing import Final

from qirsh.language.catalog import mark as _
from qirsh.language.mail_kind import WHEN, Alone, Kind

_YOUR_ENDPOINT: Final = (_("Open the endpoint here:"), Alone("url"))
_ENABLE_AGAIN: Final = _(
    "Its place is kept. When you enable the endpoint again, it gets what has happened since, up to 90 days back."
)

BUSINESS_KINDS: Final[dict[str, Kind]] = {
    "webhook_failing": Kind(
        _("A webhook endpoint is failing"),
        (
            _("Since %(time)s, this webhook endpoint of %(name)s has not accepted any event:"),
            Alone("address"),
            _("We keep every event and try again for about three days. Then we stop sending to this endpoint."),
            *_YOUR_ENDPOINT,
        ),
    ),
    "webhook_stopped": Kind(
        _("We stopped sending to a webhook endpoint"),
        (
            _("This webhook endpoint of %(name)s kept failing for about three days. We no longer send events to it:"),
            Alone("address"),
            WHEN,
            _ENABLE_AGAIN,
            *_YOUR_ENDPOINT,
        ),
    ),
    "webhook_gone": Kind(
        _("We stopped sending to a webhook endpoint"),
        (
            _("This webhook endpoint of %(name)s answered that it is gone (410). We no longer send events to it:"),
            Alone("address"),
            WHEN,
            _ENABLE_AGAIN,
            *_YOUR_ENDPOINT,
        ),
    ),
    "webhook_working": Kind(
        _("A webhook endpoint works again"),
        (
            _("This webhook endpoint of %(name)s accepts events again, and gets those that waited:"),
            Alone("address"),
            *_YOUR_ENDPOINT,
        ),
    ),
    "refund_for_shop": Kind(
        _("%(amount)s was refunded for your business"),
        (
            _(
                "While %(name)s is suspended it cannot refund. We have refunded %(amount)s of this payment from its"
                " balance:"
            ),
            Alone("payment"),
            WHEN,
        ),
    ),
    "invitation": Kind(
        _("You are invited to a business"),
        (
            _("%(name)s invites you to join its staff on Qirsh. See what you may do there, and accept or decline:"),
            Alone("url"),
            _("The invitation is for this e-mail address, works once and is valid for 7 days."),
            _("If you do not know this business, ignore this e-mail."),
        ),
    ),
    "member_joined": Kind(
        _("Someone new works at your business"),
        (
            _("%(who)s has accepted the invitation to %(name)s. See who works there and what they may do:"),
            Alone("url"),
            WHEN,
        ),
    ),
    "role_changed": Kind(
        _("Your role at a business has changed"),
        (_("Someone who manages the staff of %(name)s has changed what you may do there."), WHEN),
    ),
    "member_removed": Kind(
        _("You no longer work at a business"),
        (_("Someone who manages the staff of %(name)s has ended your access to the business."), WHEN),
    ),
    "bank_account_added": Kind(
        _("A bank account was added to your business"),
        (
            _("Payouts of %(name)s can be sent to a new bank account after 24 hours:"),
            Alone("bank"),
            WHEN,
            _("If this was not you, remove it at once and change your password:"),
            Alone("url"),
        ),
    ),
    "brand_approved": Kind(
        _("Your new name and logo are approved"),
        (_("Customers of %(name)s see the name and logo that you requested from now on. See them here:"), Alone("url")),
    ),
    "brand_refused": Kind(
        _("Your new name or logo was not approved"),
        (
            _("The name or logo that you requested for %(name)s was not approved, for this reason:"),
            Alone("reason"),
            _("Customers still see the old ones. You can request another change here:"),
            Alone("url"),
        ),
    ),
    "shop_message": Kind(
        _("You have a message about your business"),
        (
            _("Support has written to you about %(name)s. Sign in to read the message and to answer:"),
            Alone("url"),
        ),
    ),
    "statement_ready": Kind(
        _("A monthly statement is ready"),
        (
            _("The monthly statement of %(name)s for %(month)s is ready. Sign in to download it:"),
            Alone("url"),
        ),
    ),
    "shop_payout_asked": Kind(
        _("Payout of %(amount)s requested"),
        (
            _("%(who)s has requested a payout of %(amount)s from %(name)s to its bank account."),
            WHEN,
            _("If you do not want this, cancel it here:"),
            Alone("url"),
        ),
    ),
}
