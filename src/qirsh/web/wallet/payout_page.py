"""Payouts of a wallet: money to a bank account, asked for with the PIN, and taken back while nobody has acted on it."""

import re
from typing import Final

import msgspec

from qirsh.domain.commands.payout import AskPayout, CancelPayout
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
from qirsh.web.html.page_context import Visit, signed_in
from qirsh.web.http.message import Response
from qirsh.web.http.problems import Problem, problem_of

ADDRESS: Final = "/wallet/payouts"
_FIELDS: Final = ("amount", "currency", "holder", "bank", "account")
_SHOWN: Final = 20
_NONCE_BYTES: Final = 16
_NONCE: Final = re.compile(r"[0-9a-f]{32}", re.ASCII)
# What the page says of a refusal beside the field that it is about; all others stand above the form.
_PLACES: Final = {Refusal.WRONG_PIN: "pin", Refusal.PIN_LOCKED: "pin", Refusal.INSUFFICIENT_FUNDS: "amount"}


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
async def show_payouts(visit: Visit) -> Response:
    """What was asked for, and the form to ask for more."""
    person = await visit.parts.store.find(Tables.people, visit.person)
    assert person is not None, "a session without its person"
    typed = Typed(dict.fromkeys(_FIELDS, "") | {"holder": person.name}, {})
    return await _page(visit, typed, nonce=visit.parts.entropy(_NONCE_BYTES).hex(), said=visit.word("payouts"))


@signed_in
async def request_payout(visit: Visit) -> Response:
    """One payout for one form, however often it is sent."""
    parts = visit.parts
    form = read_form(parts, visit.request, "token", "nonce", "pin", *_FIELDS)
    nonce = form["nonce"]
    caller = visit.check(form["token"], "payout", nonce)
    if not _NONCE.fullmatch(nonce):
        raise Problem("stale_form")
    typed = _typed(form, visit.request.language)
    payout_id = f"po_{nonce}"
    if typed.errors:
        return await _page(visit, typed, nonce=nonce, status=422)
    outcome = await parts.engine.submit(
        AskPayout(
            id=payout_id,
            account=caller.account,
            person=visit.person,
            currency=typed.fields["currency"],
            amount=typed.amount_minor,
            bank_sealed=sealed(parts.keyring, typed.bank),
            pin_macs=parts.keyring.pin_macs(visit.person, form["pin"]),
        )
    )
    if type(outcome) is Refused:
        return await _refused(visit, typed, nonce, outcome)
    return visit.go(ADDRESS, "payouts.asked" if _is_this(visit, outcome, typed) else "payouts.sent-before")


@signed_in
async def cancel_payout(visit: Visit) -> Response:
    """Taken back, if no operator has acted on it."""
    visit.form("payout-cancel")
    outcome = await visit.parts.engine.submit(CancelPayout(visit.request.arguments["id"], visit.person))
    if type(outcome) is not Refused:
        return visit.go(ADDRESS, "payouts.cancelled")
    if outcome.why is Refusal.MOVE_NOT_ALLOWED:
        return visit.go(ADDRESS, "payouts.too-late")
    raise problem_of(outcome)


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


async def _refused(visit: Visit, typed: Typed, nonce: str, refused: Refused) -> Response:
    if refused.why is Refusal.NOT_FOUND:
        raise problem_of(refused)
    place = _PLACES.get(refused.why)
    if place is None:
        typed.why = refused.why.value
    else:
        typed.errors[place] = refused.why.value
    typed.tries_left = refused.attempts_left or 0
    return await _page(visit, typed, nonce=nonce, status=422)


def _is_this(visit: Visit, payout: Payout, typed: Typed) -> bool:
    """Whether it is what the form says now, or what it said when it was sent before."""
    same = (payout.amount, payout.currency) == (typed.amount_minor, typed.fields["currency"])
    return same and unsealed(visit.parts.keyring, payout.bank_sealed) in {typed.bank, None}


async def _payouts(visit: Visit) -> list[Payout]:
    rows = await visit.parts.store.select(queries.PAYOUTS_OF, visit.who.account, _SHOWN)
    return [Payout(*row) for row in rows]


async def _page(visit: Visit, typed: Typed, *, nonce: str, said: str = "", status: int = 200) -> Response:
    parts = visit.parts
    account = await parts.store.find(Tables.accounts, visit.who.account)
    assert account is not None, "a session without its account"
    rows = await parts.store.select(queries.PURSES_OF, visit.who.account)
    available = {currency: amount - kept for currency, amount, kept in rows}
    payouts = await _payouts(visit)
    return visit.page(
        "wallet/payouts.html",
        status=status,
        typed=typed,
        nonce=nonce,
        said=said,
        state=account.state,
        has_money=any(available.values()),
        is_full=sum(map(is_open, payouts)) >= PAYOUTS_OPEN_MAX,
        open_max=PAYOUTS_OPEN_MAX,
        balances={code: available.get(code, 0) for code in CURRENCIES},
        payouts=[Shown(payout, unsealed(parts.keyring, payout.bank_sealed)) for payout in payouts],
    )
