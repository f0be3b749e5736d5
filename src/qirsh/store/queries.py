"""The reads that are not by primary key, in SQL that both engines speak."""

from typing import Final, NewType

# SQL whose arguments are $1, $2, ... in order of appearance.
Query = NewType("Query", str)

API_KEY_BY_HASH: Final = Query(
    "SELECT k.account, k.scopes, k.expires_at, a.mode FROM api_key k JOIN account a ON a.number = k.account"
    " WHERE k.hash = $1 AND k.revoked_at IS NULL"
)
BALANCES_OF: Final = Query("SELECT currency, amount FROM balance WHERE account = $1 ORDER BY currency")
DUE_PAYMENTS: Final = Query(
    "SELECT number FROM payment WHERE status = 'pending' AND expires_at <= $1 ORDER BY expires_at LIMIT $2"
)
# What every process asks a few times a second: has anybody lost a right, and may money move?
REVOCATIONS_AND_STOP: Final = Query(
    "SELECT coalesce((SELECT last FROM counter WHERE name = 'revocation'), 0),"
    " (SELECT reason FROM stop WHERE lifted_at IS NULL)"
)
LAST_STOP: Final = Query(
    "SELECT coalesce(max(id), 0), coalesce(sum(CASE WHEN lifted_at IS NULL THEN 1 ELSE 0 END), 0) FROM stop"
)
HOUSE_ACCOUNT: Final = Query("SELECT number FROM account WHERE kind = 'house' AND mode = 'live' AND name = $1")
TEST_TWIN: Final = Query("SELECT number FROM account WHERE twin_of = $1 AND mode = 'test' AND kind = 'commercial'")
OPERATORS: Final = Query("SELECT count(*) FROM operator")
