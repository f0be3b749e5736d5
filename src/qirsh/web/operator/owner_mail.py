"""What owners are told by mail when an operator has decided on them or on their business."""

from qirsh.domain.account import Account
from qirsh.domain.mail import Letter
from qirsh.domain.tables import Tables
from qirsh.language.catalog import mark as _
from qirsh.language.catalog import text
from qirsh.language.identity_reasons import identity_reason
from qirsh.web.auth.outgoing_mail import letters_to_person
from qirsh.web.http.context import Context


async def letters_on_move(context: Context, account: Account | None, to: str, reason: str) -> tuple[Letter, ...]:
    """For the owner of an account that is about to be brought to a state; none where there is nothing to tell."""
    if account is None or account.owner is None:
        return ()
    owner = await context.store.find(Tables.people, account.owner)
    assert owner is not None, "an account without its owner"
    match account.kind, account.state, to:
        case "personal", "unverified", "verified":
            # Nobody waits for it as for a no, so it follows the wish for few mails.
            if not owner.has_notices:
                return ()
            return await letters_to_person(
                context, owner.id, "identity_verified", wallet_url=f"{context.base_url}/wallet"
            )
        case "commercial", "requested", "approved":
            url = f"{context.base_url}/business/{account.number}"
            return await letters_to_person(context, owner.id, "business_approved", name=account.name, url=url)
        case "commercial", "requested", "rejected":
            shown_reason = reason or text(owner.language, _("No reason was given."))
            return await letters_to_person(
                context, owner.id, "business_rejected", name=account.name, reason=shown_reason
            )
        case _, _, "suspended":
            return await letters_to_person(context, owner.id, "account_suspended", name=account.name)
    return ()


async def letters_on_key(context: Context, account: Account) -> tuple[Letter, ...]:
    """For the owner of a business for which an operator makes a key."""
    url = f"{context.base_url}/business/{account.number}/keys"
    return await letters_to_person(context, account.owner, "key_issued", name=account.name, url=url)


async def letters_on_brand(context: Context, account: Account, name: str, reason: str = "") -> tuple[Letter, ...]:
    """For the owner of a business on whose name and logo an operator decides. With a reason they stay as they were."""
    url = f"{context.base_url}/business/{account.number}/brand"
    if reason:
        return await letters_to_person(context, account.owner, "brand_refused", name=name, reason=reason, url=url)
    return await letters_to_person(context, account.owner, "brand_approved", name=name, url=url)


async def letters_on_rejection(
    context: Context, account: Account | None, because: str, reason: str
) -> tuple[Letter, ...]:
    """For a person whose document was not enough: why, in their language and in the operator's own words."""
    owner = None if account is None or account.owner is None else await context.store.find(Tables.people, account.owner)
    if owner is None:
        return ()
    told = identity_reason(owner.language, because, reason)
    identity_url = f"{context.base_url}/wallet/identity"
    return await letters_to_person(context, owner.id, "identity_rejected", reason=told, identity_url=identity_url)
