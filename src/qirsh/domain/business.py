"""What an owner has told of the business behind a commercial account, and what was answered."""

from typing import Final

import msgspec

KINDS: Final = ("shop", "services", "food", "education", "health", "charity", "other")


class Business(msgspec.Struct, frozen=True):
    """Read by operators before they decide. Customers see the account's name only."""

    account: int
    kind: str
    registration: str  # The number in the commercial register, as the owner wrote it.
    reason: str = ""  # Why it was rejected, for the owner.
    needs_two_step: bool = False  # Whether its members must have set up two-step verification.
    time_zone: str = ""  # Of its days, by its name in the IANA database; empty: that of the service.
