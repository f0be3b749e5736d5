"""What a merchant can do to its test payments: let a customer pay, end their time, take them back."""

from qirsh.domain.commands.payment import CancelPayment
from qirsh.domain.commands.test_mode import ExpireAsTest, PayAsTest
from qirsh.store.reads import queries
from qirsh.web.api import bodies
from qirsh.web.api.bodies import no_body
from qirsh.web.api.remote_payments import change_payment
from qirsh.web.http.authentication import Caller
from qirsh.web.http.context import Context
from qirsh.web.http.message import Request, Response, json_body
from qirsh.web.http.payments import payment_number
from qirsh.web.http.problems import Problem


async def pay_as_test(context: Context, request: Request) -> Response:
    """200 with the paid payment, or the refusal that a customer would have met."""
    caller = _tester(request)
    text = json_body(request) if request.body else b"{}"
    body = bodies.read(bodies.TEST_PAY, text)
    number = payment_number(context, request.arguments["id"])
    test_accounts = {
        kind: account for account, kind in await context.store.select(queries.TEST_ACCOUNTS, caller.account)
    }
    command = PayAsTest(
        number, caller.account, test_accounts["personal"], test_accounts["house"], has_funds=body.outcome == "paid"
    )
    return await change_payment(context, request, command, text)


async def expire_as_test(context: Context, request: Request) -> Response:
    """200 with the expired payment, whatever the clock says."""
    caller = _tester(request)
    no_body(request)
    return await change_payment(
        context, request, ExpireAsTest(payment_number(context, request.arguments["id"]), caller.account), b""
    )


async def cancel_as_test(context: Context, request: Request) -> Response:
    """200 with the cancelled payment."""
    caller = _tester(request)
    no_body(request)
    return await change_payment(
        context, request, CancelPayment(payment_number(context, request.arguments["id"]), caller.account), b""
    )


def _tester(request: Request) -> Caller:
    caller = request.caller
    assert caller is not None
    if caller.is_live:
        raise Problem("test_and_live", detail="This call needs a test key: it starts with qk_test_.")
    return caller
