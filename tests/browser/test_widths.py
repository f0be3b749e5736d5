"""Nothing that people write makes a page of a phone wider than the phone: names, notes, references and addresses."""

from typing import Final

import pytest

from tests.browser.conftest import PHONE, Open, Scene
from tests.browser.test_journeys import sign_in
from tests.live import PASSWORD, PIN, Customer

LONG: Final = "Mississippi" * 9  # Without a place to break it.
WIDEST: Final = """() => [document.documentElement.scrollWidth, [...document.querySelectorAll("body *")]
    .filter(element => element.getBoundingClientRect().right > innerWidth || element.getBoundingClientRect().left < 0)
    .filter(element => !element.closest(".skip, .scrolls")).map(element => element.outerHTML.slice(0, 120))]"""


@pytest.fixture(scope="module")
def owner(scene: Scene) -> Customer:
    """Somebody with a long name, address and business, who has paid, been refunded, and asked for payouts."""
    email = f"{'averylongaddress' * 4}@{'subdomain' * 6}.example"
    account = scene.act("person add", email=email, name=LONG, password=PASSWORD, pin=PIN)["account"]
    scene.act("account verify", account=account)
    scene.deposit(account, 100_000)
    return Customer(email, account, "")


@pytest.fixture(scope="module")
def shop(scene: Scene, owner: Customer) -> tuple[str, str]:
    """The account of the business, and a payment to it that is pending."""
    asked = scene.act("account request", account=owner.account, name=LONG, returnOrigins=scene.shop_url)
    scene.act("account approve", account=asked["account"])
    key = scene.act("key issue", account=asked["account"], name=LONG)["key"]
    payment = scene.payment(key, amount=9_999_999_999_999, note=f"{LONG}\n{LONG}", reference=LONG[:64])
    return asked["account"], payment


@pytest.mark.parametrize("code", [pytest.param("en", marks=pytest.mark.slow), "ar"])
def test_no_page_is_wider_than_a_phone(
    scene: Scene, open_page: Open, owner: Customer, shop: tuple[str, str], code: str
) -> None:
    account, payment = shop
    page = open_page(**PHONE)
    page.goto(f"{scene.base_url}/pay/{payment}?lang={code}")
    seen = {"pay": page.evaluate(WIDEST)}
    page.goto(f"{scene.base_url}/pay/{payment}/cancel")
    seen["left"] = page.evaluate(WIDEST)
    sign_in(page, scene, code, owner)
    for path in (
        *("/wallet", "/wallet/history", "/wallet/settings", "/wallet/identity", "/wallet/payouts", "/wallet/pay"),
        *("/wallet/security", "/wallet/security/email", "/wallet/security/sessions", "/wallet/statement"),
        *("/business", "/wallet/pin"),
        *(
            f"/business/{account}",
            *(
                f"/business/{account}{path}"
                for path in ("/payments", "/take", "/sell", "/payouts", "/bank-accounts", "/reports", "/exports")
            ),
            *(
                f"/business/{account}{path}"
                for path in (f"/payments/{payment}", "/settings", "/staff", "/staff/invite")
            ),
            f"/business/{account}/keys",
            f"/business/{account}/webhooks",
            f"/pay/{payment}",
            f"/wallet/{LONG}",
        ),
    ):
        answer = page.goto(f"{scene.base_url}{path}")
        assert answer is not None
        assert answer.status in {200, 404}, path
        seen[path] = page.evaluate(WIDEST)
    page.goto(f"{scene.base_url}/wallet/payouts")
    for name, value in {"amount": "12", "bank": LONG[:99], "account": LONG[:64]}.items():
        page.fill(f"#{name}", value)
    page.select_option("#currency", "USD")
    page.locator('form[action="/wallet/payouts"] .button').click()
    page.wait_for_selector("#pin")
    seen["review"] = page.evaluate(WIDEST)
    page.fill("#pin", PIN)
    page.locator('form[action="/wallet/payouts"] .button').click()
    page.wait_for_selector(".badge")
    seen["asked"] = page.evaluate(WIDEST)
    assert {name: found for name, found in seen.items() if found != [360, []]} == {}
