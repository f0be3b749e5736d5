"""What is mailed to see who reads it: a code to type, or a link to open."""

from qirsh.domain.api_key import token_hash
from qirsh.domain.challenge import Challenge, Purpose
from qirsh.domain.limits import CODE_DIGITS
from qirsh.domain.tables import Tables
from qirsh.store.reads.people import CHALLENGED_ADDRESS
from qirsh.web.http.context import Context


def new_code(context: Context) -> str:
    """Six digits, each as likely as the others but for one part in 10^13."""
    return f"{int.from_bytes(context.entropy(8), 'big') % 10**CODE_DIGITS:0{CODE_DIGITS}d}"


def new_link_token(context: Context) -> str:
    """256 bits, for a link or for a browser to keep."""
    return context.entropy(32).hex()


async def find_challenge(context: Context, purpose: Purpose, token: str) -> Challenge | None:
    """What the link with this token was mailed for; None if it is not, or no longer, good for anything."""
    rows = await context.store.select(CHALLENGED_ADDRESS, purpose, token_hash(token.encode()))
    challenge = await context.store.find(Tables.challenges, (purpose, rows[0][0])) if rows else None
    if challenge is None or challenge.token_hash != token_hash(token.encode()):
        return None
    return challenge if challenge.expires_at > context.clock() else None
