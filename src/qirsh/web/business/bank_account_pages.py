"""The bank accounts of a business, to which its payouts go: named and removed by its owner."""

from typing import Final

import msgspec

from qirsh.domain.bank_account import BankAccount, usable_at
from qirsh.domain.commands.bank_account import AddBankAccount, RemoveBankAccount
from qirsh.domain.limits import BANK_ACCOUNTS_MAX, NAME_CHARACTERS_MAX
from qirsh.domain.refusal import Refusal, Refused
from qirsh.engine.bank_details import BankDetails, details_of, normal_account, sealed_for_bank_account
from qirsh.store.reads.bank_accounts import bank_accounts_of
from qirsh.web.auth.outgoing_mail import letters_to_person
from qirsh.web.business.once_form import new_nonce, once_form
from qirsh.web.business.shop_page import ShopPage
from qirsh.web.html.input_text import one_line
from qirsh.web.html.reauthentication import REAUTH_FIELDS, account_holder_of
from qirsh.web.html.recent_proof import has_recent_proof, proof_fault
from qirsh.web.http.context import Context
from qirsh.web.http.message import Response
from qirsh.web.http.problems import to_problem

_FIELDS: Final = ("holder", "bank", "account")


class Shown(msgspec.Struct, frozen=True):
    """One of the list."""

    bank_account: BankAccount
    details: BankDetails | None  # None: sealed under a secret that is gone.
    usable_at: int


async def shown_bank_accounts(context: Context, account: int) -> list[Shown]:
    """All of a business, in the order in which they were named."""
    found = await bank_accounts_of(context.store, account)
    return [Shown(each, details_of(context.keyring, each), usable_at(each)) for each in found]


async def show_bank_accounts(page: ShopPage) -> Response:
    """All of them, and the form for another."""
    return await _page(page, dict.fromkeys(_FIELDS, ""), {})


async def add_bank_account(page: ShopPage) -> Response:
    """Usable after a day, in which its owner has read of it."""
    shop, context = page.shop, page.context
    typed = once_form(page, "bank-account", *_FIELDS, *REAUTH_FIELDS, bound=(str(shop.live.number),))
    details, errors = _read(typed)
    if not errors and (fault := await proof_fault(page, await account_holder_of(page), typed)):
        errors = {"proof": fault}
    if errors:
        return await _page(page, typed, errors, status=422)
    bank_account = f"ba_{typed['nonce']}"
    outcome = await context.engine.submit(
        AddBankAccount(
            id=bank_account,
            account=shop.live.number,
            details_sealed=sealed_for_bank_account(context.keyring, details, bank_account),
            member=page.person,
            letters=await letters_to_person(
                context,
                shop.live.owner,
                "bank_account_added",
                name=shop.live.name,
                bank=f"{details.bank}, {details.shown_account}",
                url=f"{context.base_url}{shop.address}/bank-accounts",
            ),
        )
    )
    if type(outcome) is Refused:
        if outcome.why is Refusal.TOO_MANY:
            return await _page(page, typed, {"account": "too_many"}, status=422)
        raise to_problem(outcome)
    return page.redirect(f"{shop.address}/bank-accounts", f"{shop.live.number}.bank-added")


async def remove_bank_account(page: ShopPage) -> Response:
    """Without a password: it takes nothing but rights away. Twice is once."""
    shop, bank_account = page.shop, page.request.arguments["id"]
    page.form("remove-bank-account", bound=(bank_account,))
    outcome = await page.context.engine.submit(RemoveBankAccount(bank_account, shop.live.number, page.person))
    if type(outcome) is Refused and outcome.why is not Refusal.NOT_FOUND:
        raise to_problem(outcome)
    return page.redirect(f"{shop.address}/bank-accounts", f"{shop.live.number}.bank-removed")


def _read(typed: dict[str, str]) -> tuple[BankDetails, dict[str, str]]:
    holder, bank = (one_line(typed[name], NAME_CHARACTERS_MAX) for name in ("holder", "bank"))
    number, wrong = normal_account(typed["account"])
    errors = {name: "empty" for name, value in (("holder", holder), ("bank", bank)) if not value}
    if wrong:
        errors["account"] = wrong
    return BankDetails(holder or "", bank or "", number), errors


async def _page(page: ShopPage, typed: dict[str, str], errors: dict[str, str], status: int = 200) -> Response:
    holder, number = await account_holder_of(page), page.shop.live.number
    return page.render(
        "business/bank_accounts.html",
        status=status,
        bank_accounts=await shown_bank_accounts(page.context, number),
        now=page.context.clock(),
        typed=typed,
        errors=errors,
        nonce=new_nonce(page),
        most=BANK_ACCOUNTS_MAX,
        name_characters=NAME_CHARACTERS_MAX,
        has_factor=holder.has_factor,
        has_proof=has_recent_proof(page),
        word=page.flash_about(str(number)),
    )
