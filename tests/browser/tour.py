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
    sign_in(page, base, stage.newcomer)
    page.goto(f"{base}/wallet/identity")
    yield "identity"
    change_person(page, base, stage.customer)
    page.goto(f"{base}/pay/{stage.payment}")
    yield "pay-signed-in"
    page.fill("#pin", PIN)
    _press(page, "main form .button")
    yield "receipt"
    for name, path in (
        ("wallet", "/wallet"),
        ("history", "/wallet/history"),
        ("statement", "/wallet/statement?currency=USD"),
        ("keys", f"/business/{stage.business}/keys"),
        ("security", "/wallet/security"),
    ):
        page.goto(f"{base}{path}")
        yield name


def webhook_tour(page: Page, stage: Stage, endpoint: str, delivery: str) -> Iterator[str]:
    """The same of the pages about webhooks, for the owner of the business, to whom an event waits to be sent."""
    base, own = stage.base_url, f"/business/{stage.business}/webhooks/{endpoint}"
    page.goto(f"{base}/?lang={stage.code}")
    sign_in(page, base, stage.customer)
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


def business_tour(page: Page, stage: Stage, paid: str) -> Iterator[str]:
    """The same of the dashboard, for the owner of the business, to whom `paid` was paid and `stage.payment` waits."""
    base = f"{stage.base_url}/business/{stage.business}"
    page.goto(f"{stage.base_url}/?lang={stage.code}")
    sign_in(page, stage.base_url, stage.customer)
    for name, path in (
        ("overview", ""),
        ("payments", "/payments"),
        ("payments-found", "/payments?q=order:A-7"),
        ("payments-none", "/payments?q=nothing&from=2020-02-02&to=2020-02-01"),
        ("payment-waiting", f"/payments/{stage.payment}"),
        ("payment", f"/payments/{paid}"),
        ("payouts", "/payouts"),
        ("reports", "/reports?currency=USD"),
        ("statements", "/statements?currency=USD"),
        ("messages", "/messages"),
        ("settings", "/settings"),
        ("staff", "/staff"),
    ):
        page.goto(f"{base}{path}")
        yield name
    yield from _taken(page, base)
    yield from _refunded(page, f"{base}/payments/{paid}/refund")
    yield from _to_the_bank(page, f"{base}/bank-accounts")
    yield from _invited(page, f"{base}/staff/invite")


def _taken(page: Page, base: str) -> Iterator[str]:
    page.goto(f"{base}/take")
    page.fill("#amount", "-")
    _press(page, "main form .button")
    yield "take-with-mistakes"
    page.fill("#amount", "12")
    _press(page, "main form .button")
    yield "taken"
    page.goto(f"{base}/sell")
    yield "counter"
    page.fill("#amount", "7")
    _press(page, "main form .button")
    yield "counter-code"
    _press(page, 'main form[action$="/cancel"] .button')
    yield "payment-cancelled"


def _refunded(page: Page, address: str) -> Iterator[str]:
    page.goto(address)
    yield "refund"
    page.fill("#amount", "999999")
    _press(page, "main form .button")
    yield "refund-with-mistakes"
    page.fill("#amount", "1")
    _press(page, "main form .button")
    yield "refunded"


def _to_the_bank(page: Page, address: str) -> Iterator[str]:
    page.goto(address)
    yield "no-bank-account"
    for name, value in {"holder": "Layla", "bank": "Bank", "account": "12"}.items():
        page.fill(f"#{name}", value)
    _press(page, 'form[action$="/bank-accounts"] .button')
    yield "bank-account-with-mistakes"
    page.fill("#account", "GB33BUKB20201555555555")
    _press(page, 'form[action$="/bank-accounts"] .button')
    yield "bank-account"
    page.goto(address.replace("/bank-accounts", "/payouts"))
    yield "payout"


def _invited(page: Page, address: str) -> Iterator[str]:
    page.goto(address)
    yield "invite"
    page.fill("#email", "nobody@mail.example")
    page.select_option("#role", "cashier")
    _press(page, "main form .button")
    yield "invited"


def _sign_up_with_mistakes(page: Page, stage: Stage) -> None:
    page.fill("#email", f"new.{stage.newcomer}")
    _press(page, "main form .button")
    mistakes = {"phone": "12", "password": "lemon", "pin": "123456", "pin_again": "123457"}
    for name, value in {"code": "000000", "name": _NAMES[stage.code], **mistakes}.items():
        page.fill(f"#{name}", value)
    _press(page, "main form .button")


def change_person(page: Page, base_url: str, email: str) -> None:
    """Somebody else comes to the same browser."""
    _press(page, 'header form[action="/sign-out"] button')
    sign_in(page, base_url, email)


def sign_in(page: Page, base_url: str, email: str) -> None:
    page.goto(f"{base_url}/sign-in")
    page.fill("#email", email)
    page.fill("#password", PASSWORD)
    _press(page, "main form .button")
    assert page.url == f"{base_url}/wallet", page.inner_text("main")


def _press(page: Page, button: str) -> None:
    with page.expect_navigation():
        page.locator(button).first.click()
