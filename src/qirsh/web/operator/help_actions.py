"""A refund for a shop that is suspended, and what an admin has read of recoveries."""

import hashlib
from typing import Final

from qirsh.contract.timestamps import timestamp
from qirsh.domain import limits
from qirsh.domain.commands.recovery import ReadRecovery
from qirsh.domain.commands.refund import RefundForShop
from qirsh.domain.operator_role import OperatorRight
from qirsh.domain.payment import left_to_refund
from qirsh.domain.recovery import Recovery
from qirsh.domain.refund import refund_id
from qirsh.domain.tables import Tables
from qirsh.language.catalog import mark as _
from qirsh.store.reads.recoveries import unread_recoveries
from qirsh.web.http.context import Context
from qirsh.web.operator.action import Action, ActionRefused, Actor, Params, minor_amount, submit, word_text
from qirsh.web.operator.proposal_actions import ask

_ID_CHARACTERS_MAX: Final = 64
_REFUND_BYTES: Final = 12


async def ask_refund(context: Context, actor: Actor, params: Params) -> Params:
    """Money is to go back for a shop that cannot give it back by itself; all that is left, where no amount is named."""
    number = context.identifiers.payment_number(word_text(params, "payment", _ID_CHARACTERS_MAX))
    paid = None if number is None else await context.store.find(Tables.payments, number)
    if paid is None:
        raise ActionRefused("not_found", _("There is no such payment."))
    amount = minor_amount(params, paid.currency) if params.get("amount") else left_to_refund(paid)
    note = word_text(params, "note", limits.NOTE_CHARACTERS_MAX, default="")
    command = RefundForShop(
        id=_refund_id(context, params),
        payment=paid.number,
        merchant=paid.merchant,
        amount=amount,
        currency=paid.currency,
        payment_id=context.identifiers.payment_id(paid.number),
        note=note,
    )
    return await ask(context, actor, params, command)


async def list_recoveries(context: Context, _actor: Actor, _params: Params) -> Params:
    """Those that no admin has read."""
    found = await unread_recoveries(context.store)
    items = [
        {"id": one.id, "operator": f"{one.person} {one.name}", "by": one.done_by, "at": timestamp(one.at)}
        for one in found
    ]
    return {"items": items}


async def read_recovery(context: Context, actor: Actor, params: Params) -> Params:
    """From now on no page tells of it. The audit log does."""
    recovery: Recovery = await submit(
        context,
        ReadRecovery(word_text(params, "id", _ID_CHARACTERS_MAX), actor.id, actor.name),
        OperatorRight.ASK_SETUP,
    )
    return {"id": recovery.id, "operator": f"operator {recovery.person}", "state": "read"}


HELP_ACTIONS: Final[dict[str, Action]] = {
    "refund ask": Action(ask_refund, OperatorRight.ASK_HELP),
    "recovery list": Action(list_recoveries, OperatorRight.ASK_SETUP),
    "recovery read": Action(read_recovery, OperatorRight.ASK_SETUP),
}


def _refund_id(context: Context, params: Params) -> str:
    """By the form it came from, as the proposal is."""
    key = params.get("key")
    if type(key) is str and key:
        return refund_id(hashlib.sha256(f"refund {key}".encode()).digest()[:_REFUND_BYTES])
    return refund_id(context.entropy(_REFUND_BYTES))
