"""Payouts at the operators' desk: what waits, with the bank accounts it goes to; what is ordered; what is refused.

A second operator confirms the order like every withdrawal, and then the money moves.
"""

from typing import Final

from qirsh.contract.timestamps import timestamp
from qirsh.domain import limits
from qirsh.domain.bank_order import BankOrder
from qirsh.domain.commands.bank_order import RequestBankTransfer
from qirsh.domain.commands.payout import RefusePayout
from qirsh.domain.mail import Letter
from qirsh.domain.money import format_amount
from qirsh.domain.payout import Payout
from qirsh.domain.tables import Tables
from qirsh.engine.bank_details import unsealed
from qirsh.store.reads import people, queries
from qirsh.web.auth.outgoing_mail import letters
from qirsh.web.http.context import Context
from qirsh.web.operator.action import (
    Action,
    ActionRefused,
    Actor,
    Params,
    house,
    order_words,
    reference,
    submit,
    word_text,
)

_LISTED_MAX: Final = 200
_ID_CHARACTERS_MAX: Final = 64


async def list_payouts(context: Context, _actor: Actor, _words: Params) -> Params:
    """Those that may still be paid, oldest first."""
    rows = await context.store.select(queries.OPEN_PAYOUTS, _LISTED_MAX)
    return {"payouts": [await _payout_words(context, Payout(*row)) for row in rows]}


async def order_payout(context: Context, actor: Actor, params: Params) -> Params:
    """The bank has been told to send it: the first operator's half."""
    payout = await _payout(context, params)
    command = RequestBankTransfer(
        kind="withdrawal",
        house=await house(context),
        reference=reference(params),
        account=payout.account,
        currency=payout.currency,
        amount=payout.amount,
        operator=actor.id,
        actor=actor.name,
        payout=payout.id,
    )
    return {"payout": payout.id, **order_words(await submit(context, command))}


async def refuse_payout(context: Context, actor: Actor, params: Params) -> Params:
    """No money will be sent, and who asked is told why."""
    payout = await _payout(context, params)
    reason = word_text(params, "reason", limits.NOTE_CHARACTERS_MAX)
    letters = await _letters(context, payout, "payout_refused", reason=reason)
    refused = await submit(context, RefusePayout(payout.id, reason, actor.id, actor.name, letters))
    return {"payout": refused.id, "account": str(refused.account), "state": refused.state}


PAYOUT_ACTIONS: Final[dict[str, Action]] = {
    "payout list": list_payouts,
    "payout order": order_payout,
    "payout refuse": refuse_payout,
}


async def letters_of_order(context: Context, order: BankOrder | None) -> tuple[Letter, ...]:
    """What is mailed once this order is confirmed, if it pays a payout request."""
    if order is None or order.payout is None:
        return ()
    payout = await context.store.find(Tables.payouts, order.payout)
    return () if payout is None else await _letters(context, payout, "payout_paid", reference=order.reference)


async def _letters(context: Context, payout: Payout, kind: str, **params: str) -> tuple[Letter, ...]:
    account = await context.store.find(Tables.accounts, payout.account)
    if account is None or account.owner is None:
        return ()
    person = await context.store.find(Tables.people, account.owner)
    emails = await context.store.select(people.EMAIL_OF, account.owner)
    if person is None or not emails:
        return ()
    facts: dict[str, str | int] = {"amount": payout.amount, "currency": payout.currency, **params}
    return letters(context, kind, to=emails[0][0], language=person.language, **facts)


async def _payout(context: Context, params: Params) -> Payout:
    payout = await context.store.find(Tables.payouts, word_text(params, "id", _ID_CHARACTERS_MAX))
    if payout is None:
        raise ActionRefused("not_found", "There is no payout with this id: `qirsh payout list` shows those that wait.")
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
