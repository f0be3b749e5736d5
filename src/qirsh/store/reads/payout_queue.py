"""Payouts that wait for an operator, and what became of earlier ones to the same bank account."""

# Every part of every query is a constant of this file or of the domain.
# ruff: noqa: S608

from typing import Final

import msgspec

from qirsh.domain.payout import Payout
from qirsh.store.interface import Query, Store

_PAYOUT: Final = ", ".join(f"p.{name}" for name in Payout.__struct_fields__)
# Along the index of those that are asked for.
_ASKED: Final = Query(
    f"SELECT {_PAYOUT}, a.name FROM payout p JOIN account a ON a.number = p.account"
    " WHERE p.state = 'asked' AND (p.created_at, p.id) > ($1, $2) ORDER BY p.created_at, p.id LIMIT $3"
)
_OTHER_ASKED: Final = Query(
    "SELECT id FROM payout WHERE state = 'asked' AND (created_at, id) > ($1, $2) AND id <> $3"
    " ORDER BY created_at, id LIMIT 1"
)
_FIRST_PAID: Final = Query(
    "SELECT min(updated_at) FROM (SELECT updated_at FROM payout WHERE account = $1 AND bank_hint = $2"
    " AND state = 'paid' ORDER BY created_at, id LIMIT 1) AS first"
)


class AskedPayout(msgspec.Struct, frozen=True):
    """With whose it is."""

    payout: Payout
    name: str


async def asked_payouts(store: Store, after: tuple[int, str], limit: int) -> list[AskedPayout]:
    """The oldest first."""
    rows = await store.select(_ASKED, *after, limit)
    return [AskedPayout(Payout(*row[:-1]), row[-1]) for row in rows]


async def next_asked(store: Store, payout: Payout) -> str | None:
    """The one that comes after it in the queue, or else the first of all: what to look at next."""
    for after in ((payout.created_at, payout.id), (-1, "")):
        rows = await store.select(_OTHER_ASKED, *after, payout.id)
        if rows:
            return str(rows[0][0])
    return None


async def first_paid_to(store: Store, account: int, bank_hint: str) -> int | None:
    """When money of an account first went to a bank account whose number ends so."""
    [(at,)] = await store.select(_FIRST_PAID, account, bank_hint)
    found: int | None = at
    return found
