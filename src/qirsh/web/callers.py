"""Who is calling: API keys and sessions behind a Bearer token, remembered for a moment and never past a revocation."""

import time
from collections.abc import Callable
from typing import Final

import msgspec

from qirsh.domain.api_key import is_token, token_hash
from qirsh.domain.limits import CALLERS_CACHED_MAX, REVOCATION_TRUST_MS
from qirsh.store import queries
from qirsh.store.interface import Store
from qirsh.web.refusals import Problem

_KEY_PREFIX: Final = b"Bearer qk_"
_SESSION_PREFIX: Final = b"Bearer qs_"
SESSION_KIND: Final = "qs"


class Caller(msgspec.Struct, frozen=True):
    """An identity that was proved. Nothing in a request but the token can change it."""

    account: int
    is_live: bool
    scopes: frozenset[str]
    expires_at: int | None
    person: int | None = None


class Callers:
    """Looks tokens up by their hash; plain tokens are not kept."""

    def __init__(self, store: Store, clock: Callable[[], int]) -> None:
        self._store = store
        self._clock = clock
        self._known: dict[bytes, Caller] = {}
        self._revocations = -1
        self._generation = 0
        self._trusted_until = 0.0

    async def poll(self) -> None:
        """Forget everybody when a right was taken from anybody. Runs a few times a second in every process."""
        asked_at = time.monotonic()
        rows = await self._store.select(queries.REVOCATIONS)
        revocations = rows[0][0] if rows else 0
        if revocations != self._revocations:
            self._revocations = revocations
            self._generation += 1
            self._known.clear()
        self._trusted_until = asked_at + REVOCATION_TRUST_MS / 1000

    async def by_key(self, headers: dict[bytes, bytes]) -> Caller:
        """The merchant's server behind an API key."""
        return await self._by_token(headers, _KEY_PREFIX)

    async def by_session(self, headers: dict[bytes, bytes]) -> Caller:
        """The person behind a session."""
        return await self._by_token(headers, _SESSION_PREFIX)

    async def _by_token(self, headers: dict[bytes, bytes], prefix: bytes) -> Caller:
        authorization = headers.get(b"authorization", b"")
        if not authorization.startswith(prefix):
            raise Problem("unauthorized")
        token = authorization[7:].decode("latin-1")
        hashed = token_hash(token)
        if time.monotonic() > self._trusted_until:
            await self.poll()
        caller = self._known.get(hashed)
        if caller is None:
            generation = self._generation
            caller = await self._look_up(token, hashed, prefix)
            if caller is None:
                raise Problem("unauthorized")
            # A poll in between may have seen a revocation that this look-up has not.
            if generation == self._generation:
                if len(self._known) >= CALLERS_CACHED_MAX:
                    self._known.clear()
                self._known[hashed] = caller
        if caller.expires_at is not None and self._clock() >= caller.expires_at:
            raise Problem("unauthorized")
        return caller

    async def _look_up(self, token: str, hashed: bytes, prefix: bytes) -> Caller | None:
        if not is_token(token):
            return None
        if prefix is _KEY_PREFIX:
            for account, scopes, expires_at, mode in await self._store.select(queries.API_KEY_BY_HASH, hashed):
                return Caller(account, mode == "live", frozenset(scopes.split()), expires_at)
        for person, account, expires_at in await self._store.select(queries.SESSION_BY_HASH, hashed):
            return Caller(account, is_live=True, scopes=frozenset(), expires_at=expires_at, person=person)
        return None
