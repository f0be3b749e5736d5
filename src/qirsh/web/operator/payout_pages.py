"""Payouts in the console: those that wait, oldest first, and one of them with all that is known of where it goes."""

from typing import Final

import msgspec

from qirsh.domain import limits
from qirsh.domain.bank_order import BANK, CORRECTIONS
from qirsh.domain.operator_role import OperatorRight
from qirsh.domain.payout import Payout
from qirsh.domain.tables import Tables
from qirsh.engine.bank_details import BankDetails, details_of, unsealed
from qirsh.store.reads.bank_accounts import bank_accounts_of
from qirsh.store.reads.money import houses
from qirsh.store.reads.payout_queue import asked_payouts, first_paid_to, next_asked
from qirsh.store.reads.proposals import waiting_for
from qirsh.store.reads.queries import PAYOUTS_BEFORE
from qirsh.web.html.page_query import with_query
from qirsh.web.http.message import Response
from qirsh.web.http.problems import Problem
from qirsh.web.operator.action import ActionRefused, Params
from qirsh.web.operator.console_form import console_form, field_faults, refused_status
from qirsh.web.operator.console_page import ConsolePage, console_page
from qirsh.web.operator.own_interest import part_in_account

_LISTED: Final = 50
_LAST: Final = 10
_END_OF_TIME: Final = 2**62


class BankAccountPast(msgspec.Struct, frozen=True):
    """What is known of a bank account: since when a business has it, and when money first went there."""

    added_at: int | None
    first_paid_at: int | None


async def show_payouts(page: ConsolePage) -> Response:
    """What owners have asked for and nobody has ordered, the oldest first."""
    found = await asked_payouts(page.context.store, page.place(), _LISTED + 1)
    listed = found[:_LISTED]
    newer = ""
    if len(found) > _LISTED:
        last = listed[-1].payout
        newer = with_query("/operator/payouts", {"at": str(last.created_at), "after": last.id})
    return page.render("operator/payouts.html", payouts=listed, now=page.context.clock(), newer=newer)


async def show_payout(page: ConsolePage) -> Response:
    """One of them."""
    return await _page(page, {"id": page.request.arguments["id"]}, None)


async def _page(page: ConsolePage, typed: Params, refused: ActionRefused | None) -> Response:
    store = page.context.store
    payout = await store.find(Tables.payouts, typed["id"])
    account = None if payout is None else await store.find(Tables.accounts, payout.account)
    if payout is None or account is None:
        raise Problem("not_found")
    bank = unsealed(page.context.keyring, payout.bank_sealed, payout.id)
    waiting = await waiting_for(store, f"account {payout.account}", limits.LIST_ITEMS_MAX)
    following = await next_asked(store, payout)
    return page.render(
        "operator/payout.html",
        status=200 if refused is None else refused_status(refused),
        payout=payout,
        account=account,
        reference_characters=limits.REFERENCE_CHARACTERS_MAX,
        bank=bank,
        past=await _past(page, payout, bank),
        balance=await store.find(Tables.balances, (payout.account, payout.currency)),
        last=await _last_of(page, payout),
        waiting=waiting,
        banks=[one.name for one in await houses(store) if one.name != CORRECTIONS],
        house=typed.get("house") or BANK,
        following=following,
        part=await part_in_account(page, account),
        now=page.context.clock(),
        typed=typed,
        faults=field_faults(page, refused),
    )


async def _last_of(page: ConsolePage, payout: Payout) -> list[Payout]:
    """The newest others of the account."""
    rows = await page.context.store.select(PAYOUTS_BEFORE, payout.account, _END_OF_TIME, "", _LAST + 1)
    return [one for row in rows if (one := Payout(*row)).id != payout.id][:_LAST]


async def _past(page: ConsolePage, payout: Payout, bank: BankDetails | None) -> BankAccountPast:
    """By the details themselves where they are kept, and by the last of the number where they are not."""
    store, added_at = page.context.store, None
    for one in await bank_accounts_of(store, payout.account) if bank is not None else ():
        if details_of(page.context.keyring, one) == bank:
            added_at = one.created_at
    first = await first_paid_to(store, payout.account, payout.bank_hint) if payout.bank_hint else None
    return BankAccountPast(added_at, first)


def _done(_page: ConsolePage, result: Params) -> str:
    return f"/operator/payouts/{result['payout']}"


PAYOUT_ROUTES: Final = (
    console_page("GET", "/payouts", show_payouts, right=OperatorRight.ASK_MONEY),
    console_page("GET", "/payouts/{id}", show_payout, right=OperatorRight.ASK_MONEY),
    console_form("/payouts/{id}/order", "payout order", ("reference", "house"), again=_page, done=_done),
    console_form("/payouts/{id}/refuse", "payout refuse", ("reason",), again=_page, done=_done),
)
