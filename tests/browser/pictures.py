"""Small pictures of the main screens in each language, for docs/screens.md: `make screenshots`.

All of them on a phone, the payment on a desktop too; some also in dark.

People, clock and randomness are the same each time, so that a later run changes only what has come to look different.
"""

import asyncio
import io
import shutil
import sys
import tempfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import httpx2
import msgspec
import pyotp
from PIL import Image
from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

from qirsh.domain.command import Command
from qirsh.domain.commands.till import OpenTill
from qirsh.domain.commands.webhook import CreateWebhookEndpoint, RecordWebhookResults
from qirsh.domain.money import CURRENCIES
from qirsh.domain.refusal import Refused
from qirsh.domain.tables import Tables
from qirsh.domain.webhook import WebhookResult, delivery_id, endpoint_id
from qirsh.engine.clock import ManualClock
from qirsh.engine.entropy import SeededEntropy
from qirsh.language.catalog import LANGUAGES
from qirsh.outbound.signature import make_secret
from qirsh.settings import read_settings
from qirsh.web.operator.control import OperatorRequest, perform
from qirsh.web.routes import ROUTES
from tests.app_in_thread import ServedApp, app_in_thread
from tests.browser.tour import Stage, change_person, tour
from tests.live import PASSWORD, PIN, free_port
from tests.operators import LONG_AGO_MS, appointed
from tests.waiting import wait_until

_BEGINNING: Final = 1_793_868_060_000  # 2026-11-05, 08:41 UTC.
_HOST: Final = "localhost:8420"  # Also in the QR code. The browser finds whichever port is free behind it.
_DAY_MS: Final = 24 * 3_600_000
_IN_DARK: Final = ("front", "pay", "mistakes", "wallet", "overview")
_ON_A_DESKTOP: Final = ("pay", "overview")
_PHONE: Final = "Mozilla/5.0 (Linux; Android 15; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile"
# By language: the customer, the shop where they pay, their own business, its keys, and what they buy.
_PLAYERS: Final = {
    "en": ("Layla Haddad", "Al-Sham Books", "Olive Corner", ("Website", "Trial"), "Order 1029: two novels"),
    "ar": ("ليلى حداد", "مكتبة الشام", "زاوية الزيتون", ("الموقع", "تجربة"), "الطلب 1029: روايتان ودفتر"),
    "tr": ("Leyla Yılmaz", "Şam Kitabevi", "Zeytin Köşesi", ("İnternet sitesi", "Deneme"), "Sipariş 1029: iki roman"),
}
_COUNTERS: Final = {"en": "Counter", "ar": "الطاولة", "tr": "Tezgâh"}
_LAST_EVENT: Final = 2
_BOUGHT: Final = ((4_250, "USD"), (1_250_00, "TRY"), (18_500_00, "SYP"))
_SOLD: Final = (18_50, 42_00, 9_75, 63_00, 0, 51_50, 38_00, 74_25, 45_50)  # A day each, in USD.
_GIVEN_BACK: Final = 12_00

# Fonts are there, and the images that this width shows.
_IS_WHOLE: Final = """document.fonts.status === "loaded" &&
    [...document.images].every(image => image.complete || !image.checkVisibility())"""


class Frame(NamedTuple):
    """How much of a screen a picture shows, and how heavy it may be."""

    width: int
    height_min: int
    height_max: int
    bytes_max: int


class Shop(NamedTuple):
    """Where the customer buys."""

    owner: str  # By e-mail address.
    account: str
    refunded: str  # A payment, of which a part went back.
    till: str


_PHONE_FRAME: Final = Frame(360, 740, 900, 30_000)
_DESKTOP_FRAME: Final = Frame(1280, 800, 980, 45_000)


class Town:
    """Where the pictures are taken: a served world whose clock its maker moves."""

    def __init__(self, served: ServedApp, clock: ManualClock) -> None:
        self.base_url = served.settings.base_url
        self._served = served
        self._clock = clock
        self._operators: list[tuple[str, str]] = []
        self._keys: dict[str, str] = {}
        self._endpoints: dict[str, str] = {}
        self._shops: dict[str, Shop] = {}
        address, host = f"http://127.0.0.1:{served.settings.port}", urlsplit(served.settings.base_url).netloc
        self._client = httpx2.Client(base_url=address, headers={"host": host}, trust_env=False)

    def found(self) -> None:
        first, second = "first@bank.example", "second@bank.example"
        self._clock.advance(-LONG_AGO_MS)
        done = self.act("operator create", email=first, name="Operator", password=PASSWORD)
        self._operators.append((first, done["totpSecret"]))
        appointing = appointed(self._served.context, second, PASSWORD, by=done["person"])
        _, secret = asyncio.run_coroutine_threadsafe(appointing, self._served.loop).result()
        self._operators.append((second, secret))
        self._clock.advance(LONG_AGO_MS)

    def close(self) -> None:
        self._client.close()

    def act(self, act: str, operator: int = 0, **words: object) -> dict[str, Any]:
        wish = OperatorRequest(act, words)
        if self._operators:
            email, secret = self._operators[operator]
            wish = OperatorRequest(act, words, email, PASSWORD, pyotp.TOTP(secret).at(self._clock() // 1000))
        reply = asyncio.run_coroutine_threadsafe(perform(self._served.context, wish), self._served.loop).result()
        assert reply.done is not None, reply.detail
        return reply.done

    def told(self, path: str, token: str | None = None, **body: object) -> dict[str, Any]:
        head = {"authorization": f"Bearer {token}"} if token else {}
        answer = self._client.post(f"/api/v1/{path}", json=body, headers=head)
        assert answer.is_success, answer.text
        data: dict[str, Any] = answer.json()["data"]
        return data

    def person(self, email: str, name: str) -> str:
        account: str = self.act("person add", email=email, name=name, password=PASSWORD, pin=PIN)["account"]
        return account

    def business(self, owner: str, name: str) -> str:
        asked = self.act("account request", account=owner, name=name, returnOrigins="https://shop.example")
        account: str = asked["account"]
        self.act("account approve", account=account)
        return account

    def deposit(self, account: str, currency: str) -> None:
        reference = f"FT-{account[-4:]}-{currency}"
        self.act(
            "deposit ask", account=account, currency=currency, amount="100000.00", reference=reference, reason="Cash"
        )
        self.act("deposit confirm", 1, reference=reference)

    def stage(self, code: str) -> Stage:
        """Somebody who has bought a few things."""
        name, shop, own, (live, test), note = _PLAYERS[code]
        customer, newcomer = f"layla.{code}@mail.example", f"sami.{code}@mail.example"
        self.person(newcomer, "Sami")
        owner, account = self.person(f"owner.{code}@mail.example", shop), self.person(customer, name)
        for verified in (owner, account):
            self.act("account verify", account=verified)
        selling = self.business(owner, shop)
        self._keys[code] = self.act("key issue", account=selling)["key"]
        business = self.business(account, own)
        own_key = self.act("key issue", account=business, name=live)["key"]
        self.act("key issue", account=business, name=test, test=True, scopes="payments:read payments:write")
        for currency in CURRENCIES:
            self.deposit(account, currency)
        till = self.till(int(selling), _COUNTERS[code])
        self._shops[code] = Shop(f"owner.{code}@mail.example", selling, "", till)
        self._endpoints[code] = self.endpoint(int(business), own_key, note)
        return Stage(self._served.settings.base_url, code, "", customer, newcomer, business)

    def trade(self, stages: list[Stage]) -> None:
        """Some days pass in every shop."""
        for amount, currency in (*((amount, "USD") for amount in _SOLD), *_BOUGHT):
            self._clock.advance(_DAY_MS)
            for stage in stages if amount else ():
                note = _PLAYERS[stage.code][-1]
                payment = self.sold(self._keys[stage.code], stage.customer, amount, currency, note)
                if currency == "USD":
                    self._shops[stage.code] = self._shops[stage.code]._replace(refunded=payment)
        for stage in stages:
            refunded = self._shops[stage.code].refunded
            self.told(f"remote-payments/{refunded}/refunds", self._keys[stage.code], amount=_GIVEN_BACK)

    def sold(self, key: str, customer: str, amount: int, currency: str, note: str) -> str:
        """The id of the payment."""
        token = self.told("wallet/sessions", email=customer, password=PASSWORD)["token"]
        payment: str = self.told("remote-payments", key, amount=amount, currency=currency, note=note)["id"]
        self.told(f"wallet/remote-payments/{payment}/pay", token, pin=PIN)
        self._client.delete("/api/v1/wallet/sessions/current", headers={"authorization": f"Bearer {token}"})
        return payment

    def till(self, business: int, name: str) -> str:
        """One where customers enter the amount."""
        context, made = self._served.context, f"till_{self._served.context.entropy(9).hex()}"
        finding = context.store.find(Tables.accounts, business)
        account = asyncio.run_coroutine_threadsafe(finding, self._served.loop).result()
        assert account is not None
        assert account.owner is not None
        opened = OpenTill(
            id=made, account=business, name=name, currency="USD", minimum=1_00, maximum=500_00, member=account.owner
        )
        self._submit(opened)
        return made

    def endpoint(self, business: int, key: str, note: str) -> str:
        """One that got two events, the second at its second try."""
        context, made = self._served.context, endpoint_id(self._served.context.entropy(12))
        create = CreateWebhookEndpoint(
            id=made,
            account=business,
            url="https://shop.example/hooks",
            types=(),
            description="",
            secret_sealed=context.webhook_secrets.sealed(make_secret(context.entropy), made),
            actor="pictures",
        )
        self._submit(create)
        for sequence in (1, 2):
            self._clock.advance(3_600_000)
            payment = self.told("remote-payments", key, amount=12_900, currency="TRY", note=note)["id"]
            self.told(f"remote-payments/{payment}/cancel", key)
            arrived = WebhookResult(made, sequence, self._clock(), took_ms=84, status=200, reason="", excerpt="ok")
            if sequence == _LAST_EVENT:
                failed = msgspec.structs.replace(arrived, took_ms=31, status=503, reason="status", excerpt="restarting")
                self._submit(RecordWebhookResults((failed,)))
                self._clock.advance(5_200)
                arrived = msgspec.structs.replace(arrived, at=self._clock())
            self._submit(RecordWebhookResults((arrived,), ((made, sequence + 1, ""),)))
        return made

    def webhook_screens(self, page: Page, stage: Stage) -> Iterator[str]:
        """For the owner, who is signed in."""
        endpoint, base = self._endpoints[stage.code], f"{stage.base_url}/business/{stage.business}"
        page.goto(f"{base}/webhooks/{endpoint}")
        yield "webhook-endpoint"
        page.goto(f"{base}/deliveries/{delivery_id(endpoint, _LAST_EVENT)}")
        yield "webhook-delivery"

    def shop_screens(self, page: Page, stage: Stage) -> Iterator[str]:
        """For the owner of the shop where the customer buys."""
        shop = self._shops[stage.code]
        change_person(page, stage.base_url, shop.owner)
        base = f"{stage.base_url}/business/{shop.account}"
        for name, path in (
            ("overview", ""),
            ("payments", "/payments"),
            ("payment", f"/payments/{shop.refunded}"),
            ("refund", f"/payments/{shop.refunded}/refund"),
            ("till", f"/tills/{shop.till}"),
            ("report", "/reports?currency=USD"),
        ):
            page.goto(f"{base}{path}")
            yield name

    def _submit(self, command: Command[Any]) -> None:
        submitted = self._served.context.engine.submit(command)
        outcome = asyncio.run_coroutine_threadsafe(submitted, self._served.loop).result()
        assert not isinstance(outcome, Refused), outcome

    def with_payment(self, stage: Stage) -> Stage:
        """They are about to buy another."""
        wish = {"amount": 10098, "currency": "USD", "note": _PLAYERS[stage.code][-1], "expiresIn": 900}
        return stage._replace(payment=self.told("remote-payments", self._keys[stage.code], **wish)["id"])


def take(page: Page, frame: Frame, target: Path) -> None:
    """As much of the screen as is worth showing, with the places at its bottom."""
    page.set_viewport_size({"width": frame.width, "height": frame.height_min})
    page.wait_for_load_state()
    wait_until(lambda: bool(page.evaluate(_IS_WHOLE)))
    page.evaluate("scrollTo(0, 0)")  # Away from the field that has the focus.
    height = min(max(page.evaluate("document.documentElement.scrollHeight"), frame.height_min), frame.height_max)
    page.set_viewport_size({"width": frame.width, "height": height})
    taken = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    taken.resize((frame.width, height), Image.Resampling.LANCZOS).save(target, "WEBP", quality=65, method=6)
    assert target.stat().st_size < frame.bytes_max, target


def take_all(browser: Browser, town: Town, stage: Stage, folder: Path) -> None:
    size = ViewportSize(width=_PHONE_FRAME.width, height=_PHONE_FRAME.height_min)
    with browser.new_context(
        viewport=size, device_scale_factor=2, is_mobile=True, has_touch=True, user_agent=_PHONE, locale=stage.code
    ) as context:
        context.clock.install(time=0)
        context.clock.pause_at(1000)
        page = context.new_page()
        for name in chain(tour(page, stage), town.webhook_screens(page, stage), town.shop_screens(page, stage)):
            for scheme in ("dark", "light") if name in _IN_DARK else ("light",):
                page.emulate_media(color_scheme=scheme)
                target = folder / f"{stage.code}-{name}{'-dark' if scheme == 'dark' else ''}.webp"
                if name in _ON_A_DESKTOP:
                    take(page, _DESKTOP_FRAME, target.with_stem(f"{target.stem}-desktop"))
                take(page, _PHONE_FRAME, target)


def main(folder: Path) -> None:
    """All of them, into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    clock = ManualClock(_BEGINNING)
    with tempfile.TemporaryDirectory(prefix="qirsh-") as data:
        port = str(free_port())
        environment = {"QIRSH_DATA_DIR": data, "QIRSH_PORT": port, "QIRSH_RATE_LIMITS": "off"}
        mail = {"QIRSH_SMTP_URL": "smtp://127.0.0.1:9", "QIRSH_MAIL_FROM": "qirsh@bank.example"}
        settings = read_settings({**environment, **mail, "QIRSH_BASE_URL": f"http://{_HOST}"})
        with app_in_thread(settings, ROUTES, clock=clock, entropy=SeededEntropy(1)) as served:
            town = Town(served, clock)
            town.found()
            # First all that is random, in one order: browsers ask for things in any.
            settled = [town.stage(code) for code in LANGUAGES]
            town.trade(settled)
            clock.advance(_DAY_MS)
            stages = [town.with_payment(stage) for stage in settled]
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(
                    executable_path=shutil.which("chromium-headless-shell"),
                    args=[f"--host-resolver-rules=MAP {_HOST} 127.0.0.1:{port}"],
                )
                for stage in stages:
                    take_all(browser, town, stage, folder)
                browser.close()
            town.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
