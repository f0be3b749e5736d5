"""The audit log at the operators' desk: who did what, page by page, and as a file that is made while it is sent."""

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final

import msgspec

from qirsh.contract.timestamps import timestamp
from qirsh.domain import limits
from qirsh.domain.commands.audit_log import RecordAuditExport
from qirsh.domain.identifier import is_account_number
from qirsh.domain.operator import may_act
from qirsh.domain.operator_role import OperatorRight, may
from qirsh.domain.tables import Tables
from qirsh.language.catalog import mark as _
from qirsh.store.reads import people as people_queries
from qirsh.store.reads.audit_log import (
    AuditEntryRow,
    AuditFilter,
    AuditPlace,
    audit_pages,
    known_actions,
    read_audit_log,
)
from qirsh.web.documents.audit_csv import audit_csv
from qirsh.web.html.period import read_period
from qirsh.web.http.context import Context
from qirsh.web.http.cursor import encode_cursor, numbers_of
from qirsh.web.http.problems import Problem
from qirsh.web.operator.action import CHUNKS, Action, ActionRefused, Actor, Params, submit, word_text

AUDIT_FIELDS: Final = ("actor", "act", "subject", "from", "to")
_FIELD_CHARACTERS_MAX: Final = 200
_CURSOR: Final = "audit"
_ASKED_AGAIN_S: Final = 0.5  # Whoever loses a right feels it within a second.
_WRONG_DAY: Final = {
    "no_day": _("must be a day such as 2026-11-17"),
    "before_from": _("must not be before the first day"),
}


class AuditPage(msgspec.Struct, frozen=True):
    """Some entries, and where the list goes on."""

    entries: list[AuditEntryRow]
    after: str  # Empty at the end.


async def read_page(context: Context, params: Params, limit: int) -> AuditPage:
    """The next entries that the words ask for."""
    wanted, place = await _wanted(context, params), AuditPlace()
    if after := word_text(params, "after", _FIELD_CHARACTERS_MAX, default=""):
        try:
            place = AuditPlace(*numbers_of(after, _CURSOR, 2))
        except Problem:
            raise ActionRefused(
                "invalid", _("must be what an earlier page of this list has named"), field="after"
            ) from None
    found, going_on = await read_audit_log(context.store, wanted, place, limit)
    return AuditPage(found, "" if going_on is None else encode_cursor(_CURSOR, going_on.at, going_on.id))


async def list_entries(context: Context, _actor: Actor, params: Params) -> Params:
    """The newest first."""
    page = await read_page(context, params, limits.LIST_ITEMS_MAX)
    return {"items": [_entry_words(entry) for entry in page.entries], "after": page.after}


async def export_entries(context: Context, actor: Actor, params: Params) -> Params:
    """All that the words ask for, as a file. Whoever has lost their right is refused by the commit that notes it."""
    wanted = await _wanted(context, params)
    asked = {name: params[name] for name in AUDIT_FIELDS if params.get(name)}
    what = ", ".join(f"{name} {value}" for name, value in asked.items()) or "all entries"
    # From the newest down: what is noted after its first page is not in it, or it would have no end.
    pages = _while_allowed(context, actor, audit_pages(context.store, wanted, AuditPlace()))
    chunks = context.streams.begin(actor.name, audit_csv(pages, context.streams, context.time_zone))
    try:
        await submit(context, RecordAuditExport(what, actor.name, actor.person), OperatorRight.SEE_AUDIT_LOG)
    except BaseException:
        await chunks.aclose()
        raise
    return {"what": what, CHUNKS: chunks}


async def known_operators(context: Context) -> dict[int, str]:
    """The names of those who are or were operators, for pages that show actors."""
    rows = await context.store.select(people_queries.OPERATORS_LISTED, limits.OPERATORS_LISTED_MAX)
    return {person: name for _email, name, *_, person, _roles in rows}


async def _wanted(context: Context, params: Params) -> AuditFilter:
    words = {name: word_text(params, name, _FIELD_CHARACTERS_MAX, default="").strip() for name in AUDIT_FIELDS}
    days, errors = read_period(words["from"], words["to"])
    for name, why in errors.items():
        raise ActionRefused("invalid", _WRONG_DAY[why], field=name)
    wanted = AuditFilter(
        actors=await _actors(context, words["actor"]),
        actions=await _actions(context, words["act"]),
        subject=_subject(words["subject"]),
    )
    if days is None:
        return wanted
    zone = context.time_zone
    return msgspec.structs.replace(wanted, begin=max(0, days.begin_ms(zone)), end=days.end_ms(zone))


async def _actors(context: Context, text: str) -> tuple[str, ...]:
    """An operator by number or by a part of their name; anybody else as the log names them."""
    if not text:
        return ()
    if text.isascii() and text.isdigit():
        return (f"operator {int(text)}",)
    sought = text.casefold()
    operators = await known_operators(context)
    named = tuple(f"operator {person}" for person, name in operators.items() if sought in name.casefold())
    return named or (text.partition(" (")[0] if text.startswith("operator ") else text,)


async def _actions(context: Context, text: str) -> tuple[str, ...] | None:
    """One, or all that begin so."""
    if not text:
        return None
    known = await known_actions(context.store)
    return (text,) if text in known else tuple(action for action in known if action.startswith(text))


def _subject(text: str) -> str:
    """An account by its number alone; anything else as the log names it."""
    digits = text.replace(" ", "")
    return f"account {digits}" if is_account_number(digits) else text


def _entry_words(entry: AuditEntryRow) -> Params:
    return {
        "entry": entry.id,
        "time": timestamp(entry.at),
        "actor": entry.actor,
        "action": entry.action,
        "subject": entry.subject,
        "detail": entry.detail,
    }


async def _while_allowed(
    context: Context, actor: Actor, pages: AsyncGenerator[list[AuditEntryRow], None]
) -> AsyncGenerator[list[AuditEntryRow], None]:
    """The entries, for as long as who takes them may have them: it may take hours over a slow line."""
    asked_at = time.monotonic()
    async with aclosing(pages):
        async for page in pages:
            if time.monotonic() >= asked_at + _ASKED_AGAIN_S:
                await _check_right(context, actor)
                asked_at = time.monotonic()
            yield page


async def _check_right(context: Context, actor: Actor) -> None:
    operator = await context.store.find(Tables.operators, actor.id)
    person = await context.store.find(Tables.people, actor.id)
    account = None if person is None else await context.store.find(Tables.accounts, person.account)
    right = OperatorRight.SEE_AUDIT_LOG
    if operator is None or not may_act(operator, person, account) or not may(operator.roles, right):
        raise Problem("missing_right", detail=f"It takes the right {right}.")


AUDIT_ACTIONS: Final[dict[str, Action]] = {
    "audit list": Action(list_entries, OperatorRight.SEE_AUDIT_LOG),
    "audit export": Action(export_entries, OperatorRight.SEE_AUDIT_LOG),
}
