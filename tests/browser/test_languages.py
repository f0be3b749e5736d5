"""The pay page in each language: nothing overlaps, nothing is too small, and only Arabic loads the Arabic font."""

from itertools import product
from typing import Final

import pytest
from playwright.sync_api import Page

from qirsh.language.catalog import LANGUAGES
from tests.browser.conftest import PHONE, Open, Scene
from tests.browser.sight import Axe
from tests.browser.test_pay_page import look
from tests.live import PASSWORD, PIN, WRONG_PIN, Customer


def sign_in(page: Page, customer: Customer, password: str = PASSWORD) -> None:
    page.fill("#email", customer.email)
    page.fill("#password", password)
    page.click('main form[action$="/sign-in"] .button')


def confirm(page: Page, pin: str) -> None:
    page.fill("#pin", pin)
    page.click('main form[action$="/confirm"] .button')


# All of them together in the long run.
SHOWN: Final = [("phone", "ar", "dark")]
DIGITS: Final = """() => {
    const text = document.querySelector(".amount .num").firstChild;
    return [...text.data].map((_, index) => {
        const range = document.createRange();
        range.setStart(text, index);
        range.setEnd(text, index + 1);
        return range.getBoundingClientRect().x;
    });
}"""
MORE: Final = set(product(("phone", "desktop"), ("ar", "tr"), ("light", "dark"))) - set(SHOWN)


@pytest.mark.parametrize(
    ("kind", "code", "scheme"), [*SHOWN, *(pytest.param(*one, marks=pytest.mark.slow) for one in sorted(MORE))]
)
def test_every_page_can_be_read_and_touched_in_it(
    scene: Scene, open_page: Open, axe: Axe, *, kind: str, code: str, scheme: str
) -> None:
    customer = scene.customer()
    page = open_page(color_scheme=scheme, **(PHONE if kind == "phone" else {}))
    note = "الطلب 1029: روايتان ودفتر"
    payment_id = scene.payment(amount=10098, note=note, cancelUrl=f"{scene.shop_url}/basket")
    look(axe, page, f"{scene.base_url}/pay/{payment_id}?lang={code}")
    sign_in(page, customer, "wrong")
    look(axe, page, None)
    sign_in(page, customer)
    look(axe, page, None)
    confirm(page, WRONG_PIN)
    look(axe, page, None)
    look(axe, page, f"{scene.base_url}/pay/{scene.payment(amount=999_999_999_999_999)}")
    look(axe, page, f"{scene.base_url}/pay/{scene.payment()}/cancel")
    look(axe, page, f"{scene.base_url}/pay/{scene.payment(scene.merchant.test_key)}")
    look(axe, page, f"{scene.base_url}/pay/1")
    page.goto(f"{scene.base_url}/pay/{payment_id}")
    confirm(page, PIN)
    page.wait_for_selector(".outcome")
    look(axe, page, None)
    assert page.get_attribute("html", "lang") == code


def test_only_a_page_in_arabic_loads_the_arabic_font(scene: Scene, open_page: Open) -> None:
    page = open_page()
    loaded: list[str] = []
    page.on("request", lambda request: loaded.extend([request.url] if "woff2" in request.url else []))
    payment_id = scene.payment(note="Order 7")
    for code in sorted(LANGUAGES, key=lambda code: code == "ar"):  # Arabic last: a font that is there is not loaded.
        page.goto(f"{scene.base_url}/pay/{payment_id}?lang={code}")
        page.evaluate("document.fonts.ready")
        assert bool(loaded) == (code == "ar"), code
    assert len(loaded) <= 2


def test_the_switch_leads_through_all_languages_and_back(scene: Scene, open_page: Open) -> None:
    page = open_page(**PHONE, locale="tr-TR")
    page.goto(f"{scene.base_url}/pay/{scene.payment()}")
    seen = [page.get_attribute("html", "lang")]
    for name in ("العربية", "English", "Türkçe"):
        page.get_by_role("link", name=name, exact=True).click()
        seen.append(page.get_attribute("html", "lang"))
    assert seen == ["tr", "ar", "en", "tr"]


def test_digits_stand_in_their_order_in_every_language(
    scene: Scene, open_page: Open, subtests: pytest.Subtests
) -> None:
    page = open_page()
    payment_id = scene.payment(amount=123450, currency="SYP")
    for code in LANGUAGES:
        page.goto(f"{scene.base_url}/pay/{payment_id}?lang={code}")
        places = page.evaluate(DIGITS)
        with subtests.test(code):
            assert len(places) == 8
            assert places == sorted(places)
