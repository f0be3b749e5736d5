"""The reads that are not by primary key, in SQL that both engines speak."""

from typing import Final

from qirsh.domain.payout import Payout
from qirsh.domain.refund import Refund
from qirsh.domain.restore import Restore
from qirsh.store.interface import Query

API_KEY_BY_HASH: Final = Query(
    "SELECT k.id, k.account, k.scopes, k.networks, k.expires_at, a.mode FROM api_key k"
    " JOIN account a ON a.number = k.account WHERE k.hash = $1 AND k.revoked_at IS NULL"
)
# What may be spent of each; the rest is kept for payouts.
AVAILABLE_BALANCES: Final = Query("SELECT currency, amount, held FROM balance WHERE account = $1 ORDER BY currency")
BALANCES_OF: Final = Query("SELECT currency, amount FROM balance WHERE account = $1 ORDER BY currency")
DUE_PAYMENTS: Final = Query(
    "SELECT number FROM payment WHERE status = 'pending' AND expires_at <= $1 ORDER BY expires_at LIMIT $2"
)
# What every process asks a few times a second: has anybody lost a right, and may money move?
REVOCATIONS_AND_STOP: Final = Query(
    "SELECT coalesce((SELECT last FROM counter WHERE name = 'revocation'), 0),"
    " (SELECT reason FROM stop WHERE lifted_at IS NULL), (SELECT at FROM stop WHERE lifted_at IS NULL)"
)
LAST_STOP: Final = Query(
    "SELECT coalesce(max(id), 0), coalesce(sum(CASE WHEN lifted_at IS NULL THEN 1 ELSE 0 END), 0) FROM stop"
)
HOUSE_ACCOUNT: Final = Query("SELECT number FROM account WHERE kind = 'house' AND mode = 'live' AND name = $1")
DUE_MAIL: Final = Query(
    "SELECT id, sealed, created_at, due_at, attempts, is_urgent FROM mail WHERE due_at <= $1"
    " ORDER BY is_urgent DESC, due_at LIMIT 1"
)
LAST_MAIL: Final = Query("SELECT id, sealed, created_at FROM mail ORDER BY created_at DESC, id DESC LIMIT $1")
# The accounts around a merchant's test account.
TEST_ACCOUNTS: Final = Query(
    "SELECT number, kind FROM account WHERE live_account = (SELECT live_account FROM account WHERE number = $1)"
)
REFUNDS_OF: Final = Query(
    f"SELECT {', '.join(Refund.__struct_fields__)} FROM refund"  # noqa: S608 - our own names
    " WHERE payment = $1 AND version > $2 ORDER BY version LIMIT $3"
)
PAYMENT_NUMBERS: Final = Query("SELECT last FROM counter WHERE name = 'payment'")
LAST_PAYMENT_BELOW: Final = Query("SELECT coalesce(max(number), 0) FROM payment WHERE number < $1")
INDEXED_BLOCKS: Final = Query("SELECT first, until FROM indexed_block")
LAST_PAYMENT_BETWEEN: Final = Query("SELECT max(number) FROM payment WHERE number > $1 AND number <= $2")
FINDABLE_BETWEEN: Final = Query(
    "SELECT number, merchant, created_at, amount, note, reference, metadata FROM payment"
    " WHERE number > $1 AND number <= $2 ORDER BY number LIMIT $3"
)
_PAYOUT: Final = f"SELECT {', '.join(Payout.__struct_fields__)} FROM payout"  # noqa: S608 - our own names
# Those that may still be paid first: they must never drop off the end of the list.
PAYOUTS_OF: Final = Query(
    f"{_PAYOUT} WHERE account = $1 ORDER BY (state NOT IN ('asked', 'ordered')), created_at DESC, id LIMIT $2"
)
# The newest before a place.
PAYOUTS_BEFORE: Final = Query(
    f"{_PAYOUT} WHERE account = $1 AND (created_at, id) < ($2, $3) ORDER BY created_at DESC, id DESC LIMIT $4"
)
OPEN_PAYOUTS: Final = Query(f"{_PAYOUT} WHERE state IN ('asked', 'ordered') ORDER BY created_at, id LIMIT $1")
TEST_ACCOUNT: Final = Query(
    "SELECT number FROM account WHERE live_account = $1 AND mode = 'test' AND kind = 'commercial'"
)
RESTORES: Final = Query(f"SELECT {', '.join(Restore.__struct_fields__)} FROM restore ORDER BY epoch")  # noqa: S608 - our own names
OPERATORS: Final = Query("SELECT count(*) FROM operator WHERE ended_at IS NULL")
