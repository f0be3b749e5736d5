"""Sessions: a signed-in person on one device."""

import msgspec


class Session(msgspec.Struct, frozen=True):
    """Known by the hash of its token, like an API key."""

    hash: bytes
    person: int
    account: int
    created_at: int
    expires_at: int
    revoked_at: int | None
    session_generation: int = 0  # The person's when it began; with a later one it is over.
    agent: str = ""  # The device, as its browser told of itself, so that its owner can tell it from others.
