"""What scripts add to pages that work without them: copying, files, passwords that can be seen, times of one's own."""

import re
from pathlib import Path

import pyotp
import pytest
from playwright.sync_api import Page

from tests.browser.conftest import PHONE, Open, Scene
from tests.browser.test_journeys import sign_in
from tests.live import PASSWORD, Customer

CLIPBOARD = ["clipboard-read", "clipboard-write"]


def at_home(scene: Scene, page: Page, customer: Customer, path: str) -> None:
    sign_in(page, scene, "en", customer)
    page.goto(f"{scene.base_url}{path}")


def test_a_new_key_is_copied_and_so_is_the_command(scene: Scene, open_page: Open) -> None:
    page = open_page(permissions=CLIPBOARD)
    owner = Customer(scene.merchant.email, scene.merchant.personal, "")
    path = f"/business/{scene.merchant.test_account}/keys"
    at_home(scene, page, owner, path)
    form = page.locator(f'form[action="{path}"]')
    form.locator("[name=name]").fill("Till")
    form.locator(".button").click()
    copies = page.get_by_role("button", name="Copy")
    key = page.locator("#key").inner_text()
    assert key.startswith("qk_test_")
    copies.first.click()
    page.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == key
    copies.last.click()
    page.get_by_role("button", name="Copied").last.wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith(f"curl {scene.base_url}/api/v1/me")
    assert key in copied


def test_a_double_click_sends_a_form_once(scene: Scene, open_page: Open) -> None:
    page = open_page()
    path = f"/business/{scene.merchant.test_account}/keys"
    at_home(scene, page, Customer(scene.merchant.email, scene.merchant.personal, ""), path)
    form = page.locator(f'form[action="{path}"]')
    form.locator("[name=name]").fill("Twice")
    # Whether each was stopped, in one breath; a third is of another name.
    stopped = form.evaluate(
        """(form) => {
          const stopped = [];
          const note = (event) => { stopped.push(event.defaultPrevented); event.preventDefault(); };
          addEventListener("submit", note);
          form.requestSubmit();
          form.requestSubmit();
          form.elements.name.value = "Thrice";
          form.requestSubmit();
          removeEventListener("submit", note);
          return stopped;
        }"""
    )
    assert stopped == [False, True, False]
    page.reload()
    form.locator("[name=name]").fill("Twice")
    form.locator(".button").dblclick()
    page.locator("#key").wait_for()
    assert page.locator("#key").inner_text().startswith("qk_test_")


def test_a_password_is_seen_while_it_is_typed_and_never_when_it_is_sent(scene: Scene, open_page: Open) -> None:
    page = open_page(**PHONE)
    page.goto(f"{scene.base_url}/sign-in")
    field, button = page.get_by_label("Password"), page.locator("[data-reveal=password]")
    field.fill("hush")
    assert field.get_attribute("type") == "password"
    button.click()
    assert (field.get_attribute("type"), button.inner_text()) == ("text", "Hide")
    button.click()
    assert (field.get_attribute("type"), button.inner_text()) == ("password", "Show")
    button.click()
    page.get_by_label("E-mail address").fill("nobody@home.example")
    # The type is set back before the form goes.
    page.evaluate(
        "addEventListener('submit', () => sessionStorage.setItem('sent', document.getElementById('password').type))"
    )
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.locator("[role=alert]").first.wait_for()
    assert page.evaluate("sessionStorage.getItem('sent')") == "password"
    plain = open_page(java_script_enabled=False)
    plain.goto(f"{scene.base_url}/sign-in")
    assert not plain.locator("[data-reveal]").is_visible()


@pytest.mark.slow
def test_recovery_codes_are_copied_kept_in_a_file_and_printed(scene: Scene, open_page: Open, tmp_path: Path) -> None:
    page, customer = open_page(permissions=CLIPBOARD), scene.customer()
    at_home(scene, page, customer, "/wallet/security/totp")
    turn_on(page, scene, customer)
    codes = page.locator(".codes li").all_inner_texts()
    assert len(codes) >= 8
    page.get_by_role("button", name="Copy").click()
    page.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()").split() == codes
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    assert download.value.suggested_filename == "qirsh-recovery-codes.txt"
    download.value.save_as(tmp_path / "codes.txt")
    assert (tmp_path / "codes.txt").read_text().split() == codes
    page.evaluate("window.print = () => document.body.setAttribute('data-printed', '')")
    page.get_by_role("button", name="Print").click()
    assert page.locator("body[data-printed]").count() == 1


def test_a_time_of_ones_own_is_told_by_ones_own_clock(scene: Scene, open_page: Open) -> None:
    customer = scene.customer()
    far = open_page(timezone_id="Asia/Tokyo")
    at_home(scene, far, customer, "/wallet/security")
    shown = far.locator("time[data-zone]").first
    assert re.fullmatch(r"\d+ \w+ \d{4}\D+\d\d:\d\d GMT\+9", shown.inner_text()), shown.inner_text()
    assert "UTC" in (shown.get_attribute("title") or "")
    near = open_page(timezone_id="UTC", storage_state=far.context.storage_state())
    near.goto(f"{scene.base_url}/wallet/security")
    assert near.locator("time[data-zone]").first.inner_text().endswith("UTC")
    assert near.locator("time[data-zone]").first.get_attribute("title") is None


def turn_on(page: Page, scene: Scene, customer: Customer) -> None:
    """The second factor, by a mailed code and an app that knows the secret of the page."""
    page.locator("main form [name=password]").fill(PASSWORD)
    with page.expect_navigation():
        page.locator("main form .button").click()
    mail_code = scene.mailed_code(customer.email)
    address = page.get_attribute('a[href^="otpauth:"]', "href") or ""
    app = pyotp.parse_uri(address)
    assert isinstance(app, pyotp.TOTP)
    page.locator("main form [name=code]").fill(app.now())
    page.locator("main form [name=mail_code]").fill(mail_code)
    page.locator("main form .button").click()
    page.locator(".codes").wait_for()
