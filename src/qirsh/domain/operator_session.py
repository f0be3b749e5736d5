"""Sessions of the operator console: apart from those of the wallet, and one an operator."""

from typing import Final

import msgspec

OPERATOR_SESSION_MS: Final = 8 * 3600 * 1000
OPERATOR_IDLE_MS: Final = 15 * 60 * 1000


class OperatorSession(msgspec.Struct, frozen=True):
    """Whoever signs in anew ends the one before. Known by the hash of its token, like others."""

    person: int
    hash: bytes
    session_generation: int  # The person's when it began; with a later one it is over.
    created_at: int
    expires_at: int
    address: str  # Where it was opened from: the next one from elsewhere is told by mail.
    agent: str = ""
