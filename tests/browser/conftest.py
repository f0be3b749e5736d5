"""A real browser before a real server, in a test process of their own.

While the browser is open no other event loop can run there, so the world is settled before, and asked by plain HTTP.
"""

import shutil
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, sync_playwright

from tests.live import Customer, Live, Merchant, create, live, post, retrieve

PHONE: Final[dict[str, Any]] = {
    "viewport": {"width": 360, "height": 740},
    "device_scale_factor": 3,
    "is_mobile": True,
    "has_touch": True,
}
AXE: Final = Path(__file__).with_name("axe.min.js")  # axe-core 4.14.0, MPL-2.0: see axe.LICENSE.
_AXE_RUN: Final = """axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"]})"""


class ShopPage(BaseHTTPRequestHandler):
    """Whatever is asked for; `/frame/ID` holds the pay page of a payment in a frame."""

    pay_base = ""

    def do_GET(self) -> None:
        body = "<!doctype html><title>Shop</title><h1>Thanks</h1>"
        if self.path.startswith("/frame/"):
            body += f'<iframe src="{self.pay_base}/pay/{self.path.removeprefix("/frame/")}"></iframe>'
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        """The test tells enough."""


class Scene:
    """The served world, a shop with a page of its own, and customers that no other test has met."""

    def __init__(self, world: Live, shop_url: str, merchant: Merchant) -> None:
        self.base_url = world.settings.base_url
        self.shop_url = shop_url
        self.merchant = merchant
        self._customers = list(world.customers)
        self._client = httpx2.Client(base_url=self.base_url, trust_env=False)

    def customer(self) -> Customer:
        return self._customers.pop()

    def payment(self, key: str = "", **fields: object) -> str:
        """The id of a new one."""
        payment_id: str = self._told(create(key or self.merchant.key, **fields))["id"]
        return payment_id

    def status(self, payment_id: str) -> str:
        """As the shop's server reads it."""
        status: str = self._told(retrieve(self.merchant.key, payment_id))["status"]
        return status

    def held(self, customer: Customer) -> int:
        """Of dollars."""
        answer = self._client.get("/api/v1/wallet/balances", headers={"authorization": f"Bearer {customer.token}"})
        held: int = next(item["amount"] for item in answer.json()["data"]["items"] if item["currency"] == "USD")
        return held

    def pay(self, customer: Customer, payment_id: str) -> None:
        """Past the page."""
        self._told(post(f"/api/v1/wallet/remote-payments/{payment_id}/pay", customer.token, {"pin": customer.pin}))

    def close(self) -> None:
        self._client.close()

    def _told(self, call: Any) -> dict[str, Any]:  # noqa: ANN401 - a Call
        headers = {**dict(call.headers), "authorization": f"Bearer {call.token}"}
        answer = self._client.request(call.method, call.path, content=call.content, headers=headers)
        assert answer.is_success, answer.text
        data: dict[str, Any] = answer.json()["data"]
        return data


@pytest.fixture(scope="session")
def scene() -> Iterator[Scene]:
    """Settled before the browser starts."""
    shop = ThreadingHTTPServer(("127.0.0.1", 0), ShopPage)
    threading.Thread(target=shop.serve_forever, daemon=True).start()
    shop_url = f"http://127.0.0.1:{shop.server_port}"
    with live(shops=1, people=30) as world:
        ShopPage.pay_base = world.settings.base_url
        owner = world.person(verified=True)
        asked = world.act("account request", account=owner.account, name="Al-Sham Books", returnOrigins=shop_url)
        approved = world.act("account approve", account=asked["account"])
        key = world.act("key issue", account=asked["account"])
        test_key = world.act("key issue", account=asked["account"], test=True)
        merchant = Merchant(
            owner.email,
            owner.account,
            asked["account"],
            approved["testAccount"],
            key["key"],
            key["id"],
            test_key["key"],
        )
        made = Scene(world, shop_url, merchant)
        yield made
        made.close()
        assert world.complaints() == []
    shop.shutdown()
    shop.server_close()


@pytest.fixture(scope="session")
def browser(scene: Scene) -> Iterator[Browser]:  # noqa: ARG001 - it must be there first
    chromium = shutil.which("chromium")
    assert chromium, "as root: apt-get install chromium"
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium)
        yield launched
        launched.close()


Open = Callable[..., Page]


@pytest.fixture
def open_page(browser: Browser, scene: Scene) -> Iterator[Open]:
    """Pages that are watched: no error, no violation of the policy, no request to anybody else."""
    faults: list[str] = []
    contexts: list[BrowserContext] = []
    ours = (f"{scene.base_url}/", f"{scene.shop_url}/", "data:")

    def opened(**options: Any) -> Page:  # noqa: ANN401 - what a context takes
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda message: faults.extend(_faults(message)))
        page.on("request", lambda request: faults.extend([] if request.url.startswith(ours) else [request.url]))
        page.on("dialog", lambda dialog: faults.append(dialog.message))
        return page

    yield opened
    for context in contexts:
        context.close()
    assert faults == []


def _faults(message: ConsoleMessage) -> list[str]:
    # A page that says what was wrong has the status of a refusal, and browsers tell of it.
    is_status = message.text.startswith("Failed to load resource: the server responded with a status of 4")
    return [message.text] if message.type in {"error", "warning"} and not is_status else []


def violations(page: Page) -> list[tuple[str, list[str]]]:
    """What axe finds. It runs as the browser's own code, so the page's policy need not allow it."""
    page.evaluate(AXE.read_text())
    found = page.evaluate(_AXE_RUN)["violations"]
    return [(fault["id"], [node["html"] for node in fault["nodes"]]) for fault in found]
