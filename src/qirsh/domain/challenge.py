"""Challenges: something was mailed to an address, and the answer proves that its owner reads what is sent there."""

from typing import Final, Literal

import msgspec

from qirsh.domain.limits import PASSKEY_CHALLENGE_MS

Purpose = Literal["sign-up", "reset", "email", "pin", "factor", "operator", "passkey"]

LASTS_MS: Final[dict[Purpose, int]] = {
    "sign-up": 30 * 60_000,
    "reset": 30 * 60_000,
    "email": 24 * 3_600_000,
    "pin": 10 * 60_000,
    "factor": 10 * 60_000,
    "operator": 3 * 24 * 3_600_000,
    "passkey": 2 * PASSKEY_CHALLENGE_MS,  # Twice: the clock of the database may not be that of who asked.
}


class Challenge(msgspec.Struct, frozen=True):
    """One for each purpose and address: a new one takes the place of the one before, whose link is then dead.

    Of passkeys nothing is mailed: what was answered once is kept under its hash, so that it is not answered again.
    """

    purpose: Purpose
    email: str
    person: int | None  # Who asked, where they had proved who they are.
    token_hash: bytes  # Of what the link or the page holds. A link also shows by a MAC that it was made for this row.
    code_mac: bytes  # Of what the mail says, where it is to be typed; empty where the link is the proof.
    failures: int
    expires_at: int
