"""Taking money by hand: a payment with a link to send, and a counter whose screen shows a code until it is paid."""

from typing import Final

import msgspec

from qirsh.domain.batch import Answer
from qirsh.domain.commands.staff_payment import CreatePaymentByHand
from qirsh.domain.limits import NOTE_CHARACTERS_MAX, REFERENCE_CHARACTERS_MAX
from qirsh.domain.money import CURRENCIES
from qirsh.domain.payment import Payment, is_due
from qirsh.domain.refusal import Refused
from qirsh.domain.unit_of_work import UnitOfWork
from qirsh.language.figures import typed_amount
from qirsh.web.business.once_form import new_nonce, once_form, once_key
from qirsh.web.business.shop_page import ShopPage
from qirsh.web.documents.qr import qr_svg
from qirsh.web.html.input_text import one_line
from qirsh.web.http.message import Response
from qirsh.web.http.payments import find_payment_of
from qirsh.web.http.problems import to_problem

_HOUR_MS: Final = 3_600_000
# For how long a payment can be paid, by what the form says.
_LASTS_MS: Final = {"hour": _HOUR_MS, "day": 24 * _HOUR_MS, "week": 7 * 24 * _HOUR_MS}
_SELL_MS: Final = _HOUR_MS // 4  # Nobody waits longer at a counter.
_FIELDS: Final = ("amount", "currency", "note", "reference", "lasts")


class Typed(msgspec.Struct, frozen=True):
    """What a form asks for, after a look at it."""

    fields: dict[str, str]
    errors: dict[str, str]
    amount_minor: int = 0
    note: str = ""
    reference: str = ""


async def show_take(page: ShopPage) -> Response:
    """The form for a payment that is sent to somebody."""
    return _form(page, "business/take.html", Typed({**dict.fromkeys(_FIELDS, ""), "lasts": "day"}, {}))


async def take_payment(page: ShopPage) -> Response:
    """Its page has the link, a code and what becomes of it."""
    typed = _read(page, "take")
    if typed.fields["lasts"] not in _LASTS_MS:
        typed.errors["lasts"] = "lasts"
    if typed.errors:
        return _form(page, "business/take.html", typed, status=422)
    payment_id = await _create(page, typed, _LASTS_MS[typed.fields["lasts"]])
    return page.redirect(f"{page.shop.address}/payments/{payment_id}", f"{payment_id}.created")


async def show_sell(page: ShopPage) -> Response:
    """The form of a counter: an amount, and nothing that need be there besides."""
    return _form(page, "business/sell.html", Typed(dict.fromkeys(_FIELDS, ""), {}))


async def sell(page: ShopPage) -> Response:
    """On to the code."""
    typed = _read(page, "sell")
    if typed.errors:
        return _form(page, "business/sell.html", typed, status=422)
    payment_id = await _create(page, typed, _SELL_MS)
    return page.redirect(f"{page.shop.address}/sell/{payment_id}")


async def show_sale(page: ShopPage) -> Response:
    """A large code, for as long as it can be paid; then what became of it, and the way to the next."""
    context, payment_id = page.context, page.request.arguments["id"]
    payment = await find_payment_of(context, page.shop.account.number, payment_id)
    is_over = payment.status == "pending" and is_due(payment, context.clock())
    return page.render(
        "business/sale.html",
        id=payment_id,
        payment=payment,
        standing="expired" if is_over else payment.status,
        link=f"{context.base_url}/pay/{payment_id}",
        qr_svg=qr_svg,
    )


def _read(page: ShopPage, purpose: str) -> Typed:
    fields = once_form(page, purpose, *_FIELDS, bound=(str(page.shop.account.number),))
    errors: dict[str, str] = {}
    currency = fields["currency"] if fields["currency"] in CURRENCIES else ""
    if not currency:
        errors["currency"] = "currency"
    amount = typed_amount(fields["amount"], currency, page.request.language) if currency else None
    if not amount:
        errors["amount"] = "amount"
    note = one_line(fields["note"], NOTE_CHARACTERS_MAX)
    if note is None:
        errors["note"] = "note"
    reference = one_line(fields["reference"], REFERENCE_CHARACTERS_MAX)
    if reference is None:
        errors["reference"] = "reference"
    return Typed(fields, errors, amount or 0, note or "", reference or "")


async def _create(page: ShopPage, typed: Typed, lasts_ms: int) -> str:
    """The id of the payment. One form makes one, however often it is sent."""
    context, account = page.context, page.shop.account.number
    command = CreatePaymentByHand(
        merchant=account,
        amount=typed.amount_minor,
        currency=typed.fields["currency"],
        note=typed.note,
        reference=typed.reference or None,
        expires_in_ms=lasts_ms,
        member=page.person,
    )

    def answer(made: Payment, _work: UnitOfWork) -> Answer:
        return Answer(201, context.identifiers.payment_id(made.number).encode())

    key = once_key(page, account, "take", typed.fields["nonce"], msgspec.json.encode(command))
    outcome = await context.engine.submit_and_render(command, answer, idempotency_key=key)
    if type(outcome) is Refused:
        raise to_problem(outcome)
    return outcome.body.decode()


def _form(page: ShopPage, template: str, typed: Typed, status: int = 200) -> Response:
    return page.render(
        template,
        status=status,
        typed=typed.fields,
        errors=typed.errors,
        currencies=tuple(CURRENCIES),
        nonce=new_nonce(page),
        note_characters=NOTE_CHARACTERS_MAX,
        reference_characters=REFERENCE_CHARACTERS_MAX,
    )
