"""How people sign in and what was mailed to them, found by other things than the address."""

from typing import Final

from qirsh.store.queries import Query

ADDRESS_OF_PERSON: Final = Query("SELECT email FROM login WHERE person = $1")
# Whom a link was mailed to.
CHALLENGED_ADDRESS: Final = Query("SELECT email FROM challenge WHERE purpose = $1 AND token_hash = $2")
# Of this era and not over; the newest first.
SESSIONS_OF_PERSON: Final = Query(
    "SELECT hash, created_at, agent FROM session WHERE person = $1 AND era = $2 AND revoked_at IS NULL"
    " AND expires_at > $3 ORDER BY created_at DESC, hash LIMIT $4"
)
PASSKEYS_OF_PERSON: Final = Query("SELECT id, name, created_at FROM passkey WHERE person = $1 ORDER BY created_at, id")
