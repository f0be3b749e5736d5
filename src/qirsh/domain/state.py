"""What a batch of commands knows and changes: rows loaded by key, then added to and changed in memory.

Nothing here touches a database: a store fills the rows before the rules run, and writes what they left.
"""

from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

from qirsh.domain.account import Account
from qirsh.domain.api_key import ApiKey
from qirsh.domain.audit import AuditEntry
from qirsh.domain.business import Business
from qirsh.domain.cash_order import CashOrder
from qirsh.domain.challenge import Challenge, Purpose
from qirsh.domain.constant import Constant
from qirsh.domain.counter import Counter
from qirsh.domain.event import Event, EventCounter
from qirsh.domain.idempotency import Remembered
from qirsh.domain.identifier import Identifiers
from qirsh.domain.identity import Identity, IdentityImage, Side
from qirsh.domain.lease import Lease
from qirsh.domain.ledger import Balance, Transfer
from qirsh.domain.mail import Letter, Mail
from qirsh.domain.metadata_index import IndexedBlock, MetadataEntry
from qirsh.domain.operator import Operator, OperatorProposal
from qirsh.domain.payment import Payment
from qirsh.domain.payout import Payout
from qirsh.domain.person import Login, Passkey, Person, Pin
from qirsh.domain.refund import Refund
from qirsh.domain.seal import Seal
from qirsh.domain.session import Session
from qirsh.domain.stop import Stop

K = TypeVar("K", bound=Hashable)
R = TypeVar("R")


class Rows(Generic[K, R]):
    """The rows of one table that this batch has asked for."""

    __slots__ = ("added", "changed", "known", "removed")

    def __init__(self) -> None:
        self.known: dict[K, R | None] = {}
        self.added: dict[K, R] = {}
        self.changed: dict[K, R] = {}
        self.removed: set[K] = set()

    def get(self, key: K) -> R | None:
        """The row as the commands before left it; None if there is none. A key nobody loaded is a KeyError: a bug."""
        return self.known[key]

    def absent(self, key: K) -> None:
        """Nobody can have such a row: what it belongs to has just come into being."""
        self.known[key] = None

    def add(self, key: K, row: R) -> None:
        """A row that was not there."""
        assert self.known.get(key) is None, "this would overwrite a row in silence"
        self.known[key] = self.added[key] = row

    def change(self, key: K, row: R) -> None:
        """Another row in the place of one that was there, or that was added a moment ago."""
        self.known[key] = row
        if key in self.added:
            self.added[key] = row
        else:
            self.changed[key] = row

    def remove(self, key: K) -> None:
        """A row that nobody shall find any more, if there is one. Only of tables whose rows may vanish."""
        if self.known[key] is not None and self.added.pop(key, None) is None:
            self.changed.pop(key, None)
            self.removed.add(key)
        self.known[key] = None

    def put(self, key: K, row: R) -> None:
        """Add or change, for rows that come into being with their first use."""
        if self.known[key] is None:
            self.add(key, row)
        else:
            self.change(key, row)


class Needs:
    """Keys of the rows that commands will be decided on. The order of the names is the one lock order."""

    __slots__ = (
        "accounts",
        "api_keys",
        "balances",
        "businesses",
        "cash_orders",
        "challenges",
        "constants",
        "counters",
        "event_counters",
        "identities",
        "identity_images",
        "indexed_blocks",
        "leases",
        "logins",
        "mails",
        "operator_proposals",
        "operators",
        "passkeys",
        "payments",
        "payouts",
        "people",
        "pins",
        "remembered",
        "seals",
        "sessions",
        "stops",
    )  # fmt: skip

    def __init__(self) -> None:
        self.remembered: set[tuple[int, str]] = set()
        self.payments: set[int] = set()
        self.pins: set[int] = set()
        self.balances: set[tuple[int, str]] = set()
        self.event_counters: set[int] = set()
        self.counters: set[str] = set()
        self.cash_orders: set[tuple[int, str]] = set()
        self.payouts: set[str] = set()
        self.api_keys: set[str] = set()
        self.sessions: set[bytes] = set()
        self.accounts: set[int] = set()
        self.people: set[int] = set()
        self.logins: set[str] = set()
        self.operators: set[int] = set()
        self.operator_proposals: set[str] = set()
        self.passkeys: set[bytes] = set()
        self.challenges: set[tuple[Purpose, str]] = set()
        self.identities: set[int] = set()
        self.identity_images: set[tuple[int, Side]] = set()
        self.businesses: set[int] = set()
        self.mails: set[str] = set()
        self.leases: set[str] = set()
        self.constants: set[str] = set()
        self.indexed_blocks: set[int] = set()
        self.stops: set[int] = set()
        self.seals: set[int] = set()


class State:
    """The batch's world: the time, what is loaded of the tables, and the rows that are only ever appended."""

    def __init__(self, *, now: int, epoch: int, identifiers: Identifiers, payment_numbers: Iterator[int]) -> None:
        self.now = now
        self.epoch = epoch
        self.identifiers = identifiers
        self.payment_numbers = payment_numbers
        self.is_money_stopped = False  # The engine knows; commands that move money are then refused.

        self.remembered: Rows[tuple[int, str], Remembered] = Rows()
        self.payments: Rows[int, Payment] = Rows()
        self.pins: Rows[int, Pin] = Rows()
        self.balances: Rows[tuple[int, str], Balance] = Rows()
        self.event_counters: Rows[int, EventCounter] = Rows()
        self.counters: Rows[str, Counter] = Rows()
        self.cash_orders: Rows[tuple[int, str], CashOrder] = Rows()
        self.payouts: Rows[str, Payout] = Rows()
        self.api_keys: Rows[str, ApiKey] = Rows()
        self.sessions: Rows[bytes, Session] = Rows()
        self.accounts: Rows[int, Account] = Rows()
        self.people: Rows[int, Person] = Rows()
        self.logins: Rows[str, Login] = Rows()
        self.operators: Rows[int, Operator] = Rows()
        self.operator_proposals: Rows[str, OperatorProposal] = Rows()
        self.passkeys: Rows[bytes, Passkey] = Rows()
        self.challenges: Rows[tuple[Purpose, str], Challenge] = Rows()
        self.identities: Rows[int, Identity] = Rows()
        self.identity_images: Rows[tuple[int, Side], IdentityImage] = Rows()
        self.businesses: Rows[int, Business] = Rows()
        self.mails: Rows[str, Mail] = Rows()
        self.leases: Rows[str, Lease] = Rows()
        self.constants: Rows[str, Constant] = Rows()
        self.refunds: Rows[str, Refund] = Rows()
        self.indexed_blocks: Rows[int, IndexedBlock] = Rows()
        self.stops: Rows[int, Stop] = Rows()
        self.seals: Rows[int, Seal] = Rows()

        self.transfers: list[Transfer] = []
        self.events: list[Event] = []
        self.metadata_entries: list[MetadataEntry] = []
        self.audit: list[AuditEntry] = []

    def count(self, name: str, change: int = 1) -> int:
        """The next number of a counter, or how many there are now."""
        last = self.counted(name) + change
        self.counters.put(name, Counter(name, last))
        return last

    def counted(self, name: str) -> int:
        """The last number of a counter."""
        counter = self.counters.get(name)
        return counter.last if counter else 0

    def post(self, letters: tuple[Letter, ...]) -> None:
        """Letters go out once what is being decided is durable."""
        for letter in letters:
            self.mails.add(letter.id, Mail(letter.id, letter.sealed, self.now, self.now, 0))

    def note(self, actor: str, action: str, subject: str, detail: str = "") -> None:
        """An audit entry for what is being decided."""
        self.audit.append(AuditEntry(self.now, actor, action, subject, detail))
