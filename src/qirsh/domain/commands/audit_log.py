"""Commands that leave nothing but an audit entry."""

from qirsh.domain.command import Command


class RecordCheck(Command[None], frozen=True):
    """An operator had every rule checked. There is no outcome but the audit entry."""

    actor: str
    result: str
    operator: int | None = None


class RecordLook(Command[None], frozen=True):
    """An operator has read what a person says of who they are. There is no outcome but the audit entry."""

    account: int
    actor: str
    operator: int | None = None


class RecordAccountLook(Command[None], frozen=True):
    """An operator looks at a business as its staff sees it. There is no outcome but the audit entry."""

    account: int
    actor: str
    operator: int


class RecordExport(Command[None], frozen=True):
    """A person takes a copy of an account's books away. There is no outcome but the audit entry."""

    account: int
    what: str
    actor: str


class RecordShopExport(Command[None], frozen=True):
    """Somebody of the staff takes a copy of a shop's books away. There is no outcome but the audit entry."""

    account: int
    what: str
    member: int


class RecordFailure(Command[None], frozen=True):
    """A caller could not prove who they are. There is no outcome but the audit entry."""

    subject: str
    actor: str
    detail: str = ""


class RecordAuditExport(Command[None], frozen=True):
    """An operator takes a copy of the audit log away. There is no outcome but the audit entry."""

    what: str
    actor: str
    operator: int | None = None
