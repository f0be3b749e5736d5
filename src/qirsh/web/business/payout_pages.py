"""Payouts of a business to its bank accounts: asked for with the PIN of who asks, once per form, and followed."""

from typing import Final

import msgspec

from qirsh.domain.commands.bank_account import CancelShopPayout, RequestShopPayout
from qirsh.domain.limits import LIST_ITEMS_MAX, PAYOUTS_OPEN_MAX
from qirsh.domain.money import CURRENCIES
from qirsh.domain.payout import Payout, is_open
from qirsh.domain.person import attempts_left, is_pin, pin_trouble
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.tables import Tables
from qirsh.engine.bank_details import BankDetails, details_of, sealed, unsealed
from qirsh.language.figures import typed_amount
from qirsh.store.reads import queries
from qirsh.web.auth.credentials import log_failure
from qirsh.web.auth.outgoing_mail import letters_to_person
from qirsh.web.business.bank_account_pages import shown_bank_accounts
from qirsh.web.business.once_form import new_nonce, once_form
from qirsh.web.business.shop_page import ShopPage
from qirsh.web.html.reauthentication import REAUTH_FIELDS, account_holder_of
from qirsh.web.html.recent_proof import has_recent_proof, proof_fault
from qirsh.web.http.message import Response
from qirsh.web.http.problems import to_problem

_FIELDS: Final = ("bank_account", "amount", "currency")
# What the form says beside its field; all else is said by a page of its own.
_BESIDE: Final = {
    Refusal.NOT_FOUND: "bank_account",
    Refusal.BANK_ACCOUNT_NEW: "bank_account",
    Refusal.INSUFFICIENT_FUNDS: "amount",
    Refusal.TOO_MANY: "amount",
    Refusal.WRONG_PIN: "pin",
    Refusal.PIN_LOCKED: "pin",
}


class Shown(msgspec.Struct, frozen=True):
    """One payout of the list."""

    payout: Payout
    bank: BankDetails | None  # None once it is over.


async def show_shop_payouts(page: ShopPage) -> Response:
    """What was asked for, and for those who may the form to ask for more."""
    return await _page(page, dict.fromkeys(_FIELDS, ""), {})


async def request_shop_payout(page: ShopPage) -> Response:
    """However often the form is sent, there is one payout."""
    shop, context = page.shop, page.context
    typed = once_form(page, "shop-payout", "pin", *_FIELDS, *REAUTH_FIELDS, bound=(str(shop.account.number),))
    currency = typed["currency"] if typed["currency"] in CURRENCIES else ""
    amount = typed_amount(typed["amount"], currency, page.request.language) if currency else None
    bank = await context.store.find(Tables.bank_accounts, typed["bank_account"])
    details = None if bank is None or bank.account != shop.live.number else details_of(context.keyring, bank)
    errors = {} if currency else {"currency": "currency"}
    if not amount:
        errors["amount"] = "no_amount"
    if details is None:
        errors["bank_account"] = Refusal.NOT_FOUND.value
    if not is_pin(typed["pin"]):
        errors["pin"] = "no_pin"
    if not errors and (fault := await proof_fault(page, await account_holder_of(page), typed)):
        errors = {"proof": fault}
    if errors or not amount or details is None:
        return await _page(page, typed, errors, status=422)
    payout_id = f"po_{typed['nonce']}"
    who = await context.store.find(Tables.people, page.person)
    outcome = await context.engine.submit(
        RequestShopPayout(
            id=payout_id,
            account=shop.account.number,
            person=page.person,
            currency=currency,
            amount=amount,
            bank_sealed=sealed(context.keyring, details, payout_id),
            pin_macs=context.keyring.pin_macs(page.person, typed["pin"]),
            bank_account=typed["bank_account"],
            bank_hint=details.hint,
            letters=await letters_to_person(
                context,
                shop.live.owner,
                "shop_payout_asked",
                amount=amount,
                currency=currency,
                name=shop.live.name,
                who=who.name if who else "",
                url=f"{context.base_url}{shop.address}/payouts",
            ),
        )
    )
    if type(outcome) is Refused:
        return await _refused(page, typed, outcome)
    return page.redirect(f"{shop.address}/payouts", f"{shop.account.number}.payout-asked")


async def cancel_shop_payout(page: ShopPage) -> Response:
    """Taken back, if no operator has acted on it."""
    shop = page.shop
    page.form("shop-payout-cancel", bound=(page.request.arguments["id"],))
    outcome = await page.context.engine.submit(
        CancelShopPayout(page.request.arguments["id"], shop.account.number, page.person)
    )
    if type(outcome) is Refused and outcome.why is not Refusal.MOVE_NOT_ALLOWED:
        raise to_problem(outcome)
    word = "payout-late" if type(outcome) is Refused else "payout-cancelled"
    return page.redirect(f"{shop.address}/payouts", f"{shop.account.number}.{word}")


async def _refused(page: ShopPage, typed: dict[str, str], refused: Refused) -> Response:
    if refused.why not in _BESIDE:
        raise to_problem(refused)
    if refused.why in {Refusal.WRONG_PIN, Refusal.PIN_LOCKED}:
        log_failure(page.context, page.request, page.counted_as, "PIN")
    return await _page(page, typed, {_BESIDE[refused.why]: refused.why.value}, status=422)


async def _page(page: ShopPage, typed: dict[str, str], errors: dict[str, str], status: int = 200) -> Response:
    shop, context = page.shop, page.context
    payouts = [
        Payout(*row) for row in await context.store.select(queries.PAYOUTS_OF, shop.account.number, LIST_ITEMS_MAX)
    ]
    balances = await context.store.select(queries.AVAILABLE_BALANCES, shop.account.number)
    pin, holder = await context.store.find(Tables.pins, page.person), await account_holder_of(page)
    now = context.clock()
    return page.render(
        "business/payouts.html",
        status=status,
        payouts=[Shown(payout, unsealed(context.keyring, payout.bank_sealed, payout.id)) for payout in payouts],
        bank_accounts=[each for each in await shown_bank_accounts(context, shop.live.number) if each.details],
        available={currency: amount - held for currency, amount, held in balances if amount > held},
        is_full=sum(map(is_open, payouts)) >= PAYOUTS_OPEN_MAX,
        open_max=PAYOUTS_OPEN_MAX,
        now=now,
        typed=typed,
        errors=errors,
        nonce=new_nonce(page),
        pin_trouble=pin_trouble(pin),
        tries_left=attempts_left(pin) if pin else 0,
        has_factor=holder.has_factor,
        has_proof=has_recent_proof(page),
        word=page.flash_about(str(shop.account.number)),
    )
