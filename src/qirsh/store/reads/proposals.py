"""Proposals that wait, and those that were decided, in SQL that both engines speak."""

# Every part of every query is a constant of this file or of the domain.
# ruff: noqa: S608

from typing import Final

import msgspec

from qirsh.domain.proposal import Proposal
from qirsh.domain.proposal_change import Change, read_changes
from qirsh.store.interface import Query, Store

_COLUMNS: Final = ", ".join(Proposal.__struct_fields__)
OPEN: Final = Query(
    f"SELECT {_COLUMNS} FROM proposal WHERE state = 'open' AND (asked_at, id) > ($1, $2) ORDER BY asked_at, id LIMIT $3"
)
OF_SUBJECT: Final = Query(
    f"SELECT {_COLUMNS} FROM proposal WHERE subject = $1 AND state = 'open' ORDER BY asked_at, id LIMIT $2"
)
ASKED_BEFORE: Final = Query(
    f"SELECT {_COLUMNS} FROM proposal WHERE state = 'open' AND asked_at <= $1 ORDER BY asked_at, id LIMIT $2"
)
WHO_ASKED: Final = Query("SELECT id, name FROM person WHERE id IN (SELECT asked_by FROM proposal WHERE state = 'open')")

# Along the index of what entries are about, which no action changes of a proposal.
EDITS: Final = Query(
    "SELECT at, actor, detail FROM audit WHERE subject = $1 AND action = 'proposal.edited'"
    " AND substr(detail, 1, length(CAST($2 AS TEXT))) = CAST($2 AS TEXT) ORDER BY id LIMIT $3"
)


class Edit(msgspec.Struct, frozen=True):
    """One time that an operator changed a proposal."""

    at: int
    actor: str  # As audit entries name them.
    changes: tuple[Change, ...]


async def open_proposals(store: Store, limit: int, after: tuple[int, str] = (-1, "")) -> list[Proposal]:
    """What waits for another operator, oldest first."""
    return [Proposal(*row) for row in await store.select(OPEN, *after, limit)]


async def who_asked(store: Store) -> dict[int, str]:
    """The names of who asked for what waits: a handful, however much it is."""
    return dict(await store.select(WHO_ASKED))


async def waiting_for(store: Store, subject: str, limit: int) -> list[Proposal]:
    """What waits about one thing."""
    return [Proposal(*row) for row in await store.select(OF_SUBJECT, subject, limit)]


async def asked_before(store: Store, at: int, limit: int) -> list[Proposal]:
    """Those that were asked for so long ago."""
    return [Proposal(*row) for row in await store.select(ASKED_BEFORE, at, limit)]


async def edits_of(store: Store, proposal: Proposal, limit: int) -> list[Edit]:
    """What was changed of it since it was asked for, oldest first."""
    if not proposal.editors:
        return []
    rows = await store.select(EDITS, proposal.subject, f"{proposal.id},", limit)
    return [Edit(at, actor, read_changes(detail.partition(": ")[2])) for at, actor, detail in rows]
