"""What is mailed to see who reads it: a code to type, or a link to open."""

import hmac
from typing import Final

from qirsh.domain.api_key import token_hash
from qirsh.domain.challenge import Challenge, Purpose
from qirsh.domain.limits import CODE_DIGITS
from qirsh.domain.tables import Tables
from qirsh.store.reads.people import CHALLENGED_ADDRESS
from qirsh.web.http.context import Context

_SECRET_BYTES: Final = 16
_MAC_BYTES: Final = 16


def new_code(context: Context) -> str:
    """Six digits, each as likely as the others but for one part in 10^13."""
    return f"{int.from_bytes(context.entropy(8), 'big') % 10**CODE_DIGITS:0{CODE_DIGITS}d}"


def new_browser_token(context: Context) -> str:
    """256 bits, for the browser that has asked for a code to keep."""
    return context.entropy(32).hex()


def new_link_token(context: Context, purpose: Purpose, email: str, person: int | None) -> str:
    """128 bits, and a MAC of what they are for: whoever types a row into the database has no link for it."""
    secret = context.entropy(_SECRET_BYTES).hex()
    return secret + _link_macs(context, purpose, email, person, secret)[0]


async def find_challenge(context: Context, purpose: Purpose, token: str) -> Challenge | None:
    """What the link with this token was mailed for; None if it is not, or no longer, good for anything."""
    rows = await context.store.select(CHALLENGED_ADDRESS, purpose, token_hash(token.encode()))
    challenge = await context.store.find(Tables.challenges, (purpose, rows[0][0])) if rows else None
    if challenge is None or challenge.token_hash != token_hash(token.encode()):
        return None
    secret, mac = token[: 2 * _SECRET_BYTES], token[2 * _SECRET_BYTES :].encode()
    macs = _link_macs(context, purpose, challenge.email, challenge.person, secret)
    is_ours = True in [hmac.compare_digest(mac, each.encode()) for each in macs]
    return challenge if is_ours and challenge.expires_at > context.clock() else None


def _link_macs(context: Context, purpose: Purpose, email: str, person: int | None, secret: str) -> list[str]:
    """One for each secret key; the first is for new links."""
    macs = context.keyring.code_macs("link", purpose, email, str(person or ""), secret)
    return [mac[-_MAC_BYTES:].hex() for mac in macs]
