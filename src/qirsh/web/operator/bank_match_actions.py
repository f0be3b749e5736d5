"""Lines of the bank and orders of the books at the operators' desk: matched, unmatched, listed and reconciled."""

from typing import Final

from qirsh.domain import limits
from qirsh.domain.bank_statement import BankMatch
from qirsh.domain.commands.bank_statement import MatchBankLine, MatchBankLines, Pair, UnmatchBankLine
from qirsh.domain.operator_role import OperatorRight
from qirsh.domain.tables import Tables
from qirsh.language.catalog import mark as _
from qirsh.store.reads.bank_reconciliation import reconcile_bank
from qirsh.store.reads.bank_statements import (
    House,
    latest_statement,
    pairs_by_reference,
    statements,
    unmatched_lines,
    unmatched_orders,
)
from qirsh.web.http.context import Context
from qirsh.web.operator.action import (
    NO_ORDER,
    ONE_OF,
    Action,
    ActionRefused,
    Actor,
    Params,
    reference,
    submit,
    word_text,
)
from qirsh.web.operator.bank_words import (
    bank_house,
    day_end,
    line_id,
    line_of,
    line_words,
    order_words,
    reconciled_words,
    statement_of,
    statement_words,
)

_RIGHT: Final = OperatorRight.MATCH_BANK


async def match(context: Context, actor: Actor, params: Params) -> Params:
    """One line and one order, by hand; without a line, all that say the same in everything."""
    house = await bank_house(context, params)
    if not params.get("line"):
        return {"house": house.name, "matched": await match_by_reference(context, actor, house)}
    found = await line_of(context, house, params)
    slip = reference(params)
    if await context.store.find(Tables.bank_orders, (house.number, slip)) is None:
        raise ActionRefused("not_found", NO_ORDER, field="reference", house=house.name)
    pair = Pair(found.line.digest, found.statement or "", slip)
    command = MatchBankLine(house.number, pair, actor.id, actor.name)
    done: BankMatch = await submit(context, command, _RIGHT)
    return {"house": house.name, "line": line_id(found.line), "reference": done.reference}


async def match_by_reference(context: Context, actor: Actor, house: House) -> int:
    """How many it were."""
    done = 0
    after: tuple[str, bytes] | None = ("", b"")
    while after is not None:
        pairs, after = await pairs_by_reference(context.store, house.number, after)
        if pairs:
            done += await submit(context, MatchBankLines(house.number, tuple(pairs), actor.id, actor.name), _RIGHT)
    return done


async def unmatch(context: Context, actor: Actor, params: Params) -> Params:
    """A line shows nothing again."""
    house = await bank_house(context, params)
    found = await line_of(context, house, params)
    if found.line.matched is None:
        raise ActionRefused("not_found", _("This line is matched with nothing."))
    command = UnmatchBankLine(house.number, found.line.matched, found.line.digest, actor.id, actor.name)
    ended: BankMatch = await submit(context, command, _RIGHT)
    return {"house": house.name, "line": line_id(found.line), "reference": ended.reference}


async def list_bank(context: Context, _actor: Actor, params: Params) -> Params:
    """The newest statements, or the oldest of what is matched with nothing."""
    house = await bank_house(context, params)
    what, store = word_text(params, "what", 20, default="statements"), context.store
    if what == "statements":
        items = [statement_words(one) for one in await statements(store, house.number, limits.LIST_ITEMS_MAX)]
    elif what == "lines":
        lines = await unmatched_lines(store, house.number, limits.LIST_ITEMS_MAX)
        items = [line_words(context, line) for line in lines]
    elif what == "orders":
        items = [order_words(order) for order in await unmatched_orders(store, house.number, limits.LIST_ITEMS_MAX)]
    else:
        raise ActionRefused("invalid", ONE_OF, field="what", known="statements, lines, orders")
    return {"house": house.name, "what": what, "items": items}


async def reconcile(context: Context, _actor: Actor, params: Params) -> Params:
    """The bank's closing balance and ours, at the end of a statement's last day."""
    if params.get("id"):
        statement = await statement_of(context, params)
        house = await bank_house(context, {"house": str(statement.house)})
    else:
        house = await bank_house(context, params)
        latest = await latest_statement(context.store, house.number)
        if latest is None:
            raise ActionRefused("not_found", _("No statement is imported yet."))
        statement = latest
    if statement.state != "imported":
        raise ActionRefused(
            "move_not_allowed", _("This statement does not count: it was taken back, or is incomplete.")
        )
    found = await reconcile_bank(context.store, statement, day_end(statement.last_day, statement.time_zone))
    return {
        "house": house.name,
        "id": statement.id,
        "day": statement.last_day,
        "items": [reconciled_words(one) for one in found],
    }


BANK_MATCH_ACTIONS: Final[dict[str, Action]] = {
    "bank match": Action(match, _RIGHT),
    "bank unmatch": Action(unmatch, _RIGHT),
    "bank list": Action(list_bank, OperatorRight.SEE_BANK),
    "bank reconcile": Action(reconcile, OperatorRight.SEE_BANK),
}
