"""Files of the bank at the operators' desk: how they are written, imported after a look at them, and taken back."""

import asyncio
import hashlib
from base64 import b64decode
from collections import Counter
from typing import Any, Final
from zoneinfo import ZoneInfo

import msgspec

from qirsh.contract.timestamps import timestamp
from qirsh.domain import limits
from qirsh.domain.bank_amount import BadAmount, read_amount
from qirsh.domain.bank_file import FileLine, UnderstoodFile, understood
from qirsh.domain.bank_format import BankFormat, format_fault, written_format
from qirsh.domain.bank_statement import BankStatement, line_digest
from qirsh.domain.commands.bank_statement import (
    AddBankLines,
    BeginBankStatement,
    FinishBankStatement,
    NewBankLine,
    RemoveBankLines,
    SetBankFormat,
    UndoBankStatement,
)
from qirsh.domain.money import CURRENCIES, format_amount
from qirsh.domain.operator_role import OperatorRight
from qirsh.domain.tables import Tables
from qirsh.engine.bank_line_text import sealed_text
from qirsh.language.catalog import mark as _
from qirsh.language.local_time import local_day, zone_names
from qirsh.store.reads.bank_statements import House, known_lines, lines_to_remove, statement_of_file
from qirsh.web.http.context import Context
from qirsh.web.operator.action import Action, ActionRefused, Actor, Params, made_id, submit, word_text
from qirsh.web.operator.bank_match_actions import BANK_MATCH_ACTIONS, match_by_reference
from qirsh.web.operator.bank_words import (
    FORMAT_FAULTS,
    bank_house,
    fault_words,
    format_of,
    statement_of,
    statement_words,
)

_RIGHT: Final = OperatorRight.MATCH_BANK
_FILE_SIGNS_MAX: Final = limits.BANK_FILE_BYTES_MAX * 4 // 3 + 4  # As it is sent, in letters.
_FILE_NAME_CHARACTERS_MAX: Final = 200
CLOSING: Final = {code: f"closing{code}" for code in CURRENCIES}  # The fields of balances that somebody types.
FORMAT_FIELDS: Final = BankFormat.__struct_fields__


async def set_format(context: Context, actor: Actor, params: Params) -> Params:
    """How the bank of a house account writes its files from now on."""
    house = await bank_house(context, params)
    chosen = _format(params)
    await submit(context, SetBankFormat(house.number, written_format(chosen), actor.id, actor.name), _RIGHT)
    return {"house": house.name, **msgspec.structs.asdict(chosen)}


async def import_file(context: Context, actor: Actor, params: Params) -> Params:
    """What was understood of a file; and, if its digest is given as well, the import of exactly that."""
    house = await bank_house(context, params)
    chosen = await format_of(context, house)
    data, name = _file(params), word_text(params, "name", _FILE_NAME_CHARACTERS_MAX)
    digest = hashlib.sha256(data).digest()
    today = local_day(context.clock(), ZoneInfo(chosen.time_zone))
    # Beside the loop: others have not sent it.
    found = await asyncio.to_thread(understood, data, chosen, today)
    seen = word_text(params, "digest", 64, default="")
    if not seen:
        return await _preview(context, house, name, digest, found)
    if seen != digest.hex():
        raise ActionRefused(
            "changed_meanwhile", _("This is another file than the one that was shown. Look at it first.")
        )
    if found.faults:
        [first, *_others] = found.faults
        told = fault_words(first)["told"]
        raise ActionRefused("invalid", _("line %(line)s: %(fault)s"), field="file", line=first.line, fault=told)
    statement = await _begun(context, actor, params, house, chosen=chosen, found=found, name=name, digest=digest)
    new = 0 if statement.state == "imported" else await _stored(context, actor, statement, found)
    matched = await match_by_reference(context, actor, house)
    kept = await context.store.find(Tables.bank_statements, statement.id)
    return {**statement_words(kept or statement), "house": house.name, "new": new, "matched": matched}


async def undo(context: Context, actor: Actor, params: Params) -> Params:
    """A file is taken back, with its matches and the lines that no other file has."""
    statement = await statement_of(context, params)
    try:
        undone: BankStatement = await submit(context, UndoBankStatement(statement.id, actor.id, actor.name), _RIGHT)
    except ActionRefused as refused:
        if refused.code != "move_not_allowed":
            raise
        raise ActionRefused(
            refused.code,
            _(
                "This file is being imported since %(since)s. It can be taken back when that is done, or after"
                " 2 minutes."
            ),
            since=timestamp(statement.imported_at),
        ) from None
    ended = 0
    while lines := await lines_to_remove(context.store, undone.id):
        command = RemoveBankLines(undone.id, undone.house, tuple(lines), actor.id, actor.name)
        ended += await submit(context, command, _RIGHT)
    return {"id": undone.id, "state": undone.state, "lines": undone.lines, "unmatched": ended, "house": undone.house}


BANK_ACTIONS: Final[dict[str, Action]] = {
    "bank format": Action(set_format, _RIGHT),
    "bank import": Action(import_file, _RIGHT),
    "bank undo": Action(undo, _RIGHT),
    **BANK_MATCH_ACTIONS,
}


def _format(params: Params) -> BankFormat:
    """As it was typed; or what is wrong with it, beside its field."""
    given: dict[str, Any] = {name: params[name] for name in FORMAT_FIELDS if params.get(name) not in {None, ""}}
    if type(given.get("skipped")) is str and given["skipped"].isdecimal() and len(given["skipped"]) <= 3:  # noqa: PLR2004 - digits
        given["skipped"] = int(given["skipped"])
    try:
        chosen = msgspec.convert(given, BankFormat)
    except msgspec.ValidationError as error:
        where = str(error).partition("`$.")[2].rstrip("`") or str(error).partition("field `")[2].rstrip("`")
        raise ActionRefused("invalid", _("must be one of those that there are"), field=where or "format") from None
    if fault := format_fault(chosen):
        raise ActionRefused(
            "invalid", FORMAT_FAULTS[fault.what], field=fault.field, most=fault.most, known=", ".join(CURRENCIES)
        )
    if chosen.time_zone not in zone_names():
        raise ActionRefused("invalid", _("must be a name such as Asia/Damascus"), field="time_zone")
    return chosen


def _file(params: Params) -> bytes:
    given = params.get("file")
    if type(given) is not str or not given:
        raise ActionRefused("invalid", _("must be given"), field="file")
    if len(given) > _FILE_SIGNS_MAX:
        raise ActionRefused(
            "invalid", _("must be at most %(size)s MiB"), field="file", size=limits.BANK_FILE_BYTES_MAX // 1024 // 1024
        )
    try:
        return b64decode(given.encode(), altchars=b"-_", validate=True)
    except ValueError:
        raise ActionRefused("invalid", _("must arrive as it was sent"), field="file") from None


async def _preview(context: Context, house: House, name: str, digest: bytes, found: UnderstoodFile) -> Params:
    """Nothing is kept of it."""
    known = await known_lines(context.store, house.number, [line_digest(line) for line in found.lines])
    came: Counter[str] = Counter()
    left: Counter[str] = Counter()
    for line in found.lines:
        (came if line.amount > 0 else left)[line.currency] += line.amount
    return {
        "state": "faulty" if found.faults else "preview",
        "house": house.name,
        "name": name,
        "digest": digest.hex(),
        "faults": [fault_words(fault) for fault in found.faults],
        "lines": len(found.lines),
        "known": known,
        "new": len(found.lines) - known,
        "zeros": found.zeros,
        "days": [min(days), max(days)] if (days := [line.day for line in found.lines]) else [],
        "totals": [
            {"currency": code, "in": format_amount(came[code], code), "out": format_amount(left[code], code)}
            for code in sorted({*came, *left})
        ],
        "closing": {code: format_amount(amount, code) for code, amount in found.closing.items()},
        "first": [_line_words(line) for line in found.lines[: limits.BANK_LINES_SHOWN_MAX]],
    }


def _line_words(line: FileLine) -> Params:
    return {
        "number": line.number,
        "day": line.day,
        "amount": format_amount(line.amount, line.currency),
        "currency": line.currency,
        "reference": line.reference,
        "text": line.text,
    }


async def _begun(
    context: Context,
    actor: Actor,
    params: Params,
    house: House,
    *,
    chosen: BankFormat,
    found: UnderstoodFile,
    name: str,
    digest: bytes,
) -> BankStatement:
    """A statement whose lines are not there yet; or the same one, if the same form was sent before."""
    statement_id = made_id(context, params, "bs")
    before = await statement_of_file(context.store, house.number, digest)
    if before is not None and before.id != statement_id:
        told = statement_words(before)
        raise ActionRefused(
            "already_decided",
            _("This very file was imported by %(who)s at %(at)s: %(statement)s."),
            who=told["importedBy"],
            at=told["importedAt"],
            statement=before.id,
        )
    days = [line.day for line in found.lines]
    command = BeginBankStatement(
        id=statement_id,
        house=house.number,
        name=name,
        digest=digest,
        first_day=min(days),
        last_day=max(days),
        lines=len(found.lines),
        closing=msgspec.json.encode(found.closing or _typed_closing(params), order="sorted").decode(),
        time_zone=chosen.time_zone,
        operator=actor.id,
        actor=actor.name,
    )
    begun: BankStatement = await submit(context, command, _RIGHT)
    return begun


def _typed_closing(params: Params) -> dict[str, int]:
    """What an operator has read on the bank's own page, where the file does not tell it."""
    closing = {}
    for code, field in CLOSING.items():
        given = word_text(params, field, 30, default="").strip()
        if given:
            try:
                closing[code] = read_amount(given, code, ".")
            except BadAmount:
                raise ActionRefused(
                    "invalid", _("must be like %(example)s"), field=field, example=format_amount(10098, code)
                ) from None
    return closing


async def _stored(context: Context, actor: Actor, statement: BankStatement, found: UnderstoodFile) -> int:
    """Some lines at a time, so that nobody's payment waits for all of them; they count when all are there."""
    new = 0
    try:
        for start in range(0, len(found.lines), limits.BANK_LINES_AT_ONCE):
            part = found.lines[start : start + limits.BANK_LINES_AT_ONCE]
            lines = tuple(_on_its_way(context, statement.house, line) for line in part)
            command = AddBankLines(statement.id, statement.house, lines, actor.id, actor.name)
            new += await submit(context, command, _RIGHT)
        await submit(context, FinishBankStatement(statement.id, actor.id, actor.name), _RIGHT)
    except ActionRefused as refused:
        # The same form, sent twice, may have come to its end by the other way.
        kept = await context.store.find(Tables.bank_statements, statement.id)
        if refused.code != "move_not_allowed" or kept is None or kept.state != "imported":
            raise
    return new


def _on_its_way(context: Context, house: int, line: FileLine) -> NewBankLine:
    digest = line_digest(line)
    return NewBankLine(
        digest=digest,
        number=line.number,
        day=line.day,
        amount=line.amount,
        currency=line.currency,
        reference=line.reference,
        text_sealed=sealed_text(context.keyring, line.text, house, digest),
    )
