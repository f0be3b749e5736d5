"""Giving money back by hand: one form, one refund, of the payment that its reader saw."""

from typing import Final

import msgspec

from qirsh.domain.batch import Answer
from qirsh.domain.commands.staff_payment import RefundPaymentByHand
from qirsh.domain.limits import NOTE_CHARACTERS_MAX
from qirsh.domain.payment import Payment, left_to_refund
from qirsh.domain.refund import Refund, refund_id
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.staff import used_of_day
from qirsh.domain.tables import Tables
from qirsh.domain.unit_of_work import UnitOfWork
from qirsh.language.figures import money, typed_amount
from qirsh.language.local_time import midnight_ms
from qirsh.store.reads.payment_life import life_of
from qirsh.web.business.once_form import once_key
from qirsh.web.business.shop_page import ShopPage
from qirsh.web.html.forms import read_form
from qirsh.web.html.input_text import one_line
from qirsh.web.html.reauthentication import REAUTH_FIELDS, account_holder_of
from qirsh.web.html.recent_proof import has_recent_proof, proof_fault
from qirsh.web.http.message import Response
from qirsh.web.http.payments import find_payment_of
from qirsh.web.http.problems import to_problem

_FIELDS: Final = ("amount", "note")
# What the form says beside the amount; all else is said by a page of its own.
_BESIDE: Final = frozenset(
    {
        Refusal.REFUND_EXCEEDS,
        Refusal.OWN_PAYMENT,
        Refusal.REFUND_CAP,
        Refusal.MERCHANT_BALANCE_SHORT,
        Refusal.CHANGED_MEANWHILE,
        Refusal.TOO_MANY_REFUNDS,
        Refusal.PAYER_CLOSED,
        Refusal.NOT_PAID,
    }
)


async def show_refund(page: ShopPage) -> Response:
    """What was paid, what went back, what is left, and what the balance covers."""
    payment = await _payment(page)
    left = money(left_to_refund(payment), payment.currency, page.request.language)
    return await _form(page, payment, {"amount": left, "note": ""}, {})


async def refund_payment(page: ShopPage) -> Response:
    """However often the form is sent, and whatever answer is lost, money goes back once."""
    payment_id, context, payment = page.request.arguments["id"], page.context, await _payment(page)
    typed = read_form(context, page.request, "token", "nonce", "version", *_FIELDS, *REAUTH_FIELDS)
    page.csrf.check(typed.pop("token"), "refund", payment_id, typed["version"], typed["nonce"])
    amount = typed_amount(typed["amount"], payment.currency, page.request.language)
    note = one_line(typed["note"], NOTE_CHARACTERS_MAX)
    errors = {} if amount else {"amount": "amount"}
    if note is None:
        errors["note"] = "note"
    if not errors and (fault := await proof_fault(page, await account_holder_of(page), typed)):
        errors = {"proof": fault}
    if errors or not amount:
        return await _form(page, payment, typed, errors, status=422)
    command = RefundPaymentByHand(
        id=refund_id(bytes.fromhex(typed["nonce"])),
        payment=payment.number,
        merchant=page.shop.account.number,
        amount=amount,
        note=note or "",
        member=page.person,
        version=int(typed["version"]),
        day_began_at=_day_began_at(page),
    )
    asked = msgspec.json.encode([amount, note, page.person])
    key = once_key(page, page.shop.account.number, "refund", typed["nonce"], asked)
    outcome = await context.engine.submit_and_render(command, _answer, idempotency_key=key)
    if type(outcome) is Refused:
        if outcome.why in _BESIDE:
            return await _form(page, await _payment(page), typed, {"amount": outcome.why.value}, status=409)
        raise to_problem(outcome)
    return page.redirect(f"{page.shop.address}/payments/{payment_id}", f"{payment_id}.refunded")


def _answer(made: Refund, _work: UnitOfWork) -> Answer:
    return Answer(201, made.id.encode())


def _day_began_at(page: ShopPage) -> int:
    return midnight_ms(page.today, page.shop.time_zone)


async def _payment(page: ShopPage) -> Payment:
    return await find_payment_of(page.context, page.shop.account.number, page.request.arguments["id"])


async def _form(
    page: ShopPage, payment: Payment, typed: dict[str, str], errors: dict[str, str], status: int = 200
) -> Response:
    shop, store = page.shop, page.context.store
    balance = await store.find(Tables.balances, (shop.account.number, payment.currency))
    cap_left = 0
    if shop.role == "cashier" and shop.mode == "live":
        key = (shop.live.number, page.person, payment.currency)
        cap, tally = await store.find(Tables.member_caps, key), await store.find(Tables.refund_tallies, key)
        cap_left = (cap.amount if cap else 0) - used_of_day(tally, day_began_at=_day_began_at(page))
    holder = await account_holder_of(page)
    return page.render(
        "business/refund.html",
        status=status,
        id=page.request.arguments["id"],
        payment=payment,
        left_minor=left_to_refund(payment),
        available_minor=balance.available if balance else 0,
        has_cap=shop.role == "cashier" and shop.mode == "live",
        cap_left_minor=max(0, cap_left),
        life=await life_of(store, payment),
        typed=typed,
        errors=errors,
        nonce=page.context.entropy(12).hex(),  # It becomes the id: one form, one refund.
        has_factor=holder.has_factor,
        has_proof=has_recent_proof(page),
        note_characters=NOTE_CHARACTERS_MAX,
    )
