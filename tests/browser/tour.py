"""A walk over the main screens, for whoever wants to look at them: a test at each width, or who takes pictures."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from playwright.sync_api import Page

from tests.live import PASSWORD, PIN

_RECEIVER: Final = "http://127.0.0.1:9/hooks"  # Nobody listens there.
_NAMES: Final = {"en": "Huda Halabi", "ar": "هدى الحلبي", "tr": "Hüda Halepli"}


class Stage(NamedTuple):
    """What the walk needs to find."""

    base_url: str
    code: str
    payment: str  # Pending, for a customer who can pay it.
    customer: str  # By e-mail address. They own the business.
    newcomer: str  # Has not said who they are.
    business: str  # Has a key.


def tour(page: Page, stage: Stage) -> Iterator[str]:
    """The name of each screen, when it is open."""
    base = stage.base_url
    page.goto(f"{base}/?lang={stage.code}")
    yield "front"
    page.goto(f"{base}/pay/{stage.payment}")
    yield "pay"
    page.goto(f"{base}/sign-up?pay={stage.payment}")
    yield "sign-up"
    _sign_up_with_mistakes(page, stage)
    yield "mistakes"
    _sign_in(page, base, stage.newcomer)
    page.goto(f"{base}/wallet/identity")
    yield "identity"
    _press(page, 'header form[action="/sign-out"] button')
    _sign_in(page, base, stage.customer)
    page.goto(f"{base}/pay/{stage.payment}")
    yield "pay-signed-in"
    page.fill("#pin", PIN)
    _press(page, "main form .button")
    yield "receipt"
    for name, path in (
        ("wallet", "/wallet"),
        ("history", "/wallet/history"),
        ("statement", "/wallet/statement?currency=USD"),
        ("business", f"/business/{stage.business}"),
        ("keys", f"/business/{stage.business}/keys"),
        ("security", "/wallet/security"),
    ):
        page.goto(f"{base}{path}")
        yield name


def webhook_tour(page: Page, stage: Stage, endpoint: str, delivery: str) -> Iterator[str]:
    """The same of the pages about webhooks, for the owner of the business, to whom an event waits to be sent."""
    base, own = stage.base_url, f"/business/{stage.business}/webhooks/{endpoint}"
    page.goto(f"{base}/?lang={stage.code}")
    _sign_in(page, base, stage.customer)
    for name, path in (
        ("endpoints", f"/business/{stage.business}/webhooks"),
        ("endpoint", own),
        ("edit", f"{own}/edit"),
        ("rotate", f"{own}/rotate"),
        ("remove", f"{own}/remove"),
        ("verify", f"{own}/verify"),
        ("again", f"{own}/again"),
        ("deliveries", f"{own}/deliveries"),
        ("no-deliveries", f"{own}/deliveries?state=failed"),
        ("delivery", f"/business/{stage.business}/deliveries/{delivery}"),
    ):
        page.goto(f"{base}{path}")
        yield name
    page.goto(f"{base}{own}")
    _press(page, f'form[action="{own}/ping"] button')
    yield "ping"
    page.goto(f"{base}/business/{stage.business}/webhooks/new")
    page.fill("#url", "https://10.0.0.1/hooks")
    _press(page, "main form .button")
    yield "new-with-mistakes"
    page.fill("#url", _RECEIVER)
    _press(page, "main form .button")
    yield "secret"


def _sign_up_with_mistakes(page: Page, stage: Stage) -> None:
    page.fill("#email", f"new.{stage.newcomer}")
    _press(page, "main form .button")
    mistakes = {"phone": "12", "password": "lemon", "pin": "123456", "pin_again": "123457"}
    for name, value in {"code": "000000", "name": _NAMES[stage.code], **mistakes}.items():
        page.fill(f"#{name}", value)
    _press(page, "main form .button")


def _sign_in(page: Page, base_url: str, email: str) -> None:
    page.goto(f"{base_url}/sign-in")
    page.fill("#email", email)
    page.fill("#password", PASSWORD)
    _press(page, "main form .button")
    assert page.url == f"{base_url}/wallet", page.inner_text("main")


def _press(page: Page, button: str) -> None:
    with page.expect_navigation():
        page.locator(button).first.click()
