"""What is sealed under an old secret is put in again, sealed under the newest."""

from typing import Any, Final

import msgspec

from qirsh.domain.commands.reseal import Reseal
from qirsh.domain.rule import Rule, Rules
from qirsh.domain.table import RowSet
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork

# The tables, by their names here, and the columns.
_SEALED: Final = {
    "login": ("logins", "totp_sealed"),
    "identity": ("identities", "facts_sealed"),
    "identity_document": ("identities", "document_mac"),  # Not sealed, and made anew in the same way.
    "identity_image": ("identity_images", "sealed"),
    "constant": ("constants", "value"),
    "bank_account": ("bank_accounts", "details_sealed"),
    "bank_line": ("bank_lines", "text_sealed"),
    "note": ("notes", "text_sealed"),
    "webhook_secret": ("webhook_endpoints", "secret_sealed"),
    "webhook_old_secret": ("webhook_endpoints", "old_secret_sealed"),
}


def reseal_locks(command: Reseal, _work: UnitOfWork, keys: RowKeys) -> None:
    attribute, _ = _SEALED[command.subject]
    getattr(keys, attribute).add(command.key)


def reseal(command: Reseal, work: UnitOfWork) -> bool:
    attribute, column = _SEALED[command.subject]
    rows: RowSet[Any, Any] = getattr(work, attribute)
    row = rows.get(command.key)
    if row is None or getattr(row, column) != command.before:
        return False  # Meanwhile it is gone, or another.
    rows.change(command.key, msgspec.structs.replace(row, **{column: command.after}))
    return True


RULES: Final[Rules] = {
    Reseal: Rule(reseal, lock=reseal_locks),
}
