"""A payment as its page meets it: what is asked, who looks, and where they go from here."""

import msgspec

from qirsh.domain.account import Account
from qirsh.domain.payment import Payment, why_not_payable
from qirsh.domain.refusal import Refusal
from qirsh.domain.rules.account_eligibility import why_not_in_order
from qirsh.domain.tables import Tables
from qirsh.store.reads.tills import till_of_payment
from qirsh.web.html.brand_look import BrandLook, brand_look_of
from qirsh.web.html.page_context import PageContext, page_context_of
from qirsh.web.html.rendering import see_other
from qirsh.web.http.authentication import Caller
from qirsh.web.http.context import Context
from qirsh.web.http.message import Request, Response
from qirsh.web.http.payments import find_payment
from qirsh.web.pay.payment_summary import PaymentSummary, payment_summary_of
from qirsh.web.pay.return_address import after_leaving, after_paying, form_origin


class PaymentPage(msgspec.Struct, frozen=True):
    """A payment, and who looks at it."""

    id: str
    payment: Payment
    merchant: Account
    brand: BrandLook
    page: PageContext
    till: str  # Its name, if it was made at one.

    @property
    def address(self) -> str:
        """The page of it."""
        return f"/pay/{self.id}"

    @property
    def caller(self) -> Caller | None:
        """Who is signed in."""
        return self.page.caller

    @property
    def is_owners_test(self) -> bool:
        """Whether the visitor tries out a payment of their own business."""
        return self.merchant.mode == "test" and self.caller is not None and self.merchant.owner == self.page.person

    @property
    def is_payers(self) -> bool:
        """Whether the visitor has paid it. The test customer is played by the owner."""
        if self.payment.status != "paid":
            return False
        is_payer = self.caller is not None and self.caller.account == self.payment.payer
        return is_payer or self.is_owners_test

    def agreed(self) -> tuple[str, ...]:
        """What the customer agrees to, as it is stored now: a form is bound to it."""
        payment, merchant = self.payment, self.merchant
        return self.id, str(payment.amount), payment.currency, str(merchant.number), merchant.name

    def state(self) -> str:
        """What the visitor can do with the payment."""
        why = why_not_payable(self.payment, self.page.context.clock())
        if why is Refusal.ALREADY_PAID:
            return "receipt" if self.is_payers else "already_paid"
        if why is not None:
            return str(why.value)
        if self.merchant.mode == "test":
            return "test"
        return "merchant_suspended" if why_not_in_order(self.merchant) else "payable"

    def summary(self) -> PaymentSummary:
        """What anybody may see of it."""
        can_leave = after_leaving(self.payment, self.id, self.merchant) is not None
        return payment_summary_of(
            self.payment,
            self.id,
            self.merchant,
            self.brand,
            now=self.page.context.clock(),
            can_leave=can_leave,
            till=self.till,
        )

    def after_paying(self) -> Response:
        """Back to the shop, or to the receipt."""
        address = after_paying(self.payment, self.id, self.merchant)
        # Where the page's policy could not name the shop, a browser would stop here: the receipt has a link instead.
        if address is None or not form_origin(self.payment, self.merchant):
            address = self.address
        return see_other(address)

    def again(self, why: str) -> Response:
        """The page anew, which says why nothing was paid."""
        return self.page.redirect(self.address, f"{self.id}.{why}")


async def payment_page_of(context: Context, request: Request) -> PaymentPage:
    """The payment that the address names, and who looks at it."""
    payment = await find_payment(context, request.arguments["id"])
    merchant = await context.store.find(Tables.accounts, payment.merchant)
    assert merchant is not None, "a payment without its merchant"
    brand = await brand_look_of(context.store, merchant)
    till = await till_of_payment(context.store, payment)
    page = await page_context_of(context, request)
    return PaymentPage(request.arguments["id"], payment, merchant, brand, page, "" if till is None else till.name)
