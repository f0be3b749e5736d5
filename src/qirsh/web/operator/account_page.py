"""A business as operators see it: with the readers of its own dashboard, and read only. That they looked is noted."""

from typing import Final

from qirsh.domain import limits
from qirsh.domain.account import Account
from qirsh.domain.api_key import ApiKey
from qirsh.domain.commands.audit_log import RecordAccountLook
from qirsh.domain.identifier import is_account_number
from qirsh.domain.note import note_subject
from qirsh.domain.operator_role import OperatorRight
from qirsh.domain.payout import Payout
from qirsh.domain.tables import Tables
from qirsh.store.reads import people, queries
from qirsh.store.reads.notes import last_look
from qirsh.store.reads.payment_search import PaymentFilter
from qirsh.store.reads.request_log import uses_of
from qirsh.store.reads.shop_messages import messages_of
from qirsh.store.reads.staff import members_of
from qirsh.store.reads.webhooks import endpoints_of
from qirsh.web.html.page_query import read_query, with_query
from qirsh.web.http.message import Response
from qirsh.web.http.payments import list_payments
from qirsh.web.http.problems import Problem
from qirsh.web.operator.action import ActionRefused, Params, submit
from qirsh.web.operator.console_form import console_form, field_faults, refused_status
from qirsh.web.operator.console_page import ConsolePage, console_page
from qirsh.web.operator.own_interest import part_in_account
from qirsh.web.operator.record_parts import LISTED, audit_entries, notes, transactions, waits
from qirsh.web.operator.search import account_hit

_KEYS_LISTED: Final = 50


async def show_account(page: ConsolePage) -> Response:
    """A business, or an account of the house. A personal account leads to its owner, a test account to its business."""
    account = await _found(page)
    shown = account_hit(account).page
    if shown != f"/operator/accounts/{account.number}":
        return page.redirect(shown, page.flash)
    if account.kind == "house":
        return await _house_page(page, account)
    await _note_look(page, account)
    return await _page(page, account, {}, None)


async def account_again(page: ConsolePage, params: Params, refused: ActionRefused) -> Response:
    """The same page with why a message was not sent, and what was typed."""
    return await _page(page, await _found(page), params, refused)


def account_address(page: ConsolePage, _result: Params) -> str:
    """Of the one that a form was about."""
    return f"/operator/accounts/{page.request.arguments['account']}"


async def _note_look(page: ConsolePage, account: Account) -> None:
    """Once an hour is enough to know who has looked."""
    actor = page.actor
    if page.context.clock() - await last_look(page.context.store, account.number, actor.name) >= limits.ACCOUNT_LOOK_MS:
        await submit(page.context, RecordAccountLook(account.number, actor.name, actor.id))


async def _page(page: ConsolePage, account: Account, typed: Params, refused: ActionRefused | None) -> Response:
    asked = read_query(page.request, "after", "entries", "payments")
    store, number, address = page.context.store, account.number, f"/operator/accounts/{account.number}"
    about = note_subject("account", number)
    tests = await store.select(queries.TEST_ACCOUNT, number)
    test_account: int | None = tests[0][0] if tests else None
    payments, cursor = await list_payments(
        page.context, PaymentFilter(number), cursor=asked["payments"] or None, limit=LISTED
    )
    sees_messages = page.may("write_to_shops")
    return page.render(
        "operator/account.html",
        status=200 if refused is None else refused_status(refused),
        address=address,
        account=account,
        test_account=test_account,
        owner=(account.owner, await page.name_of(account.owner)),
        part=await part_in_account(page, account),
        business=await store.find(Tables.businesses, number),
        balances=await store.select(queries.AVAILABLE_BALANCES, number),
        payments=[(page.context.identifiers.payment_id(payment.number), payment) for payment in payments],
        older_payments="" if cursor is None else with_query(address, {"payments": cursor}),
        payouts=[Payout(*row) for row in await store.select(queries.PAYOUTS_OF, number, LISTED)],
        keys=[key for one in (number, test_account) if one is not None for key in await _keys(page, one)],
        uses=await uses_of(store, number) | (await uses_of(store, test_account) if test_account else {}),
        members=await members_of(store, number),
        endpoints=await endpoints_of(store, number),
        messages=await messages_of(store, number) if sees_messages else [],
        characters_max=limits.MESSAGE_CHARACTERS_MAX,
        waiting=await waits(page, about),
        notes=await notes(page, "account", number),
        now=page.context.clock(),
        typed=typed,
        faults=field_faults(page, refused),
        **await transactions(page, number, asked["after"], address),
        **await audit_entries(page, (about,), asked["entries"], address),
    )


async def _house_page(page: ConsolePage, account: Account) -> Response:
    asked, address = read_query(page.request, "after", "entries"), f"/operator/accounts/{account.number}"
    about = f"account {account.number}"
    return page.render(
        "operator/house_account.html",
        account=account,
        balances=await page.context.store.select(queries.AVAILABLE_BALANCES, account.number),
        **await transactions(page, account.number, asked["after"], address),
        **await audit_entries(page, (about,), asked["entries"], address),
    )


async def _keys(page: ConsolePage, account: int) -> list[ApiKey]:
    return [ApiKey(*row) for row in await page.context.store.select(people.KEYS_OF, account, _KEYS_LISTED)]


async def _found(page: ConsolePage) -> Account:
    number = page.request.arguments["account"]
    account = await page.context.store.find(Tables.accounts, int(number)) if is_account_number(number) else None
    if account is None:
        raise Problem("not_found")
    return account


ACCOUNT_ROUTES: Final = (
    console_page("GET", "/accounts/{account}", show_account, right=OperatorRight.LOOK),
    console_form("/accounts/{account}/messages", "message send", ("text",), again=account_again, done=account_address),
    console_form("/accounts/{account}/messages/read", "message show", (), again=account_again, done=account_address),
)
