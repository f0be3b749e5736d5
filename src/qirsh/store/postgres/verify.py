"""Look a PostgreSQL database over from outside: in one read-only transaction, safe while servers write.

The answer is yes (no violations), no (violations), or `CannotTell`.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import asyncpg

from qirsh.store import migrate
from qirsh.store.integrity import attested_rows, hash_chain, invariants, name_words
from qirsh.store.integrity.invariant import Invariant, Violation, violations_of
from qirsh.store.interface import CannotTell, Query, UnusableDatabase
from qirsh.store.postgres import schema_guard
from qirsh.store.postgres.address import hosts_of
from qirsh.store.postgres.connection import DAMAGED, NOW, RELIED_ON
from qirsh.store.postgres.hosts import look

_CONNECT_S_MAX: Final = 5.0
_SETTINGS: Final = RELIED_ON | {
    "application_name": "qirsh verify",
    "default_transaction_read_only": "on",
    "idle_in_transaction_session_timeout": "0",
    "jit": "off",
}

# Column -> the key it leads to. Some of these are left to triggers instead of foreign keys.
LEADS_TO: Final = {
    "account.owner": "person.id",
    "account.live_account": "account.number",
    "person.account": "account.number",
    "login.person": "person.id",
    "pin.person": "person.id",
    "operator.person": "person.id",
    "operator.created_by": "operator.person",
    "operator.confirmed_by": "operator.person",
    "proposal.asked_by": "operator.person",
    "proposal.decided_by": "operator.person",
    "appointment.proposal": "proposal.id",
    "operator_session.person": "operator.person",
    "api_key.account": "account.number",
    "api_key.replaced_by": "api_key.id",
    "api_key_use.key": "api_key.id",
    "session.person": "person.id",
    "session.account": "account.number",
    "payment.merchant": "account.number",
    "payment.payer": "account.number",
    "payment.currency": "currency.code",
    "refund.payment": "payment.number",
    "bank_order.house": "account.number",
    "bank_order.account": "account.number",
    "bank_order.currency": "currency.code",
    "bank_order.proposal": "proposal.id",
    "bank_order.payout": "payout.id",
    "payout.account": "account.number",
    "payout.currency": "currency.code",
    "passkey.person": "person.id",
    "challenge.person": "person.id",
    "identity.person": "person.id",
    "identity.decided_by": "operator.person",
    "identity_image.person": "identity.person",
    "business.account": "account.number",
    "brand.account": "account.number",
    "brand_change.account": "account.number",
    "brand_change.asked_by": "person.id",
    "brand_change.decided_by": "operator.person",
    "balance.account": "account.number",
    "balance.currency": "currency.code",
    "transfer.debit": "account.number",
    "transfer.credit": "account.number",
    "transfer.currency": "currency.code",
    "transfer.payment": "payment.number",
    "transfer.reverses": "transfer.id",
    "account_total.account": "account.number",
    "account_total.currency": "currency.code",
    "event_counter.account": "account.number",
    "event.account": "account.number",
    "event.payment": "payment.number",
    "webhook_endpoint.account": "account.number",
    "webhook_queue.endpoint": "webhook_endpoint.id",
    "webhook_queue.account": "account.number",
    "member.account": "account.number",
    "member.person": "person.id",
    "member.invited_by": "person.id",
    "member_cap.account": "member.account",
    "member_cap.person": "member.person",
    "member_cap.currency": "currency.code",
    "refund_tally.account": "account.number",
    "refund_tally.person": "person.id",
    "refund_tally.currency": "currency.code",
    "saved_view.account": "account.number",
    "saved_view.person": "person.id",
    "invitation.account": "account.number",
    "invitation.invited_by": "person.id",
    "bank_account.account": "account.number",
    "bank_account.created_by": "person.id",
    "till.account": "account.number",
    "till.currency": "currency.code",
    "till.created_by": "person.id",
    "statement_notice.account": "account.number",
    "ledger_sum.currency": "currency.code",
    "shop_message.account": "account.number",
    "shop_message.person": "person.id",
    "note.person": "operator.person",
    "name_word.account": "account.number",
    "payment_act.payment": "payment.number",
    "payment_act.account": "account.number",
    "payment_act.person": "person.id",
    "webhook_delivery.endpoint": "webhook_endpoint.id",
    "webhook_attempt.endpoint": "webhook_delivery.endpoint",
    "webhook_attempt.sequence": "webhook_delivery.sequence",
    "bank_format.house": "account.number",
    "bank_format.changed_by": "operator.person",
    "bank_statement.house": "account.number",
    "bank_statement.imported_by": "operator.person",
    "bank_line.house": "account.number",
    "bank_line.currency": "currency.code",
    "bank_statement_line.statement": "bank_statement.id",
    "bank_match.matched_by": "operator.person",
    "pending_reset.person": "person.id",
    "pending_reset.proposal": "proposal.id",
    "recovery.person": "operator.person",
    "recovery.read_by": "operator.person",
}
# References of several columns at once: from which, and to which.
LEADS_TOGETHER: Final = {
    "bank_line.house matched digest": "bank_match.house reference line",
    "bank_statement_line.house line": "bank_line.house digest",
    "bank_match.house reference": "bank_order.house reference",
    "bank_match.house line reference": "bank_line.house digest matched",
}


def _dangling_together(columns: str, keys: str) -> str:
    table, _, names = columns.partition(".")
    other, _, others = keys.partition(".")
    pairs = list(zip(names.split(), others.split(), strict=True))
    given = " AND ".join(f"t.{name} IS NOT NULL" for name, _ in pairs)
    same = " AND ".join(f"o.{key} = t.{name}" for name, key in pairs)
    return (
        f"SELECT '{names}', CAST(t.{pairs[1][0]} AS TEXT), '{table}', '{other}' FROM {table} t"  # noqa: S608 - our own names
        f" WHERE {given} AND NOT EXISTS (SELECT 1 FROM {other} o WHERE {same})"
    )


def _dangling(column: str, key: str) -> str:
    table, _, name = column.partition(".")
    other, _, key = key.partition(".")
    return (
        f"SELECT '{name}', CAST(t.{name} AS TEXT), '{table}', '{other}' FROM {table} t"  # noqa: S608 - our own names
        f" WHERE t.{name} IS NOT NULL AND NOT EXISTS (SELECT 1 FROM {other} o WHERE o.{key} = t.{name})"
    )


# What only this engine can say of itself.
GUARDS: Final = Invariant(9, "the database guards itself", "{} {} {}", Query("SELECT 1 FROM schema_guard"))
WHOLE: Final = Invariant(9, "the database can be read to its end", "PostgreSQL says: {}, at: {}", Query("SELECT 1"))
REFERENCES: Final = Invariant(
    9,
    "every reference leads to a row",
    "{} {} of {} refers to a row of {} that is not there",
    Query(
        " UNION ALL ".join(
            [
                *(_dangling(column, key) for column, key in LEADS_TO.items()),
                *(_dangling_together(columns, keys) for columns, keys in LEADS_TOGETHER.items()),
            ]
        )
    ),
)
# A sequence that stands in front of them would give these again, and the sealer goes by the largest.
HANDED_OUT: Final = Invariant(
    9,
    "every id was handed out",
    "{} {} has an id that was never handed out: the last one is {}",
    Query(
        " UNION ALL ".join(
            f"SELECT '{words}', t.id, s.last_value FROM {table} t, {table}_id_seq s"  # noqa: S608 - our own names
            " WHERE t.id < 1 OR t.id > s.last_value"
            for table, words in (("transfer", "transfer"), ("audit", "audit entry"))
        )
    ),
)


class Snapshot:
    """A connection that cannot write, for callers who have nothing else to wait for."""

    def __init__(self, runner: asyncio.Runner, connection: asyncpg.Connection, host: str = "") -> None:
        self.runner = runner
        self.connection = connection
        self.host = host  # Of several the one that is looked at, and as what; empty where there is one.

    def select(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows."""
        return [tuple(row) for row in self.runner.run(self.connection.fetch(sql))]

    def broken_guards(self) -> list[tuple[str, str, str]]:
        """Kind, name, and what is wrong with it."""
        return self.runner.run(schema_guard.broken(self.connection))


@contextmanager
def read_only(url: str) -> Iterator[Snapshot]:
    """One connection. Whatever the server refuses is `CannotTell`, in words that never hold the password."""
    with asyncio.Runner() as runner, _reasons():
        connection, host = runner.run(_connected(url))
        try:
            yield Snapshot(runner, connection, host)
        finally:
            connection.terminate()


def verify(
    url: str,
    progress: Callable[[Invariant], None],
    head: hash_chain.Head | None = None,
    tell_host: Callable[[str], None] = lambda _: None,
) -> list[Violation]:
    """Every invariant, on one snapshot. Meanwhile the server cannot clear away what is updated, and grows by it."""
    with read_only(url) as snapshot:
        tell_host(snapshot.host)
        snapshot.select("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        _check_schema_is_ours(snapshot)
        return violations_in(snapshot, progress, head)


def violations_in(
    snapshot: Snapshot, progress: Callable[[Invariant], None], head: hash_chain.Head | None = None
) -> list[Violation]:
    """Every invariant, in the transaction that is open."""
    progress(GUARDS)
    violations = [_violation(GUARDS, *fault) for fault in snapshot.broken_guards()]
    for invariant in (REFERENCES, HANDED_OUT, *invariants.ALL):
        progress(invariant)
        violations += _violations_of(invariant, snapshot)
    progress(attested_rows.CREDENTIALS)
    violations += _whole_or_not(
        snapshot,
        attested_rows.CREDENTIALS.name,
        lambda: attested_rows.violations(snapshot.select, lambda value: f"'\\x{value.hex()}'::bytea"),
    )
    progress(name_words.NAMES)
    violations += _whole_or_not(snapshot, name_words.NAMES.name, lambda: name_words.violations(snapshot.select))
    for invariant in hash_chain.checks(head):
        progress(invariant)
    [(now,)] = snapshot.select(f"SELECT {NOW}")
    return violations + _whole_or_not(
        snapshot, hash_chain.CHAIN.name, lambda: hash_chain.violations(snapshot.select, head, now=now)
    )


async def _connected(url: str) -> tuple[asyncpg.Connection, str]:
    """Also to a standby: it can be looked at as well. Of several hosts, to which."""
    try:
        if len(hosts_of(url)) > 1:
            found = await look(url, server_settings=_SETTINGS)
            return found.connection, f"{found.host}, {'a standby' if found.is_standby else 'the primary'}"
        return await asyncpg.connect(url, timeout=_CONNECT_S_MAX, server_settings=_SETTINGS), ""
    except (ValueError, asyncpg.InterfaceError) as error:
        if "root certificate" in str(error):
            raise CannotTell(f"the database cannot be reached: {error}; see sslrootcert in docs/operating.md") from None
        # Its words quote the address, and with it a part of a password that was not written as it must be.
        raise CannotTell(
            "QIRSH_DATABASE_URL is no address of a PostgreSQL database: in a user or password, / ? # @ : and % are"
            " written %2F %3F %23 %40 %3A and %25"
        ) from None
    except TimeoutError:
        raise CannotTell(f"the database cannot be reached: no answer in {_CONNECT_S_MAX:.0f} s") from None
    except OSError as error:
        raise CannotTell(f"the database cannot be reached: {error}") from None


@contextmanager
def _reasons() -> Iterator[None]:
    """What keeps us from looking is no fault of the money."""
    try:
        yield
    except UnusableDatabase as error:
        raise CannotTell(str(error)) from None
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise CannotTell(f"the database cannot be read: {str(error) or type(error).__name__}") from error


def _check_schema_is_ours(snapshot: Snapshot) -> None:
    [(is_ours,)] = snapshot.select("SELECT to_regclass('schema_migration') IS NOT NULL")
    if not is_ours:
        raise CannotTell("the database has no tables of Qirsh")
    applied = dict(snapshot.select("SELECT number, digest FROM schema_migration"))
    if pending := migrate.pending(migrate.migrations("postgres"), applied):
        raise CannotTell(f"the database lacks migration {pending[0].number} ({pending[0].name}): start the server once")
    found = {
        name
        for (name,) in snapshot.select(
            "SELECT c.relname::text FROM pg_class c JOIN pg_class m ON m.oid = to_regclass('schema_migration')"
            " WHERE c.relnamespace = m.relnamespace AND c.relkind = 'r'"
        )
    }
    if missing := schema_guard.tables() - found:
        raise CannotTell(f"the database lacks the table {min(missing)}: restore a backup")


def _violations_of(invariant: Invariant, snapshot: Snapshot) -> list[Violation]:
    return _whole_or_not(snapshot, invariant.name, lambda: violations_of(invariant, snapshot.select))


def _whole_or_not(snapshot: Snapshot, name: str, check: Callable[[], list[Violation]]) -> list[Violation]:
    """A page that the server finds damaged is told, and the other checks go on."""
    snapshot.select("SAVEPOINT one_check")
    try:
        return check()
    except (*DAMAGED, UnicodeDecodeError) as error:
        snapshot.select("ROLLBACK TO one_check")
        return [_violation(WHOLE, str(error), name)]


def _violation(invariant: Invariant, *words: str) -> Violation:
    return Violation(invariant.number, invariant.name, invariant.sentence.format(*words))
