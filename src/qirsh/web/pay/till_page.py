"""A till as a customer meets it who has scanned its code: an amount, and on to the pay page of a payment of their own.

Anybody may make payments here. They are pending, expire soon, and are bounded by address and by till.
"""

from typing import Final

import msgspec

from qirsh.domain.account import Account
from qirsh.domain.batch import Answer
from qirsh.domain.commands.till import CreatePaymentAtTill
from qirsh.domain.idempotency import IdempotencyKey, fingerprint
from qirsh.domain.payment import Payment
from qirsh.domain.refusal import Refused
from qirsh.domain.rules.account_eligibility import why_not_in_order
from qirsh.domain.tables import Tables
from qirsh.domain.till import Till, is_till_id, takes
from qirsh.domain.unit_of_work import UnitOfWork
from qirsh.language.figures import typed_amount
from qirsh.web.html.brand_look import BrandLook, brand_look_of
from qirsh.web.html.forms import read_form
from qirsh.web.html.page_context import PageContext, page_context_of
from qirsh.web.html.rendering import see_other
from qirsh.web.http.context import Context
from qirsh.web.http.message import Request, Response
from qirsh.web.http.problems import Problem
from qirsh.web.pay.payment_summary import initials_of

_NONCE_BYTES: Final = 9


class TillSummary(msgspec.Struct, frozen=True):
    """What anybody may see of a till. The payee's part is that of `PaymentSummary`."""

    id: str
    payee: str
    payee_account: int
    initials: str
    brand: BrandLook
    is_verified: bool
    is_test: bool
    name: str
    amount: int | None
    minimum: int | None
    maximum: int | None
    currency: str


class _TillPage(msgspec.Struct, frozen=True):
    """A till, and who looks at it."""

    till: Till
    merchant: Account
    brand: BrandLook
    is_able: bool  # Whether the shop may take payments.
    page: PageContext

    @property
    def state(self) -> str:
        """What the visitor can do here."""
        if not self.is_able:
            return "merchant_suspended"
        return "open" if self.till.closed_at is None else "closed"

    def render(self, *, typed: str = "", fault: str = "", status: int = 200) -> Response:
        till, merchant = self.till, self.merchant
        is_test = merchant.mode == "test"
        summary = TillSummary(
            id=till.id,
            payee=merchant.name,
            payee_account=merchant.number,
            initials=initials_of(merchant.name),
            brand=self.brand,
            is_verified=self.is_able and not is_test,
            is_test=is_test,
            name=till.name,
            amount=till.amount,
            minimum=till.minimum,
            maximum=till.maximum,
            currency=till.currency,
        )
        return self.page.render(
            "pay/till.html",
            status=status,
            summary=summary,
            state=self.state,
            typed=typed,
            fault=fault,
            nonce=self.page.context.entropy(_NONCE_BYTES).hex(),
        )


async def show_till(context: Context, request: Request) -> Response:
    """Who is paid, and how much, or where it is entered."""
    return (await _till_page_of(context, request)).render()


async def create_at_till(context: Context, request: Request) -> Response:
    """On to the pay page. One form makes one payment of an amount, however often it is sent."""
    form = read_form(context, request, "token", "nonce", "amount")
    shown = await _till_page_of(context, request)
    till = shown.till
    shown.page.csrf.check_open(form["token"], "till", till.id, form["nonce"])
    again = see_other(f"/till/{till.id}")
    if shown.state != "open":
        return again
    amount = till.amount or typed_amount(form["amount"], till.currency, request.language)
    if amount is None or not takes(till, amount):
        fault = "amount" if amount is None else "bounds"
        return shown.render(typed=form["amount"], fault=fault, status=422)
    if context.limits is not None:
        context.limits.count_till(request, till.id)
    payment_id = await _create(context, CreatePaymentAtTill(till.id, till.account, amount), form["nonce"])
    # Closed, or the shop suspended, a moment ago: the page says so.
    return again if payment_id is None else see_other(f"/pay/{payment_id}")


async def _create(context: Context, command: CreatePaymentAtTill, nonce: str) -> str | None:
    """The id of the payment; None if it was refused."""

    def answer(made: Payment, _work: UnitOfWork) -> Answer:
        return Answer(201, context.identifiers.payment_id(made.number).encode())

    # With the amount: who comes back to the form and enters another one makes another payment.
    name = f"till {nonce} {command.amount}"
    mark = fingerprint(context.identifiers.fingerprint_key, b"POST", command.till.encode(), name.encode())
    key = IdempotencyKey(command.merchant, name, mark)
    outcome = await context.engine.submit_and_render(command, answer, idempotency_key=key)
    return None if type(outcome) is Refused else outcome.body.decode()


async def _till_page_of(context: Context, request: Request) -> _TillPage:
    """The till that the address names, and who looks at it."""
    name = request.arguments["id"]
    till = await context.store.find(Tables.tills, name) if is_till_id(name) else None
    if till is None:
        raise Problem("not_found")
    merchant = await context.store.find(Tables.accounts, till.account)
    assert merchant is not None, "a till without its shop"
    live = merchant
    if merchant.live_account is not None:
        found = await context.store.find(Tables.accounts, merchant.live_account)
        assert found is not None, "a test account without its live one"
        live = found
    return _TillPage(
        till=till,
        merchant=merchant,
        brand=await brand_look_of(context.store, merchant),
        is_able=why_not_in_order(live) is None,
        page=await page_context_of(context, request),
    )
