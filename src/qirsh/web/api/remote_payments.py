"""The merchant's calls: create a remote payment, retrieve it."""

import asyncio
from contextlib import suppress
from typing import Annotated, Final

import msgspec
from msgspec import UNSET, Meta

from qirsh.domain.command import CreatePayment
from qirsh.domain.decide import Answer
from qirsh.domain.idempotency import Once, fingerprint
from qirsh.domain.limits import WAIT_S_MAX
from qirsh.domain.payment import Payment
from qirsh.domain.refusal import Refused
from qirsh.domain.state import State
from qirsh.store.rows import PAYMENT
from qirsh.web.api import bodies
from qirsh.web.api.views import payment_body
from qirsh.web.http import REPLAYED, Request, Response, idempotency_key, json_body
from qirsh.web.parts import Parts
from qirsh.web.refusals import FieldError, Problem, problem_of


class RetrieveQuery(msgspec.Struct):
    """How a payment may be asked for."""

    wait: Annotated[int, Meta(ge=0, le=WAIT_S_MAX)] = 0


_BEFORE_ID: Final = b'{"data":{"id":"'
_AFTER_ID: Final = b'"}}'


async def create(parts: Parts, request: Request) -> Response:
    """201 with the id; everything else about the new payment travels in headers."""
    caller = request.caller
    assert caller is not None
    text = json_body(request)
    key = idempotency_key(request)
    body = bodies.read(bodies.CREATE_PAYMENT, text)
    once = None
    if key is not None:
        once = Once(caller.account, key, fingerprint(parts.keyring.fingerprint, b"POST", request.path.encode(), text))
    identifiers = parts.identifiers

    def render(payment: Payment, _state: State) -> Answer:
        return Answer(201, b"%b%b%b" % (_BEFORE_ID, identifiers.payment_id(payment.number).encode(), _AFTER_ID))

    outcome = await parts.engine.submit(_command(caller.account, body), once=once, render=render)
    if type(outcome) is Refused:
        raise problem_of(outcome)
    payment_id = outcome.body[len(_BEFORE_ID) : -len(_AFTER_ID)]
    base_url = parts.base_url.encode()
    headers = [
        (b"location", b"%b/api/v1/remote-payments/%b" % (base_url, payment_id)),
        (b"link", b'<%b/pay/%b>; rel="payment"' % (base_url, payment_id)),
    ]
    if outcome.replayed:
        headers.append(REPLAYED)
    return Response(outcome.status, outcome.body, headers)


async def retrieve(parts: Parts, request: Request) -> Response:
    """200 with the payment; with `?wait=`, after it has become final or at the end of the wait."""
    caller = request.caller
    assert caller is not None
    wait_s = _wait_s(request.query) if request.query else 0
    number = parts.identifiers.payment_number(request.argument)
    if number is None:
        raise Problem("not_found")
    payment = await parts.store.find(PAYMENT, number)
    if payment is None or payment.merchant != caller.account:
        raise Problem("not_found")
    if wait_s and payment.status == "pending":
        payment = await _wait(parts, number, wait_s)
    body = payment_body(payment, request.argument, base_url=parts.base_url, is_live=caller.is_live)
    return Response(200, body)


async def _wait(parts: Parts, number: int, wait_s: int) -> Payment:
    loop = asyncio.get_running_loop()
    end = loop.time() + wait_s
    while True:
        with parts.waiters.registered(number) as changed:
            payment = await parts.store.find(PAYMENT, number)
            assert payment is not None, "payments never vanish"
            left_s = end - loop.time()
            if payment.status != "pending" or left_s <= 0 or parts.waiters.is_closed:
                return payment
            # Another process may have changed it, so nobody waits longer than a second without a look.
            with suppress(TimeoutError):
                async with asyncio.timeout(min(left_s, 1.0)):
                    await changed.wait()


def _wait_s(query: bytes) -> int:
    name, _, value = query.partition(b"=")
    if name == b"wait" and value.isdigit() and len(value) <= len(str(WAIT_S_MAX)) and int(value) <= WAIT_S_MAX:
        return int(value)
    detail = f"The only parameter is wait, a whole number of seconds from 0 to {WAIT_S_MAX}."
    raise Problem("validation_failed", errors=[FieldError("wait", "invalid", detail)])


def _command(merchant: int, body: bodies.CreatePaymentBody) -> CreatePayment:
    return CreatePayment(
        merchant,
        body.amount,
        body.currency,
        body.note,
        bytes(body.metadata).decode(),
        None if body.reference is UNSET else body.reference,
        body.return_url or None,
        body.cancel_url or None,
        body.expires_in * 1000,
    )
