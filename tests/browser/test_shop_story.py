"""The story of a shop, from its first key to a report that adds up, without a command line on the shop's side."""

from typing import Final

import pytest
from playwright.sync_api import Page
from pypdf import PdfReader

from tests.browser.conftest import PHONE, Open, Scene
from tests.browser.sight import Sight
from tests.browser.test_journeys import SHOPS, follow, in_one_language, send, sign_in

DESKTOP: Final = {"viewport": {"width": 1200, "height": 900}}
# As people of each language type it.
AMOUNTS: Final = {"en": ("12.50", "2.00"), "ar": ("12.50", "2.00"), "tr": ("12,50", "2,00")}


@pytest.mark.parametrize("screen", [PHONE, pytest.param(DESKTOP, marks=pytest.mark.slow)], ids=["phone", "desktop"])
@in_one_language("ar")
def test_a_shop_takes_money_refunds_and_reports(
    scene: Scene, open_page: Open, sight: Sight, code: str, screen: dict[str, object]
) -> None:
    cap, part = AMOUNTS[code]
    owner = open_page(**screen)
    sign_in(owner, scene, code, scene.customer())
    account = opened_shop(owner, scene, code)
    base = f"/business/{account}"
    key = new_key(owner, scene, base)

    # The shop's server asks, a customer pays, and the overview has it.
    payment_id = scene.payment(key, amount=3000, note="Two novels")
    scene.pay(scene.customer(), payment_id)
    owner.goto(f"{scene.base_url}{base}")
    sight.see(owner, "overview with money")
    assert owner.locator(".chart .taken").count() == 1

    # A cashier is invited, accepts, and gives some of it back.
    person = scene.person(verified=True)
    owner.goto(f"{scene.base_url}{base}/staff/invite")
    owner.locator("details summary").first.click()
    send(owner, f"{base}/staff/invite", email=person.email, role="cashier", cap_usd=cap)
    sight.see(owner, "somebody invited")
    cashier = open_page(**screen)
    sign_in(cashier, scene, code, person)
    cashier.goto(f"{scene.base_url}/business")
    sight.see(cashier, "an invitation among businesses")
    with cashier.expect_navigation():
        cashier.locator('a[href^="/invitations/"]').click()
    sight.see(cashier, "an invitation")
    with cashier.expect_navigation():
        cashier.locator('button[value="accept"]').click()
    sight.see(cashier, "overview of a cashier")
    follow(cashier, f"{base}/payments")
    follow(cashier, f"{base}/payments/{payment_id}")
    sight.see(cashier, "a paid payment")
    follow(cashier, f"{base}/payments/{payment_id}/refund")
    sight.see(cashier, "refund")
    send(cashier, f"{base}/payments/{payment_id}/refund", amount=part)
    sight.see(cashier, "refunded")
    assert cashier.goto(f"{scene.base_url}{base}/reports").status == 403  # type: ignore[union-attr]

    # The owner names a bank account, and reads a report that adds up.
    owner.goto(f"{scene.base_url}{base}/bank-accounts")
    send(owner, f"{base}/bank-accounts", holder=SHOPS[code], bank="Bank", account="DE89370400440532013000")
    sight.see(owner, "bank accounts")
    owner.goto(f"{scene.base_url}{base}/reports?currency=USD")
    sight.see(owner, "report")
    figures = [float(text) for text in numbers(owner)]
    opening, taken, refunded, *others, closing = figures
    assert (opening, taken, refunded, closing) == (0, 30, -2, 28)
    assert sum(figures[:-1]) == closing
    assert others == [0, 0, 0, 0]
    assert ("28,00" if code == "tr" else "28.00") in statement(owner, scene, f"{base}/statements?currency=USD")


def statement(page: Page, scene: Scene, path: str) -> str:
    """The text of this month's."""
    page.goto(f"{scene.base_url}{path}")
    with page.expect_download() as downloading:
        page.locator('button[name="month"]').first.click()
    [paper] = PdfReader(downloading.value.path()).pages
    return paper.extract_text()


def opened_shop(page: Page, scene: Scene, code: str) -> str:
    """Asked for on the page, and approved by an operator."""
    page.goto(f"{scene.base_url}/business")
    send(page, "/business", name=SHOPS[code], kind="shop", registration="DM-1029", origins=scene.shop_url)
    account = (page.get_attribute('.card a[href^="/business/"]', "href") or "").rpartition("/")[2]
    scene.act("account approve", account=account)
    return account


def new_key(page: Page, scene: Scene, base: str) -> str:
    page.goto(f"{scene.base_url}{base}/keys")
    send(page, f"{base}/keys", name="Website")
    return page.inner_text("#key")


def numbers(page: Page) -> list[str]:
    """The figures of the report, from the opening balance to the closing one, with a point."""
    texts = page.locator("dl.facts dd .num").all_inner_texts()
    turned = [text.replace("\u200e", "").replace("\u2212", "-") for text in texts]
    is_turkish = page.get_attribute("html", "lang") == "tr"
    return [text.replace(".", "").replace(",", ".") if is_turkish else text.replace(",", "") for text in turned]
