"""What owners are told by mail when an operator has decided on them or on their business."""

from qirsh.domain.account import Account
from qirsh.domain.mail import Letter
from qirsh.domain.person import Person
from qirsh.domain.tables import Tables
from qirsh.language.catalog import mark as _
from qirsh.language.catalog import text
from qirsh.store.reads import people as people_queries
from qirsh.web.auth.outgoing_mail import letters
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
            return await _to(context, owner, "identity_verified", wallet_url=f"{context.base_url}/wallet")
        case "commercial", "requested", "approved":
            url = f"{context.base_url}/wallet/business/{account.number}"
            return await _to(context, owner, "business_approved", name=account.name, url=url)
        case "commercial", "requested", "rejected":
            shown_reason = reason or text(owner.language, _("No reason was given."))
            return await _to(context, owner, "business_rejected", name=account.name, reason=shown_reason)
        case _, _, "suspended":
            return await _to(context, owner, "account_suspended", name=account.name)
    return ()


async def letters_on_key(context: Context, account: Account) -> tuple[Letter, ...]:
    """For the owner of a business for which an operator makes a key."""
    owner = await context.store.find(Tables.people, account.owner) if account.owner else None
    if owner is None:
        return ()
    url = f"{context.base_url}/wallet/business/{account.live_account or account.number}"
    return await _to(context, owner, "key_issued", name=account.name, url=url)


async def letters_on_pin(context: Context, person: int) -> tuple[Letter, ...]:
    """For a person for whom an operator sets a PIN."""
    owner = await context.store.find(Tables.people, person)
    return () if owner is None else await _to(context, owner, "pin_set_by_support")


async def letters_on_rejection(context: Context, account: Account | None, reason: str) -> tuple[Letter, ...]:
    """For a person whose document was not enough."""
    owner = await context.store.find(Tables.people, account.owner) if account is not None and account.owner else None
    if owner is None:
        return ()
    identity_url = f"{context.base_url}/wallet/identity"
    return await _to(context, owner, "identity_rejected", reason=reason, identity_url=identity_url)


async def _to(context: Context, owner: Person, kind: str, **params: str) -> tuple[Letter, ...]:
    rows = await context.store.select(people_queries.EMAIL_OF, owner.id)
    return letters(context, kind, to=rows[0][0], language=owner.language, **params) if rows else ()
