"""Who is calling: API keys and sessions, behind a Bearer token or a page's cookie.

They are remembered for a moment, and never past a revocation.
"""

import time
from collections.abc import Callable
from typing import Final

import msgspec

from qirsh.domain.api_key import PAGE_SESSION_KIND, is_token, token_hash
from qirsh.domain.limits import CALLERS_CACHED_MAX, REVOCATION_TRUST_MS
from qirsh.domain.session import Session
from qirsh.domain.tables import Tables
from qirsh.domain.unit_of_work import UnitOfWork
from qirsh.engine.money_stop import MoneyStop
from qirsh.store.interface import Store
from qirsh.store.reads import queries
from qirsh.web.http.client_address import Address, Networks, is_address_among, parse_networks
from qirsh.web.http.problems import Problem

BEARER_LENGTH: Final = len(b"Bearer ")


class TokenKind(msgspec.Struct, frozen=True):
    """What a token of this kind starts with, in the header."""

    prefix: bytes
    wanted: str  # What a caller hears who sent something else, something cut, or something that is not valid.
    damaged: str
    unknown: str


KEY: Final = TokenKind(
    b"Bearer qk_",
    "This call takes an API key, which begins with qk_live_ or qk_test_.",
    "This API key is damaged: its last characters do not fit the rest. Copy it again, whole.",
    "This API key is unknown, was revoked, or has expired.",
)
SESSION: Final = TokenKind(
    b"Bearer qs_",
    "This call takes the token of a session, which begins with qs_.",
    "This token is damaged: its last characters do not fit the rest. Copy it again, whole.",
    "This session is unknown or has ended. Sign in again.",
)
_PAGE_PREFIX: Final = f"{PAGE_SESSION_KIND}_".encode()


class Caller(msgspec.Struct, frozen=True):
    """An identity that was proved. Nothing in a request but the token can change it."""

    account: int
    is_live: bool
    scopes: frozenset[str]
    expires_at: int | None
    token_hash: bytes  # Of the token that proved it.
    person: int | None = None
    key: str = ""  # The id of the API key, if it is one.
    created_at: int = 0  # Of a session.
    networks: Networks = ()  # Where an API key may be used from; empty: anywhere.


class Callers:
    """Looks tokens up by their hash; plain tokens are not kept."""

    def __init__(self, store: Store, clock: Callable[[], int], money_stop: MoneyStop) -> None:
        self._store = store
        self._money_stop = money_stop
        self._clock = clock
        self._known: dict[bytes, Caller] = {}
        self._revocations = -1
        self._generation = 0
        self._trusted_until = 0.0

    async def poll(self) -> None:
        """Forget everybody when a right was taken from anybody, and hear whether money may move.

        Runs a few times a second in every process.
        """
        asked_at, changes = time.monotonic(), self._money_stop.changes
        [(revocations, *stop)] = await self._store.select(queries.REVOCATIONS_AND_STOP)
        self._money_stop.learn(*stop, since=changes)
        if revocations != self._revocations:
            self._revocations = revocations
            self._generation += 1
            self._known.clear()
        self._trusted_until = asked_at + REVOCATION_TRUST_MS / 1000

    def hear(self, work: UnitOfWork) -> None:
        """Of a batch that this process has committed. What it took from anybody is gone before the answer is sent."""
        if work.sessions.changed or work.api_keys.changed or work.accounts.changed or work.people.changed:
            self._generation += 1
            self._known.clear()

    def cached(self, headers: dict[bytes, bytes], kind: TokenKind) -> Caller | None:
        """Who this is, if it is known and may be trusted; None says to look it up. Most calls end here."""
        authorization = headers.get(b"authorization", b"")
        if not authorization.startswith(kind.prefix):
            authorization = headers[b"authorization"] = usual_authorization(authorization)
            if not authorization.startswith(kind.prefix):
                raise Problem("unauthorized", detail=_why_not_token(authorization, kind))
        if time.monotonic() > self._trusted_until:
            return None
        caller = self._known.get(token_hash(authorization[BEARER_LENGTH:]))
        if caller is not None and caller.expires_at is not None and self._clock() >= caller.expires_at:
            raise Problem("unauthorized", detail=kind.unknown)
        return caller

    async def look_up(self, headers: dict[bytes, bytes], kind: TokenKind) -> Caller:
        """Who this is, from the database."""
        token = headers[b"authorization"][BEARER_LENGTH:]
        caller = await self._looked_up(token, kind)
        if caller is None:
            raise Problem("unauthorized", detail=kind.unknown if is_token(token.decode("latin-1")) else kind.damaged)
        return caller

    async def of_cookie(self, token: bytes) -> Caller | None:
        """Whose browser this is; None if it is nobody's. Only pages ask here, and a Bearer token is nobody's."""
        if not token.startswith(_PAGE_PREFIX):
            return None
        caller = self._known.get(token_hash(token)) if time.monotonic() <= self._trusted_until else None
        if caller is None:
            return await self._looked_up(token, SESSION)
        return None if self._is_over(caller) else caller

    async def _looked_up(self, token: bytes, kind: TokenKind) -> Caller | None:
        if time.monotonic() > self._trusted_until:
            await self.poll()
        generation = self._generation
        caller = await self._find(token, kind)
        if caller is None or self._is_over(caller):
            return None
        # A poll in between may have seen a revocation that this look-up has not.
        if generation == self._generation:
            if len(self._known) >= CALLERS_CACHED_MAX:
                self._known.clear()
            self._known[token_hash(token)] = caller
        return caller

    def _is_over(self, caller: Caller) -> bool:
        return caller.expires_at is not None and self._clock() >= caller.expires_at

    async def _is_current_generation(self, session: Session) -> bool:
        person = await self._store.find(Tables.people, session.person)
        return person is not None and person.session_generation == session.session_generation

    async def _find(self, token: bytes, kind: TokenKind) -> Caller | None:
        if not is_token(token.decode("latin-1")):
            return None
        hashed = token_hash(token)
        if kind is KEY:
            for row in await self._store.select(queries.API_KEY_BY_HASH, hashed):
                key, account, scopes, texts, expires_at, mode = row
                networks = parse_networks(texts.split())
                assert networks is not None, f"key {key}: networks that are none"
                return Caller(
                    account=account,
                    is_live=mode == "live",
                    scopes=frozenset(scopes.split()),
                    expires_at=expires_at,
                    token_hash=hashed,
                    key=key,
                    networks=networks,
                )
        else:
            session = await self._store.find(Tables.sessions, hashed)
            if session is not None and session.revoked_at is None and await self._is_current_generation(session):
                return Caller(
                    session.account,
                    is_live=True,
                    scopes=frozenset(),
                    expires_at=session.expires_at,
                    token_hash=hashed,
                    person=session.person,
                    created_at=session.created_at,
                )
        return None


def check_network(caller: Caller, address: Address | None) -> None:
    """Whether a key that is bound to networks is used from one of them. Most are not bound: ask before."""
    if address is None or not is_address_among(address, caller.networks):
        came_from = "" if address is None else f" This call came from {address}."
        raise Problem("address_not_allowed", detail=f"This key may not be used from this address.{came_from}")


def _why_not_token(authorization: bytes, kind: TokenKind) -> str:
    if not authorization:
        return "The Authorization header is missing. Send `Authorization: Bearer <token>`."
    if not authorization.startswith(b"Bearer "):
        return "The Authorization header is not of the scheme Bearer. Send `Authorization: Bearer <token>`."
    return kind.wanted


def usual_authorization(authorization: bytes) -> bytes:
    """A scheme may be written in any case, and any number of spaces may follow it (RFC 9110, 11.4)."""
    scheme, _, token = authorization.partition(b" ")
    return b"Bearer " + token.lstrip(b" ") if scheme.lower() == b"bearer" else authorization
