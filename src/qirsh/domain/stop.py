"""Stops: money stands still from the moment a rule was found broken until an operator lifts the stop."""

import msgspec


class Stop(msgspec.Struct, frozen=True):
    """At most one is open. It is lifted once, and never changes in anything else."""

    id: int
    at: int
    reason: str
    lifted_at: int | None = None
    lifted_by: str | None = None
