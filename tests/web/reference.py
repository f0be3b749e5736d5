"""What should come of each call, in plain Python and as small as it can be: no batches, no tables, no durability.

It shares no code with the service. Where the two differ, one of them is wrong.
"""

import dataclasses
from typing import Final, TypeAlias

SESSION_MS: Final = 12 * 3600 * 1000
KEPT_MS: Final = 30 * 24 * 3600 * 1000
TRIES: Final = 5

Said: TypeAlias = tuple[int, str]  # Status, and the code of a problem; empty for a success.


@dataclasses.dataclass
class Shop:
    account: str
    keys: set[str]
    is_suspended: bool = False


@dataclasses.dataclass
class Person:
    account: str
    purse: dict[str, int]
    session_ends: int
    is_suspended: bool = False
    wrong_pins: int = 0


@dataclasses.dataclass
class Request:
    """A payment."""

    shop: Shop
    amount: int
    currency: str
    expires_at: int
    status: str = "pending"
    payer: str | None = None
    version: int = 1


@dataclasses.dataclass
class Memory:
    """What an idempotency key stands for."""

    wish: object
    payment: str
    at: int


class Model:
    """The service, as its callers may think of it."""

    def __init__(self, now: int) -> None:
        self.now = now
        self.payments: dict[str, Request] = {}
        self.takings: dict[tuple[str, str], int] = {}
        self.memories: dict[tuple[str, str], Memory] = {}

    # What is about to be said. Nothing changes.

    def create(self, shop: Shop, key: str, wish: object, once: str | None) -> tuple[Said, str | None]:
        """The answer, and the id of the payment if it is one of before."""
        if key not in shop.keys:
            return (401, "unauthorized"), None
        if (memory := self._memory(shop.account, once)) is not None:
            return self._replay(memory, wish, 201)
        return ((403, "account_suspended") if shop.is_suspended else (201, "")), None

    def retrieve(self, shop: Shop, key: str, payment: str) -> Said:
        if key not in shop.keys:
            return 401, "unauthorized"
        return (200, "") if self.payments[payment].shop is shop else (404, "not_found")

    def see(self, person: Person, payment: str) -> Said:
        if self.now >= person.session_ends:
            return 401, "unauthorized"
        return (200, "") if self.payments[payment].payer in {None, person.account} else (409, "already_paid")

    def pay(self, person: Person, payment: str, once: str | None, *, right_pin: bool) -> tuple[Said, str | None]:
        if self.now >= person.session_ends:
            return (401, "unauthorized"), None
        if (memory := self._memory(person.account, once)) is not None:
            return self._replay(memory, ("pay", payment), 200)
        return self._why_not_pay(person, self.payments[payment], right_pin=right_pin) or (200, ""), None

    def _why_not_pay(self, person: Person, asked: Request, *, right_pin: bool) -> Said | None:
        """The first thing that stands in the way."""
        hurdles: tuple[tuple[bool, Said], ...] = (
            (person.is_suspended, (403, "account_suspended")),
            (asked.status == "paid", (409, "already_paid")),
            (asked.status == "expired" or self.now >= asked.expires_at, (409, "expired")),
            (asked.shop.is_suspended, (409, "merchant_suspended")),
            (person.wrong_pins >= TRIES, (403, "pin_locked")),
            (not right_pin, (403, "wrong_pin")),
            (person.purse[asked.currency] < asked.amount, (409, "insufficient_funds")),
        )
        return next((said for is_so, said in hurdles if is_so), None)

    def _memory(self, account: str, once: str | None) -> Memory | None:
        memory = self.memories.get((account, once)) if once is not None else None
        return memory if memory is not None and self.now - memory.at < KEPT_MS else None

    def _replay(self, memory: Memory, wish: object, status: int) -> tuple[Said, str | None]:
        return ((status, ""), memory.payment) if memory.wish == wish else ((422, "idempotency_key_reused"), None)

    # What has happened.

    def created(self, shop: Shop, payment: str, wish: object, once: str | None, asked: Request) -> None:
        assert payment not in self.payments, "an id was given out twice"
        self.payments[payment] = asked
        self._remember(shop.account, once, wish, payment)

    def tried_to_pay(self, person: Person, payment: str, once: str | None, *, said: Said) -> None:
        asked = self.payments[payment]
        if said == (403, "wrong_pin"):
            person.wrong_pins += 1
        if said == (409, "insufficient_funds"):
            person.wrong_pins = 0  # The PIN was right.
        if said == (200, ""):
            person.wrong_pins = 0
            person.purse[asked.currency] -= asked.amount
            till = (asked.shop.account, asked.currency)
            self.takings[till] = self.takings.get(till, 0) + asked.amount
            asked.status, asked.payer, asked.version = "paid", person.account, 2
            self._remember(person.account, once, ("pay", payment), payment)

    def expired(self) -> None:
        """The worker has looked."""
        for asked in self.payments.values():
            if asked.status == "pending" and self.now >= asked.expires_at:
                asked.status, asked.version = "expired", 2

    def _remember(self, account: str, once: str | None, wish: object, payment: str) -> None:
        if once is not None:
            self.memories[account, once] = Memory(wish, payment, self.now)
