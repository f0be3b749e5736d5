"""What was written down about one account, newest first, along the index that the log of a business has."""

# Every part of every query is a constant of this file.
# ruff: noqa: S608

from typing import Final

from qirsh.domain.audit_log import AuditEntry
from qirsh.store.interface import Query, Store

_SHOP: Final = "CASE WHEN substr(subject, 1, 8) = 'account ' THEN subject ELSE substr(detail, 1, 20) END"
_LATEST: Final = Query(
    f"SELECT at, actor, action, subject, detail FROM audit WHERE {_SHOP} = $1 ORDER BY id DESC LIMIT $2"
)


async def entries_of_account(store: Store, account: int, limit: int) -> list[AuditEntry]:
    """Those whose subject it is."""
    subject = f"account {account}"
    rows = await store.select(_LATEST, subject, limit)
    return [entry for entry in (AuditEntry(*row) for row in rows) if entry.subject == subject]
