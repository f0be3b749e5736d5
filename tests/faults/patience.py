"""`qirsh serve` without its short deadlines: a machine that is slow, or stands still for seconds, changes no outcome.

Where it would give up after seconds it waits longer than any test, so that whoever is not answered for the right reason
hangs. Tests of the deadlines themselves serve the real program as it is.
"""

from collections.abc import Awaitable
from typing import Any, Final

from qirsh import service
from qirsh.cli.main import main
from qirsh.engine import batcher
from qirsh.store.postgres import connection, reads
from qirsh.store.postgres import store as postgres_store
from qirsh.store.sqlite import files
from qirsh.store.sqlite import store as sqlite_store
from qirsh.web.api import remote_payments
from qirsh.workers import role, sealer, write_behind
from tests.waiting import NEVER_S

_AS_POSTGRES_SHOWS_IT: Final = "2h"  # It is asked what it has, and answers in its own words.
_S: Final[tuple[tuple[Any, str], ...]] = (
    (service, "_GRACE_S"),
    (batcher, "CALLER_LOOKS_MAX"),
    (batcher, "_FAILURE_SHOWN_S"),
    (connection, "STATEMENT_S_MAX"),
    (connection, "TRANSACTION_S_MAX"),
    (reads, "STATEMENT_S_MAX"),
    (postgres_store, "_AWAY_S_MAX"),
    (postgres_store, "_COMMIT_S_MAX"),
    (postgres_store, "_READ_S_MAX"),
    (postgres_store, "_SEARCH_S_MAX"),
    (sqlite_store, "_SEARCH_S_MAX"),
    (role, "_LAST_S_MAX"),
    (sealer, "_LAST_S_MAX"),
    (write_behind, "_LAST_S_MAX"),
)
_MS: Final[tuple[tuple[Any, str], ...]] = ((files, "_BUSY_MS"), (sqlite_store, "_BUSY_MS"))


def be_patient() -> None:
    """From now on, in this process; before it opens anything."""
    for module, name in _S:
        assert getattr(module, name) < NEVER_S
        setattr(module, name, NEVER_S)
    for module, name in _MS:
        assert getattr(module, name) < NEVER_S
        setattr(module, name, NEVER_S * 1000)
    connection.RELIED_ON["lock_timeout"] = _AS_POSTGRES_SHOWS_IT
    for name in ("lock_timeout", "idle_in_transaction_session_timeout"):
        assert name in connection.SETTINGS
        connection.SETTINGS[name] = _AS_POSTGRES_SHOWS_IT
    waited = remote_payments.final_or_late  # type: ignore[attr-defined]

    def final_at_last(context: Any, number: int, wait_s: float, key: str = "") -> Awaitable[Any]:  # noqa: ANN401
        """A long poll has no end of its own."""
        return waited(context, number, NEVER_S if wait_s else 0, key)

    remote_payments.final_or_late = final_at_last  # type: ignore[assignment, attr-defined]


if __name__ == "__main__":
    be_patient()
    main()
