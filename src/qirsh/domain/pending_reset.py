"""A PIN or the second factors of a person that two operators have agreed to set back, a day before it happens."""

from typing import Final, Literal

import msgspec

What = Literal["pin", "factors"]
State = Literal["waits", "done", "kept"]
ResetKey = tuple[int, What]

WHATS: Final[tuple[What, ...]] = ("pin", "factors")
RESET_AFTER_MS: Final = 24 * 3600 * 1000  # Time for the person to read their mail and say no.


class PendingReset(msgspec.Struct, frozen=True):
    """The last one of a person. It waits, and is then carried out, or stopped and never taken up again."""

    person: int
    what: What
    due_at: int
    proposal: str
    state: State = "waits"


def waits(reset: PendingReset | None) -> bool:
    """Whether it is still to come."""
    return reset is not None and reset.state == "waits"
