"""Signing in with a passkey: the device has recognised its owner, which counts for the password and the code."""

from qirsh.domain.commands.audit_log import RecordFailure
from qirsh.domain.tables import Tables
from qirsh.store.reads.people import EMAIL_OF
from qirsh.web.auth import passkeys
from qirsh.web.auth.credentials import Proof
from qirsh.web.html.page_context import Visit
from qirsh.web.http.context import Parts


def sign_in_options(visit: Visit) -> str:
    """What the browser is asked for, as JSON; empty where no browser could have a passkey for this service."""
    if not passkeys.can_be_used(visit.parts):
        return ""
    # The browser gets its cookie, if it has none: what is asked is tied to it.
    visit.open_form_token("sign-in-passkey")
    return passkeys.request_options(visit.parts, passkeys.signing_in(visit.visitor))


async def prove_by_passkey(visit: Visit, answer: str) -> Proof | None:
    """Whose passkey it is. Tries are counted by where they come from: whom they claim to be, nobody knows."""
    parts = visit.parts
    if parts.limits is not None:
        parts.limits.count_sign_in(visit.request, None)
    proof = await _proof(parts, visit.visitor, answer)
    if proof is None:
        await parts.engine.submit(RecordFailure("nobody", "somebody"))
    return proof


async def _proof(parts: Parts, visitor: str, answer: str) -> Proof | None:
    key = passkeys.passkey_id(answer)
    known = await parts.store.find(Tables.passkeys, key) if key else None
    proved = passkeys.prove(parts, passkeys.signing_in(visitor), answer, known) if known else None
    if known is None or proved is None:
        return None
    addresses = await parts.store.select(EMAIL_OF, known.person)
    login = await parts.store.find(Tables.logins, addresses[0][0]) if addresses else None
    return None if login is None else Proof(login, passkey=proved.id, sign_count=proved.sign_count)
