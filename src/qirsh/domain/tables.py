"""The one list of tables. What a batch may read, hold and write, and in which order, is made from it."""

from typing import Any, Final

from qirsh.domain.account import Account
from qirsh.domain.api_key import ApiKey
from qirsh.domain.audit_log import AuditEntry
from qirsh.domain.bank_account import BankAccount
from qirsh.domain.bank_order import BankOrder
from qirsh.domain.bank_statement import BankLine, BankMatch, BankStatement, BankStatementLine, HouseBankFormat
from qirsh.domain.brand import Brand, BrandChange
from qirsh.domain.business import Business
from qirsh.domain.challenge import Challenge, Purpose
from qirsh.domain.constant import Constant
from qirsh.domain.counter import Counter
from qirsh.domain.credential_log import CredentialEntry
from qirsh.domain.event import Event, EventCounter
from qirsh.domain.idempotency import StoredResponse
from qirsh.domain.identity import Identity, IdentityImage, Side
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
from qirsh.domain.pending_reset import PendingReset, ResetKey
from qirsh.domain.person import Login, Passkey, Person, Pin
from qirsh.domain.proposal import Proposal
from qirsh.domain.recovery import Recovery
from qirsh.domain.refund import Refund
from qirsh.domain.request_log import KeyUse, LoggedRequest
from qirsh.domain.restore import Restore
from qirsh.domain.saved_view import SavedView, ViewKey
from qirsh.domain.seal import Seal
from qirsh.domain.session import Session
from qirsh.domain.shop_message import ShopMessage
from qirsh.domain.staff import Invitation, Member, MemberCap, RefundTally
from qirsh.domain.statement_notice import StatementNotice
from qirsh.domain.stop import Stop
from qirsh.domain.table import Log, Phase, Table
from qirsh.domain.till import Till
from qirsh.domain.total import FIGURES, AccountTotal, TotalKey
from qirsh.domain.webhook import DeliveryKey, WebhookAttempt, WebhookDelivery, WebhookEndpoint, WebhookQueue


class Tables:
    """In the one lock order: every batch on every engine locks in it, so that no two wait for each other."""

    payments = Table[int, Payment](
        "payment",
        Payment,
        key="number",
        changes="payer status updated_at paid_at cancelled_at refunded_amount version",
        phase=Phase.ORDERS,
        change_phase=Phase.OUTCOMES,
    )
    pins = Table[int, Pin](
        "pin",
        Pin,
        key="person",
        changes="mac failures",
        is_removable=True,
        phase=Phase.BELONGINGS,
        attested="mac",
    )
    balances = Table[tuple[int, str], Balance](
        "balance", Balance, key="account currency", changes="amount sequence held", phase=Phase.BALANCES
    )
    # Written after the events: the database compares.
    event_counters = Table[int, EventCounter]("event_counter", EventCounter, key="account", changes="last")
    counters = Table[str, Counter]("counter", Counter, key="name", changes="last", phase=Phase.NUMBERS)
    bank_orders = Table[tuple[int, str], BankOrder](
        "bank_order",
        BankOrder,
        key="house reference",
        phase=Phase.ORDERS,
    )
    # There before an order that names it, and paid after that order is confirmed.
    payouts = Table[str, Payout](
        "payout",
        Payout,
        key="id",
        changes="bank_sealed state reference reason updated_at sequence",
        phase=Phase.BELONGINGS,
        change_phase=Phase.OUTCOMES,
    )
    api_keys = Table[str, ApiKey](
        "api_key",
        ApiKey,
        key="id",
        changes="name expires_at revoked_at replaced_by told_at",
        phase=Phase.BELONGINGS,
        attested="account hash scopes networks expires_at revoked_at",
    )
    sessions = Table[bytes, Session](
        "session",
        Session,
        key="hash",
        changes="revoked_at",
        is_removable=True,
        phase=Phase.BELONGINGS,
        attested="person account expires_at revoked_at session_generation",
    )
    # Read by every batch: a lock would let one batch at a time at a busy merchant. A change of one holds a counter,
    # so accounts come after those; and making the first balance of an account holds the account.
    accounts = Table[int, Account](
        "account",
        Account,
        key="number",
        changes="name state return_origins updated_at return_url cancel_url expires_in_s",
        is_locked=False,
        phase=Phase.PARTIES,
        attested="kind mode owner live_account public_name state return_origins",
    )
    members = Table[tuple[int, int], Member](
        "member",
        Member,
        key="account person",
        changes="role updated_at",
        is_removable=True,
        phase=Phase.BELONGINGS,
        attested="role",
    )
    member_caps = Table[tuple[int, int, str], MemberCap](
        "member_cap",
        MemberCap,
        key="account person currency",
        changes="amount",
        is_removable=True,
        phase=Phase.BELONGINGS,
    )
    # Who refunds holds the balance of the business too, so two of them never begin the same one.
    refund_tallies = Table[tuple[int, int, str], RefundTally](
        "refund_tally", RefundTally, key="account person currency", changes="used since", phase=Phase.BELONGINGS
    )
    saved_views = Table[ViewKey, SavedView](
        "saved_view", SavedView, key="account person mode place", is_removable=True, phase=Phase.BELONGINGS
    )
    invitations = Table[str, Invitation]("invitation", Invitation, key="id", is_removable=True, phase=Phase.BELONGINGS)
    bank_accounts = Table[str, BankAccount](
        "bank_account",
        BankAccount,
        key="id",
        changes="details_sealed",
        is_removable=True,
        phase=Phase.BELONGINGS,
        attested="account created_at",
    )
    tills = Table[str, Till]("till", Till, key="id", changes="closed_at", phase=Phase.BELONGINGS)
    # Erased before their account is closed for it: the database compares.
    people = Table[int, Person](
        "person",
        Person,
        key="id",
        changes="name phone language has_notices session_generation erased_at blocked_at",
        phase=Phase.PARTIES,
        change_phase=Phase.DECISIONS,
        attested="account session_generation erased_at",
    )
    logins = Table[str, Login](
        "login",
        Login,
        key="email",
        changes="password_hash totp_sealed totp_step recovery wrong_codes",
        is_removable=True,
        phase=Phase.BELONGINGS,
        attested="email password_hash totp_sealed recovery",
        attested_as="person",  # The log keeps no addresses.
    )
    # Read by whatever an operator does, like accounts. Adding or ending one holds their counter.
    operators = Table[int, Operator](
        "operator",
        Operator,
        key="person",
        changes="roles ended_at",
        is_locked=False,
        phase=Phase.BELONGINGS,
        attested="roles created_by created_at confirmed_by ended_at",
    )
    # Decided before what it does is there: the database compares.
    proposals = Table[str, Proposal](
        "proposal",
        Proposal,
        key="id",
        changes="action command subject reason editors state decided_by decided_at decision",
        phase=Phase.DECISIONS,
    )
    appointments = Table[str, Appointment](
        "appointment",
        Appointment,
        key="email",
        changes="name roles proposal",
        is_removable=True,
        phase=Phase.BELONGINGS,
    )
    operator_sessions = Table[int, OperatorSession](
        "operator_session",
        OperatorSession,
        key="person",
        changes="hash session_generation created_at expires_at address agent",
        is_removable=True,
        phase=Phase.BELONGINGS,
        attested="hash session_generation expires_at",
    )
    # Agreed to before it is there: the database compares.
    pending_resets = Table[ResetKey, PendingReset](
        "pending_reset",
        PendingReset,
        key="person what",
        changes="due_at proposal state",
        phase=Phase.BELONGINGS,
    )
    # There before its operator is an admin by it: the database compares. Read by one who is an admin by then.
    recoveries = Table[str, Recovery](
        "recovery",
        Recovery,
        key="id",
        changes="read_by read_at",
        phase=Phase.DECISIONS,
        change_phase=Phase.BELONGINGS,
    )
    passkeys = Table[bytes, Passkey](
        "passkey",
        Passkey,
        key="id",
        changes="sign_count",
        is_removable=True,
        phase=Phase.BELONGINGS,
        attested="person public_key",
    )
    challenges = Table[tuple[Purpose, str], Challenge](
        "challenge",
        Challenge,
        key="purpose email",
        changes="person token_hash code_mac failures expires_at",
        is_removable=True,
        phase=Phase.BELONGINGS,
    )
    identities = Table[int, Identity](
        "identity",
        Identity,
        key="person",
        changes="state facts_sealed reason submitted_at decided_at decided_by because document_mac",
        is_removable=True,
        phase=Phase.BELONGINGS,
    )
    identity_images = Table[tuple[int, Side], IdentityImage](
        "identity_image",
        IdentityImage,
        key="person side",
        changes="sealed",
        is_removable=True,
        phase=Phase.BELONGINGS,
    )
    businesses = Table[int, Business](
        "business", Business, key="account", changes="reason needs_two_step time_zone", phase=Phase.BELONGINGS
    )
    brands = Table[int, Brand](
        "brand", Brand, key="account", changes="colour logo picture", phase=Phase.BELONGINGS, attested="logo"
    )
    brand_changes = Table[int, BrandChange](
        "brand_change",
        BrandChange,
        key="account",
        changes="id name logo picture state reason asked_by asked_at decided_by decided_at",
        phase=Phase.BELONGINGS,
    )
    # After the counters of events, which a new endpoint holds too. A pay, which holds those, asks for none of these.
    webhook_endpoints = Table[str, WebhookEndpoint](
        "webhook_endpoint",
        WebhookEndpoint,
        key="id",
        changes=("url types description state reason secret_sealed old_secret_sealed old_secret_until updated_at"),
        phase=Phase.BELONGINGS,
        attested="account url state secret_sealed old_secret_sealed old_secret_until",
    )
    # Written after the counters of events: the database compares.
    webhook_queues = Table[str, WebhookQueue](
        "webhook_queue",
        WebhookQueue,
        key="endpoint",
        changes="next failures resting_since due_at replay_next replay_until told told_at",
        is_removable=True,
    )
    webhook_deliveries = Table[DeliveryKey, WebhookDelivery](
        "webhook_delivery",
        WebhookDelivery,
        key="endpoint sequence",
        changes="state attempts step due_at tried_at took_ms status reason excerpt",
        is_removable=True,
    )
    shop_messages = Table[str, ShopMessage]("shop_message", ShopMessage, key="id", changes="read_at")
    notes = Table[str, Note]("note", Note, key="id", changes="text_sealed")
    name_words = Table[NameKey, NameWord](
        "name_word", NameWord, key="kind word account", is_removable=True, phase=Phase.BELONGINGS
    )
    statement_notices = Table[int, StatementNotice]("statement_notice", StatementNotice, key="account", changes="month")
    bank_formats = Table[int, HouseBankFormat](
        "bank_format", HouseBankFormat, key="house", changes="format changed_by changed_at", phase=Phase.BELONGINGS
    )
    # Imported when its lines are there: the database counts them.
    bank_statements = Table[str, BankStatement](
        "bank_statement",
        BankStatement,
        key="id",
        changes="state stored",
        phase=Phase.BELONGINGS,
        change_phase=Phase.OUTCOMES,
    )
    bank_lines = Table[tuple[int, bytes], BankLine](
        "bank_line",
        BankLine,
        key="house digest",
        changes="text_sealed files matched",
        is_removable=True,
        phase=Phase.ORDERS,
        change_phase=Phase.EVENTS,  # After its match: the database compares.
    )
    bank_statement_lines = Table[tuple[str, bytes], BankStatementLine](
        "bank_statement_line", BankStatementLine, key="statement line", is_removable=True, phase=Phase.TRANSFERS
    )
    # After the transfer of its order, which the database compares with the line.
    bank_matches = Table[tuple[int, str], BankMatch](
        "bank_match", BankMatch, key="house reference", is_removable=True, phase=Phase.OUTCOMES
    )
    mails = Table[str, Mail]("mail", Mail, key="id", changes="due_at attempts", is_removable=True)
    logged_requests = Table[str, LoggedRequest]("request_log", LoggedRequest, key="id", is_removable=True)
    payment_attempts = Table[AttemptKey, PaymentAttempt](
        "payment_attempt", PaymentAttempt, key="payment place", is_removable=True
    )
    key_uses = Table[str, KeyUse]("api_key_use", KeyUse, key="key", changes="at address")
    indexed_blocks = Table[int, IndexedBlock]("indexed_block", IndexedBlock, key="first", changes="until")
    # One grows before there are later ones: the database lets only the last one grow.
    account_totals = Table[TotalKey, AccountTotal](
        "account_total",
        AccountTotal,
        key="account currency quarter",
        changes=" ".join(("sequence", *FIGURES, *(f"{figure}_count" for figure in FIGURES))),
        is_removable=True,
        change_phase=Phase.EVENTS,
    )
    leases = Table[str, Lease]("lease", Lease, key="role", changes="holder until")
    constants = Table[str, Constant]("constant", Constant, key="name", changes="value")
    # Written after the epoch itself: the database compares. Never changed, so never locked.
    restores = Table[int, Restore]("restore", Restore, key="epoch", is_locked=False)
    stops = Table[int, Stop]("stop", Stop, key="id", changes="lifted_at lifted_by")
    ledger_checks = Table[str, LedgerCheck](
        "ledger_check", LedgerCheck, key="name", changes="looked_at held_at finding"
    )
    ledger_sums = Table[SumKey, LedgerSum](
        "ledger_sum", LedgerSum, key="mode kind currency", changes="amount held balances at"
    )
    # Never changed, so never locked: of two who add the same number, the unique key takes one.
    seals = Table[int, Seal]("seal", Seal, key="number", is_locked=False)
    transfers = Log[Transfer]("transfer", Transfer, Phase.TRANSFERS)
    refunds = Table[str, Refund]("refund", Refund, key="id", phase=Phase.TRANSFERS)
    # Looked at last, when all locks are ours: a batch that used the same key has committed by then, or waits.
    stored_responses = Table[tuple[int, str], StoredResponse](
        "stored_response",
        StoredResponse,
        key="account key",
        changes="fingerprint status body created_at",
        is_removable=True,
    )

    events = Log[Event]("event", Event, Phase.EVENTS)
    payment_acts = Log[PaymentAct]("payment_act", PaymentAct, Phase.OUTCOMES)
    payment_words = Log[PaymentWord]("payment_word", PaymentWord, Phase.REST)
    webhook_attempts = Log[WebhookAttempt]("webhook_attempt", WebhookAttempt, Phase.REST)
    audit = Log[AuditEntry]("audit", AuditEntry, Phase.REST)
    credentials = Log[CredentialEntry]("credential_log", CredentialEntry, Phase.REST)


def _tables() -> tuple[Table[Any, Any], ...]:
    return tuple(value for value in vars(Tables).values() if isinstance(value, Table))


def _steps() -> list[tuple[str, Any]]:
    """What is done to which table: removals from the end, so that what refers to another goes first; then by phase."""
    steps: list[tuple[Phase, str, Any]] = []
    for table in vars(Tables).values():
        if isinstance(table, Log):
            steps.append((table.phase, "append", table))
        elif isinstance(table, Table):
            steps.append((table.phase, "add", table))
            steps += [(table.change_phase, "change", table)] if table.changes else []
    removed: list[tuple[str, Any]] = [("remove", table) for table in reversed(_tables()) if table.is_removable]
    return removed + [(how, table) for _, how, table in sorted(steps, key=lambda step: step[0])]


LOCK_ORDER: Final = _tables()
ATTESTED: Final = tuple(table for table in LOCK_ORDER if table.attested)
WRITE_ORDER: Final = tuple(_steps())
