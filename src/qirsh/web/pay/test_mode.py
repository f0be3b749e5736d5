"""What the owner of a business can make happen to its test payments on the pay page, as the API lets its server do."""

from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec

from qirsh.domain.command import Command
from qirsh.domain.commands.payment import Cancel
from qirsh.domain.commands.test_mode import ExpireAsTest, PayAsTest
from qirsh.domain.refusal import Refused
from qirsh.store.reads import queries
from qirsh.web.html.forms import read_form
from qirsh.web.html.rendering import see_other
from qirsh.web.http.context import Parts
from qirsh.web.http.message import Request, Response
from qirsh.web.http.problems import Problem
from qirsh.web.pay.payment_page import Asked, asked_of


async def simulate_outcome(parts: Parts, request: Request) -> Response:
    """Let the chosen outcome happen, and go where a customer would go after it."""
    form = read_form(parts, request, "token", "outcome")
    asked = await asked_of(parts, request)
    asked.visit.check(form["token"], "test", asked.id)
    if not asked.is_owners_test or form["outcome"] not in _OUTCOMES:
        raise Problem("stale_form")
    outcome = await parts.engine.submit(await _OUTCOMES[form["outcome"]](asked))
    if type(outcome) is Refused:
        return asked.again(outcome.why.value)
    if form["outcome"] != "paid":
        return see_other(asked.address)
    return msgspec.structs.replace(asked, payment=outcome).after_paying()


async def _paid(asked: Asked, *, has_funds: bool = True) -> Command[Any]:
    number = asked.merchant.number
    circle = {kind: account for account, kind in await asked.visit.parts.store.select(queries.TEST_CIRCLE, number)}
    return PayAsTest(asked.payment.number, number, circle["personal"], circle["house"], has_funds=has_funds)


async def _without_money(asked: Asked) -> Command[Any]:
    return await _paid(asked, has_funds=False)


async def _expired(asked: Asked) -> Command[Any]:
    return ExpireAsTest(asked.payment.number, asked.merchant.number)


async def _cancelled(asked: Asked) -> Command[Any]:
    return Cancel(asked.payment.number, asked.merchant.number)


_OUTCOMES: Final[dict[str, Callable[[Asked], Awaitable[Command[Any]]]]] = {
    "paid": _paid,
    "insufficient_funds": _without_money,
    "expired": _expired,
    "cancelled": _cancelled,
}
