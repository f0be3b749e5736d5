"""Signing in with a passkey: the device has recognised its owner, which counts for the password and the code."""

from qirsh.domain.commands.audit_log import RecordFailure
from qirsh.domain.tables import Tables
from qirsh.store.reads.people import EMAIL_OF
from qirsh.web.auth import passkeys
from qirsh.web.auth.credentials import VerifiedLogin
from qirsh.web.html.page_context import PageContext
from qirsh.web.http.context import Context


def sign_in_options(page: PageContext) -> str:
    """What the browser is asked for, as JSON; empty where no browser could have a passkey for this service."""
    if not passkeys.can_be_used(page.context):
        return ""
    # The browser gets its cookie, if it has none: what is asked is tied to it.
    page.csrf.open_token("sign-in-passkey")
    return passkeys.request_options(page.context, passkeys.signing_in(page.csrf.visitor))


async def authenticate_by_passkey(page: PageContext, answer: str) -> VerifiedLogin | None:
    """Whose passkey it is. Tries are counted by where they come from: whom they claim to be, nobody knows."""
    context = page.context
    if context.limits is not None:
        context.limits.count_sign_in(page.request, None)
    verified = await _proof(context, page.csrf.visitor, answer)
    if verified is None:
        await context.engine.submit(RecordFailure("nobody", "somebody"))
    return verified


async def _proof(context: Context, visitor: str, answer: str) -> VerifiedLogin | None:
    key = passkeys.passkey_id(answer)
    known = await context.store.find(Tables.passkeys, key) if key else None
    proved = passkeys.verify_assertion(context, passkeys.signing_in(visitor), answer, known) if known else None
    if known is None or proved is None:
        return None
    addresses = await context.store.select(EMAIL_OF, known.person)
    login = await context.store.find(Tables.logins, addresses[0][0]) if addresses else None
    return None if login is None else VerifiedLogin(login, passkey=proved.id, sign_count=proved.sign_count)
