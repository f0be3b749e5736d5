"""Audit entries: who decided what, when. Payments are not here: their transfers record them."""

import msgspec


class AuditEntry(msgspec.Struct, frozen=True):
    """Appended in the commit of the act it tells of, and never changed."""

    at: int
    actor: str
    action: str
    subject: str
    detail: str
