"""What is mailed to see who reads it: a code to type, or a link to open."""

from qirsh.domain.api_key import token_hash
from qirsh.domain.challenge import Challenge, Purpose
from qirsh.domain.limits import CODE_DIGITS
from qirsh.domain.tables import Tables
from qirsh.store.reads.people import CHALLENGED_ADDRESS
from qirsh.web.http.context import Parts


def new_code(parts: Parts) -> str:
    """Six digits, each as likely as the others but for one part in 10^13."""
    return f"{int.from_bytes(parts.entropy(8), 'big') % 10**CODE_DIGITS:0{CODE_DIGITS}d}"


def new_link_token(parts: Parts) -> str:
    """256 bits, for a link or for a browser to keep."""
    return parts.entropy(32).hex()


async def challenge_of(parts: Parts, purpose: Purpose, token: str) -> Challenge | None:
    """What the link with this token was mailed for; None if it is not, or no longer, good for anything."""
    rows = await parts.store.select(CHALLENGED_ADDRESS, purpose, token_hash(token.encode()))
    challenge = await parts.store.find(Tables.challenges, (purpose, rows[0][0])) if rows else None
    if challenge is None or challenge.token_hash != token_hash(token.encode()):
        return None
    return challenge if challenge.expires_at > parts.clock() else None
