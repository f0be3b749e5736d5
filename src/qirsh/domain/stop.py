"""Stops: money stands still from the moment a rule was found broken until an operator lifts the stop."""

from typing import Final

import msgspec

# What the reason of a stop begins with when commits that were acknowledged are gone.
SET_BACK: Final = "the database was set back"


class Stop(msgspec.Struct, frozen=True):
    """At most one is open. It is lifted once, and never changes in anything else."""

    id: int
    at: int
    reason: str
    lifted_at: int | None = None
    lifted_by: str | None = None
