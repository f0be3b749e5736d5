"""Who did what at a business: its audit entries and what its staff did to payments by hand, newest first."""

# Every part of every query is a constant of this file.
# ruff: noqa: S608

import heapq
from typing import Final

import msgspec

from qirsh.domain.limits import LIST_LOOKED_AT_MAX
from qirsh.store.interface import Query, Store

MAX_PLACE: Final = 2**62
# What operators consider, and what they have looked at: whoever reads of it before it happens is warned.
ACTS_OF_OPERATORS: Final = frozenset({"account.close_asked", "account.looked_at", "refund.asked"})
KINDS_OF_OPERATORS: Final = frozenset({"proposal", "note"})
# As the index says it.
_SHOP: Final = "CASE WHEN substr(subject, 1, 8) = 'account ' THEN subject ELSE substr(detail, 1, 20) END"
_NOTED: Final = Query(
    f"SELECT id, at, actor, action, subject, detail FROM audit WHERE {_SHOP} = $1 AND id < $2 ORDER BY id DESC LIMIT $3"
)
_BY_HAND: Final = Query(
    # What it was about is looked up for the lines that are read, and never joined from the other end.
    "SELECT at, payment, version, person, act,"
    " (SELECT currency FROM payment p WHERE p.number = a.payment),"
    " CASE act WHEN 'refunded' THEN (SELECT amount FROM refund r WHERE r.payment = a.payment AND r.version = a.version)"
    " ELSE (SELECT amount FROM payment p WHERE p.number = a.payment) END"
    " FROM payment_act a WHERE account = $1 AND (at, payment, version) < ($2, $3, $4)"
    " ORDER BY at DESC, payment DESC, version DESC LIMIT $5"
)

_JOINED: Final = Query(
    f"SELECT id FROM audit WHERE {_SHOP} = $1 AND action = 'staff.joined' AND actor = $2 ORDER BY id DESC LIMIT 1"
)


class Place(msgspec.Struct, frozen=True):
    """Where the list goes on: below an audit entry, and below what was done by hand."""

    noted: int = MAX_PLACE
    at: int = MAX_PLACE
    payment: int = MAX_PLACE
    version: int = MAX_PLACE


class Act(msgspec.Struct, frozen=True):
    """One line of the log."""

    at: int
    actor: str
    action: str
    thing: str  # A key or an endpoint, if it is about one.
    detail: str  # What else is noted of it, if it is about the account. An operator's may not be for the shop.
    payment: int | None
    currency: str  # Of what was done to a payment by hand,
    amount: int  # and how much it was about: what was refunded, or the whole payment.
    after: Place  # Where the list goes on after it.


class ActFilter(msgspec.Struct, frozen=True):
    """Which: all that is not empty must hold."""

    actor: str = ""
    action: str = ""  # A whole action, or what one begins with up to its dot.
    begin: int = -1  # Included,
    end: int = MAX_PLACE  # and not.


async def read_activity(
    store: Store, account: int, wanted: ActFilter, place: Place, limit: int
) -> tuple[list[Act], Place | None]:
    """One page, and where to go on. It looks at a bounded number of lines: it may come back short, and can go on."""
    noted = await store.search(_NOTED, f"account {account}", place.noted, LIST_LOOKED_AT_MAX)
    by_hand = await store.search(_BY_HAND, account, place.at, place.payment, place.version, LIST_LOOKED_AT_MAX)
    lines = heapq.merge(
        ((-at, 0, (number, actor, action, subject, detail)) for number, at, actor, action, subject, detail in noted),
        ((-row[0], 1, row) for row in by_hand),
        key=lambda line: line[:2],
    )
    # Of what is older than the last line of a page that was full, some may not be read yet.
    cut = [
        rows[-1][place_of_time] for rows, place_of_time in ((noted, 1), (by_hand, 0)) if len(rows) == LIST_LOOKED_AT_MAX
    ]
    found: list[Act] = []
    for minus_at, source, row in lines:
        if cut and -minus_at < max(cut):
            return found, place
        place, act = (_noted if source == 0 else _by_hand)(-minus_at, row, place)
        if -minus_at < wanted.begin:
            return found, None
        if _fits(act, wanted):
            found.append(act)
            if len(found) == limit:
                return found, place
    return found, place if cut else None


async def has_joined(store: Store, account: int, person: int) -> bool:
    """Whether somebody works or worked at a business, by its live account."""
    return bool(await store.search(_JOINED, f"account {account}", f"person {person}"))


def _noted(at: int, row: tuple[int | str, ...], place: Place) -> tuple[Place, Act]:
    number, actor, action, subject, detail = row
    place = msgspec.structs.replace(place, noted=int(number))
    thing, told = ("", str(detail)) if str(subject).startswith("account ") else (str(subject), "")
    return place, Act(
        at=at,
        actor=str(actor),
        action=str(action),
        thing=thing,
        detail=told,
        payment=None,
        currency="",
        amount=0,
        after=place,
    )


def _by_hand(at: int, row: tuple[int | str, ...], place: Place) -> tuple[Place, Act]:
    _, payment, version, person, act, currency, amount = row
    place = msgspec.structs.replace(place, at=at, payment=int(payment), version=int(version))
    return place, Act(
        at=at,
        actor=f"person {person}",
        action=f"payment.{act}",
        thing="",
        detail="",
        payment=int(payment),
        currency=str(currency),
        amount=int(amount),
        after=place,
    )


def _fits(act: Act, wanted: ActFilter) -> bool:
    kind = act.action.partition(".")[0]
    if act.action in ACTS_OF_OPERATORS or kind in KINDS_OF_OPERATORS:
        return False
    is_action = wanted.action in {"", act.action, kind}
    return is_action and wanted.actor in {"", act.actor} and wanted.begin <= act.at < wanted.end
