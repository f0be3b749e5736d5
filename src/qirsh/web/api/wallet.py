"""The customer's calls: sign in, see balances, see a payment and pay it."""

from qirsh.contract.timestamps import timestamp
from qirsh.contract.views import SessionEndView, SessionView, data, payer_body
from qirsh.domain.api_key import SESSION_KIND
from qirsh.domain.batch import Answer
from qirsh.domain.commands.payment import Pay
from qirsh.domain.commands.session import CloseSession
from qirsh.domain.payment import Payment
from qirsh.domain.refusal import Refused
from qirsh.domain.tables import Tables
from qirsh.domain.unit_of_work import UnitOfWork
from qirsh.web.api import bodies
from qirsh.web.api.balance import balance_list
from qirsh.web.api.idempotency import idempotency_key_of, replay_header
from qirsh.web.auth.credentials import agent_of, authenticate_request, open_session
from qirsh.web.auth.new_device import letters_on_new_agent
from qirsh.web.http.context import Context
from qirsh.web.http.message import Request, Response, json_body
from qirsh.web.http.payments import payment_number
from qirsh.web.http.problems import Problem, to_problem


async def sign_in(context: Context, request: Request) -> Response:
    """201 with a token, the Bearer of the other wallet calls. Unknown and wrong look the same and take as long."""
    body = bodies.read(bodies.SIGN_IN, json_body(request))
    proof = await authenticate_request(
        context, request, email=body.email, password=body.password, code=body.totp or None
    )
    if proof is None:
        raise Problem("wrong_credentials")
    mail = await letters_on_new_agent(context, proof.login, agent_of(request))
    token, session = await open_session(context, proof, SESSION_KIND, request, mail)
    return Response(201, data(SessionView(token, timestamp(session.expires_at))))


async def sign_out(context: Context, request: Request) -> Response:
    """The session that asks ends, everywhere within a second."""
    caller = request.caller
    assert caller is not None
    outcome = await context.engine.submit(CloseSession(caller.token_hash, f"person {caller.person}"))
    if type(outcome) is Refused:
        raise to_problem(outcome)
    assert outcome.revoked_at is not None, "it was ended just now"
    return Response(200, data(SessionEndView(timestamp(outcome.revoked_at))))


async def balances(context: Context, request: Request) -> Response:
    """What the person's account holds."""
    assert request.caller is not None
    return Response(200, data(await balance_list(context, request.caller.account)))


async def see(context: Context, request: Request) -> Response:
    """What the payer may see of a payment, before and after."""
    payment = await context.store.find(Tables.payments, payment_number(context, request.arguments["id"]))
    if payment is None:
        raise Problem("not_found")
    merchant = await context.store.find(Tables.accounts, payment.merchant)
    assert merchant is not None, "a payment without its merchant"
    assert request.caller is not None
    # Any customer who has the id may pay it; once it is paid, it is the payer's and the merchant's business only.
    if payment.payer not in {None, request.caller.account}:
        raise Problem("already_paid")
    body = payer_body(payment, request.arguments["id"], merchant_name=merchant.name, is_live=merchant.mode == "live")
    return Response(200, body)


async def pay(context: Context, request: Request) -> Response:
    """200 with the paid payment, after the money has moved."""
    caller = request.caller
    assert caller is not None
    assert caller.person is not None
    text = json_body(request)
    key = idempotency_key_of(context, request, caller, b"")  # Without the body: all it holds is the PIN.
    body = bodies.read(bodies.PAY, text)
    number = payment_number(context, request.arguments["id"])
    payment_id = request.arguments["id"]

    def render(payment: Payment, work: UnitOfWork) -> Answer:
        merchant = work.accounts.get(payment.merchant)
        assert merchant is not None, "a payment without its merchant"
        is_live = merchant.mode == "live"
        return Answer(200, payer_body(payment, payment_id, merchant_name=merchant.name, is_live=is_live))

    macs = context.keyring.pin_macs(caller.person, body.pin)
    outcome = await context.engine.submit_and_render(
        Pay(number, caller.person, caller.account, macs), render, idempotency_key=key
    )
    if type(outcome) is Refused:
        context.attempts.note(number, outcome.why)
        raise to_problem(outcome)
    return Response(outcome.status, outcome.body, replay_header(is_replayed=outcome.replayed))
