"""Which businesses are to be told of a month's statement, and who hears of it there."""

from typing import Final

from qirsh.store.interface import Query

# By account, a page at a time. All that may act and were not told of this month or a later one.
BUSINESSES_TO_TELL: Final = Query(
    "SELECT b.account, b.time_zone, coalesce(n.month, 0) FROM business b JOIN account a ON a.number = b.account"
    " LEFT JOIN statement_notice n ON n.account = b.account"
    " WHERE b.account > $1 AND a.state = 'approved' AND coalesce(n.month, 0) < $2 ORDER BY b.account LIMIT $3"
)
ACCOUNTANTS: Final = Query(
    "SELECT l.email, p.language FROM member m JOIN person p ON p.id = m.person JOIN login l ON l.person = m.person"
    " WHERE m.account = $1 AND m.role = 'accountant' ORDER BY m.person"
)
