"""A real browser before a real server, in a test process of their own.

While the browser is open no other event loop can run in its thread, so the world is settled before, asked by plain
HTTP, and what operators do meanwhile is done in a thread of its own.
"""

import os
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright

from tests.browser.sight import Axe, Sight
from tests.live import Call, Customer, Live, Merchant, create, live, post, retrieve
from tests.waiting import wait_until
from tests.web.webhooks import OWN_NETWORKS
from tests.workers.post_office import PostOffice, post_office

PHONE: Final[dict[str, Any]] = {
    "viewport": {"width": 360, "height": 740},
    "device_scale_factor": 3,
    "is_mobile": True,
    "has_touch": True,
}
# Playwright would give up after half a minute, or five seconds; what hangs is ended by pytest.
NEVER_MS: Final = 7_200_000
expect.set_options(timeout=NEVER_MS)
# A process less, and no JavaScript compiled better than it pays on pages that live for a second.
_FLAGS: Final = ["--in-process-gpu", "--js-flags=--no-opt --no-maglev"]
# Where pictures of all screens are kept; if it is not told, of those that are at fault, in a folder of the test run.
# A server would not know the name.
_SHOTS: Final = os.environ.pop("QIRSH_SHOTS", "")


class ShopPage(BaseHTTPRequestHandler):
    """Whatever is asked for.

    `/frame/ID` holds the pay page of a payment in a frame; `/order` shows what the shop's server is told of a payment.
    """

    pay_base = ""
    key = ""

    def do_GET(self) -> None:
        body = '<!doctype html><title>Shop</title><link rel="icon" href="data:,"><h1>Thanks</h1>'
        if self.path.startswith("/order"):
            body += f"<output>{self.verified()}</output>"
        if self.path.startswith("/frame/"):
            body += f'<iframe src="{self.pay_base}/pay/{self.path.removeprefix("/frame/")}"></iframe>'
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(body.encode())

    def verified(self) -> str:
        """What the address says is anybody's to write; what our server is told is not."""
        [payment_id] = parse_qs(urlsplit(self.path).query)["paymentId"]
        head = {"authorization": f"Bearer {self.key}"}
        answer = httpx2.get(f"{self.pay_base}/api/v1/remote-payments/{payment_id}", headers=head, trust_env=False)
        status: str = answer.json()["data"]["status"]
        return status

    def log_message(self, *_: object) -> None:
        """The test tells enough."""


class Scene:
    """The served world, a shop with a page of its own, and customers that no other test has met."""

    def __init__(self, world: Live, office: PostOffice, shop_url: str, merchant: Merchant) -> None:
        self._world = world
        self._office = office
        self._desk = ThreadPoolExecutor(1)
        self.base_url = world.settings.base_url
        self.shop_url = shop_url
        self.merchant = merchant
        self._client = httpx2.Client(base_url=self.base_url, trust_env=False)

    def customer(self) -> Customer:
        """Somebody with money whom no other test has met."""
        return self._desk.submit(self._world.customer).result()

    def payment(self, key: str = "", **fields: object) -> str:
        """The id of a new one."""
        payment_id: str = self.told(create(key or self.merchant.key, **fields))["id"]
        return payment_id

    def status(self, payment_id: str) -> str:
        """As the shop's server reads it."""
        status: str = self.told(retrieve(self.merchant.key, payment_id))["status"]
        return status

    def held(self, customer: Customer) -> int:
        """Of dollars."""
        answer = self._client.get("/api/v1/wallet/balances", headers={"authorization": f"Bearer {customer.token}"})
        held: int = next(item["amount"] for item in answer.json()["data"]["items"] if item["currency"] == "USD")
        return held

    def pay(self, customer: Customer, payment_id: str) -> None:
        """Past the page."""
        self.told(post(f"/api/v1/wallet/remote-payments/{payment_id}/pay", customer.token, {"pin": customer.pin}))

    # What others do meanwhile.

    def act(self, act: str, **words: object) -> dict[str, Any]:
        """Of an operator."""
        return self._desk.submit(lambda: self._world.act(act, 0, **words)).result()

    def deposit(self, account: str, amount_minor: int, currency: str = "USD") -> None:
        """One operator asks, the other confirms."""
        self._desk.submit(self._world.deposit, account, amount_minor, currency).result()

    def person(self, *, verified: bool) -> Customer:
        """Somebody without money."""
        return self._desk.submit(self._world.person, verified=verified).result()

    def mailed_code(self, address: str) -> str:
        """That of the first mail with a code that has come to this address."""
        wait_until(lambda: bool(self._codes_to(address)))
        return self._codes_to(address)[0]

    def _codes_to(self, address: str) -> list[str]:
        mails = zip(self._office.recipients, self._office.taken, strict=False)
        found = [re.search(r"^([0-9]{6})\r?$", mail.get_content(), re.MULTILINE) for to, mail in mails if to == address]
        return [code[1] for code in found if code]

    def close(self) -> None:
        self._desk.shutdown()
        self._client.close()

    def told(self, call: Call) -> dict[str, Any]:
        """What a call of the API that must succeed tells."""
        headers = {**dict(call.headers), "authorization": f"Bearer {call.token}"}
        answer = self._client.request(call.method, call.path, content=call.content, headers=headers)
        assert answer.is_success, answer.text
        data: dict[str, Any] = answer.json()["data"]
        return data


def _settings(office: PostOffice) -> dict[str, str]:
    # Browsers know passkeys of no host that is a number.
    smtp = f"smtp://127.0.0.1:{office.port}"
    mail = {"QIRSH_SMTP_URL": smtp, "QIRSH_MAIL_FROM": "Qirsh <qirsh@bank.example>"}
    return {"QIRSH_HOST": "localhost", **mail, **OWN_NETWORKS}


@pytest.fixture(scope="session")
def scene() -> Iterator[Scene]:
    """Settled before the browser starts."""
    shop = ThreadingHTTPServer(("127.0.0.1", 0), ShopPage)
    threading.Thread(target=shop.serve_forever, daemon=True).start()
    shop_url = f"http://127.0.0.1:{shop.server_port}"
    with post_office() as office, live(shops=0, people=0, more=_settings(office)) as world:
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
        ShopPage.key = merchant.key
        made = Scene(world, office, shop_url, merchant)
        yield made
        made.close()
        assert world.complaints() == []
    shop.shutdown()
    shop.server_close()


@pytest.fixture(scope="session")
def launched(scene: Scene) -> Iterator[Callable[[], Browser]]:  # noqa: ARG001 - it must be there first
    """The browser, and another when that has ended by itself: the test that saw its end fails, and no other."""
    chromium = shutil.which("chromium-headless-shell")
    assert chromium, "as root: apt-get install chromium-headless-shell"
    with sync_playwright() as playwright:

        def launch() -> Browser:
            return playwright.chromium.launch(executable_path=chromium, args=_FLAGS, timeout=NEVER_MS)

        running = [launch()]

        def current() -> Browser:
            if not running[-1].is_connected():
                running.append(launch())
            return running[-1]

        yield current
        running[-1].close()


@pytest.fixture
def browser(launched: Callable[[], Browser]) -> Browser:
    return launched()


Open = Callable[..., Page]


def patient(context: BrowserContext) -> BrowserContext:
    """It waits until what it waits for happens."""
    context.set_default_timeout(NEVER_MS)
    return context


@pytest.fixture
def ours(scene: Scene) -> list[str]:
    """How addresses begin that pages may ask for."""
    return [f"{scene.base_url}/", f"{scene.shop_url}/", "data:"]


@pytest.fixture
def open_page(browser: Browser, ours: list[str]) -> Iterator[Open]:
    """Pages that are watched: no error, no violation of the policy, no request to anybody else."""
    faults: list[str] = []
    contexts: list[BrowserContext] = []

    def opened(**options: Any) -> Page:  # noqa: ANN401 - what a context takes
        context = patient(browser.new_context(**options))
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda message: faults.extend(_faults(message)))
        page.on("request", lambda request: faults.extend([] if request.url.startswith(tuple(ours)) else [request.url]))
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


@pytest.fixture(scope="session")
def shots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(_SHOTS) if _SHOTS else tmp_path_factory.mktemp("screens")


@pytest.fixture(scope="session")
def axe(request: pytest.FixtureRequest) -> Axe:
    return Axe(is_thorough=any(item.get_closest_marker("slow") for item in request.session.items))


@pytest.fixture
def sight(shots: Path, axe: Axe, request: pytest.FixtureRequest) -> Iterator[Sight]:
    """In the language that the test is given, or in Arabic."""
    given = getattr(request.node, "callspec", None)
    made = Sight(
        given.params.get("code", "ar") if given else "ar", shots / request.node.name, axe, keeps_all=bool(_SHOTS)
    )
    yield made
    assert made.faults == [], "\n".join(made.faults)
