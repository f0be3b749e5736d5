"""Operators find what they have a number or a name of, and write down what others should know."""

from typing import Final

import msgspec

from qirsh.contract.timestamps import timestamp
from qirsh.domain import limits
from qirsh.domain.commands.note import AddNote
from qirsh.domain.identifier import is_account_number
from qirsh.domain.note import ABOUT, About, Note, note_subject
from qirsh.domain.operator_role import OperatorRight
from qirsh.domain.tables import Tables
from qirsh.engine.note_text import sealed_text, text_of
from qirsh.language.catalog import mark as _
from qirsh.store.reads.notes import notes_about
from qirsh.store.reads.staff import members_of
from qirsh.web.html.input_text import message_text
from qirsh.web.http.context import Context
from qirsh.web.operator.action import (
    MISTYPED_ACCOUNT,
    ONE_OF,
    READABLE,
    Action,
    ActionRefused,
    Actor,
    Params,
    made_id,
    submit,
    word_text,
)
from qirsh.web.operator.search import search

_NUMBER_DIGITS_MAX: Final = 18


async def find(context: Context, actor: Actor, params: Params) -> Params:
    """Accounts, people, payments, and what belongs to them."""
    text = word_text(params, "words", limits.SEARCH_CHARACTERS_MAX)
    operator = await context.store.find(Tables.operators, actor.id)
    found = await search(context, text, "" if operator is None else operator.roles)
    return {"hits": [msgspec.to_builtins(hit) for hit in found.hits], "more": found.has_more}


async def add_note(context: Context, actor: Actor, params: Params) -> Params:
    """About a person, a business or a payment. Nobody can change it; it is kept sealed."""
    about, number = await _about(context, params)
    given = params.get("text")
    text = message_text(given, limits.OPERATOR_NOTE_CHARACTERS_MAX) if type(given) is str else None
    if not text:
        raise ActionRefused("invalid", READABLE, field="text", most=limits.OPERATOR_NOTE_CHARACTERS_MAX)
    note_id = made_id(context, params, "note")
    sealed = sealed_text(context.keyring, text, note_id)
    note = await submit(
        context, AddNote(note_id, about, number, sealed, actor.id, actor.name), OperatorRight.WRITE_TO_SHOPS
    )
    return {"note": note.id, "about": about, "id": str(params["id"])}


async def list_notes(context: Context, actor: Actor, params: Params) -> Params:
    """The latest about one thing, newest first. Nobody reads what others wrote about them or their shop."""
    about, number = await _about(context, params)
    if actor.person in await note_parties(context, about, number):
        raise ActionRefused("own_request")
    found = await notes_about(context.store, note_subject(about, number), limits.OPERATOR_NOTES_SHOWN_MAX)
    return {"notes": [await _note_words(context, note) for note in found]}


async def note_parties(context: Context, about: About, number: int) -> set[int | None]:
    """Who does not read what is written there: the person, or who owns the account or works for the business."""
    if about == "person":
        return {number}
    if about == "account":
        account = await context.store.find(Tables.accounts, number)
        members = await members_of(context.store, number)
        return {None if account is None else account.owner, *(one.member.person for one in members)}
    payment = await context.store.find(Tables.payments, number)
    if payment is None:
        return set()
    payer = None if payment.payer is None else await context.store.find(Tables.accounts, payment.payer)
    merchant = await context.store.find(Tables.accounts, payment.merchant)
    assert merchant is not None, "a payment without its merchant"
    of_shop = await note_parties(context, "account", merchant.live_account or merchant.number)
    return of_shop | {None if payer is None else payer.owner}


async def _about(context: Context, params: Params) -> tuple[About, int]:
    """What is kept of what was named: of a personal account its owner, of a test account its business."""
    about = next((each for each in ABOUT if each == params.get("about")), None)
    if about is None:
        raise ActionRefused("invalid", ONE_OF, field="about", known=", ".join(ABOUT))
    named = word_text(params, "id", _NUMBER_DIGITS_MAX)
    if about == "payment":
        number = context.identifiers.payment_number(named)
        if number is None:
            raise ActionRefused("invalid", _("must be a payment number of 16 digits; this one is mistyped"), field="id")
        return about, number
    if not (named.isascii() and named.isdigit()):
        raise ActionRefused("invalid", _("must be a number"), field="id")
    if about == "account":
        if not is_account_number(named):
            raise ActionRefused("invalid", MISTYPED_ACCOUNT, field="id")
        account = await context.store.find(Tables.accounts, int(named))
        if account is not None and account.live_account is not None:
            return about, account.live_account
        if account is not None and account.kind == "personal" and account.owner is not None:
            return "person", account.owner
    return about, int(named)


async def _note_words(context: Context, note: Note) -> Params:
    writer = await context.store.find(Tables.people, note.person)
    return {
        "note": note.id,
        "at": timestamp(note.at),
        "by": writer.name if writer else "",
        "text": text_of(context.keyring, note) or "",
    }


SEARCH_ACTIONS: Final[dict[str, Action]] = {
    "search": Action(find, OperatorRight.LOOK),
    "note add": Action(add_note, OperatorRight.WRITE_TO_SHOPS),
    "note list": Action(list_notes, OperatorRight.WRITE_TO_SHOPS),
}
