"""Money in and out at the operators' desk: asked for by one, confirmed by another; and what houses it goes through."""

from typing import Final

from qirsh.contract.timestamps import timestamp
from qirsh.domain import limits
from qirsh.domain.bank_order import BANK, CORRECTIONS, BankOrder, Kind, opposite
from qirsh.domain.commands.account import OpenHouse
from qirsh.domain.commands.bank_order import BookBankTransfer, CorrectBalance, ReverseBankTransfer
from qirsh.domain.identifier import is_account_number
from qirsh.domain.money import CURRENCIES, format_amount
from qirsh.domain.operator_role import OperatorRight
from qirsh.domain.tables import Tables
from qirsh.language.business_name import is_plain_name
from qirsh.language.catalog import mark as _
from qirsh.store.reads.money import houses, reversal_of, transfer_of
from qirsh.web.http.context import Context
from qirsh.web.operator.action import (
    NO_ORDER,
    ONE_OF,
    Action,
    ActionRefused,
    Actor,
    Handler,
    Params,
    account_number,
    house,
    made_id,
    minor_amount,
    one_spelling,
    reference,
    word_text,
)
from qirsh.web.operator.proposal_actions import ask

_DIRECTIONS: Final[dict[str, Kind]] = {"add": "deposit", "take": "withdrawal"}


def ask_cash(kind: Kind) -> Handler:
    """The act that asks for money to enter or leave."""

    async def act(context: Context, actor: Actor, params: Params) -> Params:
        currency, amount = _sum(params)
        command = BookBankTransfer(
            kind=kind,
            house=await house(context, params),
            reference=reference(params),
            account=account_number(params),
            currency=currency,
            amount=amount,
        )
        return await ask(context, actor, params, command)

    return act


async def ask_correction(context: Context, actor: Actor, params: Params) -> Params:
    """What no bank has moved is to be put right."""
    currency, amount = _sum(params)
    direction = word_text(params, "direction", 10)
    if direction not in _DIRECTIONS:
        raise ActionRefused("invalid", ONE_OF, field="direction", known=", ".join(_DIRECTIONS))
    command = CorrectBalance(
        kind=_DIRECTIONS[direction],
        house=await house(context, name=CORRECTIONS),
        account=account_number(params),
        currency=currency,
        amount=amount,
        reference=reference(params) if params.get("reference") else made_id(context, params, "adj"),
    )
    return await ask(context, actor, params, command)


async def ask_reversal(context: Context, actor: Actor, params: Params) -> Params:
    """What the bank has taken back, or never did, is to be taken back here too."""
    booked = await _booked(context, params)
    if booked.reverses is not None:
        raise ActionRefused("move_not_allowed", _("This order is a reversal itself. Book the money anew."))
    by = await reversal_of(context.store, booked)
    if by is not None:
        raise ActionRefused("already_reversed", _("This order was reversed already, by the order %(order)s."), order=by)
    command = ReverseBankTransfer(
        kind=opposite(booked.kind),
        house=booked.house,
        reference=reference(params),
        account=booked.account,
        currency=booked.currency,
        amount=booked.amount,
        reverses=booked.reference,
        transfer=await transfer_of(context.store, booked),
    )
    return await ask(context, actor, params, command)


async def list_houses(context: Context, _actor: Actor, _params: Params) -> Params:
    """The accounts that money enters and leaves through, with what was booked through each."""
    return {
        "houses": [
            {
                "number": str(one.number),
                "name": one.name,
                "openedAt": timestamp(one.created_at),
                "balances": {code: format_amount(amount, code) for code, amount in one.balances.items()},
            }
            for one in await houses(context.store)
        ]
    }


async def open_house(context: Context, actor: Actor, params: Params) -> Params:
    """One more account at a bank has an account here."""
    name = " ".join(word_text(params, "name", limits.NAME_CHARACTERS_MAX).split())
    if not name or not is_plain_name(name) or is_account_number(name):
        raise ActionRefused("invalid", _("must be plain words, such as the name of the bank"), field="name")
    return await ask(context, actor, params, OpenHouse(name))


MONEY_ACTIONS: Final[dict[str, Action]] = {
    "deposit ask": Action(ask_cash("deposit"), OperatorRight.ASK_MONEY),
    "withdraw ask": Action(ask_cash("withdrawal"), OperatorRight.ASK_MONEY),
    "adjust ask": Action(ask_correction, OperatorRight.ASK_MONEY),
    "reverse ask": Action(ask_reversal, OperatorRight.ASK_MONEY),
    "house list": Action(list_houses, OperatorRight.LOOK),
    "house open": Action(open_house, OperatorRight.ASK_SETUP),
}


def _sum(params: Params) -> tuple[str, int]:
    currency = word_text(params, "currency", 3)
    if currency not in CURRENCIES:
        raise ActionRefused("invalid", ONE_OF, field="currency", known=", ".join(CURRENCIES))
    return currency, minor_amount(params, currency)


async def _booked(context: Context, params: Params) -> BankOrder:
    """The order that is to be taken back."""
    slip = one_spelling(word_text(params, "reverses", limits.REFERENCE_CHARACTERS_MAX))
    if word_text(params, "house", limits.NAME_CHARACTERS_MAX, default="") == CORRECTIONS:
        raise ActionRefused("move_not_allowed", _("A correction is not reversed. Ask for another one, the other way."))
    booked = await context.store.find(Tables.bank_orders, (await house(context, params), slip))
    if booked is not None:
        return booked
    number = context.identifiers.payment_number(slip)
    is_payment = number is not None and await context.store.find(Tables.payments, number) is not None
    if is_payment or await context.store.find(Tables.refunds, slip) is not None:
        raise ActionRefused(
            "move_not_allowed",
            _("This is a payment, which is not reversed: no bank has moved its money. The merchant refunds a payment.")
            if is_payment
            else _("This is a refund, which is not reversed: no bank has moved its money."),
        )
    shown = word_text(params, "house", limits.NAME_CHARACTERS_MAX, default="") or BANK
    raise ActionRefused("invalid", NO_ORDER, field="reverses", house=shown)
