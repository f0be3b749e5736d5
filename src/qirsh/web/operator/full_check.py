"""Every rule at once, as `qirsh verify` would: for operators who want to know, and before a stop is lifted."""

from typing import Final

from qirsh.domain.commands.audit_log import RecordCheck
from qirsh.domain.commands.ledger_check import RecordLedgerChecks
from qirsh.domain.commands.stop import StopMoney
from qirsh.domain.ledger_check import Looked
from qirsh.domain.restore import awaits_restore
from qirsh.domain.tables import Tables
from qirsh.engine.chain_memory import WHAT_TO_DO
from qirsh.language.catalog import mark as _
from qirsh.store.integrity import (
    attested_rows,
    audited,
    bank_invariants,
    hash_chain,
    name_words,
    staff_invariants,
    total_invariants,
)
from qirsh.store.integrity.invariant import Violation
from qirsh.store.integrity.invariants import ALL, REMEMBERED
from qirsh.store.interface import CannotTell
from qirsh.store.reads import queries
from qirsh.store.reads.ledger import sum_balances
from qirsh.web.http.context import Context
from qirsh.web.operator.action import ActionRefused, Actor, Params, submit

# What tells of hands in the database and not of money; some of it cannot be repaired, some is by itself.
_NO_MONEY: Final = (
    REMEMBERED
    | total_invariants.NAMES
    | staff_invariants.NAMES
    | bank_invariants.NAMES
    | {attested_rows.CREDENTIALS.name, name_words.NAMES.name}
)


async def run_audit(context: Context, actor: Actor, _words: Params) -> Params:
    """Money that does not add up stops."""
    found = await _verified(context)
    result = f"{len(found)} violations, the first: {found[0].sentence}" if found else "no violations"
    await submit(context, RecordCheck(actor.name, result, actor.person))
    await submit(context, RecordLedgerChecks(_looked(found), await sum_balances(context.store)))
    [(last, is_open)] = await context.store.select(queries.LAST_STOP)
    broken = _of_money(found)
    if broken and not is_open:
        await submit(context, StopMoney(last + 1, broken[0].sentence, actor.name))
    return {
        "violations": len(found),
        "first": found[0].sentence if found else "",
        "money": "stopped" if broken or is_open else "moves",
    }


def _looked(found: list[Violation]) -> tuple[Looked, ...]:
    """For the rules that the ledger auditor asks too, of which all rows were looked at now."""
    first: dict[str, str] = {}
    for violation in found:
        first.setdefault(violation.name, violation.sentence)
    asked = {invariant.name for invariant in ALL} | {audited.GUARDS}
    if not hash_chain.NAMES & first.keys():  # Of a broken chain only the first faults are told.
        asked |= hash_chain.NAMES
    names = [name for name in (*audited.OF_MONEY, *audited.TOLD) if name in asked or name in first]
    return tuple(Looked(name, is_whole=name not in first, finding=first.get(name, "")) for name in names)


async def _set_back(context: Context) -> str | None:
    """How it was found that commits are gone, by this process or by the one that stopped money."""
    [(last, _is_open)] = await context.store.select(queries.LAST_STOP)
    stop = await context.store.find(Tables.stops, last)
    restore = await context.store.find(Tables.restores, context.store.instance.epoch)
    if stop is not None and stop.lifted_at is None and awaits_restore(stop, restore):
        return stop.reason
    return context.engine.money_stop.set_back


async def check_before_lifting(context: Context) -> None:
    """Every rule of money holds. What the chain remembers may stay: it cannot be repaired."""
    if (how := await _set_back(context)) is not None:
        raise ActionRefused("move_not_allowed", "%(why)s", why=f"{how}; {WHAT_TO_DO}")
    broken = _of_money(await _verified(context))
    if broken:
        raise ActionRefused(
            "move_not_allowed",
            _("%(count)s rules are still broken, the first: %(first)s"),
            count=len(broken),
            first=broken[0].sentence,
        )


def _of_money(found: list[Violation]) -> list[Violation]:
    return [violation for violation in found if violation.name not in _NO_MONEY]


async def _verified(context: Context) -> list[Violation]:
    try:
        return await context.verify()
    except CannotTell as error:
        raise ActionRefused("unavailable", "%(why)s", why=error) from error
