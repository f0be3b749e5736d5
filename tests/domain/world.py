"""A store made small: its tables are dictionaries, and a batch goes through them as through a database."""

import copy
from collections.abc import Sequence
from typing import Any, Final, Self

import msgspec

from qirsh.domain.account import Account
from qirsh.domain.api_key import ApiKey
from qirsh.domain.audit_log import AuditEntry
from qirsh.domain.bank_account import BankAccount
from qirsh.domain.bank_order import BankOrder
from qirsh.domain.bank_statement import BankLine, BankMatch, BankStatement, BankStatementLine, HouseBankFormat
from qirsh.domain.batch import Batch, Submission
from qirsh.domain.brand import Brand, BrandChange
from qirsh.domain.business import Business
from qirsh.domain.challenge import Challenge
from qirsh.domain.command import Command
from qirsh.domain.constant import Constant
from qirsh.domain.counter import Counter
from qirsh.domain.credential_log import CredentialEntry, digest, key_text
from qirsh.domain.event import Event, EventCounter
from qirsh.domain.idempotency import StoredResponse
from qirsh.domain.identifier import Identifiers
from qirsh.domain.identity import Identity, IdentityImage
from qirsh.domain.lease import Lease
from qirsh.domain.ledger import Balance, Transfer
from qirsh.domain.ledger_check import LedgerCheck, LedgerSum, SumKey
from qirsh.domain.mail import Mail
from qirsh.domain.name_word import NameKey, NameWord
from qirsh.domain.note import Note
from qirsh.domain.operator import Appointment, Operator
from qirsh.domain.operator_session import OperatorSession
from qirsh.domain.payment import Payment, PaymentAct
from qirsh.domain.payment_attempt import AttemptKey, PaymentAttempt
from qirsh.domain.payment_index import IndexedBlock, PaymentWord
from qirsh.domain.payout import Payout
from qirsh.domain.pending_reset import PendingReset
from qirsh.domain.person import Login, Passkey, Person, Pin
from qirsh.domain.proposal import Proposal
from qirsh.domain.recovery import Recovery
from qirsh.domain.refund import Refund
from qirsh.domain.refusal import Refused
from qirsh.domain.request_log import KeyUse, LoggedRequest
from qirsh.domain.restore import Restore
from qirsh.domain.saved_view import SavedView, ViewKey
from qirsh.domain.seal import Seal
from qirsh.domain.session import Session
from qirsh.domain.shop_message import ShopMessage
from qirsh.domain.staff import Invitation, Member, MemberCap, RefundTally
from qirsh.domain.statement_notice import StatementNotice
from qirsh.domain.stop import Stop
from qirsh.domain.table import Table
from qirsh.domain.tables import ATTESTED, LOCK_ORDER, WRITE_ORDER, Tables
from qirsh.domain.till import Till
from qirsh.domain.total import AccountTotal, TotalKey
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork
from qirsh.domain.webhook import DeliveryKey, WebhookAttempt, WebhookDelivery, WebhookEndpoint, WebhookQueue
from qirsh.engine.entropy import SeededEntropy

START: Final = 1_800_000_000_000
ENTROPY_SEED: Final = 7  # A real store that starts from it gives the same account numbers.
TABLES: Final = tuple(dict.fromkeys(table.attribute for _, table in WRITE_ORDER))


class Numbers:
    """From the first on, one after another. Unlike `itertools.count` it may be copied."""

    def __init__(self, first: int) -> None:
        self._next = first

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> int:
        self._next += 1
        return self._next - 1


class World:
    """Facts, rows, decide, write, in the order and with the strictness of a real store."""

    stored_responses: dict[tuple[int, str], StoredResponse]
    payments: dict[int, Payment]
    pins: dict[int, Pin]
    balances: dict[tuple[int, str], Balance]
    event_counters: dict[int, EventCounter]
    counters: dict[str, Counter]
    bank_orders: dict[tuple[int, str], BankOrder]
    api_keys: dict[str, ApiKey]
    logged_requests: dict[str, LoggedRequest]
    payment_attempts: dict[AttemptKey, PaymentAttempt]
    key_uses: dict[str, KeyUse]
    accounts: dict[int, Account]
    people: dict[int, Person]
    logins: dict[str, Login]
    operators: dict[int, Operator]
    proposals: dict[str, Proposal]
    appointments: dict[str, Appointment]
    sessions: dict[bytes, Session]
    operator_sessions: dict[int, OperatorSession]
    passkeys: dict[bytes, Passkey]
    challenges: dict[tuple[str, str], Challenge]
    identities: dict[int, Identity]
    pending_resets: dict[tuple[int, str], PendingReset]
    recoveries: dict[str, Recovery]
    identity_images: dict[tuple[int, str], IdentityImage]
    businesses: dict[int, Business]
    payouts: dict[str, Payout]
    mails: dict[str, Mail]
    leases: dict[str, Lease]
    constants: dict[str, Constant]
    refunds: dict[str, Refund]
    indexed_blocks: dict[int, IndexedBlock]
    account_totals: dict[TotalKey, AccountTotal]
    restores: dict[int, Restore]
    stops: dict[int, Stop]
    seals: dict[int, Seal]
    webhook_endpoints: dict[str, WebhookEndpoint]
    webhook_queues: dict[str, WebhookQueue]
    webhook_deliveries: dict[DeliveryKey, WebhookDelivery]
    members: dict[tuple[int, int], Member]
    member_caps: dict[tuple[int, int, str], MemberCap]
    refund_tallies: dict[tuple[int, int, str], RefundTally]
    saved_views: dict[ViewKey, SavedView]
    invitations: dict[str, Invitation]
    bank_accounts: dict[str, BankAccount]
    tills: dict[str, Till]
    brands: dict[int, Brand]
    brand_changes: dict[int, BrandChange]
    statement_notices: dict[int, StatementNotice]
    shop_messages: dict[str, ShopMessage]
    ledger_checks: dict[str, LedgerCheck]
    ledger_sums: dict[SumKey, LedgerSum]
    bank_formats: dict[int, HouseBankFormat]
    bank_statements: dict[str, BankStatement]
    bank_lines: dict[tuple[int, bytes], BankLine]
    bank_statement_lines: dict[tuple[str, bytes], BankStatementLine]
    bank_matches: dict[tuple[int, str], BankMatch]
    notes: dict[str, Note]
    name_words: dict[NameKey, NameWord]
    webhook_attempts: list[WebhookAttempt]
    payment_acts: list[PaymentAct]
    transfers: list[Transfer]
    events: list[Event]
    payment_words: list[PaymentWord]
    audit: list[AuditEntry]
    credentials: list[CredentialEntry]

    def __init__(self) -> None:
        self.now = START
        self.epoch = 0
        self.identifiers = Identifiers(SeededEntropy(ENTROPY_SEED)(32))
        self._numbers = Numbers(1)

        for table in LOCK_ORDER:
            setattr(self, table.attribute, {})
        self.transfers, self.events, self.audit, self.credentials = [], [], [], []
        self.webhook_attempts, self.payment_acts, self.payment_words = [], [], []
        # What was done and when, so that a real store can be brought to the same state.
        self.history: list[tuple[int, list[Submission]]] = []

    def transact(self, submissions: Sequence[Submission]) -> list[Any]:
        """The outcomes, after what they tell of is in the tables. An exception leaves the tables as they were."""
        work = UnitOfWork(now=self.now, epoch=self.epoch, identifiers=self.identifiers, payment_numbers=self._numbers)
        # What an engine knows.
        batch = Batch(submissions, lambda: any(stop.lifted_at is None for stop in self.stops.values()))
        self.fill(work, batch.keys_to_read())
        self.fill(work, batch.keys_to_lock(work))
        batch.decide(work)
        self._keep(work)
        self.history.append((self.now, list(submissions)))
        return batch.outcomes

    def together(self, *commands: Command[Any]) -> list[Any]:
        """The outcomes of commands that share a commit."""
        return self.transact([Submission(command) for command in commands])

    def do(self, command: Command[Any]) -> Any:  # noqa: ANN401 - each command has its own kind of outcome
        """The result of a command that must be carried out."""
        [outcome] = self.together(command)
        assert type(outcome) is not Refused, outcome
        return outcome

    def refuse(self, submission: Submission | Command[Any]) -> Refused:
        """The refusal of a command that must not be carried out, and that leaves nothing but attempt counters."""
        before = self.tables()
        [outcome] = self.transact([submission if isinstance(submission, Submission) else Submission(submission)])
        assert type(outcome) is Refused, outcome
        after = self.tables()
        for name in ("pins", "challenges"):
            for rows in (before.pop(name), after.pop(name)):
                for key, row in rows.items():
                    rows[key] = msgspec.structs.replace(row, failures=0)
        assert after == before
        return outcome

    def tables(self) -> dict[str, Any]:
        """All that is kept, as it is now."""
        return {name: copy.copy(getattr(self, name)) for name in TABLES}

    def fork(self) -> Self:
        """A second world in the same state, which then goes its own way."""
        other = copy.copy(self)
        other._numbers = copy.copy(self._numbers)  # noqa: SLF001 - of its own kind
        other.history = list(self.history)
        for name, rows in self.tables().items():
            setattr(other, name, rows)
        return other

    def skip_to(self, number: int) -> None:
        """The number that the next payment gets."""
        self._numbers = Numbers(number)

    def change(self, name: str, key: object, **changes: object) -> None:
        """Alter a row by hand, to a state that no command would reach as shortly."""
        rows = getattr(self, name)
        rows[key] = msgspec.structs.replace(rows[key], **changes)

    def fill(self, work: UnitOfWork, keys: RowKeys) -> None:
        """The rows that are asked for, as they are now."""
        for attribute, asked in vars(keys).items():
            known, kept = getattr(work, attribute).known, getattr(self, attribute)
            for key in asked:
                known.setdefault(key, kept.get(key))

    def _keep(self, work: UnitOfWork) -> None:
        # What no rule has asked for is not there yet, and need not be made.
        met = [table for table in LOCK_ORDER if table.attribute in vars(work)]
        stuck = [table.name for table in met if not table.is_removable and getattr(work, table.attribute).removed]
        assert stuck == [], "nobody removes these"
        for how, table in [step for step in WRITE_ORDER if step[1].attribute in vars(work)]:
            rows, kept = getattr(work, table.attribute), getattr(self, table.attribute)
            if how == "append":
                kept.extend(rows)
            elif how == "remove":
                for key in rows.removed:
                    del kept[key]
                if table is Tables.webhook_deliveries:  # By a cascade of the database.
                    gone: set[Any] = rows.removed
                    left = [row for row in self.webhook_attempts if (row.endpoint, row.sequence) not in gone]
                    self.webhook_attempts = left
            elif how == "add":
                for key, row in rows.added.items():
                    assert key == _key(table, row)
                    assert key not in kept, f"{table.name} {key} is already there"
                    kept[key] = row
            else:
                for key, row in rows.changed.items():
                    changes = {column: getattr(row, column) for column in table.changes}
                    kept[key] = msgspec.structs.replace(kept[key], **changes)
                    assert kept[key] == row, f"{table.name}: a column was changed that is never written"


def newest(entries: list[CredentialEntry]) -> dict[tuple[str, str], str]:
    """What the credential log says is there: one commit has one entry for what several would have some for."""
    found = {(entry.subject, entry.key): entry.digest for entry in entries}
    return {row: digest for row, digest in found.items() if digest is not None}


def attested(world: World) -> dict[tuple[str, str], str]:
    """The same, of the rows as they are."""
    found = {}
    for table in ATTESTED:
        for row in getattr(world, table.attribute).values():
            key = key_text(*table.attested_key(row))
            found[table.name, key] = digest(table.name, key, table.attested_values(row))
    return found


def _key(table: Table[Any, Any], row: object) -> object:
    values = tuple(getattr(row, column) for column in table.key)
    return values if len(values) > 1 else values[0]
