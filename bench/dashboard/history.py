"""Ninety days of one shop, in the order of time, by the domain's own arithmetic: what the service would have kept."""

import heapq
import random
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from bench.seed import CURRENCY
from qirsh.domain import event, ledger, payment
from qirsh.domain.event import REFUND_CREATED, Event
from qirsh.domain.ledger import Balance, Kind, Transfer
from qirsh.domain.payment import Payment, PaymentAct
from qirsh.domain.payment_word import amount_word, words_of
from qirsh.domain.refund import Refund, refund_id

DAYS: Final = 90
DAY_MS: Final = 24 * 3600 * 1000
METADATA_KEYS: Final = 20
COMMON_AMOUNT: Final = 2500
COMMON_EVERY: Final = 7
# Of each hundred payments; the rest are in the first one.
CURRENCIES: Final = {CURRENCY: 90, "USD": 7, "EUR": 3}
RARE_CHANNEL: Final = "phone"
_RARE_EVERY: Final = 1000
_CITIES: Final = ("Damascus", "Damascus", "Damascus", "Aleppo", "حمص")
_CHUNK: Final = 10_000
_PENDING: Final = 0.002  # The newest, of all.
_PAID: Final = 0.90
_CANCELLED: Final = 0.95
_REFUNDED: Final = 0.04  # Of those that were paid.
_MINUTE_MS: Final = 60_000
_HOUR_MS: Final = 60 * _MINUTE_MS
_decoder: Final = msgspec.json.Decoder(dict[str, object])

BalanceKey = tuple[int, str]


class Chunk(msgspec.Struct):
    """Rows of each table, and the words of each payment."""

    payments: list[Payment] = []
    transfers: list[Transfer] = []
    events: list[Event] = []
    refunds: list[Refund] = []
    acts: list[PaymentAct] = []
    words: list[tuple[int, list[str]]] = []


class Shop(msgspec.Struct, frozen=True):
    """Whose history it is, and who pays there: by currency, the last one seldom."""

    account: int
    owner: int
    payers: dict[str, Sequence[int]]


def metadata_of(number: int) -> str:
    """Twenty keys: ten texts, of which some are the same for all, and ten numbers and truths."""
    channel = RARE_CHANNEL if number % _RARE_EVERY == 0 else "web"
    return (
        f'{{"order":"A-2026-{number:08d}","customer":"c{number % 5000:04d}","channel":"{channel}",'
        f'"city":"{_CITIES[number % len(_CITIES)]}","coupon":"SPRING26","delivery":"courier",'
        f'"device":"{"android" if number % 3 else "iphone"}","campaign":"newsletter","branch":"Mezzeh",'
        f'"seller":"Layla Haddad","items":{1 + number % 7},"weight":{250 + number % 1000},"discount":0,'
        f'"shipping":500,"tax":{number % 400},"slot":{number % 24},"visits":{1 + number % 30},"rating":4.5,'
        f'"gift":{"true" if number % 9 == 0 else "false"},"express":false}}'
    )


def amount_of(number: int) -> int:
    """Some cost the same, all others about what nobody else pays."""
    return COMMON_AMOUNT if number % COMMON_EVERY == 0 else 1 + number % 100_000


class History:
    """Walks through the days, and keeps the balances as it goes."""

    def __init__(
        self, shop: Shop, numbers: range, balances: dict[BalanceKey, Balance], *, epoch: int, last_event: int, now: int
    ) -> None:
        self.balances = balances
        self.last_event = last_event
        self._shop = shop
        self._numbers = numbers
        self._epoch = epoch
        self._random = random.Random(numbers[0])  # Another one for each shop: ids must differ.
        self._begin = now - DAYS * DAY_MS
        self._due: list[tuple[int, int, str, Payment]] = []  # What comes next: when, of which payment, and what.
        self._chunk = Chunk()

    def chunks(self) -> Iterator[Chunk]:
        """In order, some thousand payments each."""
        count = len(self._numbers)
        for index, number in enumerate(self._numbers):
            asked = self._asked(index, number)
            self._let_happen(asked.created_at)
            if index >= count * (1 - _PENDING):
                self._chunk.payments.append(asked)
            else:
                self._decide(asked)
            if len(self._chunk.payments) >= _CHUNK:
                yield self._taken()
        self._let_happen(self._begin + DAYS * DAY_MS)
        assert not self._due, "something would happen in the future"
        yield self._taken()

    def _taken(self) -> Chunk:
        taken, self._chunk = self._chunk, Chunk()
        return taken

    def _asked(self, index: int, number: int) -> Payment:
        is_new = index >= len(self._numbers) * (1 - _PENDING)
        created_at = self._begin + DAYS * DAY_MS * index // len(self._numbers)
        note, reference, metadata = f"order {number}", f"R-{number}", metadata_of(number)
        found = words_of(note=note, reference=reference, metadata=_decoder.decode(metadata))
        self._chunk.words.append((number, [amount_word(amount_of(number)), *found]))
        return Payment(
            number=number,
            merchant=self._shop.account,
            payer=None,
            amount=amount_of(number),
            currency=self._currency(),
            status="pending",
            note=note,
            metadata=metadata,
            reference=reference,
            return_url=None,
            cancel_url=None,
            created_at=created_at,
            updated_at=created_at,
            expires_at=created_at + (7 * DAY_MS if is_new else _HOUR_MS),
            paid_at=None,
            cancelled_at=None,
            refunded_amount=0,
            version=1,
        )

    def _currency(self) -> str:
        turn = self._random.randrange(100)
        for currency, share in CURRENCIES.items():
            turn -= share
            if turn < 0 and currency in self._shop.payers:
                return currency
        return CURRENCY

    def _decide(self, asked: Payment) -> None:
        draw = self._random.random()
        if draw < _PAID:
            self._later(asked, "pay", asked.created_at + _MINUTE_MS)
        elif draw < _CANCELLED:
            self._later(asked, "cancel", asked.created_at + _MINUTE_MS)
        else:
            self._later(asked, "expire", asked.expires_at)

    def _later(self, one: Payment, what: str, at: int) -> None:
        heapq.heappush(self._due, (at, one.number, what, one))

    def _let_happen(self, until: int) -> None:
        while self._due and self._due[0][0] <= until:
            at, _, what, one = heapq.heappop(self._due)
            if what == "pay":
                self._pay(one, at)
            elif what == "refund":
                self._refund(one, at)
            else:
                self._end(payment.moved(one, "cancelled" if what == "cancel" else "expired", at))

    def _pay(self, asked: Payment, at: int) -> None:
        payers = self._shop.payers[asked.currency]
        payer = payers[-1] if asked.number % 50_000 == 1 else self._random.choice(payers[:-1] or payers)
        self._move("pay", debit=payer, credit=asked.merchant, paid=asked, amount=asked.amount, at=at)
        paid = payment.moved(asked, "paid", at, payer=payer)
        if self._random.random() >= _REFUNDED:
            self._end(paid)
            return
        self._record(paid)
        self._later(paid, "refund", at + _MINUTE_MS)

    def _refund(self, paid: Payment, at: int) -> None:
        assert paid.payer is not None
        amount = paid.amount if paid.number % 2 else max(1, paid.amount // 2)
        transfer = self._move("refund", debit=paid.merchant, credit=paid.payer, paid=paid, amount=amount, at=at)
        changed = payment.refunded(paid, amount, at)
        made = Refund(
            id=refund_id(self._random.randbytes(12)),
            payment=paid.number,
            version=changed.version,
            amount=amount,
            note="returned",
            metadata="{}",
            sequence=transfer.debit_sequence,
            created_at=at,
        )
        self._chunk.refunds.append(made)
        self._chunk.acts.append(
            PaymentAct(paid.number, changed.version, self._shop.owner, paid.merchant, "refunded", at)
        )
        self._record(changed, REFUND_CREATED)
        self._chunk.payments.append(changed)

    def _move(self, kind: Kind, *, debit: int, credit: int, paid: Payment, amount: int, at: int) -> Transfer:
        keys = (debit, paid.currency), (credit, paid.currency)
        from_balance, to_balance = (self.balances.get(key) or Balance(*key, 0, 0, is_house=False) for key in keys)
        assert ledger.why_not(from_balance, to_balance, amount) is None
        transfer, self.balances[keys[0]], self.balances[keys[1]] = ledger.transfer(
            kind, debit=from_balance, credit=to_balance, amount=amount, now=at, payment=paid.number
        )
        self._chunk.transfers.append(transfer)
        return transfer

    def _end(self, one: Payment) -> None:
        self._record(one)
        self._chunk.payments.append(one)

    def _record(self, one: Payment, kind: str = "") -> None:
        self.last_event += 1
        self._chunk.events.append(event.of_change(one, sequence=self.last_event, epoch=self._epoch, type=kind))
