"""Who has a part in something is shown no form to decide on it: by the rules that would refuse it in the commit."""

from typing import Literal

from qirsh.domain.account import Account
from qirsh.domain.commands.proposal import ProposedCommand
from qirsh.domain.commands.refund import RefundForShop
from qirsh.domain.operator import has_part
from qirsh.domain.payment import Payment
from qirsh.domain.rules.proposal import PROPOSED, has_part_in
from qirsh.domain.staff import Member
from qirsh.domain.tables import Tables
from qirsh.web.operator.console_page import ConsolePage

# What keeps an operator from a decision; empty if nothing does.
Part = Literal["", "asked", "edited", "own"]


async def part_in_account(page: ConsolePage, account: Account) -> Part:
    """Of who owns it or works for its business."""
    return "own" if has_part(account, await _member(page, account), page.operator.person) else ""


async def part_in_shop(page: ConsolePage, payment: Payment) -> Part:
    """Of who owns the shop that was paid, or works for it."""
    merchant = await page.context.store.find(Tables.accounts, payment.merchant)
    assert merchant is not None, "a payment without its merchant"
    return await part_in_account(page, merchant)


async def part_in_refund(page: ConsolePage, payment: Payment) -> Part:
    """The same, and of who paid: nobody gives themselves money."""
    payer = None if payment.payer is None else await page.context.store.find(Tables.accounts, payment.payer)
    is_payer = payer is not None and payer.owner == page.operator.person
    return "own" if is_payer else await part_in_shop(page, payment)


async def is_concerned(page: ConsolePage, command: ProposedCommand) -> bool:
    """Whether a proposal is about this operator, or about what they have a part in."""
    store = page.context.store
    number = PROPOSED[type(command)].account(command)
    account = None if number is None else await store.find(Tables.accounts, number)
    member = None if account is None else await _member(page, account)
    if has_part_in(command, account, member, page.operator.person):
        return True
    payment = await store.find(Tables.payments, command.payment) if isinstance(command, RefundForShop) else None
    return payment is not None and bool(await part_in_refund(page, payment))


async def _member(page: ConsolePage, account: Account) -> Member | None:
    return await page.context.store.find(Tables.members, (account.number, page.operator.person))
