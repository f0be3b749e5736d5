"""What operators look for: the bank's reference, or beginnings of words of a name; SQL that both engines speak."""

# Every part of every query is a constant of this file or of the domain.
# ruff: noqa: S608

from functools import cache
from typing import Final

import msgspec

from qirsh.domain.account import Account, Kind
from qirsh.domain.bank_order import BankOrder
from qirsh.domain.limits import NAMES_COUNTED_MAX, NAMES_LOOKED_AT_MAX
from qirsh.domain.name_word import range_of
from qirsh.domain.payout import Payout
from qirsh.store.interface import Query, Store

_ACCOUNT: Final = ", ".join(f"a.{name}" for name in Account.__struct_fields__)
_COUNTED: Final = Query(
    "SELECT count(*) FROM (SELECT 1 FROM name_word WHERE kind = $1 AND word >= $2 AND word < $3 LIMIT $4) AS counted"
)
_BANK_ORDERS: Final = Query(
    f"SELECT {', '.join(BankOrder.__struct_fields__)} FROM bank_order WHERE reference = $1 ORDER BY house LIMIT $2"
)
# Those that were paid have their bank order.
_PAYOUTS: Final = Query(
    f"SELECT {', '.join(Payout.__struct_fields__)} FROM payout WHERE reference = $1 AND state <> 'paid'"
    " ORDER BY id LIMIT $2"
)


class FoundNames(msgspec.Struct, frozen=True):
    """Accounts in the order of the word that was found, and whether there may be more."""

    accounts: list[Account]
    has_more: bool


@cache
def _named(others: int) -> Query:
    """Along the words that begin as the first one does; the account has a word for each of the others too.

    However many begin so, a bounded number of them is looked at.
    """
    also = "".join(
        " AND EXISTS (SELECT 1 FROM name_word o WHERE o.account = w.account"
        f" AND o.word >= ${5 + 2 * each} AND o.word < ${6 + 2 * each})"
        for each in range(others)
    )
    return Query(
        f"SELECT {_ACCOUNT} FROM (SELECT word, account FROM (SELECT word, account FROM name_word"
        " WHERE kind = $1 AND word >= $2 AND word < $3 ORDER BY word, account LIMIT $4) AS w"
        f" WHERE 1 = 1{also} ORDER BY word, account LIMIT ${5 + 2 * others}) AS w"
        " JOIN account a ON a.number = w.account ORDER BY w.word, w.account"
    )


async def accounts_named(store: Store, kind: Kind, words: tuple[str, ...], limit: int) -> FoundNames:
    """Of one kind, whose names have for each of these folded words one that begins so."""
    counts: dict[str, int] = {}
    for word in words if len(words) > 1 else ():
        [(counts[word],)] = await store.select(_COUNTED, kind, *range_of(word), NAMES_COUNTED_MAX)
    # Along the one that tells most.
    first, *others = sorted(words, key=lambda word: (counts.get(word, 0), -len(word)))
    bounds = [bound for word in others for bound in range_of(word)]
    # A name with two words that begin so is found twice.
    most = 2 * (limit + 1)
    looked_at = NAMES_LOOKED_AT_MAX if others else most
    rows = await store.search(_named(len(others)), kind, *range_of(first), looked_at, *bounds, most)
    found = list({row[0]: Account(*row) for row in rows}.values())
    is_cut = len(rows) == most or (bool(others) and counts[first] >= NAMES_COUNTED_MAX)
    return FoundNames(found[:limit], len(found) > limit or is_cut)


async def bank_orders_with(store: Store, reference: str, limit: int) -> list[BankOrder]:
    """Money that came or went under the bank's reference, at each house account."""
    return [BankOrder(*row) for row in await store.select(_BANK_ORDERS, reference, limit)]


async def payouts_with(store: Store, reference: str, limit: int) -> list[Payout]:
    """Payouts that wait for money to go under the bank's reference."""
    return [Payout(*row) for row in await store.select(_PAYOUTS, reference, limit)]
