"""The end of a shop's month: money at the bank, and a statement whose numbers add up. Days pass on the way."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Page
from pypdf import PdfReader

from qirsh.engine.clock import ManualClock
from qirsh.settings import read_settings
from qirsh.web.routes import ROUTES
from tests.app_in_thread import app_in_thread
from tests.browser.conftest import PHONE, Open
from tests.browser.pictures import Town
from tests.browser.sight import Sight
from tests.browser.test_journeys import in_one_language, send
from tests.browser.test_shop_story import DESKTOP, numbers
from tests.browser.tour import sign_in
from tests.live import PASSWORD, PIN, free_port
from tests.quick_passwords import quick_passwords

HOUR_MS: Final = 3_600_000
BEGINNING: Final = 1_793_868_060_000  # 5 November 2026, 08:41 UTC.
OWNER, CUSTOMER = "owner@mail.example", "customer@mail.example"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(BEGINNING)


@pytest.fixture
def town(tmp_path: Path, clock: ManualClock, ours: list[str]) -> Iterator[Town]:
    port = free_port()
    settings = {"QIRSH_DATA_DIR": str(tmp_path), "QIRSH_PORT": str(port), "QIRSH_RATE_LIMITS": "off"}
    settings["QIRSH_BASE_URL"] = f"http://127.0.0.1:{port}"
    with quick_passwords(), app_in_thread(read_settings(settings), ROUTES, clock=clock) as served:
        town = Town(served, clock)
        ours.append(f"{town.base_url}/")
        town.found()
        yield town
        town.close()


@pytest.mark.slow
@pytest.mark.parametrize("screen", [PHONE, pytest.param(DESKTOP, marks=pytest.mark.slow)], ids=["phone", "desktop"])
@in_one_language("tr")
def test_what_was_taken_reaches_the_bank_and_the_month_adds_up(
    town: Town, clock: ManualClock, open_page: Open, sight: Sight, *, code: str, screen: dict[str, object]
) -> None:
    shop = traded(town)
    base = f"{town.base_url}/business/{shop}"
    page = open_page(**screen)
    page.goto(f"{town.base_url}/?lang={code}")
    sign_in(page, town.base_url, OWNER)
    page.goto(f"{base}/bank-accounts")
    send(page, f"/business/{shop}/bank-accounts", holder="Layla", bank="Bank", account="DE89370400440532013000")
    page.goto(f"{base}/payouts")
    ask_for_payout(page, shop)
    sight.see(page, "too early")
    assert page.locator("#bank_account[aria-invalid]").count() == 1

    # A day later money goes there: asked for by the owner, ordered by one operator, confirmed by another.
    clock.advance(25 * HOUR_MS)
    sign_in(page, town.base_url, OWNER)
    page.goto(f"{base}/payouts")
    ask_for_payout(page, shop)
    sight.see(page, "payout requested")
    address = page.get_attribute(f'a[href^="/business/{shop}/payouts/"]', "href") or ""
    payout = address.rpartition("/")[2]
    town.act("payout order", id=payout, reference="FT-2211", reason="As the owner asked")
    town.act("withdraw confirm", 1, reference="FT-2211")
    page.goto(f"{town.base_url}{address}")
    sight.see(page, "payout paid")
    assert "FT-2211" in page.inner_text("main")

    # The month is over, and its books are closed.
    clock.advance(30 * 24 * HOUR_MS)
    sign_in(page, town.base_url, OWNER)
    page.goto(f"{base}/reports?currency=USD&from=2026-11-01&to=2026-11-30")
    sight.see(page, "report of the month")
    figures = [float(text) for text in numbers(page)]
    opening, taken, refunded, _fees, paid_out, *_others, closing = figures
    assert (opening, taken, refunded, paid_out, closing) == (0, 42.5, -2, -30, 10.5)
    assert sum(figures[:-1]) == closing
    page.goto(f"{base}/statements?currency=USD")
    sight.see(page, "statements")
    said = statement(page, "2026-11")
    for text in ("42.50", "30.00", "10.50"):
        assert (text.replace(".", ",") if code == "tr" else text) in said, said


def traded(town: Town) -> str:
    """The account of a shop that has sold two things, and taken half of one back."""
    owner, customer = town.person(OWNER, "Layla"), town.person(CUSTOMER, "Sami")
    for account in (owner, customer):
        town.act("account verify", account=account)
    town.deposit(customer, "USD")
    shop = town.business(owner, "Al-Sham Books")
    key = town.act("key issue", account=shop)["key"]
    for amount in (30_00, 12_50):
        payment = town.sold(key, CUSTOMER, amount, "USD", "A novel")
    town.told(f"remote-payments/{payment}/refunds", key, amount=2_00)
    return shop


def ask_for_payout(page: Page, shop: str) -> None:
    page.select_option("#bank_account", index=0)
    page.fill("#amount", "30")
    page.select_option("#currency", "USD")
    page.fill("#pin", PIN)
    if page.locator("#password").count():
        page.fill("#password", PASSWORD)
    with page.expect_navigation():
        page.locator(f'form[action="/business/{shop}/payouts"] .button').click()


def statement(page: Page, month: str) -> str:
    """Its text."""
    with page.expect_download() as downloading:
        page.locator(f'button[name="month"][value="{month}"]').click()
    text = "".join(paper.extract_text() for paper in PdfReader(downloading.value.path()).pages)
    return re.sub(r"[\u200e\u200f\u2066-\u2069]", "", text)
