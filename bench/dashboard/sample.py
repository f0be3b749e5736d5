"""What there is to be asked for in a filled database; kept beside it, so that it can be used again."""

import random
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from bench.dashboard.history import Chunk, Shop
from bench.seed import Town
from qirsh.domain.event import event_id
from qirsh.domain.identifier import Identifiers

T = TypeVar("T")

_EACH: Final = 200


class Sample(msgspec.Struct, frozen=True):
    """Some of a shop, drawn from all its days."""

    shop: Shop
    payments: list[int]  # Numbers of paid ones,
    ids: list[str]  # and their ids.
    times: list[int]  # When each of them was made.
    refunded: list[str]  # Ids of payments.
    refunds: list[str]
    events: list[str]


class Filled(msgspec.Struct, frozen=True):
    """A database with two shops: one has all the payments, the other a few."""

    payments: int
    town: Town
    large: Sample
    small: Sample
    # Of a service whose data lies elsewhere.
    database: str = ""
    secret: str = ""

    def keep(self, file: Path) -> None:
        """For another time."""
        file.write_bytes(msgspec.json.encode(self))


def kept(file: Path, payments: int) -> Filled | None:
    """As it was filled earlier, if it was with so many payments."""
    if not file.exists():
        return None
    found = msgspec.json.decode(file.read_bytes(), type=Filled)
    return found if found.payments == payments else None


class Sampler:
    """Draws while a history is made: a few of each chunk, and of those some at the end."""

    def __init__(self, shop: Shop, identifiers: Identifiers) -> None:
        self._shop = shop
        self._id = identifiers.payment_id
        self._random = random.Random(3)
        self._paid: list[tuple[int, int]] = []
        self._refunds: list[tuple[str, int]] = []
        self._events: list[str] = []

    def look(self, chunk: Chunk) -> None:
        """At what was made last."""
        paid = [(one.number, one.created_at) for one in chunk.payments if one.status == "paid"]
        self._paid += self._some(paid)
        self._refunds += self._some([(one.id, one.payment) for one in chunk.refunds])
        self._events += [
            event_id(account=one.account, sequence=one.sequence, epoch=one.epoch) for one in self._some(chunk.events)
        ]

    def sample(self) -> Sample:
        """In no order."""
        paid, refunds = self._some(self._paid), self._some(self._refunds)
        return Sample(
            shop=self._shop,
            payments=[number for number, _ in paid],
            ids=[self._id(number) for number, _ in paid],
            times=[at for _, at in paid],
            refunded=[self._id(number) for _, number in refunds],
            refunds=[refund for refund, _ in refunds],
            events=self._some(self._events),
        )

    def _some(self, found: list[T]) -> list[T]:
        return self._random.sample(found, min(len(found), _EACH))
