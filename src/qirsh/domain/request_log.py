"""What API keys were used for lately. A comfort for who builds on the API: it may vanish, and no rule asks for it."""

import msgspec


class LoggedRequest(msgspec.Struct, frozen=True):
    """One call of an API key, as it was answered."""

    id: str  # As the answer's X-Request-Id says.
    at: int
    key: str
    account: int
    method: str
    path: str  # Without the query, which may tell of people.
    status: int
    code: str  # Of the problem; empty: there was none.
    payment: int | None  # Which the call named or made.
    took_ms: int
    address: str  # Where it came from; empty: unknown.
    skipped: int  # Calls of this key just before that were too many to be kept.


class KeyUse(msgspec.Struct, frozen=True):
    """About when an API key was used last, and where: each process tells it behind the calls, once a minute."""

    key: str
    at: int
    address: str
