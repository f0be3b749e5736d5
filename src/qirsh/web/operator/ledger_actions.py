"""The ledger at the operators' desk."""

from typing import Final

from qirsh.contract.timestamps import timestamp
from qirsh.domain.money import format_amount
from qirsh.domain.operator_role import OperatorRight
from qirsh.web.http.context import Context
from qirsh.web.operator.action import Action, Actor, Params
from qirsh.web.operator.ledger_view import CurrencySums, ShownCheck, ledger_view


async def show_ledger(context: Context, _actor: Actor, _params: Params) -> Params:
    """What all balances add up to, what became of each check, and the last stops."""
    view = await ledger_view(context)
    return {
        "summedAt": _time(view.summed_at),
        "money": [_sum_words(one) for one in view.live],
        "testMoney": [_sum_words(one) for one in view.test],
        "checks": [_check_words(check) for check in view.checks],
        "stops": [
            {
                "id": stop.id,
                "at": timestamp(stop.at),
                "by": stop.stopped_by or "",
                "reason": stop.reason,
                "liftedAt": _time(stop.lifted_at),
                "liftedBy": stop.lifted_by or "",
                "liftedWhy": stop.lifted_why or "",
            }
            for stop in view.stops
        ],
        "fullCheck": {}
        if view.full_check is None
        else {
            "at": timestamp(view.full_check.at),
            "by": view.full_check.actor,
            "result": view.full_check.result,
        },
    }


def _sum_words(one: CurrencySums) -> Params:
    amounts = {kind: format_amount(amount, one.currency) for kind, amount in one.amounts.items()}
    total, held = (format_amount(amount, one.currency) for amount in (one.total, one.held))
    return {"currency": one.currency, **amounts, "total": total, "held": held}


def _check_words(check: ShownCheck) -> Params:
    kept = check.kept
    return {
        "check": check.name,
        "state": "not asked yet"
        if kept is None
        else "broken"
        if kept.finding
        else "holds"
        if kept.held_at
        else "begun",
        "heldAt": "" if kept is None else _time(kept.held_at),
        "lookedAt": "" if kept is None else timestamp(kept.looked_at),
        "stopsMoney": check.stops_money,
        "finding": "" if kept is None else kept.finding,
    }


def _time(at: int | None) -> str:
    return "" if at is None else timestamp(at)


LEDGER_ACTIONS: Final[dict[str, Action]] = {
    "ledger show": Action(show_ledger, OperatorRight.CHECK_LEDGER),
}
