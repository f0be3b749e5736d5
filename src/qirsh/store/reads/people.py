"""The reads about people and their businesses that are not by primary key, in SQL that both engines speak."""

from typing import Final

from qirsh.domain.account import Account
from qirsh.domain.api_key import ApiKey
from qirsh.store.interface import Query

_ACCOUNT: Final = ", ".join(f"a.{name}" for name in Account.__struct_fields__)
_KEY: Final = ", ".join(ApiKey.__struct_fields__)

# Whom the others tell of what happens to operators: all who have not ended, whatever their state.
OPERATOR_ADDRESSES: Final = Query(
    "SELECT l.email, p.language FROM operator o JOIN person p ON p.id = o.person JOIN login l ON l.person = o.person"
    " WHERE o.ended_at IS NULL ORDER BY o.person"
)
# Those who were erased since have no address any more.
OPERATORS_LISTED: Final = Query(
    "SELECT coalesce(l.email, ''), p.name, a.state, o.created_at, o.created_by, o.confirmed_by, o.ended_at, o.person,"
    " o.roles FROM operator o JOIN person p ON p.id = o.person JOIN account a ON a.number = p.account"
    " LEFT JOIN login l ON l.person = o.person ORDER BY o.created_at, o.person LIMIT $1"
)
APPOINTMENTS: Final = Query(
    "SELECT a.email, a.name, a.roles, p.asked_by, p.decided_by, p.asked_at FROM appointment a"
    " JOIN proposal p ON p.id = a.proposal ORDER BY p.asked_at, a.email LIMIT $1"
)
EMAIL_OF: Final = Query("SELECT email FROM login WHERE person = $1")
CHALLENGES_OF: Final = Query("SELECT purpose, email FROM challenge WHERE person = $1 OR email = $2")
# Newest first, with why a request was rejected.
BUSINESSES_OF: Final = Query(
    f"SELECT {_ACCOUNT}, b.reason FROM account a JOIN business b ON b.account = a.number"  # noqa: S608 - our own names
    " WHERE a.owner = $1 AND a.kind = 'commercial' AND a.mode = 'live'"
    " ORDER BY a.created_at DESC, a.number DESC LIMIT $2"
)
OPEN_PAYOUTS_OF: Final = Query(
    "SELECT id FROM payout WHERE account = $1 AND state IN ('asked', 'ordered') ORDER BY created_at LIMIT $2"
)
# Those that work come first.
KEYS_OF: Final = Query(
    f"SELECT {_KEY} FROM api_key WHERE account = $1"  # noqa: S608 - the same
    " ORDER BY CASE WHEN revoked_at IS NULL THEN 0 ELSE 1 END, created_at DESC, id LIMIT $2"
)
# Of whose end nobody was told, and that end before a time.
KEYS_THAT_END: Final = Query(
    f"SELECT {_KEY} FROM api_key WHERE revoked_at IS NULL AND replaced_by IS NULL AND told_at IS NULL"  # noqa: S608 - the same
    " AND expires_at > $1 AND expires_at <= $2 ORDER BY expires_at LIMIT $3"
)
KEYS_AFTER: Final = Query(
    f"SELECT {_KEY} FROM api_key WHERE account = $1 AND id > $2 ORDER BY id LIMIT $3"  # noqa: S608 - the same
)
ACCOUNTS_AFTER: Final = Query(
    f"SELECT {_ACCOUNT} FROM account a WHERE a.mode = 'live' AND a.kind <> 'house'"  # noqa: S608 - the same
    " AND ($1 = '' OR a.state = $2) AND a.number > $3 ORDER BY a.number LIMIT $4"
)
# Of every business that customers have met.
APPROVED_NAMES_AFTER: Final = Query(
    "SELECT number, name FROM account WHERE kind = 'commercial' AND mode = 'live'"
    " AND state IN ('approved', 'suspended') AND number > $1 ORDER BY number LIMIT $2"
)
# The checks that wait for an operator, by the account, which is how they are named.
IDENTITIES_AFTER: Final = Query(
    "SELECT p.account, i.submitted_at FROM identity i JOIN person p ON p.id = i.person"
    " WHERE i.state = 'submitted' AND p.account > $1 ORDER BY p.account LIMIT $2"
)
# Who else has shown the same document.
ACCOUNTS_OF_DOCUMENT: Final = Query(
    "SELECT p.account FROM identity i JOIN person p ON p.id = i.person WHERE i.document_mac = $1 AND i.person <> $2"
    " ORDER BY p.account LIMIT $3"
)
# Whose pictures were decided on long enough ago.
PICTURES_DECIDED_BEFORE: Final = Query(
    "SELECT DISTINCT i.person FROM identity_image m JOIN identity i ON i.person = m.person"
    " WHERE i.decided_at <= $1 LIMIT $2"
)
EXPIRED_CHALLENGES: Final = Query("SELECT purpose, email FROM challenge WHERE expires_at <= $1 LIMIT $2")
# Whom a link was mailed to.
CHALLENGED_ADDRESS: Final = Query("SELECT email FROM challenge WHERE purpose = $1 AND token_hash = $2")
# Of this session_generation and not over; the newest first.
SESSIONS_OF_PERSON: Final = Query(
    "SELECT hash, created_at, agent FROM session WHERE person = $1 AND session_generation = $2 AND revoked_at IS NULL"
    " AND expires_at > $3 ORDER BY created_at DESC, hash LIMIT $4"
)
# All of a person, over or not.
SESSIONS_LEFT_BY: Final = Query("SELECT hash FROM session WHERE person = $1 ORDER BY created_at DESC, hash LIMIT $2")
# Those whom an erasure of late has left sessions of.
ERASED_WITH_SESSIONS: Final = Query(
    "SELECT p.id FROM person p WHERE p.erased_at > $1 AND EXISTS (SELECT 1 FROM session s WHERE s.person = p.id)"
    " LIMIT $2"
)
# What was written about a person, and is not empty yet.
NOTES_LEFT_ABOUT: Final = Query(
    "SELECT id FROM note WHERE subject = $1 AND length(text_sealed) > 0 ORDER BY at, id LIMIT $2"
)
ERASED_WITH_NOTES: Final = Query(
    "SELECT p.id FROM person p WHERE p.erased_at > $1 AND EXISTS (SELECT 1 FROM note n"
    " WHERE n.subject = 'person ' || CAST(p.id AS TEXT) AND length(n.text_sealed) > 0) LIMIT $2"
)
# Whether one of a person's latest, over or not, was of this agent.
SESSION_OF_AGENT: Final = Query(
    "SELECT 1 FROM (SELECT agent FROM session WHERE person = $1 AND session_generation = $2 AND created_at > $3"
    " ORDER BY created_at DESC, hash LIMIT $4) AS latest WHERE agent = $5 LIMIT 1"
)
PASSKEYS_OF_PERSON: Final = Query("SELECT id, name, created_at FROM passkey WHERE person = $1 ORDER BY created_at, id")
