"""What operators have written down, and what the audit log tells of one thing; SQL that both engines speak."""

# Every part of every query is a constant of this file or of the domain.
# ruff: noqa: S608

from typing import Final

import msgspec

from qirsh.domain.audit_log import AuditEntry
from qirsh.domain.note import Note
from qirsh.store.interface import Query, Store

MAX_ENTRY: Final = 2**62
_NOTES: Final = Query(
    f"SELECT {', '.join(Note.__struct_fields__)} FROM note WHERE subject = $1 ORDER BY at DESC, id DESC LIMIT $2"
)
_ENTRY: Final = f"SELECT id, {', '.join(AuditEntry.__struct_fields__)} FROM audit"
# As the index says it: what is about a key or an endpoint of an account names the account in its detail.
_SHOP: Final = "CASE WHEN substr(subject, 1, 8) = 'account ' THEN subject ELSE substr(detail, 1, 20) END"


# How the state of somebody or something came about: for all operators. The rest is for those who see the audit log.
_STATES: Final = ("account.", "identity.", "access.", "person.", "key.", "payout.")
_KINDS: Final = " OR ".join(f"substr(action, 1, {len(kind)}) = '{kind}'" for kind in _STATES)
_TELLS_STATE: Final = f"({_KINDS}) AND action <> 'account.looked_at'"
_EVERY: Final = "1 = 1"


def _about(which: str) -> Query:
    """A range of one subject, so that the order is that of its own index, and of no other."""
    return Query(
        f"{_ENTRY} WHERE subject >= $1 AND (subject, id) < ($1, $2) AND {which} ORDER BY subject DESC, id DESC LIMIT $3"
    )


def _of_account(which: str) -> Query:
    """SQLite knows no range by a row that begins with an expression."""
    return Query(f"{_ENTRY} WHERE {_SHOP} = $1 AND id < $2 AND {which} ORDER BY {_SHOP} DESC, id DESC LIMIT $3")


_ABOUT: Final = {True: _about(_TELLS_STATE), False: _about(_EVERY)}
_OF_ACCOUNT: Final = {True: _of_account(_TELLS_STATE), False: _of_account(_EVERY)}
_LAST_LOOK: Final = Query(
    "SELECT coalesce(max(at), 0) FROM audit WHERE action = 'account.looked_at' AND subject = $1 AND actor = $2"
)


class ListedEntry(msgspec.Struct, frozen=True):
    """An audit entry, and its number."""

    id: int
    entry: AuditEntry


async def notes_about(store: Store, subject: str, limit: int) -> list[Note]:
    """The latest, newest first."""
    return [Note(*row) for row in await store.select(_NOTES, subject, limit)]


async def entries_about(
    store: Store, subjects: tuple[str, ...], below: int, limit: int, *, only_states: bool
) -> list[ListedEntry]:
    """Of one or two things that belong together, newest first: all, or how their state came about."""
    found: list[ListedEntry] = []
    for subject in subjects:
        query = (_OF_ACCOUNT if subject.startswith("account ") else _ABOUT)[only_states]
        found += [ListedEntry(row[0], AuditEntry(*row[1:])) for row in await store.select(query, subject, below, limit)]
    return sorted(found, key=lambda listed: -listed.id)[:limit]


async def last_look(store: Store, account: int, actor: str) -> int:
    """When this operator has looked at a business last; 0: never."""
    [(at,)] = await store.select(_LAST_LOOK, f"account {account}", actor)
    found: int = at
    return found
