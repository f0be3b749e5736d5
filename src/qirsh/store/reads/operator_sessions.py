"""Who is signed in at the operator console, in SQL that both engines speak."""

from typing import Final

import msgspec

from qirsh.store.interface import Query, Store

# Nobody is who has ended, was blocked or suspended, or whose sessions were all ended since.
_BY_HASH: Final = Query(
    "SELECT s.person, p.name, o.roles, s.created_at, s.expires_at FROM operator_session s"
    " JOIN operator o ON o.person = s.person AND o.ended_at IS NULL"
    " JOIN person p ON p.id = s.person AND p.session_generation = s.session_generation AND p.blocked_at IS NULL"
    " JOIN account a ON a.number = p.account AND a.state NOT IN ('suspended', 'closed') WHERE s.hash = $1"
)


class SignedInOperator(msgspec.Struct, frozen=True):
    """An operator at the console."""

    person: int
    name: str
    roles: str
    created_at: int  # Of the session.
    expires_at: int


async def signed_in_operator(store: Store, token_hash: bytes) -> SignedInOperator | None:
    """Asked anew for every page: whoever loses a right feels it at once."""
    rows = await store.select(_BY_HASH, token_hash)
    return SignedInOperator(*rows[0]) if rows else None
