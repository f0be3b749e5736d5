"""Payouts of a wallet: money to a bank account, asked for with the PIN, and taken back while nobody has acted on it."""

import re
from typing import Final

import msgspec

from qirsh.domain.commands.payout import CancelPayout, RequestPayout
from qirsh.domain.limits import NAME_CHARACTERS_MAX, PAYOUTS_OPEN_MAX
from qirsh.domain.money import CURRENCIES
from qirsh.domain.payout import Payout, is_open
from qirsh.domain.person import is_pin
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.tables import Tables
from qirsh.engine.bank_details import BankDetails, normal_account, sealed, unsealed
from qirsh.language.figures import typed_amount
from qirsh.store.reads import queries
from qirsh.web.html.forms import read_form
from qirsh.web.html.page_context import PageContext, signed_in
from qirsh.web.http.message import Response
from qirsh.web.http.problems import Problem, to_problem

ADDRESS: Final = "/wallet/payouts"
_FIELDS: Final = ("amount", "currency", "holder", "bank", "account")
_SHOWN: Final = 20
_NONCE_BYTES: Final = 16
_NONCE: Final = re.compile(r"[0-9a-f]{32}", re.ASCII)
# What the page says of a refusal beside the field that it is about; all others stand above the form.
_FIELD_OF_REFUSAL: Final = {Refusal.WRONG_PIN: "pin", Refusal.PIN_LOCKED: "pin", Refusal.INSUFFICIENT_FUNDS: "amount"}


class Shown(msgspec.Struct, frozen=True):
    """One payout of the list."""

    payout: Payout
    bank: BankDetails | None  # None once it is over.


class Typed(msgspec.Struct):
    """A form as it was sent, and what is wrong with it, by field: codes for the page's words."""

    fields: dict[str, str]
    errors: dict[str, str]
    amount_minor: int = 0
    tries_left: int = 0
    why: str = ""  # What is wrong with more than a field.

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
    """One payout for one form, however often it is sent."""
    context = page.context
    form = read_form(context, page.request, "token", "nonce", "pin", *_FIELDS)
    nonce = form["nonce"]
    caller = page.csrf.check(form["token"], "payout", nonce)
    if not _NONCE.fullmatch(nonce):
        raise Problem("stale_form")
    typed = _typed(form, page.request.language)
    payout_id = f"po_{nonce}"
    if typed.errors:
        return await _page(page, typed, nonce=nonce, status=422)
    outcome = await context.engine.submit(
        RequestPayout(
            id=payout_id,
            account=caller.account,
            person=page.person,
            currency=typed.fields["currency"],
            amount=typed.amount_minor,
            bank_sealed=sealed(context.keyring, typed.bank),
            pin_macs=context.keyring.pin_macs(page.person, form["pin"]),
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
    if not is_pin(form["pin"]):
        errors["pin"] = "no_pin"
    return Typed(fields, errors, amount or 0)


async def _refused(page: PageContext, typed: Typed, nonce: str, refused: Refused) -> Response:
    if refused.why is Refusal.NOT_FOUND:
        raise to_problem(refused)
    field = _FIELD_OF_REFUSAL.get(refused.why)
    if field is None:
        typed.why = refused.why.value
    else:
        typed.errors[field] = refused.why.value
    typed.tries_left = refused.attempts_left or 0
    return await _page(page, typed, nonce=nonce, status=422)


def _is_this(page: PageContext, payout: Payout, typed: Typed) -> bool:
    """Whether it is what the form says now, or what it said when it was sent before."""
    same = (payout.amount, payout.currency) == (typed.amount_minor, typed.fields["currency"])
    return same and unsealed(page.context.keyring, payout.bank_sealed) in {typed.bank, None}


async def _payouts(page: PageContext) -> list[Payout]:
    rows = await page.context.store.select(queries.PAYOUTS_OF, page.user.account, _SHOWN)
    return [Payout(*row) for row in rows]


async def _page(page: PageContext, typed: Typed, *, nonce: str, flash: str = "", status: int = 200) -> Response:
    context = page.context
    account = await context.store.find(Tables.accounts, page.user.account)
    assert account is not None, "a session without its account"
    rows = await context.store.select(queries.AVAILABLE_BALANCES, page.user.account)
    available = {currency: amount - kept for currency, amount, kept in rows}
    payouts = await _payouts(page)
    return page.render(
        "wallet/payouts.html",
        status=status,
        typed=typed,
        nonce=nonce,
        flash=flash,
        state=account.state,
        has_money=any(available.values()),
        is_full=sum(map(is_open, payouts)) >= PAYOUTS_OPEN_MAX,
        open_max=PAYOUTS_OPEN_MAX,
        balances={code: available.get(code, 0) for code in CURRENCIES},
        payouts=[Shown(payout, unsealed(context.keyring, payout.bank_sealed)) for payout in payouts],
    )
