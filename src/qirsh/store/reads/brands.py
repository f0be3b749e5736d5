"""How businesses look, as SQL that both engines speak. Pictures are read only where they are shown."""

from typing import Final

from qirsh.store.interface import Query, Store

_LOOK: Final = Query("SELECT colour, logo FROM brand WHERE account = $1")
_APPROVED_LOGO: Final = Query("SELECT picture FROM brand WHERE logo = $1 AND logo <> '' LIMIT 1")
# Those that wait for an operator, by account.
WAITING_AFTER: Final = Query(
    "SELECT c.account, c.id, a.name, c.name, c.asked_at FROM brand_change c JOIN account a ON a.number = c.account"
    " WHERE c.state = 'waiting' AND c.account > $1 ORDER BY c.account LIMIT $2"
)


async def look_of(store: Store, live_account: int) -> tuple[str, str]:
    """Colour and digest of the logo, each empty if the business has none."""
    rows = await store.select(_LOOK, live_account)
    return (rows[0][0], rows[0][1]) if rows else ("", "")


async def approved_logo(store: Store, digest: str) -> bytes | None:
    """The picture, if customers of some business see it. One that waits for an operator is not found here."""
    rows = await store.select(_APPROVED_LOGO, digest)
    return bytes(rows[0][0]) if rows else None
