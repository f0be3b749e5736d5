"""What is asked for about webhooks, and every way to refuse it. `test_decide_precedence` goes through them."""

from typing import Any, Final

from qirsh.domain import counter
from qirsh.domain.command import Command
from qirsh.domain.commands.payment import CancelPayment
from qirsh.domain.commands.webhook import (
    CreateWebhookEndpoint,
    EndWebhookRest,
    ForgetDeliveries,
    RecordWebhookResults,
    RemoveWebhookEndpoint,
    ResendDeliveries,
    RotateWebhookSecret,
    StartReplay,
    TellWebhookOwner,
    TurnReplayPage,
    UpdateWebhookEndpoint,
)
from qirsh.domain.limits import WEBHOOK_ENDPOINTS_MAX
from qirsh.domain.refusal import Refusal
from qirsh.domain.webhook import WebhookEndpoint, WebhookResult
from tests.domain.market import Market

R = Refusal
ID: Final = "we_1"
URL: Final = "https://shop.example/hooks"


ROW: Final = WebhookEndpoint(
    id=ID,
    account=1,
    url=URL,
    types="",
    description="",
    state="enabled",
    reason="",
    secret_sealed=b"sealed",
    old_secret_sealed=b"",
    old_secret_until=None,
    created_at=1,
    updated_at=1,
)


def creating(account: int, id: str = ID, **changes: Any) -> CreateWebhookEndpoint:  # noqa: A002, ANN401 - its fields
    """A merchant's wish for an endpoint that gets everything."""
    fields: dict[str, Any] = {
        "id": id,
        "account": account,
        "url": URL,
        "types": (),
        "description": "",
        "secret_sealed": b"sealed",
        "actor": "test",
    }
    return CreateWebhookEndpoint(**fields | changes)


def happen(market: Market, count: int, account: int | None = None) -> None:
    """So many events."""
    account = account or market.shop
    for _ in range(count):
        market.do(CancelPayment(payment=market.create(merchant=account).number, merchant=account))


def endpoint_in(market: Market, events: int = 0) -> WebhookEndpoint:
    """The shop's, and events that it has not got yet."""
    made: WebhookEndpoint = market.do(creating(market.shop))
    happen(market, events)
    return made


def failure(sequence: int, at: int, **changes: Any) -> WebhookResult:  # noqa: ANN401 - the fields of a result
    """A try that was answered with a 500."""
    fields: dict[str, Any] = {
        "endpoint": ID,
        "sequence": sequence,
        "at": at,
        "took_ms": 10,
        "status": 500,
        "reason": "status",
        "excerpt": "oh no",
    }
    return WebhookResult(**fields | changes)


def success(sequence: int, at: int, **changes: Any) -> WebhookResult:  # noqa: ANN401 - the same
    """A try that arrived."""
    return failure(sequence, at, **{"status": 200, "reason": "", "excerpt": "ok"} | changes)


def _update(market: Market) -> Command[Any]:
    return UpdateWebhookEndpoint(endpoint_in(market).id, market.shop, "test", url="https://new.example", member=None)


def _replay(market: Market) -> Command[Any]:
    endpoint = endpoint_in(market, 3)
    market.do(RecordWebhookResults((), ((ID, 4, ""),)))
    return StartReplay(endpoint.id, market.shop, first=1, until=2, actor="test")


_NOT_ACTING: Final[dict[Refusal, Any]] = {
    R.ACCOUNT_SUSPENDED: lambda case: case.account(case.market.shop, state="suspended"),
    R.NOT_APPROVED: lambda case: case.account(case.market.shop, state="requested"),
}
_NOT_THERE: Final[dict[Refusal, Any]] = {R.NOT_FOUND: lambda case: case.ask(endpoint="we_404")}

WEBHOOK_CASES: Final[dict[type[Command[Any]], Any]] = {
    CreateWebhookEndpoint: (
        lambda market: creating(market.shop, member=market.owner.id),
        {
            R.MOVE_NOT_ALLOWED: lambda case: case.market.do(case.command),
            R.TOO_MANY: lambda case: case.fill(counter.webhook_endpoints(case.market.shop), WEBHOOK_ENDPOINTS_MAX),
            **_NOT_ACTING,
            R.NOT_FOUND: lambda case: case.ask(account=case.market.customer.account),
        },
    ),
    UpdateWebhookEndpoint: (_update, {**_NOT_ACTING, **_NOT_THERE}),
    EndWebhookRest: (
        lambda market: EndWebhookRest(endpoint_in(market).id, market.shop, "test"),
        {**_NOT_ACTING, **_NOT_THERE},
    ),
    RemoveWebhookEndpoint: (
        lambda market: RemoveWebhookEndpoint(endpoint_in(market).id, market.shop, "test"),
        _NOT_THERE,
    ),
    RotateWebhookSecret: (
        lambda market: RotateWebhookSecret(endpoint_in(market).id, market.shop, b"new", overlap_ms=1, actor="test"),
        {**_NOT_ACTING, **_NOT_THERE},
    ),
    StartReplay: (
        _replay,
        {
            R.REPLAY_RUNNING: lambda case: case.market.change("webhook_queues", ID, replay_next=1, replay_until=2),
            **_NOT_ACTING,
            **_NOT_THERE,
        },
    ),
    ResendDeliveries: (
        lambda market: ResendDeliveries(endpoint_in(market, 1).id, market.shop, (1,), "test"),
        {**_NOT_ACTING, **_NOT_THERE},
    ),
    # Nothing refuses these.
    RecordWebhookResults: (lambda _: RecordWebhookResults((failure(1, 1),), ((ID, 1, ""),)), {}),
    TurnReplayPage: (lambda _: TurnReplayPage(ID, (1,), next=2), {}),
    TellWebhookOwner: (lambda _: TellWebhookOwner(ID, "failing", ()), {}),
    ForgetDeliveries: (lambda _: ForgetDeliveries(((ID, 1),)), {}),
}
