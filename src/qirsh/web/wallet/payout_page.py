"""Payouts of a wallet: money to a bank account, reviewed, confirmed with the PIN, and cancelled while nobody has acted.

What is confirmed is what was reviewed: the second form carries a token over all that the review has shown.
"""

import re
from typing import Final

import msgspec

from qirsh.domain.commands.payout import CancelPayout, RequestPayout
from qirsh.domain.limits import NAME_CHARACTERS_MAX, PAYOUTS_OPEN_MAX
from qirsh.domain.money import CURRENCIES
from qirsh.domain.payout import Payout, is_open
from qirsh.domain.person import attempts_left, is_pin, pin_trouble
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.tables import Tables
from qirsh.engine.bank_details import BankDetails, normal_account, sealed, unsealed
from qirsh.language.figures import typed_amount
from qirsh.store.reads import queries
from qirsh.web.auth.credentials import log_failure
from qirsh.web.html.forms import read_form
from qirsh.web.html.page_context import PageContext, signed_in
from qirsh.web.html.reauthentication import account_holder_of, mail_to_holder
from qirsh.web.http.message import Response
from qirsh.web.http.problems import Problem, to_problem

ADDRESS: Final = "/wallet/payouts"
_FIELDS: Final = ("amount", "currency", "holder", "bank", "account")
_EDIT: Final = "edit"
_SHOWN: Final = 20
_NONCE_BYTES: Final = 16
_NONCE: Final = re.compile(r"[0-9a-f]{32}", re.ASCII)


class Shown(msgspec.Struct, frozen=True):
    """One payout of the list."""

    payout: Payout
    bank: BankDetails | None  # None once it is over.


class Typed(msgspec.Struct):
    """A form as it was sent, and what is wrong with it, by field: codes for the page's words."""

    fields: dict[str, str]
    errors: dict[str, str]
    amount_minor: int = 0
    why: str = ""  # What is wrong with more than a field.

    @property
    def currency(self) -> str:
        """That of the amount."""
        return self.fields["currency"]

    @property
    def bank(self) -> BankDetails:
        """Where the money is to go."""
        return BankDetails(self.fields["holder"], self.fields["bank"], self.fields["account"])


@signed_in
async def show_payouts(page: PageContext) -> Response:
    """What was asked for, and the form to ask for more."""
    person = await page.context.store.find(Tables.people, page.person)
    assert person is not None, "a session without its person"
    typed = Typed(dict.fromkeys(_FIELDS, "") | {"holder": person.name}, {})
    return await _page(page, typed, nonce=page.context.entropy(_NONCE_BYTES).hex(), flash=page.flash_about("payouts"))


@signed_in
async def request_payout(page: PageContext) -> Response:
    """What was typed is reviewed, and what was reviewed is done. One payout for one form, however often it is sent."""
    context = page.context
    form = read_form(context, page.request, "token", "nonce", "shown", "step", "pin", *_FIELDS)
    nonce = form["nonce"]
    caller = page.csrf.check(form["token"], "payout", nonce)
    if page.is_idle:
        return page.sign_in_again(ADDRESS)
    if not _NONCE.fullmatch(nonce):
        raise Problem("stale_form")
    typed = _typed(form, page.request.language)
    if typed.errors or form["step"] == _EDIT:
        return await _page(page, typed, nonce=nonce, status=422 if typed.errors else 200)
    if not page.csrf.is_made_here(form["shown"], "payout-shown", *_reviewed(typed, nonce)):
        return await _review(page, typed, nonce)
    if not is_pin(form["pin"]):
        typed.errors["pin"] = "no_pin"
        return await _review(page, typed, nonce)
    payout_id = f"po_{nonce}"
    outcome = await context.engine.submit(
        RequestPayout(
            id=payout_id,
            account=caller.account,
            person=page.person,
            currency=typed.currency,
            amount=typed.amount_minor,
            bank_sealed=sealed(context.keyring, typed.bank, payout_id),
            pin_macs=context.keyring.pin_macs(page.person, form["pin"]),
            letters=mail_to_holder(
                page,
                await account_holder_of(page),
                "payout_asked",
                amount=typed.amount_minor,
                currency=typed.fields["currency"],
                name=typed.bank.holder,
                payouts_url=f"{context.base_url}{ADDRESS}",
            ),
        )
    )
    if type(outcome) is Refused:
        return await _refused(page, typed, nonce, outcome)
    return page.redirect(ADDRESS, "payouts.asked" if _is_this(page, outcome, typed) else "payouts.sent-before")


@signed_in
async def cancel_payout(page: PageContext) -> Response:
    """Taken back, if no operator has acted on it."""
    page.form("payout-cancel")
    outcome = await page.context.engine.submit(CancelPayout(page.request.arguments["id"], page.person))
    if type(outcome) is not Refused:
        return page.redirect(ADDRESS, "payouts.cancelled")
    if outcome.why is Refusal.MOVE_NOT_ALLOWED:
        return page.redirect(ADDRESS, "payouts.too-late")
    raise to_problem(outcome)


def _typed(form: dict[str, str], language: str) -> Typed:
    fields = {name: " ".join(form[name].split()) for name in _FIELDS}
    errors: dict[str, str] = {}
    if fields["currency"] not in CURRENCIES:
        raise Problem("validation_failed")
    amount = typed_amount(fields["amount"], fields["currency"], language)
    if amount is None:
        errors["amount"] = "no_amount" if fields["amount"] else "empty"
    for name in ("holder", "bank"):
        if not fields[name]:
            errors[name] = "empty"
        elif len(fields[name]) > NAME_CHARACTERS_MAX or not fields[name].isprintable():
            errors[name] = "too_long"
    fields["account"], wrong = normal_account(fields["account"])
    if wrong:
        errors["account"] = wrong
    return Typed(fields, errors, amount or 0)


async def _refused(page: PageContext, typed: Typed, nonce: str, refused: Refused) -> Response:
    if refused.why is Refusal.NOT_FOUND:
        raise to_problem(refused)
    if refused.why in {Refusal.WRONG_PIN, Refusal.PIN_LOCKED}:
        log_failure(page.context, page.request, page.counted_as, "PIN")
        typed.errors["pin"] = refused.why.value
        return await _review(page, typed, nonce)
    if refused.why is Refusal.INSUFFICIENT_FUNDS:
        typed.errors["amount"] = refused.why.value
    else:
        typed.why = refused.why.value
    return await _page(page, typed, nonce=nonce, status=422)


def _reviewed(typed: Typed, nonce: str) -> tuple[str, ...]:
    """What the person agrees to: a form is bound to it."""
    return nonce, str(typed.amount_minor), typed.currency, typed.bank.holder, typed.bank.bank, typed.bank.account


async def _review(page: PageContext, typed: Typed, nonce: str) -> Response:
    """What would be done, before it is; in place of the PIN what to do about one that is locked."""
    available = await _available(page)
    if available.get(typed.currency, 0) < typed.amount_minor:
        typed.errors["amount"] = Refusal.INSUFFICIENT_FUNDS.value
        return await _page(page, typed, nonce=nonce, status=422)
    pin = await page.context.store.find(Tables.pins, page.person)
    return page.render(
        "wallet/payout_review.html",
        status=422 if typed.errors else 200,
        typed=typed,
        nonce=nonce,
        shown=page.csrf.token("payout-shown", *_reviewed(typed, nonce)),
        left_minor=available[typed.currency] - typed.amount_minor,
        pin_trouble=pin_trouble(pin),
        tries_left=attempts_left(pin) if pin else 0,
    )


async def _available(page: PageContext) -> dict[str, int]:
    rows = await page.context.store.select(queries.AVAILABLE_BALANCES, page.user.account)
    return {currency: amount - kept for currency, amount, kept in rows}


def _is_this(page: PageContext, payout: Payout, typed: Typed) -> bool:
    """Whether it is what the form says now, or what it said when it was sent before."""
    same = (payout.amount, payout.currency) == (typed.amount_minor, typed.currency)
    return same and unsealed(page.context.keyring, payout.bank_sealed, payout.id) in {typed.bank, None}


async def _payouts(page: PageContext) -> list[Payout]:
    rows = await page.context.store.select(queries.PAYOUTS_OF, page.user.account, _SHOWN)
    return [Payout(*row) for row in rows]


async def _page(page: PageContext, typed: Typed, *, nonce: str, flash: str = "", status: int = 200) -> Response:
    context = page.context
    account = await context.store.find(Tables.accounts, page.user.account)
    assert account is not None, "a session without its account"
    available = await _available(page)
    payouts = await _payouts(page)
    return page.render(
        "wallet/payouts.html",
        status=status,
        typed=typed,
        nonce=nonce,
        flash=flash,
        is_idle=page.is_idle,
        state=account.state,
        has_money=any(available.values()),
        is_full=sum(map(is_open, payouts)) >= PAYOUTS_OPEN_MAX,
        open_max=PAYOUTS_OPEN_MAX,
        balances={code: available.get(code, 0) for code in CURRENCIES},
        payouts=[Shown(payout, unsealed(context.keyring, payout.bank_sealed, payout.id)) for payout in payouts],
    )
