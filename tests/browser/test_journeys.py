"""Whole journeys of people on a phone, in each language, with a look at every screen on the way."""

import csv
import io
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import pyotp
import pytest
from playwright.sync_api import Page

from qirsh.language.catalog import LANGUAGES
from tests.browser.conftest import PHONE, Open, Scene
from tests.browser.passkey_device import give_device
from tests.browser.sight import Sight
from tests.live import FUNDS, PASSWORD, PIN, Customer
from tests.web.photo import picture

NEW_PASSWORD: Final = "seven quiet lemons by the sea"
NOTES: Final = {"en": "Order 1029: two novels", "ar": "الطلب 1029: روايتان ودفتر", "tr": "Sipariş 1029: iki roman"}
SHOPS: Final = {"en": "Olive Corner", "ar": "زاوية الزيتون", "tr": "Zeytin Köşesi"}


def in_one_language(code: str) -> pytest.MarkDecorator:
    """Each journey in one language, and in the long run in all of them."""
    long_run = [pytest.param(other, marks=pytest.mark.slow) for other in LANGUAGES if other != code]
    return pytest.mark.parametrize("code", [code, *long_run])


def send(page: Page, action: str, **typed: str) -> None:
    """The form that posts there, filled in."""
    form = f'main form[action="{action}"]'
    for name, value in typed.items():
        field = page.locator(f"{form} [name={name}]")
        if field.evaluate("element => element.tagName") == "SELECT":
            field.select_option(value)
        else:
            field.fill(value)
    with page.expect_navigation():
        page.locator(f"{form} .button").click()


def follow(page: Page, href: str) -> None:
    """The link on the page that leads there."""
    with page.expect_navigation():
        page.locator(f'a[href="{href}"] >> visible=true').first.click()


def sign_in(page: Page, scene: Scene, code: str, who: Customer, password: str = PASSWORD) -> None:
    page.goto(f"{scene.base_url}/sign-in?lang={code}")
    send(page, "/sign-in", email=who.email, password=password)


def sign_out(page: Page) -> None:
    with page.expect_navigation():
        page.locator('header form[action="/sign-out"] button').click()


def path_of(page: Page, scene: Scene) -> str:
    assert page.url.startswith(scene.base_url), page.url
    return page.url.removeprefix(scene.base_url)


def test_a_new_customer_comes_from_a_shop_joins_and_pays_in_arabic(
    scene: Scene, open_page: Open, sight: Sight, tmp_path: Path
) -> None:
    email = "huda@home.example"
    payment_id = scene.payment(amount=10098, note=NOTES["ar"], returnUrl=f"{scene.shop_url}/order?number=1029")
    page = open_page(locale="ar", **PHONE)
    page.goto(f"{scene.base_url}/pay/{payment_id}")
    sight.see(page, "a payment")

    follow(page, f"/sign-up?pay={payment_id}")
    sight.see(page, "sign-up")
    send(page, "/sign-up", email=email)
    sight.see(page, "code")
    send(page, "/sign-up/code", code="000000", name="هدى", password="password1234", pin="111111", pin_again="111112")
    assert page.locator(".wrong").count() >= 2
    sight.see(page, "what is wrong")
    code = scene.mailed_code(email)
    send(page, "/sign-up/code", code=code, name="هدى الحلبي", password=NEW_PASSWORD, pin=PIN, pin_again=PIN)
    assert path_of(page, scene) == f"/pay/{payment_id}"
    sight.see(page, "not verified")

    follow(page, "/wallet/identity")
    sight.see(page, "identity")
    for side in ("front", "back"):
        (tmp_path / side).with_suffix(".jpg").write_bytes(picture(size=(1200, 800)))
        page.set_input_files(f"#{side}", (tmp_path / side).with_suffix(".jpg"))
    facts = {"given_names": "هدى", "family_name": "الحلبي", "birth_date": "1994-03-21", "document_number": "N0112233"}
    send(page, "/wallet/identity", document="passport", **facts)
    sight.see(page, "identity sent")
    follow(page, "/wallet")
    sight.see(page, "wallet of somebody new")
    account = page.inner_text(".copy")
    page.goto(f"{scene.base_url}/pay/{payment_id}")
    sight.see(page, "being checked")

    shown = scene.act("identity show", account=account, pictures=True)
    assert (shown["givenNames"], sorted(shown["pictures"])) == ("هدى", ["back", "front"])
    scene.act("account verify", account=account)
    page.reload()
    sight.see(page, "no money")
    scene.deposit(account, 25000)
    page.reload()
    sight.see(page, "before the PIN")
    send(page, f"/pay/{payment_id}/confirm", pin=PIN)
    assert page.url == f"{scene.shop_url}/order?number=1029&paymentId={payment_id}&status=paid"
    assert page.inner_text("output") == "paid"

    page.goto(f"{scene.base_url}/wallet")
    sight.see(page, "wallet afterwards")
    assert page.inner_text(".balance .amount .num >> text=149.02") == "149.02"


@pytest.mark.slow
@in_one_language("ar")
def test_a_wallet_from_day_to_day(scene: Scene, open_page: Open, sight: Sight, code: str) -> None:
    customer = scene.customer()
    payment_id = scene.payment(amount=10098, note=NOTES[code])
    page = open_page(**PHONE)
    page.goto(f"{scene.base_url}/?lang={code}")
    sight.see(page, "front page")
    follow(page, "/sign-in")
    sight.see(page, "sign-in")
    send(page, "/sign-in", email=customer.email, password="wrong password")
    sight.see(page, "wrong password")
    send(page, "/sign-in", email=customer.email, password=PASSWORD)
    assert path_of(page, scene) == "/wallet"
    sight.see(page, "wallet")

    follow(page, "/wallet/pay")
    sight.see(page, "pay")
    send_number(page, payment_id[:-1])
    sight.see(page, "mistyped")
    send_number(page, " ".join(payment_id[start : start + 4] for start in range(0, 16, 4)))
    assert path_of(page, scene) == f"/pay/{payment_id}"
    sight.see(page, "a payment")
    send(page, f"/pay/{payment_id}/confirm", pin=PIN)
    sight.see(page, "receipt")
    page.locator("[data-share]").click()
    sight.see(page, "receipt to share")
    assert scene.status(payment_id) == "paid"

    page.goto(f"{scene.base_url}/wallet/history")
    assert page.locator(".moves li").count() > 1
    sight.see(page, "history")
    follow(page, "/wallet/history?kind=pay")
    page.locator("summary").click()
    with page.expect_navigation():
        page.fill("#words", "1029")
        page.locator('form[action="/wallet/history"] .button').first.click()
    assert page.locator(".moves li").count() == 1
    sight.see(page, "history with a filter")
    page.goto(f"{scene.base_url}/wallet/history?words=nothing+like+this")
    sight.see(page, "nothing found")
    take_statements(scene, page, sight)


def send_number(page: Page, number: str) -> None:
    """The first of two forms that post there."""
    page.fill("#number", number)
    with page.expect_navigation():
        page.locator('form[action="/wallet/pay"] .button').first.click()


def take_statements(scene: Scene, page: Page, sight: Sight) -> None:
    page.goto(f"{scene.base_url}/wallet/statement?currency=USD")
    sight.see(page, "statement")
    taken = {kind: downloaded(page, f'a[href^="/wallet/statement.{kind}?"]') for kind in ("csv", "pdf")}
    rows = list(csv.reader(io.StringIO(taken["csv"].decode("utf-8-sig"))))
    assert any(NOTES[sight.code] in row for row in rows), rows
    assert taken["pdf"].startswith(b"%PDF-")


def downloaded(page: Page, link: str) -> bytes:
    with page.expect_download() as kept:
        page.locator(link).click()
    return Path(kept.value.path()).read_bytes()


@pytest.mark.slow
@in_one_language("tr")
def test_a_payout_is_asked_for_and_taken_back(scene: Scene, open_page: Open, sight: Sight, code: str) -> None:
    customer = scene.customer()
    page = open_page(**PHONE)
    sign_in(page, scene, code, customer)
    follow(page, "/wallet/payouts")
    sight.see(page, "payouts")
    bank = {"holder": "Şükrü الحلبي", "bank": "Bank Audi", "account": "TR330006100519786457841326"}
    send(page, "/wallet/payouts", amount="12x", currency="EUR", **bank)
    sight.see(page, "what is wrong")
    send(page, "/wallet/payouts", amount="1234,50" if code == "tr" else "1234.50", currency="EUR", **bank)
    sight.see(page, "review")
    send(page, "/wallet/payouts", pin=PIN)
    sight.see(page, "asked for")
    with page.expect_navigation():
        page.locator('form[action$="/cancel"] button').click()
    assert page.locator(".badge.cancelled").is_visible()
    sight.see(page, "cancelled")
    assert scene.held(customer) == FUNDS


@pytest.mark.slow
@in_one_language("en")
def test_an_account_is_secured(scene: Scene, open_page: Open, sight: Sight, code: str) -> None:
    customer = scene.customer()
    page = open_page(**PHONE)
    sign_in(page, scene, code, customer)
    follow(page, "/wallet/settings")
    follow(page, "/wallet/security")
    sight.see(page, "security")
    follow(page, "/wallet/security/password")
    sight.see(page, "password")
    send(page, "/wallet/security/password", password=PASSWORD, new_password="password1234")
    sight.see(page, "password that is guessed")
    send(page, "/wallet/security/password", password=PASSWORD, new_password=NEW_PASSWORD)
    sight.see(page, "password changed")

    follow(page, "/wallet/security/totp")
    sight.see(page, "second factor")
    send(page, "/wallet/security/totp/code", password=NEW_PASSWORD)
    mail_code = scene.mailed_code(customer.email)
    sight.see(page, "second factor set up")
    address = page.get_attribute('a[href^="otpauth:"]', "href") or ""
    app = pyotp.parse_uri(address)
    assert isinstance(app, pyotp.TOTP)
    send(page, "/wallet/security/totp", mail_code=mail_code, code=app.now())
    recovery = page.locator(".codes li").all_inner_texts()
    assert len(set(recovery)) == 10
    sight.see(page, "recovery codes")

    sign_out(page)
    sight.see(page, "signed out")
    sign_in(page, scene, code, customer, NEW_PASSWORD)
    sight.see(page, "second factor is asked for")
    later = datetime.now(UTC) + timedelta(seconds=30)  # Each code is taken once.
    send(page, "/sign-in/code", code=app.at(later))
    assert path_of(page, scene) == "/wallet"
    page.goto(f"{scene.base_url}/wallet/security")
    sight.see(page, "security with a second factor")
    sign_out(page)
    sign_in(page, scene, code, customer, NEW_PASSWORD)
    send(page, "/sign-in/code", code=recovery[0])
    assert path_of(page, scene) == "/wallet"


@in_one_language("ar")
def test_a_passkey_signs_in_and_pays(scene: Scene, open_page: Open, sight: Sight, code: str) -> None:
    customer = scene.customer()
    page = open_page(**PHONE)
    give_device(page)
    sign_in(page, scene, code, customer)
    page.goto(f"{scene.base_url}/wallet/security/passkeys")
    sight.see(page, "passkeys")
    send(page, "/wallet/security/passkeys", name="Huda", password=PASSWORD)
    sight.see(page, "a new passkey")
    press_passkey(page)
    sight.see(page, "passkey added")

    sign_out(page)
    press_passkey(page)
    assert path_of(page, scene) == "/wallet"
    payment_id = scene.payment(amount=500, note=NOTES[code])
    page.goto(f"{scene.base_url}/pay/{payment_id}")
    sight.see(page, "a payment")
    press_passkey(page)
    sight.see(page, "receipt")
    assert scene.status(payment_id) == "paid"


def press_passkey(page: Page) -> None:
    with page.expect_navigation():
        page.locator("[data-passkey-button]").click()


@pytest.mark.slow
@in_one_language("tr")
def test_a_business_is_asked_for_approved_and_has_a_key(scene: Scene, open_page: Open, sight: Sight, code: str) -> None:
    customer = scene.customer()
    page = open_page(**PHONE)
    sign_in(page, scene, code, customer)
    follow(page, "/business")
    sight.see(page, "business")
    send(page, "/business", name=SHOPS[code], kind="shop", registration="DM-1029", origins=scene.shop_url)
    sight.see(page, "business asked for")
    account = (page.get_attribute('.card a[href^="/business/"]', "href") or "").rpartition("/")[2]
    scene.act("account approve", account=account)
    page.goto(f"{scene.base_url}/business/{account}")
    sight.see(page, "business approved")

    follow(page, f"/business/{account}/keys")
    sight.see(page, "no keys yet")
    send(page, f"/business/{account}/keys", name="Website")  # Without the password: they have just signed in.
    sight.see(page, "a key")
    key = page.inner_text("main code")
    payment_id = scene.payment(key, amount=700)
    page.goto(f"{scene.base_url}/business/{account}/keys")
    assert key not in page.content()
    sight.see(page, "business with a key")
    page.locator('a[href$="/revoke"]').click()
    sight.see(page, "revoke")
    with page.expect_navigation():
        page.locator('form[action$="/revoke"] .button').click()
    sight.see(page, "revoked")
    with pytest.raises(AssertionError, match=r"unauthenticated|not_valid|401|key"):
        scene.payment(key)
    assert re.fullmatch(r"[0-9]{16}", payment_id)


@pytest.mark.slow
@in_one_language("en")
def test_settings_change_and_somebody_is_forgotten(scene: Scene, open_page: Open, sight: Sight, code: str) -> None:
    person = scene.person(verified=True)
    page = open_page(**PHONE)
    sign_in(page, scene, code, person)
    follow(page, "/wallet/settings")
    sight.see(page, "settings")
    other = LANGUAGES[LANGUAGES.index(code) - 1]
    send(page, "/wallet/settings", phone="+963 11 123 4567", language=code)
    send(page, "/wallet/settings", language=other)
    assert page.get_attribute("html", "lang") == other
    send(page, "/wallet/settings", language=code)
    sight.see(page, "settings saved")
    assert page.input_value("#phone")

    follow(page, "/wallet/erase")
    sight.see(page, "erase")
    send(page, "/wallet/erase", password=PASSWORD)
    sight.see(page, "erased")
    sign_in(page, scene, code, person)
    sight.see(page, "nobody")
    assert page.locator(".banner.bad").is_visible()
