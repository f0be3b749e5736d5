"""A merchant's calls about its webhook endpoints: where events go, under which secret, and what is sent once more."""

from msgspec import UNSET

from qirsh.contract.timestamps import milliseconds, timestamp
from qirsh.contract.views import data
from qirsh.contract.webhook_views import (
    EndpointPage,
    NewEndpointView,
    PingView,
    RemovedEndpointView,
    SecretView,
    endpoint_view,
)
from qirsh.domain.batch import Answer
from qirsh.domain.command import Command
from qirsh.domain.commands.webhook import (
    CreateWebhookEndpoint,
    RemoveWebhookEndpoint,
    RotateWebhookSecret,
    UpdateWebhookEndpoint,
)
from qirsh.domain.idempotency import IdempotencyKey
from qirsh.domain.limits import EVENTS_LISTED_MS, WEBHOOK_ENDPOINTS_MAX
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.unit_of_work import UnitOfWork
from qirsh.domain.webhook import WebhookEndpoint, WebhookQueue, endpoint_id
from qirsh.outbound.signature import make_secret
from qirsh.store.reads.webhooks import endpoints_of
from qirsh.web.api import bodies, webhook_bodies
from qirsh.web.api.bodies import no_body
from qirsh.web.api.idempotency import idempotency_key_of, replay_header, stored_answer
from qirsh.web.http.authentication import Caller
from qirsh.web.http.context import Context
from qirsh.web.http.deliveries import replay_since, resume_place
from qirsh.web.http.message import REPLAYED, Request, Response, json_body, problem_response
from qirsh.web.http.problems import FieldError, Problem, to_problem
from qirsh.web.http.webhooks import allowed_url, find_endpoint, overlap_ms, ping_endpoint, wait_for_senders


async def create_endpoint(context: Context, request: Request) -> Response:
    """201 with the id and the secret, this once."""
    caller = _caller(request)
    text = json_body(request)
    key = idempotency_key_of(context, request, caller, text)
    body = bodies.read(webhook_bodies.CREATE_ENDPOINT, text)
    if before := await stored_answer(context, key):
        return _shown_before(request, before)
    url = await allowed_url(context, body.url)
    made_id, secret = endpoint_id(context.entropy(12)), make_secret(context.entropy)
    command = CreateWebhookEndpoint(
        id=made_id,
        account=caller.account,
        url=url,
        types=() if body.types is UNSET else tuple(body.types),
        description=body.description,
        secret_sealed=context.webhook_secrets.sealed(secret, made_id),
        actor=_actor(caller),
    )
    if shown_before := await _carry_out_with_secret(context, request, command, key):
        return shown_before
    location = (b"location", f"{context.base_url}/api/v1/webhook-endpoints/{made_id}".encode())
    return Response(201, data(NewEndpointView(made_id, secret)), [location])


async def list_endpoints(context: Context, request: Request) -> Response:
    """All of them."""
    caller, now = _caller(request), context.clock()
    found = await endpoints_of(context.store, caller.account)
    views = [endpoint_view(endpoint, queue, is_live=caller.is_live, now=now) for endpoint, queue in found]
    return Response(200, data(EndpointPage(views)))


async def see_endpoint(context: Context, request: Request) -> Response:
    """One endpoint."""
    caller = _caller(request)
    endpoint, queue = await find_endpoint(context, caller.account, request.arguments["id"])
    return Response(200, data(endpoint_view(endpoint, queue, is_live=caller.is_live, now=context.clock())))


async def update_endpoint(context: Context, request: Request) -> Response:
    """200 with the changed endpoint. What is left out stays as it is."""
    caller = _caller(request)
    body = bodies.read(webhook_bodies.UPDATE_ENDPOINT, json_body(request))
    if body.resume_from is not UNSET and body.state != "enabled":
        raise _wrong("resumeFrom", "invalid", 'Is for a body with "state": "enabled".')
    endpoint, _ = await find_endpoint(context, caller.account, request.arguments["id"])
    resume_at = None
    if body.state == "enabled":
        resume_at = await resume_place(context, caller.account, is_now=body.resume_from == "now")
    command = UpdateWebhookEndpoint(
        endpoint=endpoint.id,
        account=caller.account,
        actor=_actor(caller),
        url=None if body.url is UNSET else await allowed_url(context, body.url),
        types=None if body.types is UNSET else tuple(body.types or ()),
        description=None if body.description is UNSET else body.description or "",
        state=body.state or None,
        resume_at=resume_at,
    )

    def render(changed: WebhookEndpoint, work: UnitOfWork) -> Answer:
        queue = work.webhook_queues.get(changed.id)
        assert queue is not None, "an endpoint without its queue"
        return Answer(200, data(endpoint_view(changed, queue, is_live=caller.is_live, now=work.now)))

    outcome = await context.engine.submit_and_render(command, render)
    if type(outcome) is Refused:
        raise to_problem(outcome)
    return Response(outcome.status, outcome.body)


async def remove_endpoint(context: Context, request: Request) -> Response:
    """200 once nothing is sent there any more."""
    caller = _caller(request)
    endpoint, _ = await find_endpoint(context, caller.account, request.arguments["id"])
    outcome = await context.engine.submit(RemoveWebhookEndpoint(endpoint.id, caller.account, _actor(caller)))
    if type(outcome) is Refused:
        raise to_problem(outcome)
    await wait_for_senders(context)
    return Response(200, data(RemovedEndpointView(outcome.id, timestamp(outcome.updated_at))))


async def rotate_secret(context: Context, request: Request) -> Response:
    """200 with the new secret, this once. The one before it signs too for as long as was asked for."""
    caller = _caller(request)
    text = json_body(request) if request.body else b"{}"
    key = idempotency_key_of(context, request, caller, text)
    body = bodies.read(webhook_bodies.ROTATE_SECRET, text)
    endpoint, _ = await find_endpoint(context, caller.account, request.arguments["id"])
    secret, kept_ms = make_secret(context.entropy), overlap_ms(context, endpoint, body.overlap_hours)
    command = RotateWebhookSecret(
        endpoint=endpoint.id,
        account=caller.account,
        secret_sealed=context.webhook_secrets.sealed(secret, endpoint.id),
        overlap_ms=kept_ms,
        actor=_actor(caller),
    )
    if shown_before := await _carry_out_with_secret(context, request, command, key):
        return shown_before
    if not kept_ms:
        await wait_for_senders(context)
    return Response(200, data(SecretView(secret)))


async def ping(context: Context, request: Request) -> Response:
    """200 with what the receiver said, whatever it was."""
    caller = _caller(request)
    no_body(request)
    endpoint, _ = await find_endpoint(context, caller.account, request.arguments["id"])
    if context.limits is not None:
        context.limits.count_ping(request, caller.account)
    said = await ping_endpoint(context, endpoint, is_live=caller.is_live, actor=_actor(caller))
    view = PingView(said.is_delivered, said.status, said.took_ms, said.reason, said.excerpt)
    return Response(200, data(view))


async def replay(context: Context, request: Request) -> Response:
    """200 with the endpoint: what has happened since a time is sent to it once more."""
    caller = _caller(request)
    text = json_body(request)
    key = idempotency_key_of(context, request, caller, text)
    since = milliseconds(bodies.read(webhook_bodies.REPLAY, text).since)
    assert since is not None, "it was checked when it was read"
    endpoint, _ = await find_endpoint(context, caller.account, request.arguments["id"])
    if before := await stored_answer(context, key):
        return Response(before.status, before.body, replay_header(is_replayed=True))
    if since < context.clock() - EVENTS_LISTED_MS:
        raise _wrong("from", "out_of_range", f"Must be at most {EVENTS_LISTED_MS // 86_400_000} days ago.")
    command = await replay_since(context, endpoint, since, actor=_actor(caller))

    def render(queue: WebhookQueue, work: UnitOfWork) -> Answer:
        current = work.webhook_endpoints.get(queue.endpoint)
        assert current is not None, "a queue without its endpoint"
        return Answer(200, data(endpoint_view(current, queue, is_live=caller.is_live, now=work.now)))

    outcome = await context.engine.submit_and_render(command, render, idempotency_key=key)
    if type(outcome) is Refused:
        raise to_problem(outcome)
    return Response(outcome.status, outcome.body, replay_header(is_replayed=outcome.replayed))


async def _carry_out_with_secret(
    context: Context, request: Request, command: Command[WebhookEndpoint], key: IdempotencyKey | None
) -> Response | None:
    """Carry out what makes a secret: None, or the answer to a request that was carried out before.

    What is kept under the key names the endpoint alone: the secret must lie nowhere but sealed in its row. Nobody is
    sent what is kept; it is made into a 409, which could not be kept itself since only successes are.
    """

    def render(endpoint: WebhookEndpoint, _work: UnitOfWork) -> Answer:
        return Answer(200, endpoint.id.encode())

    outcome = await context.engine.submit_and_render(command, render, idempotency_key=key)
    if type(outcome) is Refused:
        if outcome.why is Refusal.TOO_MANY:
            detail = f"An account has at most {WEBHOOK_ENDPOINTS_MAX} webhook endpoints. Remove one first."
            raise Problem("too_many", detail=detail)
        raise to_problem(outcome)
    return _shown_before(request, outcome) if outcome.replayed else None


def _shown_before(request: Request, kept: Answer) -> Response:
    detail = (
        f"This request was carried out before, for the endpoint {kept.body.decode()}, and its secret was shown then."
        " Rotate the secret to get another."
    )
    return problem_response(Problem("secret_already_shown", detail=detail), request.id, [REPLAYED])


def _caller(request: Request) -> Caller:
    assert request.caller is not None
    return request.caller


def _actor(caller: Caller) -> str:
    return f"key {caller.key}"


def _wrong(field: str, code: str, detail: str) -> Problem:
    return Problem("validation_failed", errors=[FieldError(field, code, detail)])
