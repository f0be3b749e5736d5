"""The audit log, newest first: along the index of whatever tells most, a bounded number of rows at a time."""

# Every part of every query is a constant of this file.
# ruff: noqa: S608

from collections.abc import AsyncGenerator, Sequence
from functools import cache
from typing import Final

import msgspec

from qirsh.domain.limits import AUDIT_ACTIONS_MAX, EXPORT_ROWS_AT_ONCE, LIST_LOOKED_AT_MAX
from qirsh.store.interface import Query, Store

MAX_PLACE: Final = 2**62
# As the index says it: an operator is one actor, from wherever they acted.
_ACTOR: Final = (
    "(CASE WHEN substr(actor, 1, 9) = 'operator ' THEN"
    " rtrim(substr(actor, 1, length(actor) - length(ltrim(actor, 'operator 0123456789')))) ELSE actor END)"
)
# The id of an entry is a moment later than its time, but for entries of clocks that were set back.
_CLOCK_SET_BACK_MS: Final = 24 * 3600 * 1000


class AuditEntryRow(msgspec.Struct, frozen=True):
    """One entry, with its number."""

    id: int
    at: int
    actor: str
    action: str
    subject: str
    detail: str


_COLUMNS: Final = ", ".join(f"e.{name}" for name in AuditEntryRow.__struct_fields__)


class AuditPlace(msgspec.Struct, frozen=True):
    """Where the list goes on: below this entry."""

    at: int = MAX_PLACE
    id: int = MAX_PLACE


class AuditFilter(msgspec.Struct, frozen=True):
    """Which: all that is not empty must hold."""

    actors: tuple[str, ...] = ()  # One of them.
    actions: tuple[str, ...] | None = None  # One of them; of none at all nothing is found.
    subject: str = ""
    begin: int = 0  # Included,
    end: int = MAX_PLACE  # and not.

    def fits(self, entry: AuditEntryRow) -> bool:
        """Whether all of it holds."""
        return (
            (not self.actors or actor_of(entry.actor) in self.actors)
            and (self.actions is None or entry.action in self.actions)
            and self.subject in {"", entry.subject}
            and self.begin <= entry.at < self.end
        )


def actor_of(actor: str) -> str:
    """Without from where: `operator 3 (os user alice)` is `operator 3`."""
    return actor.partition(" (")[0] if actor.startswith("operator ") else actor


_BY_SUBJECT: Final = Query(
    f"SELECT {_COLUMNS} FROM audit e WHERE e.subject = $1 AND e.id < $2 ORDER BY e.id DESC LIMIT $3"
)
_BY_TIME: Final = Query(
    f"SELECT {_COLUMNS} FROM audit e WHERE (e.at, e.id) < ($1, $2) AND e.at >= $3"
    " ORDER BY e.at DESC, e.id DESC LIMIT $4"
)
# From one to the next along the index, however many entries each has.
_ACTIONS: Final = Query(
    "WITH RECURSIVE known (action) AS (SELECT min(action) FROM audit UNION ALL"
    " SELECT (SELECT min(a.action) FROM audit a WHERE a.action > k.action) FROM known k WHERE k.action IS NOT NULL)"
    " SELECT action FROM known WHERE action IS NOT NULL LIMIT $1"
)


@cache
def by_values(column: str, count: int) -> Query:
    """Those whose actor or action is one of so many: a range of the index for each, of which the newest are taken."""
    ranges = " UNION ALL ".join(
        f"SELECT * FROM (SELECT at, id FROM audit WHERE {column} = ${1 if place == 0 else place + 5}"
        " AND (at, id) < ($2, $3) AND at >= $4 ORDER BY at DESC, id DESC LIMIT $5) AS a"
        for place in range(count)
    )
    return Query(
        f"WITH c AS ({ranges} ORDER BY at DESC, id DESC LIMIT $5)"
        f" SELECT {_COLUMNS} FROM c JOIN audit e ON e.id = c.id ORDER BY c.at DESC, c.id DESC"
    )


def by_actors(count: int) -> Query:
    """As operators are looked for."""
    return by_values(_ACTOR, count)


def by_actions(count: int) -> Query:
    """As acts are looked for."""
    return by_values("action", count)


async def known_actions(store: Store) -> list[str]:
    """All that were ever noted."""
    return [action for (action,) in await store.search(_ACTIONS, AUDIT_ACTIONS_MAX)]


async def read_audit_log(
    store: Store, wanted: AuditFilter, place: AuditPlace, limit: int, looked_at_max: int = LIST_LOOKED_AT_MAX
) -> tuple[list[AuditEntryRow], AuditPlace | None]:
    """One page, and where to go on. It looks at a bounded number of entries: it may come back short, and can go on."""
    if wanted.actions == ():
        return [], None
    rows = await _next(store, wanted, place, looked_at_max if _is_mixed(wanted) else limit + 1)
    found: list[AuditEntryRow] = []
    for entry in rows:
        if wanted.subject and entry.at < wanted.begin - _CLOCK_SET_BACK_MS:
            return found, None
        if wanted.fits(entry):
            if len(found) == limit:
                return found, place
            found.append(entry)
        place = AuditPlace(entry.at, entry.id)
    is_cut = _is_mixed(wanted) and len(rows) == looked_at_max
    return found, place if is_cut else None


def _is_mixed(wanted: AuditFilter) -> bool:
    """Whether one index alone does not find it."""
    has_days = wanted.begin > 0 or wanted.end < MAX_PLACE
    told = [bool(wanted.subject), bool(wanted.actors), wanted.actions is not None]
    return sum(told) > 1 or (bool(wanted.subject) and has_days)


async def _next(store: Store, wanted: AuditFilter, place: AuditPlace, limit: int) -> list[AuditEntryRow]:
    """Along one index: of an account's or a person's entries there are fewest, then of an actor's."""
    if wanted.subject:
        rows = await store.search(_BY_SUBJECT, wanted.subject, place.id, limit)
        return [AuditEntryRow(*row) for row in rows]
    at, number = min((place.at, place.id), (wanted.end, 0))
    bounds = (at, number, wanted.begin, limit)
    values: Sequence[str] = wanted.actors or wanted.actions or ()
    if not values:
        rows = await store.search(_BY_TIME, *bounds)
    else:
        query = by_actors(len(values)) if wanted.actors else by_actions(len(values))
        rows = await store.search(query, values[0], *bounds, *values[1:])
    return [AuditEntryRow(*row) for row in rows]


async def audit_pages(
    store: Store, wanted: AuditFilter, place: AuditPlace
) -> AsyncGenerator[list[AuditEntryRow], None]:
    """All of them, a page at a time. Between two pages nothing is held."""
    going_on: AuditPlace | None = place
    while going_on is not None:
        page, going_on = await read_audit_log(
            store, wanted, going_on, EXPORT_ROWS_AT_ONCE, looked_at_max=EXPORT_ROWS_AT_ONCE
        )
        if page:
            yield page
