"""The whole service from a browser: from an empty folder to a month in which bank and books agree to the coin."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import httpx2
import pyotp
import pytest
from playwright.sync_api import Page

from qirsh.domain.limits import OPERATOR_NEW_MS
from qirsh.engine.clock import ManualClock
from qirsh.engine.mail_crypto import Envelope, opened
from qirsh.settings import read_settings
from qirsh.store.interface import Query
from qirsh.web.operator.control import OperatorRequest, perform
from qirsh.web.routes import ROUTES
from tests.app_in_thread import ServedApp, app_in_thread
from tests.browser.conftest import Open
from tests.browser.sight import Sight
from tests.browser.test_journeys import send
from tests.live import PASSWORD, PIN, free_port
from tests.quick_passwords import quick_passwords
from tests.web.photo import picture

BEGINNING: Final = 1_793_868_060_000  # 5 November 2026, 08:41 UTC.
HOUR_MS: Final = 3_600_000
FIRST, SECOND = "samir@bank.example", "hala@bank.example"
OWNER, CUSTOMER = "layla@mail.example", "emre@mail.example"
_MAILS: Final = Query("SELECT sealed, id FROM mail ORDER BY created_at, id")


class Mission:
    """A service in an empty folder, and a clock that its maker moves."""

    def __init__(self, served: ServedApp, clock: ManualClock) -> None:
        self.base_url = served.settings.base_url
        self.clock = clock
        self.secrets: dict[str, str] = {}
        self._served = served

    def run(self, work: Any) -> Any:  # noqa: ANN401 - whatever is waited for
        return asyncio.run_coroutine_threadsafe(work, self._served.loop).result()

    def mails_to(self, address: str) -> list[Envelope]:
        context = self._served.context
        rows = self.run(context.store.select(_MAILS))
        found = (opened(context.keyring, bytes(sealed), mail_id) for sealed, mail_id in rows)
        return [mail for mail in found if mail is not None and mail.to == address]

    def last_word(self, address: str, word: str) -> str:
        """Of the newest mail that has it."""
        return next(str(mail.words[word]) for mail in reversed(self.mails_to(address)) if word in mail.words)

    def first_operator(self) -> None:
        """By the shell, as nothing else is there yet."""
        words = {"email": FIRST, "name": "Samir Haddad", "password": PASSWORD}
        reply = self.run(perform(self._served.context, OperatorRequest("operator create", words)))
        assert reply.done is not None, reply.detail
        self.secrets[FIRST] = reply.done["totpSecret"]

    def code(self, email: str) -> str:
        """One that was not used yet."""
        self.clock.advance(30_000)
        return pyotp.TOTP(self.secrets[email]).at(self.clock() // 1000)

    def api(self, path: str, key: str, **body: object) -> dict[str, Any]:
        answer = httpx2.post(
            f"{self.base_url}/api/v1/{path}",
            json=body,
            headers={"authorization": f"Bearer {key}"} if key else {},
            timeout=None,
            trust_env=False,
        )
        assert answer.is_success, answer.text
        data: dict[str, Any] = answer.json()["data"]
        return data


class Desk:
    """An operator's browser."""

    def __init__(self, mission: Mission, page: Page, email: str) -> None:
        self.mission, self.page, self.email = mission, page, email

    def open(self, path: str) -> Page:
        """A page of the console; who was idle signs in again."""
        self.page.goto(f"{self.mission.base_url}{path}")
        if self.page.url.endswith("/operator/sign-in") or self.page.locator("main h1").inner_text() == "Not found":
            self.page.goto(f"{self.mission.base_url}/operator/sign-in")
            send(
                self.page,
                "/operator/sign-in",
                email=self.email,
                password=PASSWORD,
                code=self.mission.code(self.email),
            )
            self.page.goto(f"{self.mission.base_url}{path}")
        return self.page

    def ask(self, path: str, **typed: str) -> str:
        """A form that makes a proposal; its address."""
        self.open(path)
        send(self.page, path, **typed)
        found = re.search(r"/operator/proposals/pr_[0-9a-f]+$", self.page.url)
        assert found, self.page.inner_text("main")
        return found.group(0)

    def confirm(self, proposal: str) -> None:
        self.open(proposal)
        send(self.page, f"{proposal}/confirm", code=self.mission.code(self.email))
        assert "Confirmed and carried out." in self.page.inner_text("main")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(BEGINNING)


@pytest.fixture
def mission(tmp_path: Path, clock: ManualClock, ours: list[str]) -> Iterator[Mission]:
    port = free_port()
    settings = {
        "QIRSH_DATA_DIR": str(tmp_path / "data"),
        "QIRSH_PORT": str(port),
        "QIRSH_RATE_LIMITS": "off",
        "QIRSH_BASE_URL": f"http://127.0.0.1:{port}",
        "QIRSH_SMTP_URL": "smtp://127.0.0.1:9",  # Its mails are read where they wait.
        "QIRSH_MAIL_FROM": "Qirsh <qirsh@bank.example>",
    }
    with quick_passwords(), app_in_thread(read_settings(settings), ROUTES, clock=clock) as served:
        ours.append(f"{served.settings.base_url}/")
        yield Mission(served, clock)


@pytest.mark.slow
@pytest.mark.parametrize("code", ["en"])
def test_from_an_empty_folder_to_a_month_that_agrees(
    mission: Mission, open_page: Open, sight: Sight, tmp_path: Path, code: str
) -> None:
    assert sight.code == code
    first, second = operators(mission, open_page, sight)
    owner = open_page()
    account = joined(mission, owner, OWNER, "Layla Mansour", tmp_path)
    identity_accepted(first, sight, account)
    shop = business_approved(mission, owner, first, second, sight)

    customer = open_page()
    payer = joined(mission, customer, CUSTOMER, "Emre Yılmaz", tmp_path)
    identity_accepted(second, sight, payer)

    # Money comes in, by two.
    slip = {"account": payer, "amount": "100.00", "currency": "USD", "reference": "FT-1001", "reason": "Counter"}
    proposal = first.ask("/operator/money/deposit", **slip)
    assert "100.00" in second.open(proposal).inner_text("main")
    sight.see(second.page, "a proposal")
    second.confirm(proposal)

    # A key, a payment by the API, paid, seen by the shop, and a part goes back.
    owner.goto(f"{mission.base_url}/business/{shop}/keys")
    send(owner, f"/business/{shop}/keys", name="Website")
    key = owner.inner_text("#key")
    payment = mission.api("remote-payments", key, amount=40_00, currency="USD", note="Two novels")["id"]
    customer.goto(f"{mission.base_url}/pay/{payment}")
    customer.fill("#pin", PIN)
    with customer.expect_navigation():
        customer.locator(f'form[action="/pay/{payment}/confirm"] .button').click()
    paid = f"/business/{shop}/payments/{payment}"
    owner.goto(f"{mission.base_url}{paid}")
    assert "Paid" in owner.inner_text("main")
    owner.goto(f"{mission.base_url}{paid}/refund")
    send(owner, f"{paid}/refund", amount="10.00")

    # What is left goes to the bank a day later.
    owner.goto(f"{mission.base_url}/business/{shop}/bank-accounts")
    send(owner, f"/business/{shop}/bank-accounts", holder="Layla", bank="Bank", account="DE89370400440532013000")
    mission.clock.advance(25 * HOUR_MS)
    payout = payout_asked(mission, owner, shop)
    page = first.open(f"/operator/payouts/{payout}")
    sight.see(page, "a payout")
    send(page, f"/operator/payouts/{payout}/order", reference="FT-1002")
    [proposal] = re.findall(r"/operator/proposals/pr_[0-9a-f]+", second.open("/operator/proposals").content())
    second.confirm(proposal)

    bank_agrees(first, sight, tmp_path)

    # A deposit that was typed for the wrong account is taken back, by two.
    wrong = {**slip, "amount": "7.00", "reference": "FT-1003", "reason": "Mistyped"}
    second.confirm(first.ask("/operator/money/deposit", **wrong))
    back = {"reverses": "FT-1003", "reference": "FT-1004", "reason": "For another account"}
    proposal = first.ask("/operator/money/reverse", **back)
    sight.see(second.open(proposal), "a reversal")
    second.confirm(proposal)
    customer.goto(f"{mission.base_url}/wallet")
    sign_in(mission, customer, CUSTOMER)
    assert "70.00" in customer.inner_text("main")
    ledger = first.open("/operator/ledger")
    sight.see(ledger, "the ledger")
    sight.see(first.open("/operator"), "home with nothing left")


def operators(mission: Mission, open_page: Open, sight: Sight) -> tuple[Desk, Desk]:
    """The first by the shell, the second by the console. After a week they count as two."""
    mission.first_operator()
    first = Desk(mission, open_page(), FIRST)
    page = first.open("/operator/operators")
    sight.see(page, "operators")
    for role in ("admin", "compliance", "treasury", "support", "auditor"):
        page.check(f'form[action="/operator/operators"] [name="{role}"]')
    send(page, "/operator/operators", name="Hala Aydın", email=SECOND, reason="A second pair of eyes")
    page = open_page()
    page.goto(mission.last_word(SECOND, "url"))
    mission.secrets[SECOND] = (page.locator("main bdi.num.wraps").inner_text()).replace(" ", "")
    action = page.locator("main form").get_attribute("action") or ""
    send(page, action, password=PASSWORD, code=mission.code(SECOND))
    mission.clock.advance(OPERATOR_NEW_MS)
    return first, Desk(mission, page, SECOND)


def joined(mission: Mission, page: Page, email: str, name: str, folder: Path) -> str:
    """Somebody signs up, and shows who they are; the number of their account."""
    page.goto(f"{mission.base_url}/sign-up")
    send(page, "/sign-up", email=email)
    code = mission.last_word(email, "code")
    send(page, "/sign-up/code", code=code, name=name, password=PASSWORD, pin=PIN, pin_again=PIN)
    page.goto(f"{mission.base_url}/wallet/identity")
    photo = folder / "card.jpg"
    photo.write_bytes(picture())
    for side in ("front", "back"):
        page.set_input_files(f"#{side}", photo)
    given, _, family = name.partition(" ")
    send(
        page,
        "/wallet/identity",
        given_names=given,
        family_name=family,
        birth_date="1994-03-21",
        document="passport",
        document_number=f"N {len(name)}{family}",
    )
    page.goto(f"{mission.base_url}/wallet")
    found = re.search(r"\b(\d{4} ?\d{4} ?\d{4})\b", page.inner_text("body"))
    assert found, page.inner_text("body")
    return found.group(1).replace(" ", "")


def identity_accepted(desk: Desk, sight: Sight, account: str) -> None:
    page = desk.open("/operator/identities")
    assert f"/operator/identities/{account}" in page.content()
    page = desk.open(f"/operator/identities/{account}")
    sight.see(page, "an identity")
    send(page, f"/operator/identities/{account}/verify")


def business_approved(mission: Mission, owner: Page, first: Desk, second: Desk, sight: Sight) -> str:
    """Asked for, asked for more, answered, and approved by another."""
    owner.goto(f"{mission.base_url}/business")
    send(owner, "/business", name="Olive Corner", kind="shop", registration="DM-1029", origins="https://shop.example")
    shop = (owner.get_attribute('.card a[href^="/business/"]', "href") or "").rpartition("/")[2]
    page = first.open(f"/operator/businesses/{shop}")
    sight.see(page, "a business request")
    send(page, f"/operator/businesses/{shop}/ask", text="Which goods do you sell?")
    owner.goto(f"{mission.base_url}/business/{shop}/messages")
    assert "Which goods do you sell?" in owner.inner_text("main")
    send(owner, f"/business/{shop}/messages", text="Books, new and used.")
    page = second.open(f"/operator/businesses/{shop}")
    assert "Books, new and used." in page.inner_text("main")
    send(page, f"/operator/businesses/{shop}/approve")
    return shop


def payout_asked(mission: Mission, owner: Page, shop: str) -> str:
    sign_in(mission, owner, OWNER)
    owner.goto(f"{mission.base_url}/business/{shop}/payouts")
    owner.select_option("#bank_account", index=0)
    owner.fill("#amount", "30")
    owner.select_option("#currency", "USD")
    owner.fill("#pin", PIN)
    if owner.locator("#password").count():
        owner.fill("#password", PASSWORD)
    with owner.expect_navigation():
        owner.locator(f'form[action="/business/{shop}/payouts"] .button').click()
    address = owner.get_attribute(f'a[href^="/business/{shop}/payouts/"]', "href") or ""
    return address.rpartition("/")[2]


def sign_in(mission: Mission, page: Page, email: str) -> None:
    page.context.clear_cookies()
    page.goto(f"{mission.base_url}/sign-in?lang=en")
    send(page, "/sign-in", email=email, password=PASSWORD)


def bank_agrees(desk: Desk, sight: Sight, folder: Path) -> None:
    """What the bank says of the month is imported, all of it is matched, and nothing is left between the two."""
    page = desk.open("/operator/bank")
    sight.see(page, "bank without a file")
    address = page.get_attribute('a[href$="/format"]', "href") or ""
    house = address.removesuffix("/format")
    desk.open(address)
    sight.see(page, "format of bank files")
    send(
        page,
        address,
        encoding="utf-8",
        separator=",",
        decimal=".",
        date="YYYY-MM-DD",
        day_column="day",
        amount_column="amount",
        currency_column="currency",
        reference_column="reference",
        text_column="text",
        balance_column="balance",
        time_zone="UTC",
    )
    file = folder / "november.csv"
    file.write_text(
        "day,amount,currency,reference,text,balance\n"
        "2026-11-12,100.00,USD,FT-1001,Cash,100.00\n"
        "2026-11-13,-30.00,USD,FT-1002,Transfer,70.00\n"
    )
    desk.open(f"{house}/import")
    page.set_input_files("#file", file)
    with page.expect_navigation():
        page.locator(f'form[action="{house}/preview"] .button').click()
    sight.see(page, "what was understood of a file")
    with page.expect_navigation():
        page.locator(f'form[action="{house}/import"] .button').click()
    desk.open("/operator/bank")
    sight.see(page, "bank and books")
    text = page.inner_text("main")
    assert "Every line of the bank shows an order." in text
    assert "Every order is shown by a line of the bank." in text
