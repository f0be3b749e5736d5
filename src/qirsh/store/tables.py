"""How records lie in tables: names, keys, and which columns may change. The one place where both engines look."""

from operator import attrgetter, itemgetter
from typing import Any, Final, Generic, TypeVar

import msgspec

from qirsh.domain.account import Account
from qirsh.domain.api_key import ApiKey
from qirsh.domain.audit import AuditEntry
from qirsh.domain.business import Business
from qirsh.domain.cash_order import CashOrder
from qirsh.domain.challenge import Challenge
from qirsh.domain.constant import Constant
from qirsh.domain.counter import Counter
from qirsh.domain.event import Event, EventCounter
from qirsh.domain.idempotency import Remembered
from qirsh.domain.identity import Identity, IdentityImage
from qirsh.domain.lease import Lease
from qirsh.domain.ledger import Balance, Transfer
from qirsh.domain.mail import Mail
from qirsh.domain.metadata_index import IndexedBlock, MetadataEntry
from qirsh.domain.operator import Operator, OperatorProposal
from qirsh.domain.payment import Payment
from qirsh.domain.payout import Payout
from qirsh.domain.person import Login, Passkey, Person, Pin
from qirsh.domain.refund import Refund
from qirsh.domain.seal import Seal
from qirsh.domain.session import Session
from qirsh.domain.stop import Stop

R = TypeVar("R", bound=msgspec.Struct)


class Table(Generic[R]):
    """One kind of record: its columns are the record's fields, in order."""

    def __init__(
        self, name: str, record: type[R], *, state: str, key: str = "", changes: str = "", is_locked: bool = True
    ) -> None:
        self.name = name
        self.is_locked = is_locked  # Whether a batch that is decided on a row keeps others from changing it meanwhile.
        self.record = record
        self.state = state  # Where the rows are found in a `State`.
        self.columns = record.__struct_fields__
        self.key = tuple(key.split())
        self.changes = tuple(changes.split())
        assert self.columns[: len(self.key)] == self.key, "the key comes first"
        assert set(self.changes) <= set(self.columns)
        # The key of a row as the database returns it.
        self.key_of: Any = itemgetter(*range(len(self.key))) if self.key else None
        # The key as the values of a condition.
        self.key_values: Any = (lambda key: key) if len(self.key) > 1 else (lambda key: (key,))
        # The values of an UPDATE, in the order of its SQL: what changes, then the key.
        self.changed_values: Any = attrgetter(*self.changes, *self.key) if self.changes else None


PAYMENT: Final = Table(
    "payment",
    Payment,
    state="payments",
    key="number",
    changes="payer status updated_at paid_at cancelled_at refunded_amount version",
)
REMEMBERED: Final = Table(
    "remembered",
    Remembered,
    state="remembered",
    key="account key",
    changes="fingerprint status body created_at",
)
PIN: Final = Table("pin", Pin, state="pins", key="person", changes="mac failures")
BALANCE: Final = Table("balance", Balance, state="balances", key="account currency", changes="amount sequence held")
EVENT_COUNTER: Final = Table("event_counter", EventCounter, state="event_counters", key="account", changes="last")
COUNTER: Final = Table("counter", Counter, state="counters", key="name", changes="last")
CASH_ORDER: Final = Table(
    "cash_order",
    CashOrder,
    state="cash_orders",
    key="house reference",
    changes="state confirmed_by confirmed_at",
)
API_KEY: Final = Table("api_key", ApiKey, state="api_keys", key="id", changes="name revoked_at")
SESSION: Final = Table("session", Session, state="sessions", key="hash", changes="revoked_at")
# Read by every batch: a lock would let one batch at a time at a busy merchant. Whoever changes one holds a counter.
ACCOUNT: Final = Table(
    "account",
    Account,
    state="accounts",
    key="number",
    changes="name state return_origins updated_at",
    is_locked=False,
)
PERSON: Final = Table(
    "person",
    Person,
    state="people",
    key="id",
    changes="name phone language has_notices era erased_at",
)
LOGIN: Final = Table(
    "login", Login, state="logins", key="email", changes="password_hash totp_sealed totp_step recovery"
)
PASSKEY: Final = Table("passkey", Passkey, state="passkeys", key="id", changes="sign_count")
CHALLENGE: Final = Table(
    "challenge",
    Challenge,
    state="challenges",
    key="purpose email",
    changes="person token_hash code_mac failures expires_at",
)
IDENTITY: Final = Table(
    "identity",
    Identity,
    state="identities",
    key="person",
    changes="state facts_sealed reason submitted_at decided_at decided_by",
)
IDENTITY_IMAGE: Final = Table("identity_image", IdentityImage, state="identity_images", key="person side")
BUSINESS: Final = Table("business", Business, state="businesses", key="account", changes="reason")
PAYOUT: Final = Table(
    "payout", Payout, state="payouts", key="id", changes="bank_sealed state reference reason updated_at"
)
MAIL: Final = Table("mail", Mail, state="mails", key="id", changes="due_at attempts")
# Read by whatever an operator does, like accounts. Whoever adds or ends one holds their counter.
OPERATOR: Final = Table("operator", Operator, state="operators", key="person", changes="ended_at", is_locked=False)
OPERATOR_PROPOSAL: Final = Table(
    "operator_proposal",
    OperatorProposal,
    state="operator_proposals",
    key="email",
    changes="kind name person asked_by asked_at confirmed_by confirmed_at",
)

REFUND: Final = Table("refund", Refund, state="refunds", key="id")
INDEXED_BLOCK: Final = Table("indexed_block", IndexedBlock, state="indexed_blocks", key="first", changes="until")
LEASE: Final = Table("lease", Lease, state="leases", key="role", changes="holder until")
CONSTANT: Final = Table("instance", Constant, state="constants", key="name")
STOP: Final = Table("stop", Stop, state="stops", key="id", changes="lifted_at lifted_by")
# Never changed, so never locked: of two who add the same number, the unique key takes one.
SEAL: Final = Table("seal", Seal, state="seals", key="number", is_locked=False)

TRANSFER: Final = Table("transfer", Transfer, state="transfers")
EVENT: Final = Table("event", Event, state="events")
METADATA_ENTRY: Final = Table("payment_metadata", MetadataEntry, state="metadata_entries")
AUDIT: Final = Table("audit", AuditEntry, state="audit")

# In the one lock order.
LOADED: Final[tuple[Table[Any], ...]] = (
    REMEMBERED,
    PAYMENT,
    PIN,
    BALANCE,
    EVENT_COUNTER,
    COUNTER,
    CASH_ORDER,
    PAYOUT,
    API_KEY,
    SESSION,
    ACCOUNT,
    PERSON,
    LOGIN,
    OPERATOR,
    OPERATOR_PROPOSAL,
    PASSKEY,
    CHALLENGE,
    IDENTITY,
    IDENTITY_IMAGE,
    BUSINESS,
    MAIL,
    INDEXED_BLOCK,
    LEASE,
    CONSTANT,
    STOP,
    SEAL,
)

# Whoever is referred to comes first; a payment becomes paid, and a balance changes, after the transfer is there.
WRITTEN: Final[tuple[tuple[str, Table[Any]], ...]] = (
    ("add", COUNTER),
    ("change", COUNTER),
    ("add", ACCOUNT),
    ("change", ACCOUNT),
    ("add", PERSON),
    ("change", PERSON),
    ("remove", LOGIN),
    ("add", LOGIN),
    ("change", LOGIN),
    ("remove", PIN),
    ("add", PIN),
    ("change", PIN),
    ("add", OPERATOR),
    ("change", OPERATOR),
    ("remove", OPERATOR_PROPOSAL),
    ("add", OPERATOR_PROPOSAL),
    ("change", OPERATOR_PROPOSAL),
    ("remove", PASSKEY),
    ("add", PASSKEY),
    ("change", PASSKEY),
    ("remove", CHALLENGE),
    ("add", CHALLENGE),
    ("change", CHALLENGE),
    ("remove", IDENTITY_IMAGE),
    ("remove", IDENTITY),
    ("add", IDENTITY),
    ("change", IDENTITY),
    ("add", IDENTITY_IMAGE),
    ("add", BUSINESS),
    ("change", BUSINESS),
    ("add", API_KEY),
    ("change", API_KEY),
    ("add", SESSION),
    ("change", SESSION),
    ("add", PAYMENT),
    ("add", PAYOUT),
    ("add", CASH_ORDER),
    ("append", TRANSFER),
    ("add", REFUND),
    ("add", BALANCE),
    ("change", BALANCE),
    ("change", PAYMENT),
    ("change", CASH_ORDER),
    ("change", PAYOUT),
    ("add", EVENT_COUNTER),
    ("change", EVENT_COUNTER),
    ("append", EVENT),
    ("add", REMEMBERED),
    ("change", REMEMBERED),
    ("append", AUDIT),
    ("remove", MAIL),
    ("add", MAIL),
    ("change", MAIL),
    ("add", INDEXED_BLOCK),
    ("change", INDEXED_BLOCK),
    ("append", METADATA_ENTRY),
    ("add", LEASE),
    ("change", LEASE),
    ("add", CONSTANT),
    ("add", STOP),
    ("change", STOP),
    ("add", SEAL),
)
