"""The merchant's calls about one payment: create it, retrieve it, cancel it."""

from typing import Any, Final

from msgspec import UNSET

from qirsh.contract.views import data, payment_view
from qirsh.domain.batch import Answer
from qirsh.domain.command import Command
from qirsh.domain.commands.payment import CancelPayment, CreatePayment
from qirsh.domain.commands.test_mode import PayAsTest
from qirsh.domain.payment import Payment
from qirsh.domain.refusal import Refused
from qirsh.domain.tables import Tables
from qirsh.domain.unit_of_work import UnitOfWork
from qirsh.web.api import bodies
from qirsh.web.api.bodies import no_body
from qirsh.web.api.idempotency import idempotency_key_of, replay_header
from qirsh.web.http.context import Context
from qirsh.web.http.host import is_own_machine
from qirsh.web.http.message import REPLAYED, Request, Response, json_body
from qirsh.web.http.payments import final_or_late, payment_number
from qirsh.web.http.problems import FieldError, Problem, to_problem
from qirsh.web.http.query import WaitParameters, read

_BEFORE_ID: Final = b'{"data":{"id":"'
_AFTER_ID: Final = b'"}}'

_PAYMENTS: Final = Tables.payments


async def create(context: Context, request: Request) -> Response:
    """201 with the id; everything else about the new payment travels in headers."""
    caller = request.caller
    assert caller is not None
    text = json_body(request)
    key = idempotency_key_of(context, request, caller, text)
    body = bodies.read(bodies.CREATE_PAYMENT, text)
    if caller.is_live and (body.return_url is not UNSET or body.cancel_url is not UNSET):
        _refuse_plain_http(context, body)
    identifiers = context.identifiers

    def render(payment: Payment, _work: UnitOfWork) -> Answer:
        return Answer(201, b"%b%b%b" % (_BEFORE_ID, identifiers.payment_id(payment.number).encode(), _AFTER_ID))

    outcome = await context.engine.submit_and_render(_command(caller.account, body), render, idempotency_key=key)
    if type(outcome) is Refused:
        raise to_problem(outcome)
    payment_id = outcome.body[len(_BEFORE_ID) : -len(_AFTER_ID)]
    base_url = context.base_url.encode()
    headers = [
        (b"location", b"%b/api/v1/remote-payments/%b" % (base_url, payment_id)),
        (b"link", b'<%b/pay/%b>; rel="payment"' % (base_url, payment_id)),
    ]
    if outcome.replayed:
        headers.append(REPLAYED)
    return Response(outcome.status, outcome.body, headers)


def _refuse_plain_http(context: Context, body: bodies.CreatePaymentBody) -> None:
    """Customers who pay with money are led back by https: http is for a developer's own machine, all of it."""
    if is_own_machine(context.base_url):
        return
    urls = {"returnUrl": body.return_url, "cancelUrl": body.cancel_url}
    plain = [name for name, url in urls.items() if url is not UNSET and url.lower().startswith("http:")]
    if plain:
        detail = "Must be an https address; http is for test payments."
        raise Problem("validation_failed", errors=[FieldError(name, "invalid_url", detail) for name in plain])


async def retrieve(context: Context, request: Request) -> Response:
    """200 with the payment; with `?wait=`, after it has become final or at the end of the wait."""
    caller = request.caller
    assert caller is not None
    wait_s = read(WaitParameters, request.query).wait if request.query else 0
    # What `find_payment_of` does, without the cost of waiting for one more function: no other call is made as often.
    number = context.identifiers.payment_number(request.arguments["id"])
    payment = None if number is None else await context.store.find(_PAYMENTS, number)
    if payment is None or payment.merchant != caller.account:
        raise Problem("not_found")
    if wait_s and payment.status == "pending":
        payment = await final_or_late(context, payment.number, wait_s, caller.key)
    view = payment_view(payment, request.arguments["id"], base_url=context.base_url, is_live=caller.is_live)
    return Response(200, data(view))


async def cancel(context: Context, request: Request) -> Response:
    """200 with the cancelled payment."""
    caller = request.caller
    assert caller is not None
    no_body(request)
    return await change_payment(
        context, request, CancelPayment(payment_number(context, request.arguments["id"]), caller.account), b""
    )


async def change_payment(context: Context, request: Request, command: Command[Any], body: bytes) -> Response:
    """Carry out what changes the payment that the address names: 200 with the payment after it."""
    caller = request.caller
    assert caller is not None
    payment_id = request.arguments["id"]

    def render(payment: Payment, _work: UnitOfWork) -> Answer:
        view = payment_view(payment, payment_id, base_url=context.base_url, is_live=caller.is_live)
        return Answer(200, data(view))

    outcome = await context.engine.submit_and_render(
        command, render, idempotency_key=idempotency_key_of(context, request, caller, body)
    )
    if type(outcome) is Refused:
        if type(command) is PayAsTest:
            context.attempts.note(command.payment, outcome.why)
        raise to_problem(outcome)
    return Response(outcome.status, outcome.body, replay_header(is_replayed=outcome.replayed))


def _command(merchant: int, body: bodies.CreatePaymentBody) -> CreatePayment:
    return CreatePayment(
        merchant=merchant,
        amount=body.amount,
        currency=body.currency,
        note=body.note,
        metadata=bytes(body.metadata).decode(),
        reference=None if body.reference is UNSET else body.reference,
        return_url=body.return_url or None,
        cancel_url=body.cancel_url or None,
        expires_in_ms=None if body.expires_in is UNSET else body.expires_in * 1000,
    )
