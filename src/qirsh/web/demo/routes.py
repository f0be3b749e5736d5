"""Pages of the demo, and its receivers of webhooks. In any other service their addresses are unknown."""

from typing import Final

from qirsh.web.demo.demo_mail import show_demo_mail
from qirsh.web.demo.demo_webhooks import fail_demo_webhook, receive_demo_webhook, show_demo_webhooks
from qirsh.web.http.context import Context
from qirsh.web.http.route import Handler, Route


def _keeps_mail(context: Context) -> bool:
    return context.keeps_mail


def _has_receiver(context: Context) -> bool:
    return context.demo_inbox is not None


def _receiver(path: str, handler: Handler) -> Route:
    """Not counted: the sender is this process itself, and must not use up what people on this machine have."""
    return Route("POST", path, handler, token=None, is_counted=False, is_page=True, is_there=_has_receiver)


ROUTES: Final = (
    Route("GET", "/demo/mail", show_demo_mail, token=None, is_page=True, is_there=_keeps_mail),
    Route("GET", "/demo/webhooks", show_demo_webhooks, token=None, is_page=True, is_there=_has_receiver),
    _receiver("/demo/webhooks", receive_demo_webhook),
    _receiver("/demo/webhooks/failing", fail_demo_webhook),
)
