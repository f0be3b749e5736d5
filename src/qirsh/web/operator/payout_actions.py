"""Payouts at the operators' desk: what waits, with the bank accounts it goes to; what is ordered; what is refused.

A second operator confirms the order like every withdrawal, and then the money moves.
"""

from typing import Final

from qirsh.contract.timestamps import timestamp
from qirsh.domain.commands.bank_order import BookBankTransfer
from qirsh.domain.commands.payout import RefusePayout
from qirsh.domain.money import format_amount
from qirsh.domain.operator_role import OperatorRight
from qirsh.domain.payout import Payout
from qirsh.domain.tables import Tables
from qirsh.engine.bank_details import unsealed
from qirsh.language.catalog import mark as _
from qirsh.store.reads import queries
from qirsh.web.http.context import Context
from qirsh.web.operator.action import (
    Action,
    ActionRefused,
    Actor,
    Params,
    house,
    reason_of,
    reference,
    submit,
    word_text,
)
from qirsh.web.operator.payout_mail import payout_letters
from qirsh.web.operator.proposal_actions import ask

_LISTED_MAX: Final = 200
_ID_CHARACTERS_MAX: Final = 64


async def list_payouts(context: Context, _actor: Actor, _words: Params) -> Params:
    """Those that may still be paid, oldest first."""
    rows = await context.store.select(queries.OPEN_PAYOUTS, _LISTED_MAX)
    return {"payouts": [await _payout_words(context, Payout(*row)) for row in rows]}


async def order_payout(context: Context, actor: Actor, params: Params) -> Params:
    """The bank has been told to send it: the first operator's half."""
    payout = await _payout(context, params)
    slip = reference(params)
    command = BookBankTransfer(
        kind="withdrawal",
        house=await house(context, params),
        reference=slip,
        account=payout.account,
        currency=payout.currency,
        amount=payout.amount,
        payout=payout.id,
    )
    return {"payout": payout.id, **await ask(context, actor, {"reason": f"payout {payout.id}", **params}, command)}


async def refuse_payout(context: Context, actor: Actor, params: Params) -> Params:
    """No money will be sent, and who asked is told why."""
    payout = await _payout(context, params)
    if payout.state == "ordered":
        raise ActionRefused(
            "move_not_allowed",
            _("It is ordered: its proposal, which `qirsh proposal list` shows, must be refused or withdrawn first."),
        )
    reason = reason_of(params)
    letters = await payout_letters(context, payout, "payout_refused", reason=reason)
    refused = await submit(context, RefusePayout(payout.id, reason, actor.id, actor.name, letters))
    return {"payout": refused.id, "account": str(refused.account), "state": refused.state}


PAYOUT_ACTIONS: Final[dict[str, Action]] = {
    "payout list": Action(list_payouts, OperatorRight.ASK_MONEY),
    "payout order": Action(order_payout, OperatorRight.ASK_MONEY),
    "payout refuse": Action(refuse_payout, OperatorRight.ASK_MONEY),
}


async def _payout(context: Context, params: Params) -> Payout:
    payout = await context.store.find(Tables.payouts, word_text(params, "id", _ID_CHARACTERS_MAX))
    if payout is None:
        raise ActionRefused(
            "not_found", _("There is no payout with this id: `qirsh payout list` shows those that wait.")
        )
    return payout


async def _payout_words(context: Context, payout: Payout) -> Params:
    account = await context.store.find(Tables.accounts, payout.account)
    bank = unsealed(context.keyring, payout.bank_sealed, payout.id)
    return {
        "id": payout.id,
        "state": payout.state,
        "account": str(payout.account),
        "name": account.name if account else "",
        "amount": format_amount(payout.amount, payout.currency),
        "currency": payout.currency,
        "holder": bank.holder if bank else "",
        "bank": bank.bank if bank else "",
        "bankAccount": bank.account if bank else "",
        "reference": payout.reference or "",
        "askedAt": timestamp(payout.created_at),
    }
