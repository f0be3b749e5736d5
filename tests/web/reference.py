"""What should come of each call, in plain Python and as small as it can be: no batches, no tables, no durability.

It shares no code with the service. Where the two differ, one of them is wrong.
"""

import dataclasses
from typing import Final, TypeAlias

SESSION_MS: Final = 12 * 3600 * 1000
KEPT_MS: Final = 30 * 24 * 3600 * 1000
TRIES: Final = 5
REFUNDS: Final = 20
MINTED: Final = 999_999_999_999_999  # What a test customer is given when they have too little.

Said: TypeAlias = tuple[int, str]  # Status, and the code of a problem; empty for a success.

# What someone hears who comes to a payment that is final.
_TOO_LATE: Final[dict[str, Said]] = {
    "paid": (409, "already_paid"),
    "cancelled": (409, "cancelled"),
    "expired": (409, "expired"),
}


@dataclasses.dataclass
class Shop:
    account: str
    keys: set[str]
    is_suspended: bool = False
    live: "Shop | None" = None  # Of a test account: whose it is.
    tester: str = ""  # And the customer that it may try things with.

    @property
    def may_act(self) -> bool:
        return not (self.live or self).is_suspended


@dataclasses.dataclass
class Person:
    account: str
    funds: dict[str, int]
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
    refunded: int = 0


@dataclasses.dataclass
class Memory:
    """What an idempotency key stands for."""

    wish: object
    told: str  # The id that was answered.
    at: int


class Model:
    """The service, as its callers may think of it."""

    def __init__(self, now: int, people: list[Person]) -> None:
        self.now = now
        self.people = {person.account: person for person in people}
        self.payments: dict[str, Request] = {}
        self.takings: dict[tuple[str, str], int] = {}  # Of shops, and of test customers.
        self.memories: dict[tuple[str, str], Memory] = {}

    # What is about to be said. Nothing changes.

    def create(self, shop: Shop, key: str, wish: object, once: str | None) -> tuple[Said, str | None]:
        """The answer, and the id of the payment if it is one of before."""
        if key not in shop.keys:
            return (401, "unauthorized"), None
        if (memory := self._memory(shop.account, once)) is not None:
            return self._replay(memory, wish, 201)
        return ((201, "") if shop.may_act else (403, "account_suspended")), None

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
            *self._too_late(asked),
            (asked.shop.live is not None, (409, "test_and_live")),
            (asked.shop.is_suspended, (409, "merchant_suspended")),
            (person.wrong_pins >= TRIES, (403, "pin_locked")),
            (not right_pin, (403, "wrong_pin")),
            (person.funds[asked.currency] < asked.amount, (409, "insufficient_funds")),
        )
        return next((said for is_so, said in hurdles if is_so), None)

    def cancel(self, shop: Shop, key: str, payment: str, once: str | None) -> tuple[Said, str | None]:
        hurdles = self._too_late(self.payments[payment])
        return self._change(shop, key, ("cancel", payment), once=once, hurdles=hurdles)

    def refund(
        self, shop: Shop, key: str, payment: str, amount: int | None, once: str | None
    ) -> tuple[Said, str | None]:
        asked = self.payments[payment]
        left = asked.amount - asked.refunded
        wanted = left if amount is None else amount
        hurdles: tuple[tuple[bool, Said], ...] = (
            *self._too_late(asked)[1:],
            (asked.status == "pending", (409, "not_paid")),
            (not 0 < wanted <= left, (409, "refund_exceeds")),
            (asked.version - 2 >= REFUNDS, (409, "too_many_refunds")),
            (self.takings.get((shop.account, asked.currency), 0) < wanted, (409, "merchant_balance_short")),
        )
        return self._change(shop, key, ("refund", payment, amount), once=once, hurdles=hurdles, status=201)

    def trial(
        self, shop: Shop, key: str, payment: str, what: str, once: str | None, *, has_funds: bool = True
    ) -> tuple[Said, str | None]:
        """What a test key does; a live one hears so, whatever it names."""
        if key in shop.keys and shop.live is None:
            return (409, "test_and_live"), None
        asked = self.payments[payment]
        hurdles = self._too_late(asked)
        if what == "expire":
            hurdles = tuple((asked.status == status, said) for status, said in _TOO_LATE.items())
        if what == "pay":
            hurdles = (*hurdles, (not has_funds, (409, "insufficient_funds")))
        return self._change(shop, key, (what, payment, has_funds), once=once, hurdles=hurdles)

    def _change(
        self,
        shop: Shop,
        key: str,
        wish: tuple[object, ...],
        *,
        once: str | None,
        hurdles: tuple[tuple[bool, Said], ...],
        status: int = 200,
    ) -> tuple[Said, str | None]:
        """What every call of a shop about a payment has in common. The wish says which."""
        if key not in shop.keys:
            return (401, "unauthorized"), None
        if (memory := self._memory(shop.account, once)) is not None:
            return self._replay(memory, wish, status)
        if self.payments[str(wish[1])].shop is not shop:
            return (404, "not_found"), None
        if not shop.may_act:
            return (403, "account_suspended"), None
        return next((said for is_so, said in hurdles if is_so), (status, "")), None

    def _too_late(self, asked: Request) -> tuple[tuple[bool, Said], ...]:
        is_due = asked.status == "pending" and self.now >= asked.expires_at
        return (*((asked.status == status, said) for status, said in _TOO_LATE.items()), (is_due, _TOO_LATE["expired"]))

    def _memory(self, account: str, once: str | None) -> Memory | None:
        memory = self.memories.get((account, once)) if once is not None else None
        return memory if memory is not None and self.now - memory.at < KEPT_MS else None

    def _replay(self, memory: Memory, wish: object, status: int) -> tuple[Said, str | None]:
        return ((status, ""), memory.told) if memory.wish == wish else ((422, "idempotency_key_reused"), None)

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
            asked.status, asked.payer, asked.version = "paid", person.account, 2
            self._moved(asked, asked.amount)
            self._remember(person.account, once, ("pay", payment), payment)

    def cancelled(self, payment: str, once: str | None) -> None:
        self._ended(payment, "cancelled", ("cancel", payment), once)

    def refunded(self, payment: str, amount: int | None, refund: str, once: str | None) -> None:
        asked = self.payments[payment]
        given = asked.amount - asked.refunded if amount is None else amount
        asked.refunded += given
        asked.version += 1
        self._moved(asked, -given)
        self._remember(asked.shop.account, once, ("refund", payment, amount), refund)

    def tried(self, payment: str, what: str, once: str | None) -> None:
        asked = self.payments[payment]
        status = {"pay": "paid", "expire": "expired", "cancel": "cancelled"}[what]
        if what == "pay":
            asked.payer = asked.shop.tester
            funds = (asked.payer, asked.currency)
            if self.takings.get(funds, 0) < asked.amount:
                self.takings[funds] = self.takings.get(funds, 0) + MINTED
            self._moved(asked, asked.amount)
        self._ended(payment, status, (what, payment, True), once)

    def withdrew(self, shop: Shop, currency: str, amount: int) -> None:
        self.takings[shop.account, currency] -= amount

    def _moved(self, asked: Request, amount: int) -> None:
        """From the payer to the shop; below zero, back."""
        till = (asked.shop.account, asked.currency)
        self.takings[till] = self.takings.get(till, 0) + amount
        if asked.shop.live is not None:
            self.takings[asked.shop.tester, asked.currency] -= amount
        else:
            self.people[asked.payer or ""].funds[asked.currency] -= amount

    def _ended(self, payment: str, status: str, wish: object, once: str | None) -> None:
        asked = self.payments[payment]
        asked.status, asked.version = status, 2
        self._remember(asked.shop.account, once, wish, payment)

    def expired(self) -> None:
        """The worker has looked."""
        for asked in self.payments.values():
            if asked.status == "pending" and self.now >= asked.expires_at:
                asked.status, asked.version = "expired", 2

    def _remember(self, account: str, once: str | None, wish: object, payment: str) -> None:
        if once is not None:
            self.memories[account, once] = Memory(wish, payment, self.now)
