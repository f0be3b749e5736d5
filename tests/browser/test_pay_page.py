"""The pay page as customers meet it: on a desktop, on a phone, without JavaScript, light and dark."""

import re
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, Page

from qirsh.language.figures import grouped
from tests.browser.conftest import PHONE, Open, Scene, patient
from tests.browser.sight import Axe
from tests.live import FUNDS, PASSWORD, PIN, WRONG_PIN, Customer

KINDS: Final[dict[str, dict[str, Any]]] = {
    "desktop": {},
    "phone": PHONE,
    "no script": {"java_script_enabled": False},
}
SMALLEST: Final = """() => [...document.querySelectorAll("a, button, summary, input:not([type=hidden])")]
    .map(element => [element.outerHTML.slice(0, 80), element.getBoundingClientRect().height])
    .filter(([, height]) => height > 0 && height < 48)"""
# What would run a second later or more runs when the test says so.
HOLD_TIMERS: Final = """window.held = [];
window.soon = setTimeout;
window.setTimeout = (run, ms, ...rest) => ms < 1000 ? soon(run, ms, ...rest) : held.push(run);"""
LARGEST: Final = """() => {
    const size = element => parseFloat(getComputedStyle(element).fontSize);
    const all = [...document.querySelectorAll("main *")].sort((a, b) => size(b) - size(a));
    return all[0].className;
}"""


def sign_in(page: Page, customer: Customer) -> None:
    page.get_by_label("E-mail address").fill(customer.email)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()


def hold_time(page: Page) -> None:
    """Its timers run when the test says so."""
    page.clock.install(time=0)
    page.clock.pause_at(1000)


def confirm(page: Page, pin: str = PIN) -> None:
    page.get_by_label("Your payment PIN").fill(pin)
    page.get_by_role("button", name="Pay").click()


@pytest.mark.parametrize("kind", ["phone", "no script", pytest.param("desktop", marks=pytest.mark.slow)])
def test_a_customer_pays_and_comes_back_to_the_shop(scene: Scene, open_page: Open, kind: str) -> None:
    customer = scene.customer()
    payment_id = scene.payment(amount=10098, note="Order 1029", returnUrl=f"{scene.shop_url}/thanks?order=1029#top")
    page = open_page(**KINDS[kind])
    page.goto(f"{scene.base_url}/pay/{payment_id}")
    assert page.title() == "Pay 100.98 USD to Al-Sham Books · Qirsh"
    sign_in(page, customer)
    confirm(page, WRONG_PIN)
    assert "4 attempts are left" in page.locator("#pin-wrong").inner_text()
    confirm(page)
    page.wait_for_url(f"{scene.shop_url}/**")
    assert page.url == f"{scene.shop_url}/thanks?order=1029&paymentId={payment_id}&status=paid#top"
    assert scene.status(payment_id) == "paid"
    # Back leads to no form: whatever the browser kept of it, it may not show.
    page.go_back()
    assert "You can close this page." in page.inner_text("main")
    page.get_by_role("link", name="Go back to the shop").click()
    assert page.url.startswith(f"{scene.shop_url}/thanks?")
    assert scene.held(customer) == FUNDS - 10098


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_receipt_stays_a_receipt(scene: Scene, open_page: Open, kind: str) -> None:
    customer = scene.customer()
    page = open_page(**KINDS[kind])
    page.goto(f"{scene.base_url}/pay/{scene.payment(amount=500)}")
    sign_in(page, customer)
    confirm(page)
    for _ in range(2):
        assert "Paid" in page.inner_text(".outcome")
        page.reload()
    page.get_by_role("button", name="Sign out").click()
    assert "Already paid" in page.inner_text("main")
    # What was seen while signed in is not kept for the next one at this screen.
    page.go_back()
    assert customer.account[:4] not in page.inner_text("main")
    assert scene.held(customer) == FUNDS - 500


def test_a_double_click_pays_once(scene: Scene, open_page: Open) -> None:
    customer = scene.customer()
    payment_id = scene.payment(amount=300)
    page = open_page()
    page.goto(f"{scene.base_url}/pay/{payment_id}")
    sign_in(page, customer)
    page.get_by_label("Your payment PIN").fill(PIN)
    page.get_by_role("button", name="Pay").dblclick()
    page.wait_for_selector(".outcome")
    assert scene.held(customer) == FUNDS - 300


@pytest.mark.slow
def test_two_tabs_pay_once(scene: Scene, open_page: Open) -> None:
    customer = scene.customer()
    payment_id = scene.payment(amount=400)
    first = open_page()
    first.goto(f"{scene.base_url}/pay/{payment_id}")
    second = first.context.new_page()
    second.goto(f"{scene.base_url}/pay/{payment_id}")
    # Both had the form to sign in; both get on.
    sign_in(first, customer)
    sign_in(second, customer)
    first.reload()
    for tab in (first, second):
        tab.wait_for_selector("#pin")
    confirm(first)
    # The other tab hears of it and goes on by itself.
    for tab in (first, second):
        tab.wait_for_selector(".outcome")
        assert "Paid" in tab.inner_text(".outcome")
    assert scene.held(customer) == FUNDS - 400


@pytest.mark.slow
def test_not_you_signs_out_and_cancel_goes_back(scene: Scene, open_page: Open) -> None:
    payment_id = scene.payment(cancelUrl=f"{scene.shop_url}/basket")
    page = open_page()
    page.goto(f"{scene.base_url}/pay/{payment_id}")
    sign_in(page, scene.customer())
    page.get_by_role("button", name="Not you?").click()
    assert page.get_by_label("Password").is_visible()
    page.get_by_role("link", name="Cancel and go back to the shop").click()
    assert page.url == f"{scene.shop_url}/basket?paymentId={payment_id}&status=pending"
    assert scene.status(payment_id) == "pending"


def test_what_a_shop_writes_never_runs(scene: Scene, open_page: Open) -> None:
    note = "<script>alert(1)</script><img src=x onerror=alert(2)>{{7*7}}<style>*{display:none}</style>\u200f"
    page = open_page()
    page.goto(f"{scene.base_url}/pay/{scene.payment(note=note)}")
    assert "<script>alert(1)</script>" in page.inner_text(".note")
    assert page.locator(".slip img, main script, main style").count() == 0
    assert page.get_by_role("heading", level=1).inner_text() == "Al-Sham Books"


@pytest.mark.slow
def test_each_line_of_a_note_has_its_own_direction(scene: Scene, open_page: Open) -> None:
    page = open_page(**PHONE)
    payment_id = scene.payment(note="Order 7\nطلب 7\nThanks")
    page.goto(f"{scene.base_url}/pay/{payment_id}")
    lines = page.locator(".note .words p")
    assert lines.all_inner_texts() == ["Order 7", "طلب 7", "Thanks"]
    assert [line.evaluate("line => getComputedStyle(line).direction") for line in lines.all()] == ["ltr", "rtl", "ltr"]
    assert page.locator(".note details").count() == 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["phone", "no script"])
def test_a_long_note_leaves_the_way_to_pay_in_sight(scene: Scene, open_page: Open, kind: str) -> None:
    page = open_page(**{**PHONE, **KINDS[kind]})
    page.goto(f"{scene.base_url}/pay/{scene.payment(note='A word. ' * 62)}")
    sign_in(page, scene.customer())
    words = page.locator(".note .words")
    folded = words.bounding_box()
    pin = page.get_by_label("Your payment PIN").bounding_box()
    assert folded is not None
    assert pin is not None
    assert folded["height"] < 110
    assert pin["y"] + pin["height"] < 740
    page.get_by_text("Show more").click()
    whole = words.bounding_box()
    assert whole is not None
    assert whole["height"] > 2 * folded["height"]
    assert page.get_by_text("Show less").is_visible()


def test_no_other_page_can_frame_it(scene: Scene, browser: Browser) -> None:
    with patient(browser.new_context()) as context, context.new_page() as page:
        with page.expect_console_message(lambda message: "frame-ancestors" in message.text):
            page.goto(f"{scene.shop_url}/frame/{scene.payment()}")
        assert all("pay" not in frame.url or not frame.locator("form").count() for frame in page.frames[1:])


def test_a_desktop_goes_on_by_itself_when_a_phone_has_paid(scene: Scene, open_page: Open) -> None:
    payment_id = scene.payment(returnUrl=f"{scene.shop_url}/thanks")
    page = open_page()
    page.add_init_script(HOLD_TIMERS)
    page.goto(f"{scene.base_url}/pay/{payment_id}")
    # It is open, beside the slip and above the fold, with the number in words that can be read out.
    code, slip = page.locator(".phone").bounding_box(), page.locator(".slip").bounding_box()
    assert code is not None
    assert slip is not None
    assert slip["x"] + slip["width"] < code["x"]
    assert code["y"] + code["height"] < 720
    assert page.locator(".phone .num").inner_text() == grouped(payment_id)
    # A function that is asked again and again would be text for `eval`, which the page's policy forbids.
    page.locator(".phone img").evaluate("image => image.decode()")
    scene.pay(scene.customer(), payment_id)
    page.locator(".outcome", has_text="Paid").wait_for()
    assert "Did you pay it?" not in page.inner_text("main")
    assert page.get_by_role("link", name="Continue to the shop").is_visible()
    with page.expect_navigation():
        page.evaluate("soon(held[0])")
    page.wait_for_url(f"{scene.shop_url}/**")
    assert page.url == f"{scene.shop_url}/thanks?paymentId={payment_id}&status=paid"
    # Who comes back is not sent away again.
    page.go_back()
    assert page.locator(".outcome", has_text="Paid").is_visible()
    assert page.evaluate("held.length") == 0


@pytest.mark.slow
def test_a_page_without_a_shop_says_that_it_was_paid(scene: Scene, open_page: Open) -> None:
    payment_id = scene.payment()
    page = open_page()
    page.goto(f"{scene.base_url}/pay/{payment_id}")
    scene.pay(scene.customer(), payment_id)
    page.locator(".outcome", has_text="Paid").wait_for()
    assert "You can close this page." in page.inner_text("main")


@pytest.mark.slow
def test_the_code_for_the_phone_is_neither_shown_nor_loaded_on_a_phone(scene: Scene, open_page: Open) -> None:
    page = open_page(**PHONE)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{scene.base_url}/pay/{scene.payment()}")
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    page.reload()  # Whatever the first page asked for is known when the second is there.
    assert not page.locator(".phone").is_visible()
    assert not any(address.endswith("/qr") for address in asked)


def test_the_time_left_runs_down_and_stands_in_words_without_scripts(scene: Scene, open_page: Open) -> None:
    payment_id = scene.payment(expiresIn=900)
    page = open_page()
    hold_time(page)
    page.goto(f"{scene.base_url}/pay/{payment_id}")
    timer = page.get_by_role("timer")
    left_s = int(timer.get_attribute("data-left") or "") // 1000
    seen = [timer.inner_text()]
    for _ in range(2):
        page.clock.run_for(1000)
        seen.append(timer.inner_text())
    assert seen == [f"{left // 60}:{left % 60:02d}" for left in (left_s, left_s - 1, left_s - 2)]
    still = open_page(java_script_enabled=False)
    still.goto(f"{scene.base_url}/pay/{payment_id}")
    assert re.fullmatch("1[0-4] minutes", still.get_by_role("timer").inner_text())


@pytest.mark.parametrize("kind", ["phone", pytest.param("desktop", marks=pytest.mark.slow)])
def test_in_arabic_it_is_the_mirror_image_and_sums_stay_in_order(
    scene: Scene, open_page: Open, axe: Axe, kind: str
) -> None:
    page = open_page(locale="ar", **KINDS[kind])
    page.goto(f"{scene.base_url}/pay/{scene.payment(amount=123_456_789)}")
    assert page.evaluate("getComputedStyle(document.body).direction") == "rtl"
    assert page.locator(".amount bdi").inner_text() == "1,234,567.89"
    logo, name = page.locator(".payee .logo").bounding_box(), page.locator(".payee h1").bounding_box()
    assert logo is not None
    assert name is not None
    assert logo["x"] > name["x"]
    digits = page.get_by_role("timer")
    assert page.evaluate("element => getComputedStyle(element).direction", digits.element_handle()) == "ltr"
    look(axe, page, None)


@pytest.mark.slow
def test_the_owner_tries_out_a_payment_and_comes_back_to_the_shop(scene: Scene, open_page: Open, axe: Axe) -> None:
    test_id = scene.payment(scene.merchant.test_key, returnUrl=f"{scene.shop_url}/thanks")
    page = open_page()
    page.goto(f"{scene.base_url}/pay/{scene.payment()}")
    page.get_by_label("E-mail address").fill(scene.merchant.email)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    look(axe, page, f"{scene.base_url}/pay/{test_id}")
    page.get_by_role("button", name="Not enough money").click()
    look(axe, page, None)
    page.get_by_role("button", name="Pay with test money").click()
    page.wait_for_url(f"{scene.shop_url}/**")


@pytest.mark.slow
def test_a_receipt_is_shared_printed_and_kept(scene: Scene, open_page: Open, axe: Axe) -> None:
    page = open_page()
    page.goto(f"{scene.base_url}/pay/{scene.payment(amount=10098)}")
    sign_in(page, scene.customer())
    confirm(page)
    page.emulate_media(media="print")
    assert page.locator(".amount").is_visible()
    assert not page.locator(".deeds").is_visible()
    assert not page.locator(".below").is_visible()
    page.emulate_media(media="screen")
    assert page.get_by_role("button", name="Print").is_visible()
    with page.expect_download() as kept:
        page.get_by_role("link", name="Download PDF").click()
    assert kept.value.suggested_filename.endswith(".pdf")
    page.get_by_role("link", name="Receipt to share").click()
    assert "Account ending" in page.inner_text("main")
    look(axe, page, None)


def walk(scene: Scene, axe: Axe, page: Page) -> None:
    """Every kind of page, one after another, with a look at each."""
    customer, other = scene.customer(), scene.customer()
    base, note = scene.base_url, "Order 1029: two novels and a notebook"
    payment_id = scene.payment(amount=10098, note=note, cancelUrl=f"{scene.shop_url}/basket")
    look(axe, page, f"{base}/pay/{payment_id}")
    page.get_by_label("E-mail address").fill(customer.email)
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    look(axe, page, None)
    sign_in(page, customer)
    look(axe, page, None)
    confirm(page, WRONG_PIN)
    look(axe, page, None)
    look(axe, page, f"{base}/pay/{scene.payment(amount=999_999_999_999_999, note='long ' * 100)}")
    look(axe, page, f"{base}/pay/{scene.payment()}/cancel")
    look(axe, page, f"{base}/pay/{scene.payment(scene.merchant.test_key)}")
    look(axe, page, f"{base}/pay/1")
    theirs = scene.payment()
    scene.pay(other, theirs)
    look(axe, page, f"{base}/pay/{theirs}")
    page.goto(f"{base}/pay/{payment_id}")
    confirm(page)
    look(axe, page, None)
    page.context.clear_cookies()
    look(axe, page, f"{base}/pay/{theirs}")


def look(axe: Axe, page: Page, address: str | None) -> None:
    """At one page: nothing that axe finds, nothing too small to touch, nothing wider than the screen."""
    if address:
        page.goto(address)
    where = f"{page.url}: {page.inner_text('main')[:80]}"
    assert axe.violations(page) == [], where
    assert page.evaluate(SMALLEST) == [], where
    assert page.viewport_size is not None
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"], where
    assert page.locator(".button:not(.quiet)").count() <= 1, where
    if page.locator(".amount").count():
        assert page.evaluate(LARGEST).startswith("amount"), where


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "scheme"), [("desktop", "light"), ("phone", "dark")])
def test_every_page_can_be_read_and_touched(scene: Scene, open_page: Open, axe: Axe, kind: str, scheme: str) -> None:
    walk(scene, axe, open_page(color_scheme=scheme, **KINDS[kind]))
