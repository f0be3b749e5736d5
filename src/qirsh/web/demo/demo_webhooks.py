"""A receiver of webhooks inside the demo, and the page that shows what it got. Another one fails on purpose."""

from typing import Final

from qirsh.domain.limits import ARRIVALS_KEPT_MAX, WEBHOOK_TOLERANCE_S
from qirsh.outbound.signature import SignatureFault
from qirsh.web.html.rendering import render_page
from qirsh.web.http.context import Context
from qirsh.web.http.demo_inbox import DemoInbox
from qirsh.web.http.message import Request, Response, head

OK_ANSWER: Final = "ok\n"
FAILING_ANSWER: Final = "This receiver of the demo fails on purpose.\n"
_TEXT: Final = head(b"text/plain; charset=utf-8")
# For whoever sends: the endpoint's page shows what was answered, and so does curl.
_REFUSALS: Final[dict[SignatureFault, bytes]] = {
    "missing": b"webhook-id, webhook-timestamp or webhook-signature is missing\n",
    "wrong": b"no signature is valid\n",
    "time": b"the signature is too old, or of a time to come\n",
}


async def show_demo_webhooks(context: Context, request: Request) -> Response:
    """The last ones since the start, newest first."""
    inbox = _inbox(context)
    return render_page(
        context.site,
        request,
        "demo/demo_webhooks.html",
        inbox=inbox,
        arrivals=inbox.arrivals,
        kept_max=ARRIVALS_KEPT_MAX,
        tolerance_ms=WEBHOOK_TOLERANCE_S * 1000,
        address=f"{context.base_url}/demo/webhooks",
    )


async def receive_demo_webhook(context: Context, request: Request) -> Response:
    """As a shop's server would: nothing but the signature says who has sent it."""
    fault = _inbox(context).take(request.headers, request.body, now_ms=context.clock())
    return Response(400, _REFUSALS[fault], head=_TEXT) if fault else Response(200, OK_ANSWER.encode(), head=_TEXT)


async def fail_demo_webhook(_context: Context, _request: Request) -> Response:
    """So that there is an endpoint whose deliveries fail."""
    return Response(500, FAILING_ANSWER.encode(), head=_TEXT)


def _inbox(context: Context) -> DemoInbox:
    assert context.demo_inbox is not None, "outside the demo the address is unknown"
    return context.demo_inbox
