"""What the owner of a business can make happen to its test payments on the pay page, as the API lets its server do."""

from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec

from qirsh.domain.command import Command
from qirsh.domain.commands.payment import CancelPayment
from qirsh.domain.commands.test_mode import ExpireAsTest, PayAsTest
from qirsh.domain.refusal import Refused
from qirsh.store.reads import queries
from qirsh.web.html.forms import read_form
from qirsh.web.html.rendering import see_other
from qirsh.web.http.context import Context
from qirsh.web.http.message import Request, Response
from qirsh.web.http.problems import Problem
from qirsh.web.pay.payment_page import PaymentPage, payment_page_of


async def simulate_outcome(context: Context, request: Request) -> Response:
    """Let the chosen outcome happen, and go where a customer would go after it."""
    form = read_form(context, request, "token", "outcome")
    asked = await payment_page_of(context, request)
    asked.page.csrf.check(form["token"], "test", asked.id)
    if not asked.is_owners_test or form["outcome"] not in _OUTCOMES:
        raise Problem("stale_form")
    command = await _OUTCOMES[form["outcome"]](asked)
    outcome = await context.engine.submit(command)
    if type(outcome) is Refused:
        if type(command) is PayAsTest:
            context.attempts.note(command.payment, outcome.why)
        return asked.again(outcome.why.value)
    if form["outcome"] != "paid":
        return see_other(asked.address)
    return msgspec.structs.replace(asked, payment=outcome).after_paying()


async def _paid(payment_page: PaymentPage, *, has_funds: bool = True) -> Command[Any]:
    number = payment_page.merchant.number
    test_accounts = {
        kind: account for account, kind in await payment_page.page.context.store.select(queries.TEST_ACCOUNTS, number)
    }
    return PayAsTest(
        payment_page.payment.number, number, test_accounts["personal"], test_accounts["house"], has_funds=has_funds
    )


async def _without_money(payment_page: PaymentPage) -> Command[Any]:
    return await _paid(payment_page, has_funds=False)


async def _expired(payment_page: PaymentPage) -> Command[Any]:
    return ExpireAsTest(payment_page.payment.number, payment_page.merchant.number)


async def _cancelled(payment_page: PaymentPage) -> Command[Any]:
    return CancelPayment(payment_page.payment.number, payment_page.merchant.number)


_OUTCOMES: Final[dict[str, Callable[[PaymentPage], Awaitable[Command[Any]]]]] = {
    "paid": _paid,
    "insufficient_funds": _without_money,
    "expired": _expired,
    "cancelled": _cancelled,
}
