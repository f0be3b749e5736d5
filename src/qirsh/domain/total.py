"""What an account took, gave back, paid out and so on since its first transfer: prefix sums, kept by quarter hour.

Two of them tell what moved in between. Each proves itself: its sum is the balance that its last transfer left.
"""

from collections.abc import Iterable, Iterator
from operator import sub
from typing import Final, Literal, NamedTuple

import msgspec
from msgspec.structs import astuple

from qirsh.domain.ledger import KINDS, Kind
from qirsh.domain.limits import TOTAL_MAX

# Every zone that is in use differs from UTC by whole quarter hours: days of any of them are made of these.
QUARTER_MS: Final = 900_000
END_OF_TIME: Final = 2**62

Figure = Literal["taken", "refunded", "fees", "paid_out", "paid_in", "corrected"]
FIGURES: Final[tuple[Figure, ...]] = ("taken", "refunded", "fees", "paid_out", "paid_in", "corrected")

_CREDITED: Final[dict[Kind, Figure]] = {"pay": "taken", "deposit": "paid_in", "mint": "paid_in"}
_DEBITED: Final[dict[Kind, Figure]] = {"refund": "refunded", "fee": "fees", "withdrawal": "paid_out"}


def figure_of(kind: Kind, *, is_debit: bool) -> Figure:
    """Where a transfer counts, for the account that it debits or credits. What has no place of its own corrects."""
    return (_DEBITED if is_debit else _CREDITED).get(kind, "corrected")


class Sums(msgspec.Struct, frozen=True):
    """Amounts by what they were for, none below zero but what was corrected, and how many transfers made each."""

    taken: int = 0
    refunded: int = 0
    fees: int = 0
    paid_out: int = 0
    paid_in: int = 0
    corrected: int = 0
    taken_count: int = 0
    refunded_count: int = 0
    fees_count: int = 0
    paid_out_count: int = 0
    paid_in_count: int = 0
    corrected_count: int = 0

    @property
    def net(self) -> int:
        """What is left of it: since the first transfer, the balance."""
        return self.taken - self.refunded - self.fees - self.paid_out + self.paid_in + self.corrected

    def since(self, before: "Sums") -> "Sums":
        """What came after an earlier one."""
        return Sums(*map(sub, astuple(self), astuple(before)))


class AccountTotal(msgspec.Struct, frozen=True):
    """All that an account's first `sequence` transfers of a currency add up to.

    The quarter hour is that of the last of them, but never before the row before: where a clock went back, what came
    then counts in the quarter hour that had begun. Only the last row of an account and currency still grows.
    """

    account: int
    currency: str
    quarter: int  # Since 1970.
    sequence: int
    taken: int
    refunded: int
    fees: int
    paid_out: int
    paid_in: int
    corrected: int
    taken_count: int
    refunded_count: int
    fees_count: int
    paid_out_count: int
    paid_in_count: int
    corrected_count: int

    @property
    def sums(self) -> Sums:
        """Without where they belong."""
        return Sums(*astuple(self)[-len(Sums.__struct_fields__) :])


TotalKey = tuple[int, str, int]  # Account, currency, quarter.


def key_of(total: AccountTotal) -> TotalKey:
    """Of its row."""
    return total.account, total.currency, total.quarter


class Moved(NamedTuple):
    """A transfer as one of its accounts counts it."""

    sequence: int
    kind: Kind
    change: int  # Below zero: it was debited.
    created_at: int


class TotalsAt(msgspec.Struct, frozen=True):
    """What had moved before a moment: all transfers that came before the first one at the moment or later.

    So a moment has one place in an account's sequence, also where a clock went back.
    """

    moment: int
    sequence: int
    sums: Sums
    is_last: bool  # No later transfer was there to be seen: what comes next may be before the moment too.


class _Running:
    """Sums that grow, transfer by transfer. None of them leaves the 64 bits that a database has for it."""

    def __init__(self, sequence: int, sums: Sums) -> None:
        self.sequence = sequence
        self._values = list(astuple(sums))

    @property
    def sums(self) -> Sums:
        return Sums(*self._values)

    def count(self, moved: Moved) -> bool:
        """Whether it is the next one, and there is room for it: each transfer counts once, and none is left out."""
        place, sign = _PLACES[moved.kind, moved.change < 0]
        value = self._values[place] + sign * moved.change
        if moved.sequence != self.sequence + 1 or abs(value) > TOTAL_MAX:
            return False
        self._values[place] = value
        self._values[place + len(FIGURES)] += 1
        self.sequence = moved.sequence
        return True


def _place(kind: Kind, *, is_debit: bool) -> tuple[int, int]:
    figure = figure_of(kind, is_debit=is_debit)
    return FIGURES.index(figure), -1 if is_debit and figure != "corrected" else 1


_PLACES: Final = {(kind, is_debit): _place(kind, is_debit=is_debit) for kind in KINDS for is_debit in (False, True)}


def fold(account: int, currency: str, last: AccountTotal | None, moves: Iterable[Moved]) -> list[AccountTotal]:
    """The rows that these transfers change or make, after the last that there is: the first may be that one, grown.

    It ends early if a sum gets too large to be kept, or where a transfer is missing.
    """
    running, quarter = _running(last), last.quarter if last else 0
    rows: list[AccountTotal] = []
    kept = running.sequence
    for moved in moves:
        begun = max(quarter, moved.created_at // QUARTER_MS)
        if begun != quarter and running.sequence > kept:
            rows.append(_total(account, currency, quarter, running))
            kept = running.sequence
        if not running.count(moved):
            break
        quarter = begun
    if running.sequence > kept:
        rows.append(_total(account, currency, quarter, running))
    return rows


def _running(last: AccountTotal | None) -> _Running:
    return _Running(last.sequence, last.sums) if last else _Running(0, Sums())


def _total(account: int, currency: str, quarter: int, running: _Running) -> AccountTotal:
    return AccountTotal(account, currency, quarter, running.sequence, *astuple(running.sums))


def totals_before(last: AccountTotal | None, moves: Iterable[Moved], moments: Iterable[int]) -> Iterator[TotalsAt]:
    """For each of some moments in their order, none before the row: the row and the transfers that came after it."""
    running = _running(last)
    coming = iter(moves)
    head = next(coming, None)
    for moment in moments:
        while head is not None and head.created_at < moment:
            if not running.count(head):
                raise ValueError("a sum is too large, or a transfer is missing")
            head = next(coming, None)
        yield TotalsAt(moment, running.sequence, running.sums, head is None)


def sums_of_first(count: int, last: AccountTotal | None, moves: Iterable[Moved]) -> Sums:
    """All that an account's first so many transfers add up to, from a row before the last of them and what follows."""
    running = _running(last)
    for moved in moves:
        if running.sequence == count or not running.count(moved):
            break
    if running.sequence != count:
        raise ValueError("a sum is too large, or a transfer is missing")
    return running.sums
