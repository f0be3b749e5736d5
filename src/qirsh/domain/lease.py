"""Leases: which of several processes plays a role. Its holder renews it; when the holder dies, it runs out."""

import msgspec


class Lease(msgspec.Struct, frozen=True):
    """Nobody else may take the role before `until`, unless that is further ahead than a lease lasts."""

    role: str
    holder: str
    until: int
