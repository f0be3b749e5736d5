"""What the pages of a person, an account and a payment have in common: money, notes, what waits, audit entries."""

import re
from typing import Any, Final

import msgspec

from qirsh.domain import limits
from qirsh.domain.ledger import Kind
from qirsh.domain.note import About, note_subject
from qirsh.domain.proposal import Proposal
from qirsh.engine.note_text import text_of
from qirsh.store.reads.account_entries import NamedEntry, search_entries
from qirsh.store.reads.notes import MAX_ENTRY, ListedEntry, entries_about, notes_about
from qirsh.store.reads.proposals import waiting_for
from qirsh.web.html.page_query import with_query
from qirsh.web.http.cursor import cursor_of, encode_cursor, numbers_of, read_cursor
from qirsh.web.operator.console_page import ConsolePage
from qirsh.web.operator.search_actions import note_parties

LISTED: Final = 10  # Of each kind on one page.
_TRANSACTIONS: Final = "ot"
_ENTRIES: Final = "oa"
_WHO: Final = re.compile(r"(?:operator|person) ([1-9][0-9]{0,17})\b", re.ASCII)


class Line(msgspec.Struct, frozen=True):
    """One transaction, seen from the account."""

    kind: Kind
    change: int
    balance: int
    currency: str
    other: int
    other_name: str
    payment_id: str
    reference: str  # The bank's.
    at: int


class WrittenNote(msgspec.Struct, frozen=True):
    """A note as operators read it; None: it is gone with its person, or does not open."""

    text: str | None
    by: str
    at: int


class ShownEntry(msgspec.Struct, frozen=True):
    """An audit entry, with the name of who acted, if they have one."""

    listed: ListedEntry
    name: str


async def transactions(page: ConsolePage, account: int, after: str, address: str) -> dict[str, Any]:
    """The newest of an account, or those below a place."""
    cursor = read_cursor(_TRANSACTIONS, after or None, None)
    found = await search_entries(page.context.store, account, cursor, {}, fits=None, limit=LISTED)
    older = "" if found.next is None else with_query(address, {"after": cursor_of(_TRANSACTIONS, found.next)})
    return {"lines": [_line(page, entry) for entry in found.entries], "older_lines": older}


async def notes(page: ConsolePage, about: About, number: int) -> list[WrittenNote]:
    """The latest about one thing, for who may write them too."""
    if not page.may("write_to_shops") or page.operator.person in await note_parties(page.context, about, number):
        return []
    found = await notes_about(page.context.store, note_subject(about, number), limits.OPERATOR_NOTES_SHOWN_MAX)
    return [
        WrittenNote(text_of(page.context.keyring, note), await page.name_of(note.person), note.at) for note in found
    ]


async def waits(page: ConsolePage, *subjects: str) -> list[Proposal]:
    """What another operator is asked to decide about these."""
    store = page.context.store
    return [proposal for subject in subjects for proposal in await waiting_for(store, subject, limits.LIST_ITEMS_MAX)]


async def audit_entries(page: ConsolePage, subjects: tuple[str, ...], below: str, address: str) -> dict[str, Any]:
    """What was done about these, newest first, as far as their roles see it."""
    last, most = numbers_of(below, _ENTRIES, 1)[0] if below else MAX_ENTRY, limits.LIST_ITEMS_DEFAULT
    only_states = not page.may("see_audit_log")
    found = await entries_about(page.context.store, subjects, last, most + 1, only_states=only_states)
    shown, older = found[:most], ""
    if len(found) > most:
        older = with_query(address, {"entries": encode_cursor(_ENTRIES, shown[-1].id)})
    names: dict[str, str] = {}
    for actor in {one.entry.actor for one in shown}:
        who = _WHO.match(actor)
        names[actor] = await page.name_of(int(who[1])) if who else ""
    return {"entries": [ShownEntry(one, names[one.entry.actor]) for one in shown], "older_entries": older}


def _line(page: ConsolePage, entry: NamedEntry) -> Line:
    is_bank = entry.payment is None
    return Line(
        kind=entry.kind,
        change=entry.change,
        balance=entry.balance,
        currency=entry.currency,
        other=entry.other,
        other_name=entry.other_name,
        payment_id="" if entry.payment is None else page.context.identifiers.payment_id(entry.payment),
        reference=entry.reference if is_bank else "",
        at=entry.created_at,
    )
