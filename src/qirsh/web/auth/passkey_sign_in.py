"""Signing in with a passkey: the device has recognised its owner, which counts for the password and the code."""

from qirsh.domain.tables import Tables
from qirsh.store.reads.people import EMAIL_OF
from qirsh.web.auth import passkeys
from qirsh.web.auth.credentials import VerifiedLogin, record_failure
from qirsh.web.auth.passkeys import Purpose
from qirsh.web.http.context import Context
from qirsh.web.http.message import Request


async def authenticate_by_passkey(
    context: Context, request: Request, purpose: Purpose, answer: str
) -> VerifiedLogin | None:
    """Whose passkey it is. Tries are counted by where they come from: whom they claim to be, nobody knows."""
    if context.limits is not None:
        context.limits.count_sign_in(request, None)
    verified = await _verified(context, purpose, answer)
    if verified is None:
        await record_failure(context, request, "nobody")
    return verified


async def _verified(context: Context, purpose: Purpose, answer: str) -> VerifiedLogin | None:
    key = passkeys.passkey_id(answer)
    known = await context.store.find(Tables.passkeys, key) if key else None
    proved = passkeys.verify_assertion(context, purpose, answer, known) if known else None
    if known is None or proved is None:
        return None
    addresses = await context.store.select(EMAIL_OF, known.person)
    login = await context.store.find(Tables.logins, addresses[0][0]) if addresses else None
    if login is None:
        return None
    return VerifiedLogin(login, passkey=proved.id, sign_count=proved.sign_count, challenge=proved.challenge)
